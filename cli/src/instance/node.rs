//! `Live`: a node of an instance, with what is there of it; `Child`: what is told of it.

use std::{collections::BTreeMap, sync::Arc};

use broker_api::graphs::keys;
use futures::future::join_all;
use graphs_core::{
    applyset, graph,
    node::{Node, Ready, Wanted},
};
use runtime_effect::{kind::Kind, selector::Selector};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::{
    cluster::Place,
    object::{called, label, text},
    paint::harmless,
    resource::Resource,
    sought::Found,
    tree,
};

/// Objects of one node that are asked for at the same time.
const ABREAST: usize = 16;

/// What is there of one object that is wanted.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum There {
    /// It is there.
    Yes(Arc<Value>),
    /// It is not there.
    No,
    /// What is there of its name belongs to somebody else.
    Foreign,
    /// Nobody can tell, and why.
    Unknown(String),
}

/// What was read of a node.
#[derive(Debug, Default)]
pub(crate) struct Reading {
    /// Its kind, where the cluster serves it.
    resource: Option<Resource>,
    /// For each object that is wanted, in their order.
    there: Vec<There>,
    /// All that a selector matches.
    listed: Option<Vec<Arc<Value>>>,
}

/// A node of an instance.
#[derive(Debug)]
pub(crate) struct Live {
    /// Its id.
    pub(crate) id: String,
    /// Its kind.
    pub(crate) kind: Kind,
    /// Whether it is only read.
    pub(crate) is_external: bool,
    /// Ids of those that it uses.
    dependencies: Vec<String>,
    /// What the graph wants of it.
    pub(crate) wanted: Wanted,
    ready: Ready,
    reading: Reading,
}

/// How a node stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) enum State {
    /// It is there, and enough for those that use it.
    Ready,
    /// It is there, or comes; those that use it wait.
    NotReady,
    /// It waits for values of others.
    Waiting,
    /// It is not included.
    Skipped,
    /// A field of the instance that it needs is not set.
    Unset,
    /// It cannot be made.
    Failed,
    /// Nobody can tell.
    Unknown,
}

/// What is told of a node.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Child {
    /// Its id in the graph.
    pub(crate) id: String,
    /// Its kind.
    pub(crate) kind: String,
    /// How it stands.
    pub(crate) state: State,
    /// What it waits for, or what is wrong.
    pub(crate) why: Option<String>,
    /// Its objects, `namespace/name`.
    pub(crate) objects: Vec<String>,
}

/// The set of an instance's children, by what tells the instance apart: its own label may be edited.
fn set_of(found: &Found) -> String {
    let (name, namespace) = (text(&found.object, "/metadata/name"), text(&found.object, "/metadata/namespace"));
    applyset::id(name, namespace, &found.resource.kind.kind, &found.resource.kind.group)
}

/// One object that a graph wants. `set`: of which it is to be; `None`: it is only read, and anybody's.
async fn look(found: &Found, resource: &Resource, wanted: &Value, set: Option<&str>) -> There {
    let (namespace, name) = (text(wanted, "/metadata/namespace"), text(wanted, "/metadata/name"));
    let own = text(&found.object, "/metadata/namespace");
    let namespace = if namespace.is_empty() && set.is_some() { own } else { namespace };
    match found.cluster.get(resource, Place { namespace, name }).await {
        Ok(Some(object)) if set.is_some() && label(&object, keys::APPLYSET_PART_OF) != set => There::Foreign,
        Ok(Some(object)) => There::Yes(Arc::new(object)),
        Ok(None) => There::No,
        Err(trouble) => There::Unknown(trouble.to_string()),
    }
}

/// All that a graph's selector matches, in the API's order.
async fn selected(found: &Found, resource: &Resource, wanted: &Value) -> Result<Vec<Arc<Value>>, String> {
    let selector = Selector::read(&wanted["metadata"]["selector"])?;
    let namespace = Some(text(wanted, "/metadata/namespace")).filter(|namespace| !namespace.is_empty());
    let list = found.cluster.list(resource, namespace, None).await.map_err(|trouble| trouble.to_string())?;
    let labels = |object: &Value| -> BTreeMap<String, String> {
        let labels = object["metadata"]["labels"].as_object().into_iter().flatten();
        labels.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect()
    };
    Ok(list.into_iter().filter(|object| selector.selects(&labels(object))).map(Arc::new).collect())
}

