//! `Served`: the kind that a story is about.

use runtime_effect::kind::Kind;
use serde_json::Value;

pub(crate) struct Served {
    pub(crate) kind: Kind,
    pub(crate) plural: &'static str,
    pub(crate) has_status: bool,
    /// Of its CRD; null where every API server has it.
    pub(crate) schema: Value,
}

impl Served {
    pub(crate) fn config_map() -> Self {
        Self { kind: Kind::core("ConfigMap"), plural: "configmaps", has_status: false, schema: Value::Null }
    }
}
