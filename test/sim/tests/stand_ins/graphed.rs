//! The server of the unit tests of `graphs/core`, as it stands there.
#![allow(dead_code, reason = "more of it is used where it comes from")]

#[path = "../../../../graphs/core/tests/core/instance/server.rs"]
mod server;

use broker_api::ClusterName;
use graphs_core::instance::{Subject, Write};
use harness::Dice;
use runtime_effect::{kind::Kind, write::Op};
use serde_json::{Value, json};

use self::server::{Key, Server, key};
use crate::{
    model::{NAME, NAMESPACE},
    served::Served,
    stand_in::StandIn,
};

pub(crate) struct Graphed {
    server: Server,
    kind: Kind,
    key: Key,
}

impl StandIn for Graphed {
    const STRICT: bool = true;

    fn kinds(dice: &mut Dice) -> Served {
        let any = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        let kind = Kind { group: "kro.run".into(), version: "v1alpha1".into(), kind: "App".into() };
        match dice.below(3) {
            0 => Served { kind, plural: "apps", has_status: true, schema: any },
            1 => Served { kind: Kind::core("Secret"), plural: "secrets", has_status: false, schema: Value::Null },
            _ => Served::config_map(),
        }
    }

    fn serving(served: &Served) -> Self {
        let key = key(&served.kind.kind, NAMESPACE, NAME);
        Self { server: Server::default(), kind: served.kind.clone(), key }
    }

    fn object(&self) -> Option<Value> {
        self.server.objects.get(&self.key).cloned()
    }

    fn is_applied(&self) -> bool {
        self.server.view(&self.key).is_some_and(|view| view.applied_by_us)
    }

    fn put(&mut self, object: &Value) {
        self.server.put(self.key.clone(), object.clone());
    }

    fn delete(&mut self) {
        self.server.delete(&self.key);
    }

    fn execute(&mut self, op: &Op) -> Result<(), &'static str> {
        let write = Write {
            cluster: ClusterName::consumer("homer"),
            kind: self.kind.clone(),
            namespace: NAMESPACE.to_owned(),
            name: NAME.to_owned(),
            op: op.clone(),
            intent: [0; 8],
            subject: Subject::Child,
            notes: Vec::new(),
        };
        self.server.send(&write).map(drop).map_err(|_| "Invalid")
    }
}
