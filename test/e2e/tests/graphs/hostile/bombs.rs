//! Expressions that would take for ever or all memory, everywhere where there may be one; and circles.

use e2e::Object;
use serde_json::{Value, json};

use super::bystander::Bystander;
use crate::{
    HOSTILE,
    rgd::{Node, Rgd},
    scene::Scene,
};

/// Each is a text.
const BOMBS: [&str; 18] = [
    "string(lists.range(4000).map(a, lists.range(4000).map(b, lists.range(4000).map(c, a + b + c))).size())",
    "string(lists.range(1000000000).size())",
    "random.seededString(2000000000, 'x')",
    "'%.2000000000f'.format([1.5])",
    "'%.2000000000e'.format([1.5])",
    "string(quantity('1e999999999').add(quantity('1')).asApproximateFloat())",
    "string(quantity('1e999999999').isGreaterThan(quantity('1e-999999999')))",
    "string('aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'.matches('((((a{1000}){1000}){1000}){1000})'))",
    "cel.bind(a, 'xxxxxxxxxxxxxxxx', cel.bind(b, a+a+a+a+a+a+a+a+a+a+a+a+a+a+a+a, cel.bind(c, b+b+b+b+b+b+b+b+b+b+b+b+b+b+b+b, \
     cel.bind(d, c+c+c+c+c+c+c+c+c+c+c+c+c+c+c+c, d+d+d+d+d+d+d+d+d+d+d+d+d+d+d+d))))",
    "cel.bind(a, lists.range(1000), cel.bind(b, [a,a,a,a,a,a,a,a,a,a], cel.bind(c, [b,b,b,b,b,b,b,b,b,b], \
     cel.bind(d, [c,c,c,c,c,c,c,c,c,c], cel.bind(e, [d,d,d,d,d,d,d,d,d,d], json.marshal([e,e,e,e,e,e,e,e,e,e]))))))",
    "cel.bind(a, lists.range(1000), cel.bind(b, [a,a,a,a,a,a,a,a,a,a], cel.bind(c, [b,b,b,b,b,b,b,b,b,b], \
     cel.bind(d, [c,c,c,c,c,c,c,c,c,c], cel.bind(e, [d,d,d,d,d,d,d,d,d,d], string([e,e,e,e,e] == [e,e,e,e,e]))))))",
    "cel.bind(a, lists.range(1000), cel.bind(b, [a,a,a,a,a,a,a,a,a,a], cel.bind(c, [b,b,b,b,b,b,b,b,b,b], \
     cel.bind(d, [c,c,c,c,c,c,c,c,c,c], string(d.flatten().flatten().flatten().size())))))",
    "lists.range(4000).map(n, 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx').join(',')",
    "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'.replace('', lists.range(4000).map(n, 'xxxxxxxxxx').join(''))",
    "string(lists.range(4000).map(n, n % 7).sort().distinct().map(n, lists.range(4000).sort().size()).sum())",
    "string(lists.range(4000).filter(n, lists.range(4000).exists(m, m == n)).size())",
    "string(json.unmarshal(lists.range(4000).map(n, '[').join('')))",
    "'%s'.format([lists.range(4000).map(n, lists.range(10).map(m, lists.range(100)))])",
];

/// A bomb, and a neighbour in the same graph that has nothing to do with it.
fn with_bomb(at: usize, bomb: &str) -> Rgd {
    let text = json!({"text": format!("${{{bomb}}}")});
    Rgd::new("Bomb")
        .node(Node::config(&format!("bomb{at}"), &format!("${{schema.metadata.name}}-bomb-{at}"), text))
        .node(Node::config("good", &format!("${{schema.metadata.name}}-good-{at}"), json!({})))
}

