//! `Definition`: a ResourceGraphDefinition as a person has written it, and what is wrong with it: found by the compiler that
//! serves it.

use std::{path::Path, sync::Arc};

use anyhow::{bail, ensure};
use broker_api::{
    Gvk,
    graphs::{ResourceGraphDefinition, ResourceGraphDefinitionSpec, keys},
};
use graphs_core::{
    crd::{self, Owner},
    graph::{Bounds, Graph, GraphError, compile},
};
use runtime_cel::graph::Evaluator;

use super::{
    accept_apis::schema,
    document::{self, Document},
    mistake::{path_of, path_of_kind},
    place::{Step, keys as path},
    problem::Problem,
    schemas::Schemas,
    shape::flaws,
};
use crate::cluster::Cluster;

/// A ResourceGraphDefinition.
#[derive(Debug)]
pub(crate) struct Definition {
    /// As it was written.
    pub(crate) document: Document,
    spec: ResourceGraphDefinitionSpec,
}

/// What came of checking one.
#[derive(Debug)]
pub(crate) struct Checked {
    /// The graph, or what is wrong with it.
    pub(crate) graph: Result<Arc<Graph>, Vec<Problem>>,
    /// Kinds of which it is not known what they can hold.
    pub(crate) unknown: Vec<String>,
}

/// The ResourceGraphDefinitions of a file.
pub(crate) fn documents(file: &Path) -> anyhow::Result<Vec<Document>> {
    let mut documents = document::read(file)?;
    documents.retain(|document| document.is(keys::GROUP, "ResourceGraphDefinition"));
    ensure!(!documents.is_empty(), "{}: there is no ResourceGraphDefinition in it", file.display());
    Ok(documents)
}

impl Definition {
    /// Of a document, as far as an API server would take it.
    pub(crate) fn of(document: Document) -> Result<Self, Vec<Problem>> {
        if document.text("/metadata/name").is_empty() {
            return Err(vec![document.problem(&path(&["metadata"]), "give it a metadata.name")]);
        }
        let flaws = flaws(&schema::<ResourceGraphDefinition>(), &document.value);
        if !flaws.is_empty() {
            return Err(document.flaws(&flaws));
        }
        match serde_json::from_value(document.value["spec"].clone()) {
            Ok(spec) => Ok(Self { document, spec }),
            Err(error) => Err(vec![document.problem(&path(&["spec"]), format!("it cannot be read: {error}"))]),
        }
    }

    /// Its name.
    pub(crate) fn name(&self) -> &str {
        self.document.text("/metadata/name")
    }

    /// The kind that it defines.
    pub(crate) fn kind(&self) -> Gvk {
        let schema = &self.spec.schema;
        Gvk { group: schema.group().to_owned(), version: schema.api_version.clone(), kind: schema.kind.clone() }
    }

    /// Compiles it with the schemas that a cluster publishes; where none is asked, as if its kinds took anything.
    pub(crate) async fn check(&self, cluster: Option<&Cluster>, evaluator: &Evaluator) -> anyhow::Result<Checked> {
        let schemas = match cluster {
            Some(cluster) => Schemas::published(cluster, &self.spec).await?,
            None => Schemas::open(&self.spec),
        };
        let graph = self.compile(&schemas, evaluator)?;
        Ok(Checked { graph, unknown: schemas.unknown })
    }

