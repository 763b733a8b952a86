//! Who may do what, as RBAC has it.

use serde_json::{Value, json};

use super::{Kind, kept, structure, text, texts};
use crate::resource::Rules;

const GROUP: &str = "rbac.authorization.k8s.io";

fn list(items: &Value) -> Value {
    json!({"type": "array", "x-kubernetes-list-type": "atomic", "items": items})
}

pub(super) fn kinds() -> [Kind; 4] {
    let allowed = structure(&json!({
        "verbs": {"type": "array", "x-kept": true, "x-kubernetes-list-type": "atomic", "items": text()},
        "apiGroups": texts(), "resources": texts(), "resourceNames": texts(), "nonResourceURLs": texts()}));
    let mut rules = list(&allowed);
    rules["x-kept"] = json!(true);
    let subject = structure(&json!({"kind": kept(), "apiGroup": text(), "name": kept(), "namespace": text()}));
    let reference = json!({"type": "object", "x-kubernetes-map-type": "atomic", "x-kept": true, "properties": {
        "apiGroup": {"type": "string", "x-kept": true, "default": GROUP}, "kind": kept(), "name": kept()}});
    let role_kind = |name, plural, namespaced| Kind {
        names: [GROUP, "v1", name, plural],
        short_names: &[],
        namespaced,
        status: false,
        rules: Rules { unconditional: true, creates_on_update: true, ..Rules::default() },
        fields: json!({"rules": rules}),
        blank: json!({"metadata": {}, "rules": null}),
    };
    let binding_kind = |name, plural, namespaced| Kind {
        names: [GROUP, "v1", name, plural],
        short_names: &[],
        namespaced,
        status: false,
        rules: Rules { unconditional: true, creates_on_update: true, ..Rules::default() },
        fields: json!({"subjects": list(&subject), "roleRef": reference}),
        blank: json!({"metadata": {}, "roleRef": {"apiGroup": GROUP, "kind": "", "name": ""}}),
    };
    [
        role_kind("ClusterRole", "clusterroles", false),
        role_kind("Role", "roles", true),
        binding_kind("ClusterRoleBinding", "clusterrolebindings", false),
        binding_kind("RoleBinding", "rolebindings", true),
    ]
}
