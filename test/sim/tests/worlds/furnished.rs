//! `Furnished`: CRDs that all servers have from their beginning, and what they look like without what may differ from run to
//! run. They are long, and hardly ever changed: that is found once for all worlds.

use std::sync::Arc;

use serde_json::Value;
use sim::Definitions;

/// See the module.
pub(crate) struct Furnished(Vec<(Arc<Value>, Arc<Value>)>);

impl Furnished {
    /// The CRDs of these definitions, of which `plain` takes out what may differ.
    pub(crate) fn of(definitions: &Definitions, plain: impl Fn(&mut Value)) -> Self {
        let made_plain = |crd: Arc<Value>| {
            let mut told = Value::clone(&crd);
            plain(&mut told);
            (crd, Arc::new(told))
        };
        Self(definitions.crds().into_iter().map(made_plain).collect())
    }

    /// An object without what may differ, if nobody has changed it since its server began.
    pub(crate) fn plain(&self, object: &Arc<Value>) -> Option<Arc<Value>> {
        let found = self.0.iter().find(|(crd, _)| Arc::ptr_eq(crd, object));
        found.map(|(_, plain)| Arc::clone(plain))
    }
}
