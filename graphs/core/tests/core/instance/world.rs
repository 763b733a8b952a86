//! A cluster with one instance, and a controller that decides until it wants nothing.

use std::{collections::BTreeSet, sync::Arc};

use broker_api::{ClusterName, graphs::keys};
use graphs_core::{
    applyset::{self, GroupKind},
    instance::{
        Author, Authored, Decision, Found, Graph, Members, Memory, NodeView, Rendered, Served, Snapshot, Subject,
        Write, decide, made,
    },
    node::Wanted,
};
use runtime_effect::{
    now::Now,
    object_key::ObjectKey,
    seen::Seen,
    view::{Unread, View},
    write::Op,
};
use serde_json::{Value, json};

use crate::instance::{
    rendered::{Rendered as Pass, Rendering},
    server::{Key, Server, key},
    toy::{Toy, kind, one},
};

pub(crate) const KINDS: [&str; 5] = ["ConfigMap", "Deployment", "Namespace", "Secret", "Web"];

/// What an author says, given the built-in conditions.
pub(crate) type Say = fn(&[Value]) -> Vec<Authored>;

#[derive(Clone)]
pub(crate) struct World {
    pub(crate) server: Server,
    pub(crate) graph: Vec<Toy>,
    /// A real graph in the place of the toys.
    pub(crate) rendering: Option<Arc<Rendering>>,
    /// Nobody serves the kind.
    pub(crate) unserved: bool,
    pub(crate) graph_error: Option<&'static str>,
    pub(crate) inherited: bool,
    /// Kinds whose objects are not known.
    pub(crate) unknown: BTreeSet<&'static str>,
    /// Objects of which only metadata is known.
    pub(crate) unread: BTreeSet<Key>,
    /// Objects of which nothing is known.
    pub(crate) unseen: BTreeSet<Key>,
    pub(crate) trouble: Option<&'static str>,
    /// Kinds that are not served.
    pub(crate) gone: BTreeSet<&'static str>,
    pub(crate) authored: Option<Say>,
    pub(crate) fields: Value,
    pub(crate) errors: Vec<String>,
    pub(crate) version: &'static str,
    /// `InstanceConditionEvents`.
    pub(crate) tells_conditions: bool,
    pub(crate) memory: Memory,
    pub(crate) millis: u64,
    /// Writes until the controller dies.
    pub(crate) lives: usize,
    pub(crate) told: BTreeSet<String>,
    pub(crate) namespace: &'static str,
}

pub(crate) fn chain() -> Vec<Toy> {
    vec![one("a", &[], 1), one("b", &["a"], 2), one("c", &["b"], 3)]
}

impl World {
    pub(crate) fn new(graph: Vec<Toy>) -> Self {
        Self::scoped(graph, "default")
    }

    pub(crate) fn scoped(graph: Vec<Toy>, namespace: &'static str) -> Self {
        let mut world = Self {
            server: Server::default(),
            graph,
            rendering: None,
            unserved: false,
            graph_error: None,
            inherited: false,
            unknown: BTreeSet::new(),
            unread: BTreeSet::new(),
            unseen: BTreeSet::new(),
            trouble: None,
            gone: BTreeSet::new(),
            authored: None,
            fields: json!({}),
            errors: vec![],
            version: "v0.9.3",
            tells_conditions: false,
            memory: Memory::default(),
            millis: 1_000_000,
            lives: usize::MAX,
            told: BTreeSet::new(),
            namespace,
        };
        let mut instance = json!({"apiVersion": "kro.run/v1", "kind": "Web",
            "metadata": {"name": "web", "generation": 1, "labels": {"user": "label"}, "annotations": {"user": "note"}}, "spec": {}});
        if !namespace.is_empty() {
            instance["metadata"]["namespace"] = json!(namespace);
        }
        world.server.put(world.at(), instance);
        world
    }

    pub(crate) fn at(&self) -> Key {
        key("Web", self.namespace, "web")
    }

    pub(crate) fn id(&self) -> String {
        applyset::id("web", self.namespace, "Web", "kro.run")
    }

    pub(crate) fn instance(&self) -> &Value {
        &self.server.objects[&self.at()]
    }

    pub(crate) fn status(&self) -> &Value {
        &self.instance()["status"]
    }

    pub(crate) fn child(&self, name: &str) -> &Value {
        &self.server.objects[&self.child_at(name)]
    }