impl Reading {
    /// Of all that is wanted nobody can tell.
    fn unknown(resource: Option<Resource>, wanted: &[Value], why: &str) -> Self {
        Self { resource, there: vec![There::Unknown(why.to_owned()); wanted.len()], listed: None }
    }
}

impl Live {
    /// Reads what is there of a node; `None`: it is not known yet how that is called.
    pub(super) async fn read(found: &Found, resource: &graph::Resource, node: &Node) -> Option<Reading> {
        let Wanted::Objects(wanted) = &node.wanted else { return None };
        let kind = Kind::from(&resource.kind.name);
        let served = match found.cluster.resources().await {
            Ok(resources) => resources.of_kind(&kind).cloned(),
            Err(trouble) => return Some(Reading::unknown(None, wanted, &trouble.to_string())),
        };
        let Some(served) = served else {
            let why = format!("{} serves no {} of {}", found.cluster.name, kind.kind, kind.api_version());
            return Some(Reading::unknown(None, wanted, &why));
        };
        if let (graph::Role::Selected, [selector]) = (resource.role, &wanted[..]) {
            return Some(match selected(found, &served, selector).await {
                Ok(all) => Reading { resource: Some(served), there: Vec::new(), listed: Some(all) },
                Err(why) => Reading::unknown(Some(served), wanted, &why),
            });
        }
        let set = (!resource.role.is_external()).then(|| set_of(found));
        let mut there = Vec::with_capacity(wanted.len());
        for some in wanted.chunks(ABREAST) {
            there.extend(join_all(some.iter().map(|object| look(found, &served, object, set.as_deref()))).await);
        }
        Some(Reading { resource: Some(served), there, listed: None })
    }

    /// A node as the last pass left it.
    pub(super) fn of(resource: &graph::Resource, node: Node, reading: Option<Reading>) -> Self {
        let Node { wanted, ready } = node;
        let (id, is_external) = (resource.id.clone(), resource.role.is_external());
        let (dependencies, reading) = (resource.dependencies.clone(), reading.unwrap_or_default());
        Self { id, kind: Kind::from(&resource.kind.name), is_external, dependencies, wanted, ready, reading }
    }

    /// Whether nothing is rendered of it, nor is to be.
    pub(crate) fn is_unrendered(&self) -> bool {
        matches!(self.wanted, Wanted::Waiting(_) | Wanted::Unset(_) | Wanted::Failed(_))
    }

    /// Each object that it is to have, with what is there of it, and its kind as the cluster serves it.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (&Value, &There, Option<&Resource>)> {
        let wanted = match &self.wanted {
            Wanted::Objects(objects) => &objects[..],
            _ => &[],
        };
        wanted.iter().zip(&self.reading.there).map(|(wanted, there)| (wanted, there, self.reading.resource.as_ref()))
    }
}

impl Reading {
    /// What expressions see of it; `None`: not all of it is known.
    pub(super) fn observed(&self) -> Option<Vec<Arc<Value>>> {
        let each = self.there.iter().filter_map(|there| match there {
            There::Yes(object) => Some(Some(Arc::clone(object))),
            There::Unknown(_) => Some(None),
            There::No | There::Foreign => None,
        });
        let each: Option<Vec<Arc<Value>>> = each.collect();
        Some(self.listed.iter().flatten().cloned().chain(each?).collect())
    }
}

impl State {
    /// In words.
    fn words(self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::NotReady => "not ready",
            Self::Waiting => "waits",
            Self::Skipped => "not included",
            Self::Unset => "cannot be made, a field is not set",
            Self::Failed => "fails",
            Self::Unknown => "not known",
        }
    }
}

