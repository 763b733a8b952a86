//! An RGD → its graph.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

use broker_api::{
    Gvk,
    graphs::{self, GeneratedSchema, GeneratedScope, ResourceGraphDefinitionSpec},
};
use runtime_cel::{
    graph::{Evaluator, Program, ValueType},
    types::{self, Native, Scope, Type, Variables},
};
use serde_json::{Value, json};

use super::{
    Bounds, EACH, Graph, RUNTIME, SCHEMA, conditions,
    draft::Sketch,
    error::{GraphError, MissingKind},
    expression::{Compiler, known, never_omits, shown, type_of},
    external::Reference,
    kinds::{Found, Kinds},
    object, order,
    resource::{Dimension, Resource, Role},
    status,
};
use crate::{naming, plural, simple_schema};

/// Compiles an RGD of this name. Takes time in proportion to its size, and to the schemas of the kinds that it uses.
///
/// Blocks as [`Evaluator::compile`] does, once for each expression.
pub fn compile(
    name: &str,
    spec: &ResourceGraphDefinitionSpec,
    kinds: &dyn Kinds,
    evaluator: &Evaluator,
    bounds: Bounds,
) -> Result<Arc<Graph>, GraphError> {
    check_names(spec, &bounds)?;
    let schema = &spec.schema;
    let spec_schema = simple_schema::to_open_api(&schema.spec, &schema.types)
        .map_err(|error| GraphError::invalid(format_args!("failed to build the instance's schema: {error}")))?;
    let mut compiler = Compiler::new(name, evaluator, bounds.expressions);
    let sketches = sketches(spec, kinds, &mut compiler)?;
    let mut status = status::read(&schema.status, &mut compiler)?;
    let mut conditions = match schema.status.get("conditions") {
        Some(written) => conditions::read(written, &mut compiler)?,
        None => Vec::new(),
    };

    let positions: BTreeMap<String, usize> =
        sketches.iter().enumerate().map(|(at, sketch)| (sketch.id().to_owned(), at)).collect();
    let is_name = |name: &str| name == SCHEMA || positions.contains_key(name);
    let dependencies = dependencies(&sketches, &positions)?;
    let order = order::topological(&dependencies).map_err(|circle| {
        let ids: Vec<&str> = circle.iter().filter_map(|at| sketches.get(*at)).map(Sketch::id).collect();
        GraphError::invalid(format_args!("graph contains a cycle: {}", ids.join(" -> ")))
    })?;
    let waves = order::waves(&dependencies, &order);

    let instance = instance_schema(&spec_schema);
    let variables = variables(schema.scope, &instance, &sketches, &compiler.used());
    let mut resources = Vec::with_capacity(sketches.len());
    let mut object_types = HashMap::new();
    for ((sketch, uses), wave) in sketches.into_iter().zip(&dependencies).zip(waves) {
        let ids = positions.iter().filter(|(_, at)| uses.contains(at)).map(|(id, _)| id.clone()).collect();
        let of = object_types
            .entry(sketch.kind.name.clone())
            .or_insert_with(|| ValueType::of_object(&sketch.kind.schema))
            .clone();
        resources.push(Some(resource(sketch, &variables, ids, wave, of, &mut compiler)?));
    }
    let status_schema = status.check(&is_name, &variables)?.unwrap_or_else(|| json!({"type": "object"}));
    let with_runtime = variables.with(RUNTIME, Type::Native(Native::Runtime));
    conditions::check(&mut conditions, is_name, &with_runtime)?;
    let resources = order.into_iter().filter_map(|at| resources.get_mut(at).and_then(Option::take)).collect();
    Ok(Arc::new(Graph {
        kind: Gvk { group: schema.group().to_owned(), version: schema.api_version.clone(), kind: schema.kind.clone() },
        scope: schema.scope,
        plural: plural::of(&schema.kind),
        spec_schema,
        status_schema,
        resources,
        status,
        conditions,
        bounds,
        reads_version: compiler.reads_version(),
        instance_type: ValueType::of_object(&instance),
    }))
}

/// The schema of an instance as expressions see it: it has no status.
fn instance_schema(spec: &Value) -> Value {
    json!({
        "type": "object",
        "properties": {"apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": {"type": "object"}, "spec": spec},
    })
}

