//! `Compiled`: what the spec of an RGD comes to.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use broker_api::{ClusterName, graphs::ResourceGraphDefinitionSpec};
use graphs_core::{
    applyset::GroupKind,
    crd::{self, Owner},
    definition::{self, Compilation},
    graph::{self, Bounds, Graph, GraphError, Role},
    instance::{Form, Resource},
};
use runtime_cel::graph::Evaluator;
use runtime_effect::{kind::Kind, merge::digest};
use runtime_fleet::{hashed::HashMap, kind::may_be_built_in};
use tokio::time::Instant;

use crate::{
    instances::generated::group_kind,
    kinds::{Asked, Kinds},
    metrics::METRICS,
    watches::Need,
};

/// A spec that compiles.
pub struct Compiled {
    /// The graph.
    pub graph: Arc<Graph>,
    /// The same as decisions about RGDs have it.
    pub definition: Arc<definition::Graph>,
    /// Its resources by their ids, as decisions about instances have them.
    pub resources: HashMap<String, Arc<Resource>>,
    /// The kinds of these.
    pub kinds: BTreeSet<Kind>,
    /// Of the CRD.
    pub digest: [u8; 8],
}

/// What came of compiling a spec.
pub struct Result {
    /// For decisions.
    pub outcome: Compilation,
    /// If it compiles.
    pub compiled: Option<Arc<Compiled>>,
    /// The kinds that this depends on.
    pub kinds: BTreeSet<Kind>,
    /// It may come to something else in a moment.
    pub busy: bool,
}

/// Compiles with what is known of a cluster's kinds.
pub struct Compiler<'a> {
    /// The cluster.
    pub cluster: &'a ClusterName,
    /// Others, that may serve what it does not.
    pub others: &'a [ClusterName],
    /// Its kinds.
    pub kinds: &'a Kinds,
    /// For expressions.
    pub evaluator: &'a Evaluator,
    /// How far graphs may go.
    pub bounds: Bounds,
    /// Whether a CRD defines the kind of this plural and group.
    pub is_defined: &'a dyn Fn(&str, &str) -> bool,
    /// The plural of the CRD that defines a kind already, or is to; without one it is what the kind makes.
    pub plural: &'a dyn Fn(&GroupKind) -> Option<String>,
}

impl Compiler<'_> {
    /// Compiles a spec of an RGD.
    pub fn compile(&self, owner: Owner<'_>, spec: &ResourceGraphDefinitionSpec) -> Result {
        let began = Instant::now();
        let asked = Asked::new(self.kinds, self.cluster, self.others);
        let graph = graph::compile(owner.name, spec, &asked, self.evaluator, self.bounds);
        METRICS.compile_duration.observe(began.elapsed().as_secs_f64());
        let kinds = asked.all();
        let failed = |outcome, busy| (outcome, None, busy);
        let (outcome, compiled, busy) = match graph {
            Ok(graph) => match self.complete(owner, spec, graph) {
                Ok(compiled) => {
                    let compiled = Arc::new(compiled);
                    (Compilation::Compiled(Arc::clone(&compiled.definition)), Some(compiled), false)
                }
                Err(why) => failed(Compilation::Invalid(why), false),
            },
            Err(GraphError::Busy(_)) => failed(Compilation::Pending, true),
            Err(GraphError::Invalid(why)) => failed(Compilation::Invalid(why), false),
            Err(error @ GraphError::KindsMissing(_)) => {
                let missing = error.missing_kinds();
                if missing.iter().any(|missing| missing.unknown) {
                    failed(Compilation::Pending, false)
                } else {
                    let kinds = missing.iter().map(|missing| Kind::from(&missing.kind)).collect();
                    failed(Compilation::WaitsFor { kinds, message: error.to_string() }, false)
                }
            }
        };
        Result { outcome, compiled, kinds, busy }
    }

    fn complete(
        &self,
        owner: Owner<'_>,
        spec: &ResourceGraphDefinitionSpec,
        graph: Arc<Graph>,
    ) -> std::result::Result<Compiled, String> {
        let plural = (self.plural)(&group_kind(&Kind::from(&graph.kind))).unwrap_or_else(|| graph.plural.clone());
        let wanted = crd::desired(owner, &spec.schema, &plural, &graph.spec_schema, &graph.status_schema);
        let crd = wanted.map_err(|error| error.to_string())?;
        let dependencies: BTreeMap<String, Vec<String>> = graph
            .resources
            .iter()
            .filter(|resource| !resource.dependencies.is_empty())
            .map(|resource| (resource.id.clone(), resource.dependencies.clone()))
            .collect();
        let topological_order = graph.topological_order().map(str::to_owned).collect();
        let digest = digest(&crd);
        let definition = Arc::new(definition::Graph { topological_order, dependencies, crd });
        let resources = graph.resources.iter().map(|resource| (resource.id.clone(), Arc::new(self.resource(resource))));
        let resources: HashMap<String, Arc<Resource>> = resources.collect();
        let kinds = resources.values().map(|resource| resource.kind.clone()).collect();
        Ok(Compiled { graph, definition, resources, kinds, digest })
    }

    fn resource(&self, resource: &graph::Resource) -> Resource {
        let kind = Kind::from(&resource.kind.name);
        Resource {
            id: resource.id.clone(),
            schema: self.kinds.schema(self.cluster, self.others, &kind),
            kind,
            namespaced: resource.kind.namespaced,
            form: match resource.role {
                Role::One => Form::Single,
                Role::Collection => Form::Collection,
                Role::External => Form::Reference,
                Role::Selected => Form::Selection,
            },
            omits_empty: may_be_built_in(&resource.kind.name.group)
                && !(self.is_defined)(&resource.kind.plural, &resource.kind.name.group),
            wave: u32::try_from(resource.wave).unwrap_or(u32::MAX),
            dependencies: resource.dependencies.clone(),
        }
    }
}

impl Compiled {
    /// What is to be watched for instances.
    pub fn needs(&self) -> BTreeSet<Need> {
        let need = |resource: &graph::Resource| {
            let kind = Kind::from(&resource.kind.name);
            if resource.role.is_external() { Need::References(kind) } else { Need::Children(kind) }
        };
        self.graph.resources.iter().map(need).collect()
    }
}
