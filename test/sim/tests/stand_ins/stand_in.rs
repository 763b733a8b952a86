//! `StandIn`: what takes an API server's place in unit tests. It holds one object here.

use harness::Dice;
use runtime_effect::write::Op;
use serde_json::Value;

use crate::served::Served;

pub(crate) trait StandIn: Sized {
    /// It panics where a write is one that nobody decides on: about what is not there, or has changed since.
    const STRICT: bool;

    /// One of the kinds that its tests have.
    fn kinds(dice: &mut Dice) -> Served;

    fn serving(served: &Served) -> Self;

    fn object(&self) -> Option<Value>;

    /// Whether its tests take the object for one that we have applied.
    fn is_applied(&self) -> bool;

    /// Somebody else makes it, or writes it as a whole.
    fn put(&mut self, object: &Value);

    /// Somebody else deletes it.
    fn delete(&mut self);

    /// Carries out a write of ours. `Err`: why not, in the words of the runtime.
    fn execute(&mut self, op: &Op) -> Result<(), &'static str>;
}
