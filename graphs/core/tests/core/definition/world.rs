//! A cluster with one RGD, and the shell around the decision: what writes make of objects, and what a restart forgets.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use broker_api::{ClusterName, Role};
use graphs_core::{
    crd::{self, Owner},
    definition::{
        Compilation, Controller, Decision, Distributed, Elsewhere, Flags, Graph, Instance, Instances, Revision,
        Revisions, Serve, Snapshot, Subject, Write, decide,
    },
    plural,
};
use runtime_effect::{kind::Kind, memory::Memory, now::Now, seen::Seen, view::View, write::Op};
use serde_json::{Map, Value, json};

pub(crate) const NAME: &str = "web";

/// What is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Blind {
    pub rgd: bool,
    pub revisions: bool,
    pub crd: bool,
    pub instances: bool,
    pub outcome: bool,
}

pub(crate) struct World {
    pub rgd: Option<Value>,
    pub revisions: BTreeMap<String, Value>,
    /// The newest revision is not seen by watches.
    pub lagging: bool,
    pub crd: Option<Value>,
    /// What of the CRD we applied.
    pub applied: Option<Value>,
    /// Whether CRDs are established as soon as they are there.
    pub establishes: bool,
    pub instances: Vec<Instance>,
    /// Kind `Later` is served.
    pub later: bool,
    pub controller: Controller,
    pub max_revisions: usize,
    pub kept: Option<Vec<i64>>,
    pub distributed: Distributed,
    pub elsewhere: Elsewhere,
    pub allow_crd_deletion: bool,
    pub blind: Blind,
    pub seconds: u64,
    pub memory: Memory<Subject>,
    /// Revisions that were asked for and compiled. Lost in a restart.
    pub(crate) compiled: BTreeSet<String>,
    listed_instances: bool,
    confirmed: bool,
    /// What serves. Lost in a restart.
    pub served: Option<i64>,
    /// All that was ever written.
    pub log: Vec<Write>,
    /// Numbers and specs of all revisions that were ever issued.
    pub issued: Vec<(i64, Value)>,
    version: u64,
    uids: u64,
}

/// A spec with these fields and resources.
pub(crate) fn spec(fields: &[&str], resources: &[Value]) -> Value {
    let fields: Map<String, Value> = fields.iter().map(|field| ((*field).to_owned(), json!("string"))).collect();
    json!({"schema": {"kind": "WebApp", "apiVersion": "v1alpha1", "spec": fields}, "resources": resources})
}

/// A resource that needs others.
pub(crate) fn resource(id: &str, needs: &[&str]) -> Value {
    json!({"id": id, "template": {"kind": "ConfigMap", "needs": needs}})
}

/// One that compiles when kind Later is served.
pub(crate) fn later(id: &str) -> Value {
    json!({"id": id, "template": {"kind": "Later", "needs": []}})
}

pub(crate) fn invalid() -> Value {
    spec(&["name"], &[resource("bad", &[])])
}

pub(crate) fn plain() -> Value {
    spec(&["name"], &[resource("a", &[]), resource("b", &["a"])])
}

pub(crate) fn other() -> Value {
    spec(&["name"], &[resource("c", &[])])
}

pub(crate) fn wider() -> Value {
    spec(&["name", "port"], &[resource("a", &[])])
}

impl World {
    pub(crate) fn empty() -> Self {
        Self {
            rgd: None,
            revisions: BTreeMap::new(),
            lagging: false,
            crd: None,
            applied: None,
            establishes: true,
            instances: vec![],
            later: false,
            controller: Controller::Running,
            max_revisions: 5,
            kept: Some(Vec::new()),
            distributed: Distributed::Off,
            elsewhere: Elsewhere::Nowhere,
            allow_crd_deletion: false,
            blind: Blind::default(),
            seconds: 0,
            memory: Memory::default(),
            compiled: BTreeSet::new(),
            listed_instances: false,
            confirmed: false,
            served: None,
            log: vec![],
            issued: vec![],
            version: 0,
            uids: 0,
        }
    }

    /// With an RGD of this spec.
    pub(crate) fn of(spec: &Value) -> Self {
        let mut world = Self::empty();
        world.make(spec);
        world
    }

    /// With an RGD of this spec, and all done.
    pub(crate) fn settled(spec: &Value) -> Self {
        let mut world = Self::of(spec);
        world.run();
        world
    }

    fn stamp(&mut self, object: &mut Value) {
        self.version += 1;
        object["metadata"]["resourceVersion"] = json!(self.version.to_string());
    }