/// All of them in one RGD, one edit after the other: what an API server takes for a kind of each is not what is tried.
#[test]
fn each_bomb_stops_its_own_node() {
    HOSTILE.run(async |stage| {
        let scene = Scene::new(stage, "hostile-bombs").await;
        let aside = Bystander::beside(&scene).await;
        let kind = scene.define(&Rgd::new("Bomb")).await;
        for n in 0..3 {
            scene.bring_up(&kind, &format!("x{n}"), json!({})).await;
        }
        for (at, bomb) in BOMBS.into_iter().enumerate() {
            let before = scene.served(&kind).await.generation();
            scene.apply(&with_bomb(at, bomb)).await;
            let judged = |seen: &Object| {
                let told = seen.condition("GraphAccepted");
                told.is_some_and(|told| told.status != "Unknown") && accepted_generation(seen) > before
            };
            let seen = scene.rgd_until(&kind, "to be judged", judged).await;
            if let Some(told) = seen.condition("GraphAccepted").filter(|told| told.status == "False") {
                println!("{at} refused: {}", told.message);
                aside.is_served(&format!("bomb {at}")).await;
                // The last one that compiles serves on.
                scene.define(&Rgd::new("Bomb")).await;
                continue;
            }
            scene.served(&kind).await;
            let is_told = |seen: &Object| {
                let told = seen.condition("ResourcesReady");
                told.is_some_and(|told| {
                    told.status == "False" && told.message.contains(&format!("resource error: bomb{at}:"))
                })
            };
            for n in 0..3 {
                let seen = scene.until(&kind, &format!("x{n}"), "to be told", is_told).await;
                let told = seen.condition("ResourcesReady").unwrap();
                assert!(told.message.len() < 2000, "{told:?}");
                assert_eq!(seen.text("/status/state"), "ERROR", "{seen}");
                scene.config(&format!("x{n}-good-{at}")).await;
            }
            assert!(!scene.configs().await.iter().any(|name| name.contains("bomb")));
            aside.is_served(&format!("bomb {at}")).await;
        }
        for n in 0..3 {
            scene.delete(&kind, &format!("x{n}")).await;
            scene.gone(&kind, &format!("x{n}")).await;
        }
    });
}

/// Which generation of an RGD was judged last.
fn accepted_generation(seen: &Object) -> i64 {
    let conditions = seen.at("/status/conditions").as_array();
    let accepted = conditions.into_iter().flatten().find(|condition| condition["type"] == "GraphAccepted");
    accepted.and_then(|condition| condition["observedGeneration"].as_i64()).unwrap_or_default()
}

/// RGDs with a bomb at each place; `bomb` is true or false.
fn everywhere(bomb: &str) -> Vec<(&'static str, Rgd)> {
    let text = |text: &str| json!(format!("${{{text}}}"));
    let as_text = format!("({bomb} ? 'a' : 'b')");
    let config = |data: Value| Node::config("config", "${schema.metadata.name}", data);
    let external = |metadata: Value| Node::external("ref", "v1", "ConfigMap", metadata);
    let condition =
        format!("runtime.newCondition({{type: 'Bomb', status: {bomb} ? 'True' : 'False', reason: 'Bomb'}})");
    vec![
        ("Template", Rgd::new("Template").node(config(json!({"text": text(&as_text)})))),
        ("Name", Rgd::new("Name").node(Node::config("config", &format!("x-${{{as_text}}}"), json!({})))),
        ("Judge", Rgd::new("Judge").node(config(json!({})).ready_when(&format!("${{{bomb}}}")))),
        ("Include", Rgd::new("Include").node(config(json!({})).include_when(&format!("${{{bomb}}}")))),
        (
            "Loop",
            Rgd::new("Loop")
                .node(Node::config("config", "x-${n}", json!({})).for_each("n", &format!("${{[{as_text}]}}"))),
        ),
        ("RefName", Rgd::new("RefName").node(external(json!({"name": text(&as_text)})))),
        (
            "RefSelector",
            Rgd::new("RefSelector").node(external(json!({"selector": {"matchLabels": {"a": text(&as_text)}}}))),
        ),
        ("Shown", Rgd::new("Shown").status(json!({"text": text(&format!("schema.metadata.name + {as_text}"))}))),
        ("Condition", Rgd::new("Condition").status(json!({"conditions": [text(&condition)]}))),
    ]
}

