//! The role of a cluster is what the namespace of its Secret says.

use e2e::{
    Broker, BrokerSetup, Kind, Object, Place, Scene,
    kind::SECRET,
    traveller::{PROVIDER, Traveller},
};
use serde_json::{Value, json};

use crate::{ARIADNE, BART, HOMER, THESEUS, WORLD};

/// A kind of this test's own broker.
const TICKET: Kind = Kind::test("Ticket", "tickets");
/// Where tenants keep their kubeconfigs, and may write Secrets.
const TENANTS: &str = "tenants";
/// Where the platform keeps those of providers.
const PLATFORM: &str = "platform";

/// A cluster Secret.
async fn secret(hub: &Place, namespace: &str, of: &Place, role: &str) {
    let body = json!({
        "metadata": {"labels": {"broker.platform-mesh.io/role": role}},
        "stringData": {"kubeconfig": of.cluster.kubeconfig("broker").unwrap()},
    });
    hub.create(&SECRET, namespace, of.name(), body).await;
}

#[test]
fn a_label_alone_makes_no_provider() {
    WORLD.run(async |world| {
        let _beside = crate::MIGRATIONS.read().await;
        // Another coordination cluster: what is in that of the others' broker is its.
        let hub = world.consumer(BART);
        let (homer, ariadne, theseus) = (world.consumer(HOMER), world.provider(ARIADNE), world.provider(THESEUS));
        for place in [homer, ariadne, theseus] {
            place.apply(&TICKET.crd().to_string()).await;
        }
        for namespace in [TENANTS, PLATFORM] {
            hub.make_namespace(namespace).await;
        }
        let args = [
            format!("--cluster-secrets-namespace=consumer={TENANTS}"),
            format!("--cluster-secrets-namespace=provider={PLATFORM}"),
        ];
        let setup = BrokerSetup {
            name: "roles",
            coordination: Some(hub),
            kinds: &[TICKET],
            args: crate::arguments(&args.each_ref().map(String::as_str)),
            ..BrokerSetup::default()
        };
        let broker = Broker::start(&world.lab, &setup).await;
        secret(hub, TENANTS, homer, "consumer").await;
        secret(hub, TENANTS, ariadne, "provider").await;
        secret(hub, PLATFORM, theseus, "provider").await;
        let told = hub.until_event(TENANTS, ARIADNE, "RoleNotAllowed", |_| true).await;
        assert!(told.message.contains("provider") && told.message.contains("--cluster-secrets-namespace"), "{told:?}");

        // The tenant's own would be the better one.
        let scene = Scene::new(world, "secret-roles", &[homer]).await;
        scene.accept_kind(&TICKET, ariadne, &[scene.domain_filter()], json!({"priority": 10})).await;
        scene.accept_kind(&TICKET, theseus, &[scene.domain_filter()], Value::Null).await;
        let spec = json!({"fqdn": scene.fqdn("web")});
        homer.create(&TICKET, scene.ns(), "web", json!({"spec": spec})).await;
        let web = Traveller { kind: TICKET, consumer: homer, ns: scene.ns(), name: "web" };
        let placed = web.until("to be placed", |seen| seen.annotation(PROVIDER).is_some()).await;
        assert_eq!(placed.annotation(PROVIDER), Some(THESEUS), "{placed}");
        theseus.until_there(&TICKET, scene.ns(), &web.copy_name()).await;

        // A consumer does not become a provider by its label, either: it is none of both.
        let relabel = |role: &str| json!({"metadata": {"labels": {"broker.platform-mesh.io/role": role}}});
        hub.edit(&SECRET, TENANTS, HOMER, relabel("provider")).await;
        hub.until_event(TENANTS, HOMER, "RoleNotAllowed", |_| true).await;
        let metrics = broker.metrics().await.unwrap();
        let rejected = metrics.lines().find(|line| line.starts_with("resource_broker_kubeconfigs_rejected "));
        assert_eq!(rejected, Some("resource_broker_kubeconfigs_rejected 2"), "{metrics}");
        hub.edit(&SECRET, TENANTS, HOMER, relabel("consumer")).await;
        web.delete().await;
        web.until_gone().await;
        let gone = theseus.find(&TICKET, scene.ns(), &web.copy_name()).await;
        assert!(gone.as_ref().is_none_or(Object::is_deleting), "{gone:?}");
        assert!(!broker.log().contains("panicked"), "{}", broker.log());
    });
}