fn check_names(spec: &ResourceGraphDefinitionSpec, bounds: &Bounds) -> Result<(), GraphError> {
    let GeneratedSchema { kind, .. } = &spec.schema;
    naming::check_kind(kind)?;
    naming::check_group(spec.schema.group())?;
    if spec.resources.len() > bounds.resources {
        let (found, most) = (spec.resources.len(), bounds.resources);
        return Err(GraphError::invalid(format_args!(
            "there are {found} resources; {most} are allowed: split the RGD"
        )));
    }
    naming::check_ids(spec.resources.iter().map(|resource| resource.id.as_str()))?;
    let ids: BTreeSet<&str> = spec.resources.iter().map(|resource| resource.id.as_str()).collect();
    for resource in &spec.resources {
        let id = &resource.id;
        let iterators = || resource.for_each.iter().flat_map(BTreeMap::keys).map(String::as_str);
        naming::check_iterators(iterators(), |name| ids.contains(name))
            .map_err(|error| GraphError::invalid(format_args!("resource {id:?}: {error}")))?;
        let (found, most) = (iterators().count(), bounds.dimensions);
        if found > most {
            return Err(GraphError::invalid(format_args!(
                "resource {id:?}: forEach has {found} dimensions; {most} are allowed at the most"
            )));
        }
    }
    Ok(())
}

/// Reads all resources. Kinds that are missing are told when nothing else is wrong.
fn sketches<'a>(
    spec: &'a ResourceGraphDefinitionSpec,
    kinds: &dyn Kinds,
    compiler: &mut Compiler<'_>,
) -> Result<Vec<Sketch<'a>>, GraphError> {
    let cluster = spec.schema.scope == GeneratedScope::Cluster;
    let (mut sketches, mut missing) = (Vec::with_capacity(spec.resources.len()), Vec::new());
    for written in &spec.resources {
        let name = kind_of(written)?;
        match kinds.find(&name) {
            Found::Served(kind) => sketches.push(sketch(written, kind, cluster, compiler)?),
            found => missing.push(MissingKind {
                resource: written.id.clone(),
                kind: name,
                unknown: matches!(found, Found::Unknown),
            }),
        }
    }
    if missing.is_empty() { Ok(sketches) } else { Err(GraphError::KindsMissing(missing)) }
}

fn kind_of(written: &graphs::Resource) -> Result<Gvk, GraphError> {
    let graphs::Resource { id, template, external_ref, for_each, .. } = written;
    match (template, external_ref) {
        (Some(template), None) => object::kind_of(id, template),
        (None, Some(reference)) if for_each.iter().all(BTreeMap::is_empty) => {
            object::gvk(id, &reference.api_version, &reference.kind)
        }
        (None, Some(_)) => Err(GraphError::invalid(format_args!(
            "invalid combination of resource fields: resource {id:?}: cannot use externalRef with forEach"
        ))),
        _ => Err(GraphError::invalid(format_args!(
            "resource {id:?}: exactly one of template or externalRef must be provided"
        ))),
    }
}

fn sketch<'a>(
    written: &'a graphs::Resource,
    kind: Arc<super::ServedKind>,
    cluster: bool,
    compiler: &mut Compiler<'_>,
) -> Result<Sketch<'a>, GraphError> {
    let id = &written.id;
    let (mut template, mut expressions, mut role) = (super::Tree::Object(Vec::new()), Vec::new(), Role::One);
    if let Some(object) = &written.template {
        (template, expressions) = object::read(id, object, &kind, cluster, compiler)?;
    } else if let Some(reference) = &written.external_ref {
        let read = Reference::of(id, reference)?;
        role = read.role;
        (template, expressions) = read.read(id, reference, &kind, cluster, compiler)?;
    }
    let mut dimensions = Vec::new();
    for (iterator, list) in written.for_each.iter().flatten() {
        let place = || format!("resource {id:?}: invalid forEach expression for dimension {iterator:?}");
        let program = compiler.standalone(list, place)?;
        never_omits(&program, place)?;
        dimensions.push((iterator.as_str(), program));
        role = Role::Collection;
    }
    let mut all = |texts: &[String], what: &str| -> Result<Vec<Program>, GraphError> {
        let place = || format!("resource {id:?}: failed to parse {what} expressions");
        texts.iter().map(|text| compiler.standalone(text, place)).collect()
    };
    let include_when = all(&written.include_when, "includeWhen")?;
    let ready_when = all(&written.ready_when, "readyWhen")?;
    Ok(Sketch { written, kind, role, template, expressions, include_when, ready_when, dimensions })
}

