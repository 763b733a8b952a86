//! A tenant and a provider whose texts are made to run in the browser of who looks at them.

use broker_api::keys;
use e2e::{Object, kind::WIDGET};
use serde_json::{Value, json};

use crate::shop::{Shop, trace};

/// Where the tenant is.
pub(crate) const NAMESPACE: &str = "hostile";

/// `window.trap` tells on whoever calls it.
fn script(from: &str) -> String {
    format!("\"'><script>trap('{from}')</script>")
}

fn image(from: &str) -> String {
    format!("<img src=x onerror=trap('{from}')>")
}

/// A condition whose every text is hostile.
fn condition(from: &str) -> Value {
    let message = format!("{}{}", script(from), image(from));
    json!({"type": "Ready", "status": image(from), "reason": script(from), "message": message})
}

/// The AcceptAPI of the provider.
pub(crate) fn accepted() -> Value {
    json!({"spec": {"gvr": WIDGET.gvr(), "filters": [{"key": "colour", "valueIn": ["red"]}]}})
}

/// One object that nobody accepts, and one that is served; the pages of both, with texts that are to be seen there.
pub(crate) async fn arrive(shop: &Shop) -> Value {
    let (homer, theseus) = (shop.homer(), shop.theseus());
    homer.make_namespace(NAMESPACE).await;
    let body = |colour: &str| {
        json!({
            "metadata": {"annotations": {
                (keys::PROVIDER_CLUSTER): script("an annotation"), "e2e.test/more": image("an annotation"),
            }},
            "spec": {"colour": colour, "more": script("a spec")},
        })
    };
    homer.create(&WIDGET, NAMESPACE, "refused", body(&script("a spec"))).await;
    let refused = |seen: &Object| seen.has("Brokered", "False", "NoProvider");
    homer.until(&WIDGET, NAMESPACE, "refused", "to be refused", refused).await;
    homer.set_status(&WIDGET, NAMESPACE, "refused", json!({"conditions": [condition("a tenant")]})).await;
    homer.create(&WIDGET, NAMESPACE, "served", body("red")).await;
    let copy = theseus.until_there(&WIDGET, NAMESPACE, &homer.copy_name("served")).await;
    let status = json!({"conditions": [condition("a provider")]});
    theseus.set_status(&WIDGET, NAMESPACE, copy.name(), status).await;
    let told = |seen: &Object| seen.condition("Ready").is_some();
    homer.until(&WIDGET, NAMESPACE, "served", "to have the provider's condition", told).await;
    json!([
        {"path": trace(&WIDGET, NAMESPACE, "refused"), "texts": [
            "no provider accepts the object",
            "<script>trap('a spec')</script>",
            image("a tenant"),
            script("a tenant"),
        ]},
        {"path": trace(&WIDGET, NAMESPACE, "served"), "texts": [
            format!("its condition Ready is {}", image("a provider")),
            script("a provider"),
        ]},
        {"path": "/search?q=hostile", "texts": ["hostile/served"]},
    ])
}
