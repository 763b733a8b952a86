//! The server of the unit tests of `broker/core`, as it stands there.
#![allow(dead_code, reason = "more of it is used where it comes from")]

#[path = "../../../../broker/core/tests/core/decide/world/fields.rs"]
mod fields;
#[path = "../../../../broker/core/tests/core/decide/world/kinds.rs"]
mod kinds;
#[path = "../../../../broker/core/tests/core/decide/world/server.rs"]
mod server;
#[path = "../../../../broker/core/tests/core/decide/world/structure.rs"]
mod structure;

use harness::Dice;
use runtime_effect::write::Op;
use serde_json::Value;

use self::server::{At, KindRule, Refused, Server};
use crate::{
    model::{NAME, NAMESPACE},
    served::Served,
    stand_in::StandIn,
};

pub(crate) struct Brokered {
    server: Server,
    at: At,
}

impl StandIn for Brokered {
    const STRICT: bool = false;

    /// Both sides' CRDs, and what every API server has.
    fn kinds(dice: &mut Dice) -> Served {
        let rule = match dice.below(3) {
            0 => kinds::consumer_rule(),
            1 => kinds::provider_rule(),
            _ => return Served::config_map(),
        };
        Served { kind: kinds::certificate(), plural: "certificates", has_status: rule.has_status, schema: rule.schema }
    }

    fn serving(served: &Served) -> Self {
        let mut server = Server::new("stand-in");
        let (schema, has_status) = (served.schema.clone(), served.has_status);
        let rule = KindRule { published: has_status, schema, has_status, namespaced: true, webhook: None };
        server.kinds.insert(served.kind.clone(), rule);
        Self { server, at: (served.kind.clone(), NAMESPACE.to_owned(), NAME.to_owned()) }
    }

    fn object(&self) -> Option<Value> {
        self.server.get(&self.at).cloned()
    }

    fn is_applied(&self) -> bool {
        self.server.objects.get(&self.at).is_some_and(|stored| Server::view(stored).applied_by_us)
    }

    fn put(&mut self, object: &Value) {
        self.server.put(&self.at, object.clone());
    }

    fn delete(&mut self) {
        self.server.delete(&self.at);
    }

    fn execute(&mut self, op: &Op) -> Result<(), &'static str> {
        let done = self.server.execute(&self.at, op);
        done.map(drop).map_err(|refused| match refused {
            Refused::Exists | Refused::Conflict => "Conflict",
            Refused::Gone => "NotFound",
            Refused::Unreachable => "Unreachable",
            Refused::NoKind => "KindMissing",
            Refused::Untyped => "SchemaMismatch",
            Refused::Late | Refused::Emptied => "Invalid",
        })
    }
}