    fn compile(&self, schemas: &Schemas, evaluator: &Evaluator) -> anyhow::Result<Result<Arc<Graph>, Vec<Problem>>> {
        let problem = |at: &[Step], what: String| self.document.problem(at, what);
        let graph = match compile(self.name(), &self.spec, schemas, evaluator, Bounds::default()) {
            Ok(graph) => graph,
            Err(GraphError::Busy(why)) => bail!("{}: this machine is too busy to tell: {why}", self.name()),
            Err(GraphError::Invalid(why)) => return Ok(Err(vec![problem(&path_of(&why, &self.spec), why)])),
            Err(GraphError::KindsMissing(missing)) => {
                let problems = missing.iter().map(|missing| {
                    let Gvk { group, version, kind } = &missing.kind;
                    let slash = if group.is_empty() { "" } else { "/" };
                    let what = format!(
                        "resource {:?}: the cluster serves no {kind} of {group}{slash}{version}",
                        missing.resource
                    );
                    problem(&path_of_kind(&missing.resource, &self.spec), what)
                });
                return Ok(Err(problems.collect()));
            }
        };
        let owner = Owner { name: self.name(), uid: "", version: "" };
        let crd = crd::desired(owner, &self.spec.schema, &graph.plural, &graph.spec_schema, &graph.status_schema);
        Ok(crd.map(|_| graph).map_err(|error| vec![problem(&path(&["spec", "schema"]), error.to_string())]))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
pub(crate) mod tests {
    use super::*;

    /// What comes of a text, with kinds that take anything.
    pub(crate) fn check(text: &str) -> Result<Arc<Graph>, Vec<String>> {
        let told = |problems: Vec<Problem>| problems.iter().map(ToString::to_string).collect::<Vec<_>>();
        let document = document::documents("a.yaml", text).unwrap().remove(0);
        let definition = Definition::of(document).map_err(told)?;
        let schemas = Schemas::open(&definition.spec);
        definition.compile(&schemas, &graphs_core::limits::evaluator()).unwrap().map_err(told)
    }

    /// Where a line holds something, and from which column.
    fn at(text: &str, what: &str) -> String {
        let (line, column) =
            text.lines().enumerate().find_map(|(line, text)| Some((line + 1, text.find(what)? + 1))).unwrap();
        format!("a.yaml:{line}:{column}: ")
    }

    const MISSPELT: &str = include_str!("../../../examples/graphs/consumer/misspelt.yaml");
    const WEB: &str = include_str!("../../../examples/graphs/consumer/webapplication.yaml");
    const SITE: &str = include_str!("../../../examples/graphs/consumer/securesite.yaml");

    #[test]
    fn examples_are_sound() {
        let graph = check(WEB).unwrap();
        assert_eq!(graph.topological_order().count(), 5);
        assert_eq!(check(SITE).unwrap().crd_name(), "securesites.platform.example.org");
    }

    #[test]
    fn what_the_compiler_finds_is_told_with_line_and_column() {
        let told = |text: &str| check(text).map(drop).unwrap_err().remove(0);
        let misspelt = told(MISSPELT);
        assert!(misspelt.starts_with(&at(MISSPELT, "greeting: ${")), "{misspelt}");
        assert!(misspelt.contains("greting"), "{misspelt}");
        let typed = WEB.replace("minimum=1", "minimum=x");
        assert!(told(&typed).starts_with(&at(&typed, "replicas: integer")), "{}", told(&typed));
        let ready = WEB.replace("deployment.spec.replicas}", "settings.data}");
        assert!(told(&ready).starts_with(&at(&ready, "${deployment.status.availableReplicas ==")), "{}", told(&ready));
        let id = WEB.replace("- id: ingress", "- id: Ingress");
        assert!(told(&id).starts_with(&at(&id, "id: Ingress")), "{}", told(&id));
    }

    #[test]
    fn what_an_api_server_would_refuse_is_told_before() {
        let told = |text: &str| check(text).map(drop).unwrap_err();
        let field = WEB.replace("readyWhen:", "readywhen:");
        assert!(told(&field)[0].starts_with(&at(&field, "readywhen")), "{:?}", told(&field));
        assert!(told(&field)[0].contains("there is no such field; there are: externalRef, forEach"));
        let kind = WEB.replace("kind: WebApplication", "kind: webApplication");
        assert!(told(&kind)[0].starts_with(&at(&kind, "kind: webApp")), "{:?}", told(&kind));
        let both = WEB.replace("readyWhen:", "readywhen:").replace("shortNames: [webapp]", "shortNames: webapp");
        assert_eq!(told(&both).len(), 2, "{:?}", told(&both));
        let nameless = WEB.replace("  name: webapplication\n", "  labels: {}\n");
        assert!(told(&nameless)[0].ends_with("give it a metadata.name"), "{:?}", told(&nameless));
    }
}
