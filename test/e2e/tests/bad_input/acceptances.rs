//! AcceptAPIs that cannot be used: they say why, accept nothing, and the others go on.

use e2e::{
    Object, Scene, Tally,
    kind::{ACCEPT_API, CERTIFICATE},
    scene::ACCEPT_NAMESPACE,
};
use serde_json::{Value, json};

use crate::{WORLD, cast, placed, unharmed};

fn filter(filter: &Value) -> Value {
    json!({"gvr": CERTIFICATE.gvr(), "filters": [filter]})
}

#[test]
fn a_broken_one_says_why_and_accepts_nothing() {
    WORLD.run(async |world| {
        let [homer, _, _, minos] = cast(world);
        let scene = Scene::new(world, "broken", &[homer]).await;
        minos.make_namespace(scene.ns()).await;
        let tally = Tally::begin([minos]).await;
        let cases = [
            ("regex", filter(&json!({"key": "fqdn", "pattern": "("})), "pattern"),
            ("quantity", filter(&json!({"key": "fqdn", "boundary": {"min": "8Gx"}})), "8Gx"),
            ("nothing", filter(&json!({"key": "fqdn"})), "checks nothing"),
            ("prefixed", filter(&json!({"key": "spec.fqdn", "suffix": "t"})), "spec."),
            ("no-list", json!({"gvr": CERTIFICATE.gvr(), "filters": "all"}), "expected a sequence"),
            ("weightless", json!({"gvr": CERTIFICATE.gvr(), "weight": 0}), "weight"),
            ("syntax", json!({"gvr": CERTIFICATE.gvr(), "expression": "self.spec.fqdn =="}), "expression"),
            ("unknown", json!({"gvr": CERTIFICATE.gvr(), "expression": "object.spec.fqdn == 'a'"}), "object"),
            ("nowhere", json!({"filters": []}), "gvr"),
        ];
        for (name, spec, _) in &cases {
            minos.create(&ACCEPT_API, ACCEPT_NAMESPACE, &format!("broken-{name}"), json!({"spec": spec})).await;
        }
        for (name, _, word) in &cases {
            let says = |seen: &Object| {
                seen.has("Ready", "False", "Invalid")
                    && seen.condition("Ready").is_some_and(|told| told.message.contains(word))
            };
            let name = format!("broken-{name}");
            minos.until(&ACCEPT_API, ACCEPT_NAMESPACE, &name, &format!("to say what is wrong: {word}"), says).await;
        }
        scene.certificate(homer, "web").await;
        scene.until(homer, "web", "to wait", |seen| seen.has("Brokered", "False", "NoProvider")).await;
        // One that is right, next to them.
        scene.accept(minos, Value::Null).await;
        scene.copy(homer, "web", minos).await;
        scene.until(homer, "web", "to be placed", placed).await;

        let requests = tally.requests().await;
        let statuses = requests.writes().on("acceptapis");
        assert!(statuses.0.len() <= 2 * cases.len() + 4, "told once each: {statuses}");
        for (name, ..) in &cases {
            minos.delete(&ACCEPT_API, ACCEPT_NAMESPACE, &format!("broken-{name}")).await;
        }
        unharmed(world).await;
    });
}

#[test]
fn an_expression_that_fails_on_the_object_refuses_it() {
    WORLD.run(async |world| {
        let [homer, _, theseus, _] = cast(world);
        let scene = Scene::new(world, "closed", &[homer]).await;
        let text = scene.accept(theseus, json!({"expression": "self.spec.fqdn"})).await;
        let missing = scene.accept(theseus, json!({"expression": "self.spec.absent.deep == 1"})).await;
        scene.certificate(homer, "web").await;
        let told = |seen: &Object| {
            seen.condition("Brokered").is_some_and(|told| {
                told.reason == "NoProvider" && told.message.contains(&text) && told.message.contains(&missing)
            })
        };
        scene.until(homer, "web", "to wait and to name both", told).await;
        assert!(scene.find_copy(homer, "web", theseus).await.is_none());
        unharmed(world).await;
    });
}

#[test]
fn a_resource_that_nobody_serves_is_told() {
    WORLD.run(async |world| {
        let [_, _, theseus, _] = cast(world);
        for (name, gvr) in [
            ("ghost", json!({"group": "nobody.test", "version": "v1", "resource": "ghosts"})),
            ("singular", json!({"group": CERTIFICATE.group, "version": "v1alpha1", "resource": "certificate"})),
            ("version", json!({"group": CERTIFICATE.group, "version": "v9", "resource": "certificates"})),
        ] {
            theseus.create(&ACCEPT_API, ACCEPT_NAMESPACE, name, json!({"spec": {"gvr": gvr}})).await;
            let says = |seen: &Object| {
                seen.has("Ready", "False", "NotWatched")
                    && seen.condition("Ready").is_some_and(|told| {
                        told.message.contains(gvr["resource"].as_str().unwrap())
                            && told.message.contains("--watch-kind")
                    })
            };
            theseus.until(&ACCEPT_API, ACCEPT_NAMESPACE, name, "to say that it is not watched", says).await;
            theseus.delete(&ACCEPT_API, ACCEPT_NAMESPACE, name).await;
        }
        unharmed(world).await;
    });
}
