//! `Story`: an object in the stand-in and in the model, and what happens to it.

use harness::Dice;
use objects::{At, Objects, Refused};
use runtime_effect::write::Op;
use serde_json::{Map, Value, json};

use crate::{
    content::{marks, spec, status, texts},
    model::{Model, NAME, NAMESPACE},
    served::Served,
};

/// What a write names that is to meet what was seen.
const ADDRESS: [&str; 2] = ["uid", "resourceVersion"];

/// What is each server's own.
const OWN: [&str; 4] = ["uid", "resourceVersion", "deletionTimestamp", "deletionGracePeriodSeconds"];

pub(crate) struct Story {
    dice: Dice,
    stand_in: Objects,
    model: Model,
    served: Served,
    at: At,
    told: Vec<String>,
}

impl Story {
    pub(crate) async fn begin(seed: u64) -> Self {
        let mut dice = Dice::new(seed);
        let served = Served::one_of(&mut dice);
        let model = Model::serving(&served, seed).await;
        let mut stand_in = Objects::new("stand-in");
        stand_in.kinds.insert(served.kind.clone(), served.rule());
        let at = (served.kind.clone(), NAMESPACE.to_owned(), NAME.to_owned());
        Self { dice, stand_in, model, served, at, told: vec![format!("seed {seed}")] }
    }

    fn body(&mut self) -> Value {
        let mut metadata = marks(&mut self.dice);
        (metadata["name"], metadata["namespace"]) = (json!(NAME), json!(NAMESPACE));
        let kind = &self.served.kind;
        let mut body = json!({"apiVersion": kind.api_version(), "kind": kind.kind, "metadata": metadata});
        let field = if self.served.has_status { "spec" } else { "data" };
        let content = if self.served.has_status { spec(&mut self.dice) } else { texts(&mut self.dice) };
        if !is_empty(&content) {
            body[field] = content;
        }
        body
    }

    /// A write of ours, as it goes to either: uid and version are each server's own. Some name those of an object that is gone
    /// or has changed.
    fn write(&mut self, held: [&Value; 2]) -> [Op; 2] {
        let body = self.body();
        let late = self.dice.one_in(8);
        let finalizers = [json!(["a.b/c"]), json!([]), json!(["a.b/c", "d.e/f"])];
        let finalizers = self.dice.pick(&finalizers).clone();
        let (said, is_versioned) = (status(&mut self.dice), self.dice.one_in(2));
        let what = self.dice.below(if self.served.has_status { 8 } else { 7 });
        held.map(|held| {
            let address = ADDRESS.map(|field| held["metadata"][field].as_str().filter(|_| !late).unwrap_or("77"));
            let mut metadata = json!({"uid": address[0], "resourceVersion": address[1]});
            match what {
                0 => Op::Create(body.clone()),
                1..=3 => Op::Apply { body: body.clone(), uid: address[0].into() },
                4 => {
                    metadata["finalizers"] = finalizers.clone();
                    Op::Merge(json!({"metadata": metadata}))
                }
                5 => {
                    for field in ["labels", "annotations"] {
                        metadata[field] = body["metadata"].get(field).cloned().unwrap_or_else(|| json!({"a": null}));
                    }
                    Op::Merge(json!({"metadata": metadata}))
                }
                6 => {
                    let version = is_versioned.then(|| address[1].parse().unwrap());
                    Op::Delete { uid: address[0].into(), version }
                }
                _ => Op::MergeStatus(json!({"metadata": metadata, "status": said})),
            }
        })
    }

    /// What somebody else makes of an object: all content is his, but no map or list that there was not. Who has made one keeps
    /// it from going with all that is in it; API servers make null of it then, and refuse that.
    fn rewrite(&mut self, object: &mut Value) {
        let body = self.body();
        for field in ["spec", "data"] {
            let (Some(held), Some(wanted)) = (object.get_mut(field), body.get(field)) else { continue };
            let fields = wanted.as_object().unwrap().iter();
            let taken = fields.filter(|(name, value)| {
                let is_whole = !value.is_object() && !["owners", "ports"].contains(&name.as_str());
                !is_empty(value) && (is_whole || held.get(*name).is_some_and(|held| !is_empty(held)))
            });
            *held = taken.map(|(name, value)| (name.clone(), value.clone())).collect::<Map<_, _>>().into();
        }
    }

