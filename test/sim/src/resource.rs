//! `Resource`: a kind as it is served in one version.

use std::{fmt, sync::Arc};

use serde_json::{Value, json};

use crate::{core_event, recall::recall, schema::Schema, state::CRDS};

/// Where objects of all versions of a kind are kept.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Storage {
    pub(crate) group: String,
    pub(crate) plural: String,
}

impl Storage {
    pub(crate) fn new(group: &str, plural: &str) -> Self {
        Self { group: group.to_owned(), plural: plural.to_owned() }
    }

    /// That of a resource as it is shown.
    pub(crate) fn of(resource: &str) -> Self {
        let (plural, group) = resource.split_once('.').unwrap_or((resource, ""));
        Self::new(group, plural)
    }
}

/// Such as `things.example.org`.
impl fmt::Display for Storage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { group, plural } = self;
        if group.is_empty() { f.write_str(plural) } else { write!(f, "{plural}.{group}") }
    }
}

/// What API servers do with the objects of a kind apart from what its schema says.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Rules {
    /// It comes from a CRD: nothing is known of its objects but their schema.
    pub(crate) custom: bool,
    /// An update needs no version.
    pub(crate) unconditional: bool,
    /// An update of what is not there creates it.
    pub(crate) creates_on_update: bool,
}

/// A kind in one version.
#[derive(Debug, Clone)]
pub(crate) struct Resource {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) kind: String,
    pub(crate) list_kind: String,
    pub(crate) plural: String,
    pub(crate) singular: String,
    pub(crate) short_names: Vec<String>,
    pub(crate) categories: Vec<String>,
    pub(crate) namespaced: bool,
    /// Whether `status` is a subresource.
    pub(crate) status: bool,
    pub(crate) rules: Rules,
    /// The revision since which its CRD says what it says; 0: it has none. Nobody goes on with a watch of before.
    pub(crate) since: u64,
    /// With `apiVersion`, `kind` and all of `metadata`.
    pub(crate) schema: Arc<Value>,
    /// Every version that it has, with its schema.
    pub(crate) versions: Vec<(String, Arc<Value>)>,
    /// What an object of which nothing is said consists of: structs that are never left out.
    pub(crate) blank: Value,
}

impl Resource {
    pub(crate) fn storage(&self) -> Storage {
        if self.is_core_event() { Storage::new(core_event::GROUP, &self.plural) } else { self.own_storage() }
    }

    fn own_storage(&self) -> Storage {
        Storage::new(&self.group, &self.plural)
    }

    /// Whether this is the kind as which its objects are kept.
    pub(crate) fn keeps(&self, storage: &Storage) -> bool {
        self.own_storage() == *storage
    }

    /// Whether it shows the Events of `events.k8s.io` as those of the core group.
    pub(crate) fn is_core_event(&self) -> bool {
        self.is("", "events")
    }

    /// `v1`, or `group/version`.
    pub(crate) fn api_version(&self) -> String {
        in_group(&self.group, &self.version)
    }

    /// `plural`, or `plural.group`.
    pub(crate) fn qualified(&self) -> String {
        if self.group.is_empty() { self.plural.clone() } else { format!("{}.{}", self.plural, self.group) }
    }

    pub(crate) fn is(&self, group: &str, plural: &str) -> bool {
        self.group == group && self.plural == plural
    }

    /// Whether its objects are CRDs.
    pub(crate) fn is_crd(&self) -> bool {
        let [group, plural] = CRDS;
        self.is(group, plural)
    }

    /// Whether its objects' changes are counted.
    pub(crate) fn has_generation(&self) -> bool {
        self.rules.custom || self.is_crd()
    }

    pub(crate) fn schema(&self) -> Schema<'_> {
        Schema::of(&self.schema)
    }

    /// The schema of a version of the kind, if it has that.
    pub(crate) fn schema_in(&self, api_version: &str) -> Option<Schema<'_>> {
        let found = self.versions.iter().find(|(version, _)| in_group(&self.group, version) == api_version);
        found.map(|(_, schema)| Schema::of(schema))
    }

    /// An object as it is told in this version. What is told as it is kept is not copied.
    pub(crate) fn told(&self, stored: &Arc<Value>) -> Arc<Value> {
        if self.rules.custom {
            return recall(&self.schema, stored, || self.present(stored));
        }
        if self.is_core_event() {
            return Arc::new(core_event::shown(stored));
        }
        let says_so = stored["apiVersion"] == self.api_version() && stored["kind"] == self.kind;
        if says_so { Arc::clone(stored) } else { Arc::new(self.present(stored)) }
    }

    fn present(&self, stored: &Value) -> Value {
        let mut object = stored.clone();
        object["apiVersion"] = json!(self.api_version());
        object["kind"] = json!(self.kind);
        if self.rules.custom {
            crate::schema::tidy_metadata(&mut object);
            crate::schema::drop_nulls(self.schema(), &mut object);
            crate::schema::prune(self.schema(), &mut object);
            crate::schema::default(self.schema(), &mut object);
        }
        object
    }
}

fn in_group(group: &str, version: &str) -> String {
    if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") }
}
