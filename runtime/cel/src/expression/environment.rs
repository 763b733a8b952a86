//! What an expression may call.

use cel_interpreter::{DeclarationError, Env};

use super::{counters, list, quantity, text};

/// CEL's standard functions, those that people know from Kubernetes, and the counters.
pub(super) fn environment() -> Env {
    let mut env = Env::stdlib();
    let declared = declare(&mut env);
    debug_assert!(declared.is_ok(), "a name is declared already: {declared:?}");
    env
}

fn declare(env: &mut Env) -> Result<(), DeclarationError> {
    counters::declare(env)?;
    text::declare(env)?;
    list::declare(env)?;
    quantity::declare(env)
}
