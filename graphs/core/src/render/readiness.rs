//! Whether a resource is ready.

use std::sync::Arc;

use serde_json::Value;

use super::{Renderer, observed::Found, told};
use crate::{
    graph::{EACH, Resource, Role},
    node::Ready,
};

impl Renderer<'_> {
    /// Whether what is there is all that is wanted, and `readyWhen` is true of it.
    pub(super) fn readiness(&mut self, resource: &Resource, wanted: &[Value], found: &Found) -> Ready {
        let there: Vec<Arc<Value>> = match found {
            Found::Unlisted => return Ready::No("waiting for external references: they are not listed yet".to_owned()),
            Found::Listed(all) => all.clone(),
            Found::Each(all) => all.iter().flatten().cloned().collect(),
        };
        match resource.role {
            Role::External if there.is_empty() => {
                return Ready::No(format!("waiting for external reference {:?}: not found", resource.id));
            }
            Role::One if there.is_empty() => return Ready::No("it is not there yet".to_owned()),
            Role::Collection if there.len() < wanted.len() => {
                let (found, wanted) = (there.len(), wanted.len());
                return Ready::No(format!("collection not ready: observed {found} but desired {wanted}"));
            }
            _ => {}
        }
        there
            .iter()
            .map(|object| self.object_readiness(resource, object))
            .find(|ready| *ready != Ready::Yes)
            .unwrap_or(Ready::Yes)
    }

    fn object_readiness(&mut self, resource: &Resource, object: &Arc<Value>) -> Ready {
        let is_list = resource.role.is_list();
        let name = if is_list { EACH } else { &resource.id };
        for program in &resource.ready_when {
            let source = told(program.source());
            match self.values.raw(program, name, object) {
                Ok(Value::Bool(true)) => {}
                Ok(Value::Null) if is_list => {
                    return Ready::Failed(format!("readyWhen {source:?} is an empty optional; use .orValue(false)"));
                }
                Ok(Value::Bool(false) | Value::Null) => {
                    return Ready::No(format!("readyWhen condition evaluated to false: {source:?}"));
                }
                Ok(_) => return Ready::Failed(format!("readyWhen {source:?} is neither true nor false")),
                Err(error) if error.is_pending() => return Ready::No(format!("waiting for readyWhen: {error}")),
                Err(error) => return Ready::Failed(format!("readyWhen: {error}")),
            }
        }
        Ready::Yes
    }
}