#[test]
fn a_bomb_in_every_place() {
    HOSTILE.run(async |stage| {
        let scene = Scene::new(stage, "hostile-places").await;
        let aside = Bystander::beside(&scene).await;
        let bomb = "(lists.range(4000).map(a, lists.range(4000).map(b, a + b)).size() == 7)";
        for (place, rgd) in everywhere(bomb) {
            let kind = scene.define(&rgd).await;
            scene.create(&kind, "x", json!({})).await;
            let told = |seen: &Object| seen.at("/status").to_string().contains("too costly");
            if place == "Condition" {
                let seen = scene.until(&kind, "x", "ERROR", |seen| seen.text("/status/state") == "ERROR").await;
                assert!(seen.condition("Bomb").is_none(), "{seen}");
                let all = stage.place.until_event(scene.ns(), "x", "ConditionsFailed", |_| true).await;
                assert!(all.message.contains("too costly"), "{all:?}");
            } else {
                let seen = scene.until(&kind, "x", "to say that it is too costly", told).await;
                println!("{place}: {} {:?}", seen.text("/status/state"), seen.condition("ResourcesReady"));
            }
            aside.is_served(place).await;
            scene.delete(&kind, "x").await;
            scene.gone(&kind, "x").await;
        }
    });
}

#[test]
fn texts_that_are_too_long_or_nested_too_deep_in_every_place() {
    HOSTILE.run(async |stage| {
        let scene = Scene::new(stage, "hostile-texts").await;
        let aside = Bystander::beside(&scene).await;
        let long = format!("({} == 1)", vec!["1"; 100_000].join(" + "));
        let deep = format!("{}true{}", "(".repeat(20_000), ")".repeat(20_000));
        let bangs = format!("({}true)", "!".repeat(100_000));
        let dots = format!("(has(schema{}) || true)", ".a".repeat(50_000));
        // One of them in every place, and all of them in one: whoever reads expressions is the same everywhere.
        for (at, bomb) in [deep, long, bangs, dots].iter().enumerate() {
            for (place, mut rgd) in everywhere(bomb).into_iter().filter(|(place, _)| at == 0 || *place == "Template") {
                rgd.spec["schema"]["kind"] = json!(format!("{place}{at}"));
                scene.refused(&rgd, "at most").await;
            }
            aside.is_served(&format!("text {at}")).await;
        }
    });
}

#[test]
fn circles() {
    HOSTILE.run(async |stage| {
        let scene = Scene::new(stage, "hostile-circles").await;
        let aside = Bystander::beside(&scene).await;
        let config = |id: &str| Node::config(id, id, json!({}));
        let rgd = Rgd::new("Circle")
            .node(config("a").include_when("${c.data.x == \"1\"}"))
            .node(config("b").include_when("${a.data.x == \"1\"}"))
            .node(config("c").include_when("${b.data.x == \"1\"}"));
        scene.refused(&rgd, "graph contains a cycle").await;
        let own = config("a").include_when("${has(a.data)}");
        scene.refused(&Rgd::new("Own").node(own), "self references").await;
        // As many as there may be, each on all others.
        let all = |but: usize| (0..500).filter(|n| *n != but).map(|n| format!("n{n}")).collect::<Vec<_>>();
        let rgd = (0..500).fold(Rgd::new("Clique"), |rgd, n| {
            let uses = format!("${{size([{}]) > 0}}", all(n)[..400].join(","));
            rgd.node(Node::config(&format!("n{n}"), &format!("n{n}"), json!({})).include_when(&uses))
        });
        scene.refused(&rgd, "").await;
        aside.is_served("circles").await;
    });
}