    pub(crate) fn child_at(&self, name: &str) -> Key {
        let found = self.server.objects.places().find(|key| key.2 == name && key.0.kind != "Web");
        found.unwrap_or_else(|| panic!("no {name}")).clone()
    }

    pub(crate) fn names(&self) -> Vec<&str> {
        self.server.objects.places().filter(|key| key.0.kind != "Web").map(|key| key.2.as_str()).collect()
    }

    /// As a user: a new spec is a new generation.
    pub(crate) fn spec(&mut self, spec: Value) {
        let at = self.at();
        self.server.edit(&at, |object| {
            if object["spec"] != spec {
                object["metadata"]["generation"] = json!(object["metadata"]["generation"].as_i64().unwrap() + 1);
            }
            object["spec"] = spec;
        });
    }

    pub(crate) fn annotate(&mut self, name: &str, value: &str) {
        let at = self.at();
        self.server.edit(&at, |object| object["metadata"]["annotations"][name] = json!(value));
    }

    pub(crate) fn condition(&self, kind: &str) -> (&str, &str, &str) {
        let entries = self.status()["conditions"].as_array().unwrap();
        let entry = entries.iter().find(|entry| entry["type"] == kind).unwrap();
        let text = |field: &str| entry[field].as_str().unwrap();
        (text("status"), text("reason"), text("message"))
    }

    pub(crate) fn state(&self) -> &str {
        self.status()["state"].as_str().unwrap_or_default()
    }

    pub(crate) fn see(&self, kind: &str, namespace: &str, name: &str) -> Seen {
        if self.unknown.contains(kind) {
            return Seen::Unknown;
        }
        let at = key(kind, namespace, name);
        if self.unseen.contains(&at) {
            return Seen::Unknown;
        }
        let unread = self.unread.contains(&at).then_some(Unread::Complex);
        self.server.view(&at).map_or(Seen::Absent, |view| Seen::Present(View { unread, ..view }))
    }

    pub(crate) fn nodes(&self) -> Vec<NodeView> {
        let Some(instance) = self.server.objects.get(&self.at()) else { return vec![] };
        let mut nodes: Vec<NodeView> = vec![];
        for toy in &self.graph {
            let mut view = toy.view(instance, &nodes, |kind, namespace, name| self.see(kind, namespace, name));
            view.trouble = self.trouble.map(str::to_owned);
            nodes.push(view);
        }
        nodes
    }

    pub(crate) fn rendered(&self) -> Pass {
        if let Some(rendering) = &self.rendering {
            return rendering.over(self);
        }
        let (fields, errors) = (self.fields.as_object().unwrap().clone(), self.errors.clone());
        Pass { nodes: self.nodes(), conflict: None, fields, errors }
    }

