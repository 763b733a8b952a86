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
    let kind = |name, plural, namespaced, fields: &Value, blank: &Value| Kind {
        names: [GROUP, "v1", name, plural],
        short_names: &[],
        namespaced,
        status: false,
        rules: Rules { unconditional: true, creates_on_update: true, ..Rules::default() },
        fields: fields.clone(),
        blank: blank.clone(),
    };
    let role = (json!({"rules": rules}), json!({"metadata": {}, "rules": null}));
    let given = (
        json!({"subjects": list(&subject), "roleRef": reference}),
        json!({"metadata": {}, "roleRef": {"apiGroup": GROUP, "kind": "", "name": ""}}),
    );
    [
        kind("ClusterRole", "clusterroles", false, &role.0, &role.1),
        kind("Role", "roles", true, &role.0, &role.1),
        kind("ClusterRoleBinding", "clusterrolebindings", false, &given.0, &given.1),
        kind("RoleBinding", "rolebindings", true, &given.0, &given.1),
    ]
}
