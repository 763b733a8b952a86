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
    /// Resources by group, version and plural.
    served: BTreeMap<[String; 3], Arc<Resource>>,
    /// What CRDs say, by their names, and the revision since which they do.
    said: BTreeMap<String, (Value, u64)>,
}

/// What every API server serves; there are thousands of them in a run.
static BUILTIN: LazyLock<Vec<Arc<Resource>>> =
    LazyLock::new(|| builtin::resources().into_iter().map(Arc::new).collect());

impl Default for Kinds {
    fn default() -> Self {
        let mut kinds = Self { served: BTreeMap::new(), said: BTreeMap::new() };
        for resource in &*BUILTIN {
            kinds.serve(Arc::clone(resource));
        }
        kinds
    }
}

impl Kinds {
    fn serve(&mut self, resource: Arc<Resource>) {
        let path = [&resource.group, &resource.version, &resource.plural].map(Clone::clone);
        self.served.insert(path, resource);
    }

    pub(crate) fn find(&self, group: &str, version: &str, plural: &str) -> Option<Arc<Resource>> {
        self.served.get(&[group, version, plural].map(str::to_owned)).cloned()
    }

    /// All of them, by group, version and plural.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Arc<Resource>> {
        self.served.values()
    }

    /// Since when a CRD says what it says, which it says at this revision.
    fn since(&mut self, crd: &Value, present: bool, revision: u64) -> u64 {
        let name = crd["metadata"]["name"].as_str().unwrap_or_default();
        if !present {
            self.said.remove(name);
            return revision;
        }
        let (said, since) = self.said.entry(name.to_owned()).or_insert_with(|| (crd["spec"].clone(), revision));
        if *said != crd["spec"] {
            (*said, *since) = (crd["spec"].clone(), revision);
        }
        *since
    }

    /// A CRD has changed at this revision, or is gone.
    pub(crate) fn define(&mut self, crd: &Value, present: bool, revision: u64) {
        let since = self.since(crd, present, revision);
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (group, plural) = (text(&crd["spec"]["group"]), text(&crd["spec"]["names"]["plural"]));
        if !present || has_condition(crd, "Established") {
            self.served.retain(|_, resource| !(resource.rules.custom && resource.is(&group, &plural)));
        }
        if !present || !has_condition(crd, "Established") {
            return;
        }
        let names = &crd["status"]["acceptedNames"];
        let texts = |value: &Value| value.as_array().into_iter().flatten().map(text).collect::<Vec<String>>();
        let versions = || crd["spec"]["versions"].as_array().into_iter().flatten();
        let schema_of = |version: &Value| complete(version["schema"]["openAPIV3Schema"].clone());
        let all: Vec<(String, Arc<Value>)> =
            versions().map(|version| (text(&version["name"]), Arc::new(schema_of(version)))).collect();
        for version in versions().filter(|version| version["served"] == true) {
            self.serve(Arc::new(Resource {
                group: group.clone(),
                version: text(&version["name"]),
                kind: text(&names["kind"]),
                list_kind: text(&names["listKind"]),
                plural: plural.clone(),
                singular: text(&names["singular"]),
                short_names: texts(&names["shortNames"]),
                categories: texts(&names["categories"]),
                namespaced: crd["spec"]["scope"] == "Namespaced",
                status: version["subresources"]["status"].is_object(),
                rules: Rules { custom: true, ..Rules::default() },
                since,
                schema: schema_of(version),
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