    fn new_uid(&mut self) -> String {
        self.uids += 1;
        format!("u-{}", self.uids)
    }

    pub(crate) fn make(&mut self, spec: &Value) {
        let mut rgd = json!({"metadata": {"name": NAME, "generation": 1, "uid": self.new_uid()}, "spec": spec});
        self.stamp(&mut rgd);
        self.rgd = Some(rgd);
    }

    /// A person edits the spec.
    pub(crate) fn edit(&mut self, spec: Value) {
        self.change_rgd(|rgd| {
            if rgd["spec"] != spec {
                rgd["spec"] = spec;
                rgd["metadata"]["generation"] = (rgd["metadata"]["generation"].as_i64().unwrap() + 1).into();
            }
        });
    }

    pub(crate) fn change_rgd(&mut self, change: impl FnOnce(&mut Value)) {
        let mut rgd = self.rgd.take().unwrap();
        change(&mut rgd);
        self.stamp(&mut rgd);
        self.rgd = Some(rgd);
    }

    pub(crate) fn change_crd(&mut self, change: impl FnOnce(&mut Value)) {
        let mut crd = self.crd.take().unwrap();
        change(&mut crd);
        self.stamp(&mut crd);
        self.crd = Some(crd);
    }

    pub(crate) fn restart(&mut self) {
        self.compiled.clear();
        self.memory = Memory::default();
        self.served = None;
        self.listed_instances = false;
        self.confirmed = false;
    }

    pub(crate) fn establish(&mut self) {
        if let Some(crd) = &mut self.crd {
            crd["status"] = json!({"conditions": [{"type": "Established", "status": "True"}]});
        }
    }

    pub(crate) fn compile(&self, spec: &Value) -> Compilation {
        let resources: Vec<&Value> = spec["resources"].as_array().into_iter().flatten().collect();
        if resources.iter().any(|resource| resource["id"].as_str().unwrap().starts_with("bad")) {
            return Compilation::Invalid("node bad is bad".to_owned());
        }
        if !self.later && resources.iter().any(|resource| resource["template"]["kind"] == "Later") {
            return Compilation::WaitsFor { kinds: vec![later_kind()], message: "schema not found: Later".to_owned() };
        }
        let id = |resource: &Value| resource["id"].as_str().unwrap().to_owned();
        let needs = |resource: &Value| serde_json::from_value(resource["template"]["needs"].clone()).unwrap();
        let schema = serde_json::from_value(spec["schema"].clone()).unwrap();
        let fields = spec["schema"]["spec"].as_object().unwrap();
        let fields: Map<String, Value> = fields.keys().map(|key| (key.clone(), json!({"type": "string"}))).collect();
        let uid = self.rgd.as_ref().map(|rgd| text(&rgd["metadata"]["uid"])).unwrap_or_default();
        let owner = Owner { name: NAME, uid: &uid, version: "v1" };
        let fields = json!({"type": "object", "properties": fields});
        Compilation::Compiled(Arc::new(Graph {
            topological_order: resources.iter().map(|resource| id(resource)).collect(),
            dependencies: resources.iter().map(|resource| (id(resource), needs(resource))).collect(),
            crd: crd::desired(owner, &schema, &plural::of("WebApp"), &fields, &json!({})).unwrap(),
        }))
    }

    /// What is decided now.
    pub(crate) fn decide(&self) -> Decision {
        let seen = |object: Option<&Value>, is_blind: bool, ours: bool| match object {
            _ if is_blind => Seen::Unknown,
            None => Seen::Absent,
            Some(object) => Seen::Present(view(object, ours)),
        };
        let rgd = seen(self.rgd.as_ref(), self.blind.rgd, false);
        let crd = seen(self.crd.as_ref(), self.blind.crd, self.applied.is_some());
        let outcome = match &self.rgd {
            Some(rgd) if !self.blind.outcome => self.compile(&rgd["spec"]),
            _ => Compilation::Pending,
        };
        let hidden = self.lagging && !self.confirmed;
        let newest = self.revisions.keys().next_back();
        let shown = self.revisions.iter().filter(|(name, _)| !(hidden && Some(*name) == newest));
        let list: Vec<Revision> = shown
            .map(|(name, object)| {
                let spec = &object["spec"]["snapshot"]["spec"];
                let outcome = if self.compiled.contains(name) { self.compile(spec) } else { Compilation::Pending };
                Revision { view: view(object, true), outcome }
            })
            .collect();
        decide(&Snapshot {
            cluster: &ClusterName::new(Role::Coordination, "hub"),
            name: NAME,
            rgd: &rgd,
            outcome: &outcome,
            revisions: if self.blind.revisions {
                Revisions::Unknown
            } else {
                Revisions::Known { list: &list, confirmed: self.confirmed }
            },
            crd: &crd,
            instances: if self.listed_instances && !self.blind.instances {
                Instances::Known(&self.instances)
            } else {
                Instances::Unknown
            },
            controller: self.controller.clone(),
            distributed: &self.distributed,
            elsewhere: &self.elsewhere,
            memory: &self.memory,
            flags: Flags {
                max_revisions: self.max_revisions,
                kept: self.kept.as_deref(),
                allow_crd_deletion: self.allow_crd_deletion,
                version: "v1",
            },
            now: &self.now(),
        })
    }

