//! What this program calls itself, for the runtime.

use broker_api::{Role, graphs::keys};
use runtime_fleet::conventions::Conventions;

/// Version of kro whose behaviour is matched, as it is told on objects.
pub const KRO_VERSION: &str = "v0.9.3";

/// See [`Conventions`].
pub static CONVENTIONS: Conventions = Conventions {
    program: "the controller of resource graphs",
    manager: keys::CHILD_MANAGER,
    words: WORDS,
    prefix: "broker.platform-mesh.io/",
    role: "broker.platform-mesh.io/role",
    roles: &[Role::Spoke],
    // What is a hub is no spoke of itself.
    apart: &[[Role::Coordination, Role::Spoke]],
    identified: &[Role::Spoke],
    reads_core_schemas: true,
};

/// What instances and children have in common. It may change from version to version.
const WORDS: &[u8] = br#""apiVersion":"kro.run/v1alpha1","kind":"metadata":{"annotations":{"applyset.kubernetes.io/additional-namespaces":"
","applyset.kubernetes.io/contains-group-kinds":"ConfigMap,Secret","applyset.kubernetes.io/tooling":"kro/v0.9.3
","internal.kro.run/applied-digest":"","internal.kro.run/apply-order":"1","internal.kro.run/applyset-inventory-hash":"sha256:"},
"creationTimestamp":"2026-","finalizers":["kro.run/finalizer"],"generation":1,"labels":{"app.kubernetes.io/managed-by":"kro
","applyset.kubernetes.io/id":"applyset-","applyset.kubernetes.io/part-of":"applyset-","kro.run/instance-group":"kro.run","kro.run/instance-id":"
","kro.run/instance-kind":"","kro.run/instance-name":"","kro.run/instance-namespace":"default","kro.run/instance-version":"v1alpha1
","kro.run/kro-version":"v0.9.3","kro.run/node-id":"","kro.run/owned":"true","kro.run/resource-graph-definition-id":"
","kro.run/resource-graph-definition-name":""},"name":"","namespace":"default","resourceVersion":"","uid":""},"spec":{"status":{"conditions":[
{"lastTransitionTime":"2026-","message":"instance is properly managed with finalizers and labels","observedGeneration":1,"reason":"Managed","status":"True","type":"InstanceManaged"},
{"lastTransitionTime":"2026-","message":"runtime graph created and all resources resolved","observedGeneration":1,"reason":"Resolved","status":"True","type":"GraphResolved"},
{"lastTransitionTime":"2026-","message":"all resources are created and ready","observedGeneration":1,"reason":"AllResourcesReady","status":"True","type":"ResourcesReady"},
{"lastTransitionTime":"2026-","message":"","observedGeneration":1,"reason":"Ready","status":"True","type":"Ready"}],"state":"ACTIVE"}}"#;