impl Child {
    /// Of all nodes, each behind those it uses. What uses a node of which nobody can tell is not known either.
    pub(super) fn all(nodes: &[Live]) -> Vec<Self> {
        let mut all: Vec<Self> = Vec::with_capacity(nodes.len());
        for live in nodes {
            let told = Self::of(live);
            let unknown = |id: &&String| all.iter().any(|one| one.id == **id && one.state == State::Unknown);
            let unknown = live.dependencies.iter().find(unknown).filter(|_| told.state != State::Skipped);
            all.push(match unknown {
                Some(id) => Self { state: State::Unknown, why: Some(format!("{id} is not known")), ..told },
                None => told,
            });
        }
        all
    }

    fn of(live: &Live) -> Self {
        let of_place = |wanted: &Value, there: &There| match there {
            There::Yes(_) => None,
            There::No => Some((State::NotReady, format!("{} {} is not there", live.kind.kind, called(wanted)))),
            There::Foreign => {
                let why = format!("{} {} is there, and is not this instance's", live.kind.kind, called(wanted));
                Some((State::NotReady, why))
            }
            There::Unknown(why) => Some((State::Unknown, why.clone())),
        };
        let (state, why) = match (&live.wanted, &live.ready) {
            (Wanted::Skipped, _) => (State::Skipped, None),
            (Wanted::Waiting(why), _) => (State::Waiting, Some(why.clone())),
            (Wanted::Unset(why), _) => (State::Unset, Some(why.clone())),
            (Wanted::Failed(why), _) => (State::Failed, Some(why.clone())),
            (Wanted::Objects(_), ready) => {
                let lacks = live.pairs().find_map(|(wanted, there, _)| of_place(wanted, there));
                match (lacks, ready) {
                    (Some((state, why)), _) => (state, Some(why)),
                    (None, Ready::Yes) => (State::Ready, None),
                    (None, Ready::No(why)) => (State::NotReady, Some(why.clone())),
                    (None, Ready::Failed(why)) => (State::Failed, Some(why.clone())),
                }
            }
        };
        let listed = live.reading.listed.iter().flatten().map(|object| called(object));
        let objects = live.pairs().map(|(wanted, _, _)| called(wanted)).chain(listed).collect();
        Self { id: live.id.clone(), kind: live.kind.kind.clone(), state, why, objects }
    }

    /// How it stands, in words.
    pub(crate) fn standing(&self) -> String {
        let why = self.why.as_deref().map(|why| format!(": {why}")).unwrap_or_default();
        harmless(&format!("{}{why}", self.state.words()))
    }

    /// Whether no object of it shows how it stands.
    pub(crate) fn lacks(&self, live: &Live) -> bool {
        let is_there = |(_, there, _): (_, &There, _)| matches!(there, There::Yes(_));
        match self.state {
            State::Ready => false,
            State::Skipped | State::Waiting | State::Unset | State::Failed => true,
            State::NotReady | State::Unknown => live.is_external || !live.pairs().all(is_there),
        }
    }

    /// The same in a tree.
    pub(crate) fn node(&self, found: &Found) -> tree::Node {
        let good = match self.state {
            State::Unset | State::Failed => Some(false),
            State::Ready | State::NotReady | State::Waiting | State::Skipped | State::Unknown => None,
        };
        let node = tree::Node::place("node", &found.cluster, &self.kind, "", "");
        let standing = self.state.words().to_owned();
        tree::Node { id_in_graph: Some(self.id.clone()), standing, good, message: self.why.clone(), ..node }
    }

