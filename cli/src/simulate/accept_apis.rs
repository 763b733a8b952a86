//! `AcceptApis`: what providers accept by files, as if those AcceptAPIs were in their clusters.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    str::FromStr,
    sync::Arc,
};

use broker_api::{AcceptApi, ClusterName, Gvr, Role, keys};
use broker_core::acceptance::{AcceptId, Acceptance};
use runtime_cel::expression::Evaluator;
use runtime_effect::kind::Kind;
use serde_json::Value;

use super::{
    document::{self, Document},
    place::{keys as path_of, path},
    problem::{Problem, error},
    shape::flaws,
};

/// Namespace of one that names none.
const NAMESPACE: &str = "default";

/// `[PROVIDER=]FILE`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Given {
    provider: String,
    file: PathBuf,
}

impl FromStr for Given {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (provider, file) = match text.split_once('=') {
            Some((provider, file)) if !provider.contains('/') => (Some(provider.to_owned()), file),
            _ => (None, text),
        };
        let stem = || Path::new(file).file_stem().map(|stem| stem.to_string_lossy().into_owned());
        let provider = provider.or_else(stem).unwrap_or_default();
        if provider.is_empty() || file.is_empty() {
            return Err("write it as FILE or PROVIDER=FILE, such as theseus=acceptapi.yaml".to_owned());
        }
        Ok(Self { provider, file: file.into() })
    }
}

/// AcceptAPIs of providers, compiled.
#[derive(Debug, Default)]
pub(crate) struct AcceptApis {
    all: Vec<Arc<Acceptance>>,
}

/// The schema of a kind of ours, by which API servers check its objects.
pub(super) fn schema<K: kube::CustomResourceExt>() -> Value {
    let mut crd = serde_json::to_value(K::crd()).unwrap_or_default();
    let schema = crd.pointer_mut("/spec/versions/0/schema/openAPIV3Schema").map(Value::take);
    schema.unwrap_or_default()
}

impl AcceptApis {
    /// Reads files; what is wrong with any is an error.
    pub(crate) fn read(given: &[Given], evaluator: &Evaluator) -> anyhow::Result<Self> {
        let mut apis = Self::default();
        let mut problems = Vec::new();
        for Given { provider, file } in given {
            let provider = ClusterName::written(Role::Provider, provider);
            problems.extend(apis.take(&provider, &document::read(file)?, evaluator));
            anyhow::ensure!(
                !problems.is_empty() || apis.all.iter().any(|one| one.id.provider == provider),
                "{}: there is no AcceptAPI in it",
                file.display()
            );
        }
        if problems.is_empty() { Ok(apis) } else { Err(error(&problems)) }
    }

    /// Takes in the AcceptAPIs among these documents. Returns what is wrong with them.
    fn take(&mut self, provider: &ClusterName, documents: &[Document], evaluator: &Evaluator) -> Vec<Problem> {
        let mut problems = Vec::new();
        let mut taken: BTreeSet<AcceptId> = self.all.iter().map(|one| one.id.clone()).collect();
        for document in documents.iter().filter(|document| document.is(keys::GROUP, "AcceptAPI")) {
            match compiled(provider, document, evaluator) {
                Ok(acceptance) if !taken.insert(acceptance.id.clone()) => problems.push(
                    document.problem(&path_of(&["metadata", "name"]), format!("{} is there twice", acceptance.id)),
                ),
                Ok(acceptance) => self.all.push(Arc::new(acceptance)),
                Err(found) => problems.extend(found),
            }
        }
        problems
    }

    /// Whether none were given.
    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Those that speak of a kind under a plural.
    pub(crate) fn speaking(&self, kind: &Kind, plural: &str) -> Vec<Arc<Acceptance>> {
        let is = |gvr: &Gvr| is_near(gvr, kind) && gvr.resource == plural;
        self.all.iter().filter(|one| is(&one.gvr)).cloned().collect()
    }

    /// Those that may speak of a kind, if it has another plural: a line each.
    pub(crate) fn doubts(&self, kind: &Kind, plural: &str) -> Vec<String> {
        let near = self.all.iter().filter(|one| is_near(&one.gvr, kind) && one.gvr.resource != plural);
        let told = near.map(|one| {
            format!(
                "{} speaks of {}, and {} is taken to have the plural {plural}: name another one with --plural",
                one.id, one.gvr.resource, kind.kind
            )
        });
        told.collect()
    }
}

/// Whether a resource is of a kind's group and version.
fn is_near(gvr: &Gvr, kind: &Kind) -> bool {
    gvr.group == kind.group && gvr.version == kind.version
}