    fn now(&self) -> Now {
        let (minutes, seconds) = (self.seconds / 60, self.seconds % 60);
        Now { millis: self.seconds * 1000, started: 0, text: format!("2026-01-01T00:{minutes:02}:{seconds:02}Z") }
    }

    /// One pass, of which the first `most` writes go through. Returns the decision.
    pub(crate) fn step(&mut self, most: usize) -> Decision {
        self.seconds += 1;
        let decision = self.decide();
        self.confirmed = decision.confirm;
        self.listed_instances |= decision.list_instances;
        self.compiled.extend(decision.compile.clone());
        match decision.serve {
            Serve::AsBefore => {}
            Serve::Nothing => self.served = None,
            Serve::Revision { number, .. } => self.served = Some(number),
        }
        for write in decision.writes.iter().take(most) {
            self.carry_out(write);
        }
        if self.establishes {
            self.establish();
        }
        self.instances.retain(|instance| !instance.deleting);
        if self.crd.as_ref().is_some_and(is_deleting) {
            self.crd = None;
            self.applied = None;
        }
        self.collect_garbage();
        decision
    }

    /// Passes until nothing is left to do; the last decision.
    pub(crate) fn run(&mut self) -> Decision {
        for _ in 0..60 {
            let decision = self.step(usize::MAX);
            if decision.writes.is_empty() && decision.compile.is_none() && !decision.confirm && !decision.list_instances
            {
                return decision;
            }
        }
        panic!("there is no end to it: {:#?}", self.decide());
    }

    /// Revisions go with their owner.
    fn collect_garbage(&mut self) {
        let uid = self.rgd.as_ref().map(|rgd| text(&rgd["metadata"]["uid"]));
        for object in self.revisions.values_mut() {
            let owner = object["metadata"]["ownerReferences"][0]["uid"].as_str().map(str::to_owned);
            if owner != uid && !is_deleting(object) {
                object["metadata"]["deletionTimestamp"] = json!("now");
            }
        }
        self.revisions.retain(|_, object| !is_deleting(object) || has_finalizers(object));
    }

    fn slot(&mut self, write: &Write) -> Option<Value> {
        match write.kind.kind.as_str() {
            "ResourceGraphDefinition" => self.rgd.clone(),
            "GraphRevision" => self.revisions.get(&write.name).cloned(),
            "CustomResourceDefinition" => self.crd.clone(),
            kind => panic!("{kind} is not written"),
        }
    }

    fn store(&mut self, write: &Write, object: Option<Value>) {
        match write.kind.kind.as_str() {
            "ResourceGraphDefinition" => self.rgd = object,
            "CustomResourceDefinition" => self.crd = object,
            _ => match object {
                Some(object) => drop(self.revisions.insert(write.name.clone(), object)),
                None => drop(self.revisions.remove(&write.name)),
            },
        }
    }

