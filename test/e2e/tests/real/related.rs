//! What providers may not hand over of what only a real cluster has: A7 and A8.

use e2e::{
    Kind, Listed,
    kind::{CRD, POD, SECRET},
};
use serde_json::{Value, json};

use crate::{ARIADNE, BART, WORLD};

#[test]
fn a7_tokens_are_refused() {
    WORLD.run(async |world| {
        let (bart, ariadne) = (world.consumer(BART), world.provider(ARIADNE));
        let listed = Listed::new("attack-a7", bart, ariadne, Value::Null, world).await;
        let ns = listed.scene.ns();
        // The controller manager makes the ServiceAccount, without which it would remove the token again.
        let account = Kind::core("ServiceAccount", "serviceaccounts");
        ariadne.until_there(&account, ns, "default").await;
        let annotations = json!({"kubernetes.io/service-account.name": "default"});
        let token = json!({"metadata": {"annotations": annotations}, "type": "kubernetes.io/service-account-token"});
        ariadne.create(&SECRET, ns, "token", token).await;
        let bootstrap = json!({"type": "bootstrap.kubernetes.io/token", "stringData": {"token-id": "abcdef"}});
        ariadne.create(&SECRET, ns, "bootstrap", bootstrap).await;
        listed
            .list(json!({
                "token": {"gvk": SECRET.gvk(), "name": "token"},
                "bootstrap": {"gvk": SECRET.gvk(), "name": "bootstrap"},
            }))
            .await;
        listed.refused("kubernetes.io/service-account-token").await;
        listed.refused("bootstrap.kubernetes.io/token").await;
        listed.nothing_else(&[SECRET]).await;
    });
}

#[test]
fn a8_kinds_that_are_not_allowed_are_refused() {
    WORLD.run(async |world| {
        let (bart, ariadne) = (world.consumer(BART), world.provider(ARIADNE));
        let listed = Listed::new("attack-a8", bart, ariadne, Value::Null, world).await;
        let rbac = |kind, plural| Kind { group: "rbac.authorization.k8s.io", version: "v1", kind, plural };
        let (role, cluster_role) = (rbac("Role", "roles"), rbac("ClusterRoleBinding", "clusterrolebindings"));
        let webhook = Kind {
            group: "admissionregistration.k8s.io",
            version: "v1",
            kind: "ValidatingWebhookConfiguration",
            plural: "validatingwebhookconfigurations",
        };
        let rules = json!({"rules": [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]});
        ariadne.create(&role, listed.scene.ns(), "evil", rules).await;
        // A group that is not the core group, with a kind of the core group's name.
        let masquerade = Kind { group: "e2e.test", version: "v1", kind: "Secret", plural: "secrets" };
        let name = "evil";
        listed
            .list(json!({
                "role": {"gvk": role.gvk(), "name": name},
                "binding": {"gvk": cluster_role.gvk(), "name": name},
                "webhook": {"gvk": webhook.gvk(), "name": name},
                "crd": {"gvk": CRD.gvk(), "name": name},
                "pod": {"gvk": POD.gvk(), "name": name},
                "secret": {"gvk": masquerade.gvk(), "name": name},
            }))
            .await;
        for kind in [
            "kind Role",
            "kind ClusterRoleBinding",
            "kind ValidatingWebhookConfiguration",
            "kind Custom",
            "kind Pod",
            "kind Secret (e2e.test/v1)",
        ] {
            listed.refused(kind).await;
        }
        listed.nothing_else(&[role, POD, SECRET]).await;
    });
}