    /// A line for people; ids are as wide as `width`.
    pub(crate) fn draw(&self, width: usize) -> String {
        let Self { id, kind, objects, .. } = self;
        let objects = match &objects[..] {
            [] => String::new(),
            [one] => format!(" {one}"),
            [first, rest @ ..] => format!(" {first} and {} more", rest.len()),
        };
        format!("    {id:<width$}  {}  {}\n", harmless(&format!("{kind}{objects}")), self.standing())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(name: &str) -> Value {
        json!({"metadata": {"namespace": "shop", "name": name}})
    }

    fn here(name: &str) -> There {
        There::Yes(Arc::new(object(name)))
    }

    /// A node with objects `a` and `b`, of which that is there.
    fn live(id: &str, there: Vec<There>, ready: Ready) -> Live {
        Live {
            id: id.to_owned(),
            kind: Kind { group: String::new(), version: "v1".into(), kind: "ConfigMap".into() },
            is_external: false,
            dependencies: Vec::new(),
            wanted: Wanted::Objects(vec![object("a"), object("b")]),
            ready,
            reading: Reading { resource: None, there, listed: None },
        }
    }

    fn of_it(wanted: Wanted) -> Live {
        Live { wanted, ..live("it", Vec::new(), Ready::No("it is not read".into())) }
    }

    #[test]
    fn a_node_stands_as_the_first_of_its_objects_that_is_not_there_and_else_as_its_graph_says() {
        let unready = || Ready::No("readyWhen[0] is false".into());
        let told = |there: [There; 2], ready| live("it", there.into(), ready);
        let table = [
            (told([here("a"), here("b")], Ready::Yes), State::Ready, None),
            (told([here("a"), here("b")], unready()), State::NotReady, Some("readyWhen[0] is false")),
            (told([here("a"), here("b")], Ready::Failed("no such key".into())), State::Failed, Some("no such key")),
            (told([here("a"), There::No], unready()), State::NotReady, Some("ConfigMap shop/b is not there")),
            (
                told([There::Foreign, There::No], unready()),
                State::NotReady,
                Some("ConfigMap shop/a is there, and is not this instance's"),
            ),
            // Whatever the graph says of the others.
            (told([here("a"), There::Unknown("no right".into())], Ready::Yes), State::Unknown, Some("no right")),
            (of_it(Wanted::Waiting("for x".into())), State::Waiting, Some("for x")),
            (of_it(Wanted::Unset("spec.x".into())), State::Unset, Some("spec.x")),
            (of_it(Wanted::Failed("no name".into())), State::Failed, Some("no name")),
            (of_it(Wanted::Skipped), State::Skipped, None),
        ];
        for (live, state, why) in table {
            let child = Child::of(&live);
            assert_eq!((child.state, child.why.as_deref()), (state, why), "{live:?}");
        }
    }

    #[test]
    fn what_uses_a_node_of_which_nobody_can_tell_is_not_known_unless_it_is_left_out() {
        let unknown = There::Unknown("homer does not answer".into());
        let root = live("root", vec![unknown, here("b")], Ready::Yes);
        let uses =
            |id: &str, of: &str, live: Live| Live { id: id.to_owned(), dependencies: vec![of.to_owned()], ..live };
        let nodes = [
            root,
            uses("user", "root", live("", vec![here("a"), here("b")], Ready::Yes)),
            uses("left out", "root", of_it(Wanted::Skipped)),
            uses("far", "user", of_it(Wanted::Waiting("for user".into()))),
        ];
        let told: Vec<_> = Child::all(&nodes).into_iter().map(|one| (one.state, one.why.unwrap_or_default())).collect();
        let unknown = |why: &str| (State::Unknown, why.to_owned());
        assert_eq!(
            told,
            [
                unknown("homer does not answer"),
                unknown("root is not known"),
                (State::Skipped, String::new()),
                unknown("user is not known")
            ]
        );
    }

    #[test]
    fn expressions_see_all_of_a_node_or_know_that_they_do_not() {
        let seen = |there: Vec<There>, listed| {
            let reading = Reading { resource: None, there, listed };
            reading.observed().map(|all| all.iter().map(|object| called(object)).collect::<Vec<_>>())
        };
        assert_eq!(seen(vec![There::No, here("b"), There::Foreign], None).unwrap(), ["shop/b"]);
        assert_eq!(seen(vec![here("a"), There::Unknown("no right".into())], None), None);
        assert_eq!(seen(Vec::new(), Some(vec![Arc::new(object("c"))])).unwrap(), ["shop/c"]);
        assert_eq!(seen(Vec::new(), None).unwrap(), Vec::<String>::new());
    }
}
