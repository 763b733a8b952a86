//! A9: expressions made to stop, slow or crash the broker. It survives, says what is wrong, and others are served.

use e2e::{
    Object, Scene,
    kind::{ACCEPT_API, CERTIFICATE, WIDGET},
    scene::ACCEPT_NAMESPACE,
};
use serde_json::{Value, json};

use crate::{ARIADNE, HOMER, SECOND, THESEUS, WORLD};

/// Expressions of at most 2048 bytes, which is what the CRD takes. `items` is a list of 200 numbers.
fn bombs() -> Vec<(&'static str, String)> {
    let long_chain = vec!["1"; 1000].join("+");
    let all = |inner: &str, name: &str| format!("self.spec.items.all({name}, {inner})");
    let nested_loops = all(&all(&all(&all("a + b + c + d >= 0", "d"), "c"), "b"), "a");
    let doubling = "self.spec.items.map(i, 'xxxxxxxxxxxxxxxx').map(a, a+a+a+a+a+a+a+a).map(a, a+a+a+a+a+a+a+a)\
                    .map(a, a+a+a+a+a+a+a+a).map(a, a+a+a+a+a+a+a+a).size() > 0";
    vec![
        ("parentheses", format!("{}true{}", "(".repeat(900), ")".repeat(900))),
        ("brackets", format!("{}1{} == 1", "[".repeat(900), "]".repeat(900))),
        ("negations", format!("{}true", "!".repeat(2000))),
        ("chain", format!("{long_chain} > 0")),
        ("members", format!("self{} == 1", ".a".repeat(900))),
        ("ternaries", format!("{}true{}", "true?".repeat(150), ":false".repeat(150))),
        ("loops", nested_loops),
        ("doubling", doubling.to_owned()),
        ("pattern", "self.spec.text.matches('(a*)*(a*)*(a*)*b')".to_owned()),
        ("wide-pattern", "self.spec.text.matches('((((a{0,100}){0,100}){0,100}){0,100}){0,100}')".to_owned()),
    ]
}

#[test]
fn a9_hostile_expressions_harm_nobody_but_their_own_accept_api() {
    WORLD.run(async |world| {
        let (homer, second) = (world.consumer(HOMER), world.consumer(SECOND));
        let (ariadne, theseus) = (world.provider(ARIADNE), world.provider(THESEUS));
        let scene = Scene::new(world, "attack-a9", &[homer, second]).await;
        let process = world.broker().await.as_mut().unwrap().process().id();
        // Objects that make the loops long; those that concern nobody else have `bomb` set.
        let armed = json!({"key": "bomb", "valueIn": ["armed"]});
        let mut names = Vec::new();
        for (what, expression) in bombs() {
            assert!(expression.len() <= 2048, "{what}: {} bytes", expression.len());
            let spec = json!({"expression": expression, "priority": 5});
            names.push((what, scene.accept_kind(&WIDGET, theseus, std::slice::from_ref(&armed), spec).await));
        }
        let items: Vec<u32> = (0..200).collect();
        let spec = json!({"bomb": "armed", "items": items, "text": "a".repeat(5000)});
        homer.create(&WIDGET, scene.ns(), "victim", json!({"spec": spec})).await;

        // Other kinds, other tenants and the same tenant go on meanwhile.
        scene.accept(ariadne, Value::Null).await;
        for (consumer, name) in [(second, "a"), (homer, "b"), (second, "c"), (homer, "d")] {
            scene.certificate(consumer, name).await;
            let copy = scene.copy(consumer, name, ariadne).await;
            ariadne.set_status(&CERTIFICATE, scene.ns(), copy.name(), json!({"status": "Available"})).await;
            let back = |seen: &Object| seen.text("/status/status") == "Available";
            scene.until(consumer, name, "its status", back).await;
            // A change makes the broker evaluate the bombs again.
            homer.edit(&WIDGET, scene.ns(), "victim", json!({"spec": {"round": name}})).await;
        }

        // Each has a verdict, and none of them made the object's fate.
        for (what, name) in &names {
            let judged = |seen: &Object| seen.condition("Ready").is_some();
            let seen = theseus.until(&ACCEPT_API, ACCEPT_NAMESPACE, name, what, judged).await;
            let ready = seen.condition("Ready").unwrap();
            assert!(ready.status == "True" || ready.message.contains("spec.expression"), "{what}: {ready:?}");
        }
        let judged = |seen: &Object| seen.condition("Brokered").is_some();
        homer.until(&WIDGET, scene.ns(), "victim", "a verdict", judged).await;
        let mut broker = world.broker().await;
        let broker = broker.as_mut().unwrap();
        assert!(broker.process().is_running(), "{}", broker.last_lines(20));
        assert_eq!(broker.process().id(), process);
        drop(names);
    });
}
