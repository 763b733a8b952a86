//! `Kinds`: what an API server serves now.

use std::{
    collections::BTreeMap,
    sync::{Arc, LazyLock},
};

use serde_json::{Value, json};

use crate::{
    builtin,
    resource::{Resource, Rules},
    schema::complete,
};

/// What is served.
#[derive(Debug, Clone)]
pub(crate) struct Kinds {
    /// In the order of group, version and plural.
    served: Vec<Arc<Resource>>,
    /// CRDs, by their names.
    said: BTreeMap<String, Said>,
}

/// A CRD.
#[derive(Debug, Clone)]
struct Said {
    crd: Arc<Value>,
    /// The revision since which its spec is this.
    since: u64,
}

/// What every API server serves; there are thousands of them in a run.
static BUILTIN: LazyLock<Vec<Arc<Resource>>> =
    LazyLock::new(|| builtin::resources().into_iter().map(Arc::new).collect());

impl Default for Kinds {
    fn default() -> Self {
        let mut kinds = Self { served: Vec::new(), said: BTreeMap::new() };
        for resource in &*BUILTIN {
            kinds.serve(Arc::clone(resource));
        }
        kinds
    }
}

impl Kinds {
    fn place(&self, path: [&str; 3]) -> Result<usize, usize> {
        self.served.binary_search_by(|held| [&*held.group, &*held.version, &*held.plural].cmp(&path))
    }

    fn serve(&mut self, resource: Arc<Resource>) {
        match self.place([&*resource.group, &*resource.version, &*resource.plural]) {
            Ok(at) => self.served[at] = resource,
            Err(at) => self.served.insert(at, resource),
        }
    }

    pub(crate) fn find(&self, group: &str, version: &str, plural: &str) -> Option<&Arc<Resource>> {
        let at = self.place([group, version, plural]).ok()?;
        self.served.get(at)
    }

    /// All of them, by group, version and plural.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Arc<Resource>> {
        self.served.iter()
    }

    /// A CRD has changed at this revision, or is gone.
    pub(crate) fn define(&mut self, crd: &Arc<Value>, present: bool, revision: u64) {
        let name = crd["metadata"]["name"].as_str().unwrap_or_default();
        let before = self.said.remove(name);
        if !present {
            return self.withdraw(crd);
        }
        let before = before.filter(|before| before.crd["spec"] == crd["spec"]);
        let since = before.as_ref().map_or(revision, |before| before.since);
        self.said.insert(name.to_owned(), Said { crd: Arc::clone(crd), since });
        if !has_condition(crd, "Established") {
            return;
        }
        // Most of what changes in a CRD changes nothing of what is served, and schemas are long.
        let is_served = before.is_some_and(|Said { crd: before, .. }| {
            has_condition(&before, "Established") && before["status"]["acceptedNames"] == crd["status"]["acceptedNames"]
        });
        if !is_served {
            self.withdraw(crd);
            self.establish(crd, since);
        }
    }

    /// What a CRD says is served no more.
    fn withdraw(&mut self, crd: &Value) {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (group, plural) = (text(&crd["spec"]["group"]), text(&crd["spec"]["names"]["plural"]));
        self.served.retain(|resource| !(resource.rules.custom && resource.is(&group, &plural)));
    }

    /// What a CRD says is served from now on.
    fn establish(&mut self, crd: &Value, since: u64) {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let names = &crd["status"]["acceptedNames"];
        let texts = |value: &Value| value.as_array().into_iter().flatten().map(text).collect::<Vec<String>>();
        let versions = || crd["spec"]["versions"].as_array().into_iter().flatten();
        let schema_of = |version: &Value| complete(version["schema"]["openAPIV3Schema"].clone());
        let all: Vec<(String, Arc<Value>)> =
            versions().map(|version| (text(&version["name"]), Arc::new(schema_of(version)))).collect();
        for (version, (name, schema)) in versions().zip(&all).filter(|(version, _)| version["served"] == true) {
            self.serve(Arc::new(Resource {
                group: text(&crd["spec"]["group"]),
                version: name.clone(),
                kind: text(&names["kind"]),
                list_kind: text(&names["listKind"]),
                plural: text(&crd["spec"]["names"]["plural"]),
                singular: text(&names["singular"]),
                short_names: texts(&names["shortNames"]),
                categories: texts(&names["categories"]),
                namespaced: crd["spec"]["scope"] == "Namespaced",
                status: version["subresources"]["status"].is_object(),
                rules: Rules { custom: true, ..Rules::default() },
                since,
                schema: Arc::clone(schema),
                versions: all.clone(),
                blank: json!({}),
            }));
        }
    }
}

/// Whether a condition of an object is true.
pub(crate) fn has_condition(object: &Value, name: &str) -> bool {
    let conditions = object["status"]["conditions"].as_array();
    conditions.into_iter().flatten().any(|condition| condition["type"] == name && condition["status"] == "True")
}