fn dependencies(
    sketches: &[Sketch<'_>],
    positions: &BTreeMap<String, usize>,
) -> Result<Vec<BTreeSet<usize>>, GraphError> {
    let mut dependencies = Vec::with_capacity(sketches.len());
    for sketch in sketches {
        let names = sketch.dependencies(|name| name == SCHEMA || positions.contains_key(name))?;
        sketch.check_identity()?;
        dependencies.push(names.iter().filter_map(|name| positions.get(name)).copied().collect());
    }
    Ok(dependencies)
}

/// All that expressions may use, and do, but iterators. Types of kinds are large.
fn variables(scope: GeneratedScope, instance: &Value, sketches: &[Sketch<'_>], used: &BTreeSet<&str>) -> Variables {
    let scope = if scope == GeneratedScope::Cluster { Scope::Cluster } else { Scope::Namespaced };
    let variables = Variables::new().with(SCHEMA, types::object(SCHEMA, instance, scope));
    let used = sketches.iter().filter(|sketch| used.contains(sketch.id()));
    used.fold(variables, |variables, sketch| {
        let (id, schema) = (sketch.id(), &sketch.kind.schema);
        let of = if sketch.role.is_list() {
            types::collection(id, schema)
        } else {
            types::object(id, schema, scope_of(sketch))
        };
        variables.with(id, of)
    })
}

fn scope_of(sketch: &Sketch<'_>) -> Scope {
    if sketch.kind.namespaced { Scope::Namespaced } else { Scope::Cluster }
}

/// Checks the types of all expressions of a resource.
fn resource(
    mut sketch: Sketch<'_>,
    variables: &Variables,
    dependencies: Vec<String>,
    wave: usize,
    object_type: ValueType,
    compiler: &mut Compiler<'_>,
) -> Result<Resource, GraphError> {
    let id = sketch.id().to_owned();
    let (dimensions, inner) = dimensions(&sketch, variables)?;
    for program in &mut sketch.include_when {
        let source = shown(program.source());
        let place = || format!("includeWhen expression {source:?} in resource {id:?}");
        let returned = type_of(program, variables, place)?;
        types::condition(&returned).map_err(|not| GraphError::invalid(format_args!("{} {not}", place())))?;
        never_omits(program, place)?;
    }
    check_ready(&mut sketch)?;
    let inner = inner.as_ref().unwrap_or(variables);
    let Sketch { kind, role, template, include_when, ready_when, .. } = sketch;
    let mut expressions = Vec::with_capacity(sketch.expressions.len());
    for draft in sketch.expressions {
        let uses = |dimension: &Dimension| draft.program.variables().contains(&dimension.iterator);
        let iterates = dimensions.iter().any(uses);
        expressions.push(draft.check(&id, inner, iterates, compiler)?);
    }
    Ok(Resource {
        id,
        kind,
        role,
        template,
        expressions,
        include_when,
        ready_when,
        dimensions,
        dependencies,
        wave,
        object_type,
    })
}

/// The dimensions, and the names that a template may use where there are any.
fn dimensions(sketch: &Sketch<'_>, variables: &Variables) -> Result<(Vec<Dimension>, Option<Variables>), GraphError> {
    let (mut dimensions, mut inner) = (Vec::with_capacity(sketch.dimensions.len()), None);
    for (iterator, list) in &sketch.dimensions {
        let place = || format!("node {:?}: forEach iterator {iterator:?}", sketch.id());
        let mut list = list.clone();
        let returned = type_of(&mut list, variables, place)?;
        let element =
            types::elements(&returned).map_err(|not| GraphError::invalid(format_args!("{} {not}", place())))?;
        dimensions.push(Dimension { iterator: (*iterator).to_owned(), list, element: ValueType::of_type(&element) });
        inner = Some(inner.unwrap_or_else(|| variables.clone()).with(iterator, element));
    }
    Ok((dimensions, inner))
}

/// `readyWhen` sees the resource itself, or one object of a collection, and nothing else.
fn check_ready(sketch: &mut Sketch<'_>) -> Result<(), GraphError> {
    if sketch.ready_when.is_empty() {
        return Ok(());
    }
    let id = sketch.written.id.as_str();
    let name = if sketch.role.is_list() { EACH } else { id };
    let variables = Variables::new().with(name, types::object(name, &sketch.kind.schema, scope_of(sketch)));
    for program in &mut sketch.ready_when {
        let place = || format!("resource {id:?} readyWhen");
        never_omits(program, place)?;
        known(program, |used| used == name, place)?;
        let source = shown(program.source());
        let place = || format!("readyWhen expression {source:?} in resource {id:?}");
        let returned = type_of(program, &variables, place)?;
        types::condition(&returned).map_err(|not| GraphError::invalid(format_args!("{} {not}", place())))?;
    }
    Ok(())
}