    /// One step, in both.
    pub(crate) async fn step(&mut self) {
        let (ours, theirs) = (self.stand_in.get(&self.at).cloned(), self.model.object().await);
        let before = [version(ours.as_ref()), version(theirs.as_ref())];
        match (self.dice.below(6), ours.as_ref().zip(theirs.as_ref())) {
            (0, Some((ours, theirs))) => {
                let mut object = ours.clone();
                self.rewrite(&mut object);
                if self.served.has_status && self.dice.one_in(2) {
                    object["status"] = status(&mut self.dice);
                }
                self.told.push(format!("somebody else writes {object}"));
                self.stand_in.put(&self.at, object.clone());
                for field in OWN {
                    object["metadata"][field] = theirs["metadata"][field].clone();
                }
                self.model.put(&object).await;
            }
            (1, Some(_)) if self.dice.one_in(3) => {
                self.told.push("somebody else deletes it".to_owned());
                self.stand_in.delete(&self.at);
                self.model.delete().await;
            }
            (_, both) => {
                let (ours, theirs) = both.unwrap_or((&Value::Null, &Value::Null));
                let [here, there] = self.write([ours, theirs]);
                self.told.push(format!("we write {}", told(&here)));
                let done = self.stand_in.execute(&self.at, &here).map(drop).map_err(|why| said(&why).to_owned());
                let expected = self.model.execute(&there).await;
                assert_eq!(done, expected, "{}", self.told.join("\n"));
            }
        }
        self.compare(&before).await;
    }

    async fn compare(&mut self, before: &[Option<Value>; 2]) {
        let (ours, theirs) = (self.stand_in.get(&self.at).cloned(), self.model.object().await);
        let [here, there] = [&ours, &theirs].map(|object| object.as_ref().map(canonical));
        assert_eq!(here, there, "{}", self.told.join("\n"));
        let after = [version(ours.as_ref()), version(theirs.as_ref())];
        assert_eq!(before[0] == after[0], before[1] == after[1], "a new version: {}", self.told.join("\n"));
        let ours = self.stand_in.stored(&self.at).is_some_and(|stored| stored.view().applied_by_us);
        assert_eq!(ours, self.model.is_applied().await, "applied by us: {}", self.told.join("\n"));
    }
}

/// In the words of the runtime.
fn said(refused: &Refused) -> &'static str {
    match refused {
        Refused::Exists | Refused::Conflict => "Conflict",
        Refused::Gone => "NotFound",
        Refused::Unreachable => "Unreachable",
        Refused::NoKind => "KindMissing",
        Refused::Untyped => "SchemaMismatch",
        Refused::Emptied | Refused::Late => "Invalid",
    }
}

fn told(op: &Op) -> String {
    match op {
        Op::Create(body) => format!("create {body}"),
        Op::Apply { body, uid } => format!("apply to {uid} {body}"),
        Op::Merge(patch) => format!("merge {patch}"),
        Op::MergeStatus(patch) => format!("merge of the status {patch}"),
        Op::Delete { uid, version } => format!("delete {uid} {version:?}"),
    }
}

fn version(object: Option<&Value>) -> Option<Value> {
    object.map(|object| json!(ADDRESS.map(|field| &object["metadata"][field])))
}

/// An object without what is each server's own.
fn canonical(object: &Value) -> Value {
    let mut object = object.clone();
    let metadata = object["metadata"].as_object_mut().unwrap();
    for field in ["uid", "resourceVersion", "creationTimestamp", "managedFields", "deletionGracePeriodSeconds"] {
        metadata.remove(field);
    }
    if let Some(time) = metadata.get_mut("deletionTimestamp") {
        *time = json!("*");
    }
    // What is empty in metadata, and data that is, is told by some and left out by others.
    metadata.retain(|_, value| !is_empty(value));
    object.as_object_mut().unwrap().retain(|name, value| name != "data" || !is_empty(value));
    object
}

fn is_empty(value: &Value) -> bool {
    value.as_object().is_some_and(Map::is_empty) || value.as_array().is_some_and(Vec::is_empty)
}