/// One document, as a broker takes it in.
fn compiled(provider: &ClusterName, document: &Document, evaluator: &Evaluator) -> Result<Acceptance, Vec<Problem>> {
    let flaws = flaws(&schema::<AcceptApi>(), &document.value);
    if !flaws.is_empty() {
        return Err(document.flaws(&flaws));
    }
    let api: AcceptApi = serde_json::from_value(document.value.clone())
        .map_err(|error| vec![document.problem(&[], format!("it cannot be read: {error}"))])?;
    let text = |pointer: &str, otherwise: &str| match document.text(pointer) {
        "" => otherwise.into(),
        text => text.into(),
    };
    let id = AcceptId {
        provider: provider.clone(),
        namespace: text("/metadata/namespace", NAMESPACE),
        name: text("/metadata/name", ""),
    };
    let is_on = |key: &str| document.value["metadata"]["annotations"][key] == keys::TRUE;
    let compiled = Acceptance::compile(id, &api.spec, evaluator).map_err(|errors| {
        let problem = |error: String| {
            let at = path(error.split_once(": ").map_or("spec", |(at, _)| at));
            document.problem(&at, error)
        };
        errors.into_iter().map(problem).collect::<Vec<_>>()
    })?;
    if let Some(why) = compiled.silence() {
        return Err(vec![document.problem(&path("spec.expression"), why)]);
    }
    Ok(compiled.annotated(is_on(keys::DRAIN), is_on(keys::REBALANCE)))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
pub(crate) mod tests {
    use super::*;

    /// Those of one provider.
    pub(crate) fn of(provider: &str, text: &str) -> Result<AcceptApis, Vec<String>> {
        let mut apis = AcceptApis::default();
        let documents = document::documents("a.yaml", text).unwrap();
        let problems = apis.take(&ClusterName::provider(provider), &documents, &Evaluator::new());
        if problems.is_empty() { Ok(apis) } else { Err(problems.iter().map(ToString::to_string).collect()) }
    }

    const SAMPLE: &str = include_str!("../../../config/samples/acceptapi-vms.yaml");

    #[test]
    fn a_provider_is_named_or_is_its_file_s_stem() {
        let given = |text: &str| text.parse::<Given>().map(|given| (given.provider, given.file.display().to_string()));
        assert_eq!(given("theseus=a/b.yaml"), Ok(("theseus".into(), "a/b.yaml".into())));
        assert_eq!(given("a/b.yaml"), Ok(("b".into(), "a/b.yaml".into())));
        assert_eq!(given("a/x=y.yaml"), Ok(("x=y".into(), "a/x=y.yaml".into())));
        assert!(given("theseus=").is_err() && given("=a.yaml").is_err() && given("").is_err());
    }

    #[test]
    fn a_kind_is_spoken_of_by_its_plural() {
        let apis = of("theseus", &format!("{SAMPLE}\n---\nkind: Other\n")).unwrap();
        let kind = |group: &str| Kind { group: group.into(), version: "v1alpha1".into(), kind: "VM".into() };
        let ours = kind("example.platform-mesh.io");
        assert_eq!(apis.speaking(&ours, "vms")[0].id.to_string(), "theseus/default/vms");
        assert!(apis.speaking(&ours, "machines").is_empty() && apis.speaking(&kind("x.io"), "vms").is_empty());
        assert!(apis.doubts(&ours, "vms").is_empty() && apis.doubts(&kind("x.io"), "machines").is_empty());
        assert!(apis.doubts(&ours, "machines")[0].starts_with("theseus/default/vms speaks of vms, and VM"));
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        let with = |from: &str, to: &str| of("theseus", &SAMPLE.replace(from, to)).map(drop).unwrap_err().remove(0);
        let line = |of: &str| SAMPLE.lines().position(|line| line.contains(of)).unwrap() + 1;
        let misspelt = with("valueIn", "valuesIn");
        let place = format!("a.yaml:{}:7: spec.filters[0].valuesIn: there is no such field", line("valueIn"));
        assert!(misspelt.starts_with(&place), "{misspelt}");
        let unsound = with("!self.metadata.name", "!this.metadata.name");
        assert!(unsound.starts_with(&format!("a.yaml:{}:3: ", line("expression:"))), "{unsound}");
        let weightless = with("weight: 3", "weight: 0");
        assert!(weightless.starts_with(&format!("a.yaml:{}:3: spec.weight: is 0", line("weight:"))), "{weightless}");
        let twice = of("theseus", &format!("{SAMPLE}\n---\n{SAMPLE}")).map(drop).unwrap_err().remove(0);
        assert!(twice.contains("theseus/default/vms is there twice"), "{twice}");
    }
}