    fn members(&self) -> Vec<Members> {
        let listed = |text: &'static str| {
            let keys = self.server.objects.places().filter(|key| key.0.kind == text);
            Found::Listed { kind: kind(text), objects: keys.filter_map(|key| self.server.view(key)).collect() }
        };
        let found = |text: &'static str| match text {
            _ if self.unknown.contains(text) => Found::Unknown(self.trouble.map(str::to_owned)),
            _ if self.gone.contains(text) => Found::NotServed,
            text => listed(text),
        };
        let of = |text: &'static str| Members {
            group_kind: GroupKind { kind: text.into(), group: kind(text).group },
            found: found(text),
        };
        KINDS.into_iter().map(of).collect()
    }

    pub(crate) fn decide(&self) -> Decision {
        let (cluster, kind) = ("coordination#hub".parse::<ClusterName>().unwrap(), kind("Web"));
        let key = ObjectKey::new(self.namespace, "web");
        let instance = self.see("Web", self.namespace, "web");
        let (pass, members) = (self.rendered(), self.members());
        let now = Now { millis: self.millis, started: 0, text: format!("t{:09}", self.millis) };
        let author: Option<Box<Author<'_>>> =
            self.authored.map(|authored| Box::new(move |builtin: &[Value]| authored(builtin)) as _);
        let graph = match self.graph_error {
            _ if self.unserved => Graph::None,
            Some(why) => Graph::Failed(why),
            None => Graph::Served(Served {
                rgd_name: "web-graph",
                rgd_uid: "rgd-uid",
                inherited: self.inherited,
                nodes: &pass.nodes,
                conflict: pass.conflict.as_deref(),
                status: Rendered {
                    fields: pass.fields.clone(),
                    errors: pass.errors.clone(),
                    conditions: author.as_deref(),
                },
            }),
        };
        decide(&Snapshot {
            cluster: &cluster,
            kind: &kind,
            key: &key,
            instance: &instance,
            schema: None,
            graph,
            members: &members,
            memory: &self.memory,
            now: &now,
            version: self.version,
            tells_conditions: self.tells_conditions,
        })
    }

    /// Nothing is pruned while anything may still be wanted.
    fn check_pruning(&self, decision: &Decision) {
        if decision.writes.iter().any(|write| write.subject == Subject::Removal)
            && self.instance()["metadata"]["deletionTimestamp"].is_null()
        {
            for view in self.rendered().nodes {
                let id = &view.resource.id;
                assert!(
                    matches!(view.node.wanted, Wanted::Objects(_) | Wanted::Skipped),
                    "{id} is pruned, and not known"
                );
            }
        }
    }

    /// What must hold of every write, whatever the story.
    fn check(&self, write: &Write) {
        let at = key(&write.kind.kind, &write.namespace, &write.name);
        assert!(!write.name.starts_with("ext-"), "{at:?} is only read");
        if let Some(set) = self.server.part_of(&at) {
            assert_eq!(set, self.id(), "another set's {at:?} is written");
        }
        if let Op::Delete { .. } = write.op {
            assert_eq!(self.server.part_of(&at), Some(self.id().as_str()), "{at:?} is no child");
        }
        if write.subject == Subject::Child {
            let metadata = &self.instance()["metadata"];
            assert_eq!(metadata["finalizers"].as_array().unwrap().last().unwrap(), keys::FINALIZER);
            let listed = |name: &str, entry: String| {
                metadata["annotations"][name].as_str().unwrap().split(',').any(|held| held == entry)
            };
            assert!(listed(
                keys::APPLYSET_GROUP_KINDS,
                GroupKind { kind: write.kind.kind.clone(), group: write.kind.group.clone() }.to_string()
            ));
            let far = !write.namespace.is_empty() && write.namespace != self.namespace;
            assert!(!far || listed(keys::APPLYSET_NAMESPACES, write.namespace.clone()));
        }
    }

    /// One turn: decides until nothing is wanted.
    pub(crate) fn turn(&mut self) -> Decision {
        for _ in 0..40 {
            let decision = self.decide();
            self.told.extend(decision.notes.iter().map(|note| note.message.clone()));
            if decision.writes.is_empty() {
                return decision;
            }
            self.check_pruning(&decision);
            for write in &decision.writes {
                if self.lives == 0 {
                    self.memory = Memory::default();
                    self.lives = usize::MAX;
                    return decision;
                }
                self.lives -= 1;
                self.check(write);
                match self.server.send(write) {
                    Ok(object) => self.remember(write, object.as_ref()),
                    Err(why) => {
                        self.memory.refused(write.subject, write.intent, "Refused", why, self.millis, 0);
                        break;
                    }
                }
                self.told.extend(write.notes.iter().map(|note| format!("{} {}", note.reason, note.message)));
            }
        }
        panic!("no end: {:?}", self.server.log)
    }

    fn remember(&mut self, write: &Write, object: Option<&Value>) {
        let (Some(object), false) = (object, matches!(write.op, Op::Delete { .. })) else { return };
        let again = self.memory.wants_again(write.subject, write.intent);
        let made = Some(object).filter(|_| again).and_then(|object| made(write, object));
        self.memory.wrote(write.subject, write.intent, made.as_ref(), self.millis);
    }

    /// Turns until nothing is to be looked at again.
    pub(crate) fn settle(&mut self) -> Decision {
        for _ in 0..20 {
            let decision = self.turn();
            let Some(wait) = decision.again else { return decision };
            self.millis += u64::try_from(wait.as_millis()).unwrap();
        }
        self.turn()
    }

    /// What was written by one turn.
    pub(crate) fn writes(&mut self) -> Vec<String> {
        self.server.written();
        self.turn();
        self.server.written()
    }

    pub(crate) fn restart(&mut self) {
        self.memory = Memory::default();
        self.millis += 1000;
    }
}
