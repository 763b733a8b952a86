//! Roles, and who has them.

use serde_json::{Value, json};

use crate::sequence::{Sequence, at, object, sequence};

const GROUP: &str = "rbac.authorization.k8s.io/v1";
const ROLES: &str = "/apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/roles";
const BINDINGS: &str = "/apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/rolebindings";

fn role(rules: &Value) -> Value {
    object(GROUP, "Role", &json!({"name": "a", "namespace": "{ns}"}), json!({"rules": rules}))
}

fn binding(subjects: &Value) -> Value {
    let reference = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "a"});
    let fields = json!({"subjects": subjects, "roleRef": reference});
    object(GROUP, "RoleBinding", &json!({"name": "b", "namespace": "{ns}"}), fields)
}

pub(crate) fn sequences() -> Vec<Sequence> {
    let reads = json!([{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get", "list"]}]);
    let writes = json!([
        {"apiGroups": ["*"], "resources": ["*"], "resourceNames": ["x"], "verbs": ["*"]},
    ]);
    let user = |name: &str| json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": name});
    vec![
        sequence("a role and who has it")
            .post(ROLES, role(&reads))
            .post(BINDINGS, binding(&json!([user("u")])))
            .get(ROLES)
            .get(at(BINDINGS, "b"))
            .merge(&at(ROLES, "a"), json!({"rules": writes}))
            .merge(&at(BINDINGS, "b"), json!({"subjects": null}))
            .delete(&at(ROLES, "a"))
            .delete(&at(BINDINGS, "b")),
        sequence("roles are applied")
            .apply(&at(ROLES, "a"), "m", role(&reads))
            .apply(&at(BINDINGS, "b"), "m", binding(&json!([user("u"), user("v")])))
            .apply(&at(ROLES, "a"), "m", role(&writes))
            .apply(&at(ROLES, "a"), "n", role(&reads))
            .apply(&at(BINDINGS, "b"), "m", binding(&json!([user("v")]))),
    ]
}
