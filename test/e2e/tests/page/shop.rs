//! `Shop`: a world whose objects the page shows, under names that people can read on a picture.

use e2e::{
    Controller, Kind, Object, Place, World,
    kind::{ACCEPT_API, CERTIFICATE, MIGRATION, MIGRATION_CONFIGURATION, SECRET, WIDGET},
    scene::ACCEPT_NAMESPACE,
};
use harness::free_address;
use serde_json::{Value, json};

use crate::{
    graph, hostile,
    look::{self, Look},
};

/// The consumer.
const HOMER: &str = "homer";
/// The provider of the shop.
const ARIADNE: &str = "ariadne";
/// The one that takes over from it, and has something of its own.
const THESEUS: &str = "theseus";

/// Where all is.
pub(crate) const NAMESPACE: &str = "shop";

/// What the shop was opened with: names and domains. The last one nobody accepts, and the second is on its way.
const STOCK: [(&str, &str); 4] = [
    ("website", "www.shop.example"),
    ("checkout", "checkout.shop.example"),
    ("newsletter", "news.mail.example"),
    ("intranet", "intranet.corp"),
];

/// See the module.
pub(crate) struct Shop {
    pub(crate) world: World,
    /// Where the page is.
    address: String,
    _controllers: [Controller; 2],
}

/// The path of the trace of an object.
pub(crate) fn trace(kind: &Kind, namespace: &str, name: &str) -> String {
    format!("/object?cluster={HOMER}&kind={}&namespace={namespace}&name={name}", kind.flag())
}

impl Shop {
    /// Opens it. `Err`: this machine cannot look at it, and why.
    pub(crate) async fn open() -> Result<Self, String> {
        look::install().await?;
        let kinds = [CERTIFICATE, WIDGET];
        let world = World::modelled(&[HOMER], &[ARIADNE, THESEUS], &kinds).await;
        let address = free_address().unwrap();
        world.start_broker(&kinds, &["--dashboard-bind-address", &address]).await;
        let controllers =
            [ARIADNE, THESEUS].map(|name| Controller::start(world.provider(name), &CERTIFICATE, NAMESPACE));
        let shop = Self { world, address, _controllers: controllers };
        shop.offer().await;
        shop.stock().await;
        shop.begin_to_move().await;
        Ok(shop)
    }

    pub(crate) fn homer(&self) -> &Place {
        self.world.consumer(HOMER)
    }

    pub(crate) fn theseus(&self) -> &Place {
        self.world.provider(THESEUS)
    }

    /// What the providers accept.
    async fn offer(&self) {
        let (ariadne, theseus) = (self.world.provider(ARIADNE), self.theseus());
        let certificates = |suffix: &str, priority: i64| {
            json!({"spec": {
                "gvr": CERTIFICATE.gvr(), "priority": priority, "filters": [{"key": "fqdn", "suffix": suffix}],
            }})
        };
        for (provider, name, body) in [
            (ariadne, "certificates", certificates(".shop.example", 10)),
            (theseus, "certificates", certificates(".shop.example", 0)),
            (theseus, "mail", certificates(".mail.example", 0)),
            (theseus, "widgets", hostile::accepted()),
        ] {
            provider.create(&ACCEPT_API, ACCEPT_NAMESPACE, name, body).await;
        }
    }

    /// What is in it from the beginning.
    async fn stock(&self) {
        for place in [self.homer(), &self.world.hub] {
            place.make_namespace(NAMESPACE).await;
        }
        for (name, fqdn) in STOCK {
            self.order(name, fqdn).await;
        }
        let [served @ .., (refused, _)] = STOCK;
        for (name, _) in served {
            self.until_available(name).await;
        }
        let nobody = |seen: &Object| seen.has("Brokered", "False", "NoProvider");
        self.homer().until(&CERTIFICATE, NAMESPACE, refused, "to be refused", nobody).await;
    }

    /// A person moves one of them, in stages of which the second waits for ever.
    async fn begin_to_move(&self) {
        let hub = &self.world.hub;
        let map = |data: Value| json!({"apiVersion": "v1", "kind": "ConfigMap", "data": data});
        let stages = json!([
            {"name": "check", "templates": {"check": map(json!({"done": "true"}))},
             "successConditions": ["has(check.data.done)"]},
            {"name": "copy", "progress": true, "templates": {"copy": map(json!({"of": "${migration.metadata.name}"}))},
             "successConditions": ["has(copy.data.done)"]},
            {"name": "verify"},
        ]);
        let spec = json!({"from": CERTIFICATE.gvk(), "to": CERTIFICATE.gvk(), "stages": stages});
        hub.create(&MIGRATION_CONFIGURATION, "default", "certificates", json!({"spec": spec})).await;
        let judged = |seen: &Object| seen.condition("Ready").is_some_and(|ready| ready.status == "True");
        hub.until(&MIGRATION_CONFIGURATION, "default", "certificates", "to be ready", judged).await;
        let side = |provider: &str| {
            json!({
                "gvk": CERTIFICATE.gvk(),
                "name": self.homer().copy_name("checkout"),
                "namespace": NAMESPACE,
                "clusterName": provider,
            })
        };
        let spec = json!({"from": side(ARIADNE), "to": side(THESEUS)});
        hub.create(&MIGRATION, NAMESPACE, "checkout-to-theseus", json!({"spec": spec})).await;
        let copies = |seen: &Object| seen.text("/status/stage") == "copy";
        hub.until(&MIGRATION, NAMESPACE, "checkout-to-theseus", "its second stage", copies).await;
    }

    /// A Certificate for a domain.
    pub(crate) async fn order(&self, name: &str, fqdn: &str) -> Object {
        self.homer().create(&CERTIFICATE, NAMESPACE, name, json!({"spec": {"fqdn": fqdn}})).await
    }

    /// Waits until a Certificate is there with all that belongs to it.
    pub(crate) async fn until_available(&self, name: &str) {
        let available = |seen: &Object| seen.text("/status/status") == "Available";
        self.homer().until(&CERTIFICATE, NAMESPACE, name, "to be available", available).await;
        self.homer().until_there(&SECRET, NAMESPACE, &format!("{name}-key")).await;
    }

    /// What the Secrets of its objects hold, as the API server tells it: written out it is the name of a provider here.
    pub(crate) async fn secrets(&self) -> Vec<String> {
        let secrets = self.homer().list(&SECRET, NAMESPACE).await;
        let held = secrets.iter().filter_map(|secret| secret.at("/data").as_object()).flat_map(|data| data.values());
        let all: Vec<String> = held.filter_map(Value::as_str).map(str::to_owned).collect();
        assert!(!all.is_empty() && all.iter().all(|secret| secret.len() > 8), "{all:?}");
        all
    }

    /// Takes away what tests have added.
    pub(crate) async fn tidy(&self) {
        graph::leave(self).await;
        for (kind, namespace) in [(CERTIFICATE, NAMESPACE), (WIDGET, hostile::NAMESPACE)] {
            let all = self.homer().list(&kind, namespace).await;
            let is_added = |object: &&Object| STOCK.iter().all(|(name, _)| *name != object.name());
            let added: Vec<&Object> = all.iter().filter(is_added).collect();
            for object in &added {
                self.homer().delete(&kind, namespace, object.name()).await;
            }
            for object in &added {
                self.homer().until_gone(&kind, namespace, object.name()).await;
            }
        }
    }

    /// Looks at the page in this way.
    pub(crate) fn look(&self, way: &'static str, arguments: Value) -> Look {
        Look::begin(way, &format!("http://{}/", self.address), arguments)
    }
}