    fn carry_out(&mut self, write: &Write) {
        self.log.push(write.clone());
        if write.kind.kind == "WebApp" {
            let Op::Delete { uid, .. } = &write.op else { panic!("instances are only deleted") };
            let gone = self.instances.iter_mut().find(|instance| instance.uid == *uid).unwrap();
            gone.deleting = true;
            return;
        }
        let held = self.slot(write);
        let (mut object, before) = match (&write.op, held) {
            (Op::Create(body), None) => {
                let mut object = body.clone();
                object["metadata"]["uid"] = self.new_uid().into();
                object["metadata"]["generation"] = 1.into();
                (object, body.clone())
            }
            (Op::Create(_), Some(_)) => return,
            (_, None) => panic!("there is no object for {write:?}"),
            (Op::Apply { body, uid }, Some(held)) => {
                assert_eq!(held["metadata"]["uid"], **uid);
                let mut object = held.clone();
                if let Some(applied) = &self.applied {
                    forget(&mut object, applied, body);
                }
                merge(&mut object, body);
                (object, held)
            }
            (Op::Merge(patch) | Op::MergeStatus(patch), Some(held)) => {
                assert_eq!(held["metadata"]["uid"], patch["metadata"]["uid"]);
                if held["metadata"]["resourceVersion"] != patch["metadata"]["resourceVersion"] {
                    return;
                }
                let mut object = held.clone();
                merge(&mut object, patch);
                (object, held)
            }
            (Op::Delete { uid, .. }, Some(held)) => {
                assert_eq!(held["metadata"]["uid"], **uid);
                let mut object = held.clone();
                object["metadata"]["deletionTimestamp"] = json!("now");
                (object, held)
            }
        };
        if write.kind.kind == "CustomResourceDefinition" {
            if let Op::Create(body) | Op::Apply { body, .. } = &write.op {
                self.applied = Some(body.clone());
            }
            if object["spec"] != before["spec"] {
                object["metadata"]["generation"] =
                    (object["metadata"]["generation"].as_i64().unwrap_or_default() + 1).into();
            }
        }
        if let (Op::Create(body), "GraphRevision") = (&write.op, write.kind.kind.as_str()) {
            let spec = &body["spec"];
            self.issued.push((spec["revision"].as_i64().unwrap(), spec["snapshot"]["spec"].clone()));
        }
        self.stamp(&mut object);
        let is_gone = is_deleting(&object) && !has_finalizers(&object);
        let is_crd = write.kind.kind == "CustomResourceDefinition";
        self.store(write, Some(object).filter(|_| !is_gone || is_crd));
    }

    pub(crate) fn status(&self) -> &Value {
        &self.rgd.as_ref().unwrap()["status"]
    }

    /// Status, reason and message of a condition.
    pub(crate) fn condition(&self, kind: &str) -> [String; 3] {
        let entries = self.status()["conditions"].as_array().unwrap();
        let entry = entries.iter().find(|entry| entry["type"] == kind).unwrap();
        ["status", "reason", "message"].map(|field| text(&entry[field]))
    }

    /// The numbers that are there.
    pub(crate) fn numbers(&self) -> Vec<i64> {
        self.revisions.values().map(|object| object["spec"]["revision"].as_i64().unwrap()).collect()
    }

    /// What was written since the log was last emptied: kind and how.
    pub(crate) fn written(&self) -> Vec<(&str, &'static str)> {
        let how = |op: &Op| match op {
            Op::Create(_) => "create",
            Op::Apply { .. } => "apply",
            Op::Merge(_) => "merge",
            Op::MergeStatus(_) => "status",
            Op::Delete { .. } => "delete",
        };
        self.log.iter().map(|write| (write.kind.kind.as_str(), how(&write.op))).collect()
    }
}

pub(crate) fn later_kind() -> Kind {
    Kind { group: "example.com".into(), version: "v1".into(), kind: "Later".into() }
}

pub(crate) fn view(object: &Value, applied_by_us: bool) -> View {
    View {
        uid: text(&object["metadata"]["uid"]).into(),
        resource_version: object["metadata"]["resourceVersion"].as_str().unwrap_or("1").parse().unwrap(),
        deleting: is_deleting(object),
        applied_by_us,
        value: Arc::new(object.clone()),
        unread: None,
        conditions_known: true,
    }
}

pub(crate) fn is_deleting(object: &Value) -> bool {
    !object["metadata"]["deletionTimestamp"].is_null()
}

fn has_finalizers(object: &Value) -> bool {
    object["metadata"]["finalizers"].as_array().is_some_and(|held| !held.is_empty())
}

pub(crate) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// RFC 7386, also near enough to server-side apply of what only we write.
fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = json!({});
    }
    for (key, value) in patch {
        if key == "resourceVersion" {
            continue;
        }
        if value.is_null() {
            target.as_object_mut().unwrap().remove(key);
        } else {
            merge(&mut target[key], value);
        }
    }
}

/// Takes away what was applied before and is not any more.
fn forget(object: &mut Value, before: &Value, now: &Value) {
    let (Value::Object(fields), Value::Object(before)) = (object, before) else { return };
    for (key, value) in before {
        match now.get(key) {
            None => drop(fields.remove(key)),
            Some(now) => fields.get_mut(key).into_iter().for_each(|field| forget(field, value, now)),
        }
    }
}
