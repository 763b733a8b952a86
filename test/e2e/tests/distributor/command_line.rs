//! `kubectl broker`, as a person rolls a graph out and back, and looks at an instance.

use e2e::{
    Broker, BrokerSetup, Object, Said,
    kind::{ACCEPT_API, CONFIG_MAP, MIGRATION, MIGRATION_CONFIGURATION},
    place::PERSON,
    said::{self, is_kept, json_alike, text_alike},
};
use harness::wait_for;
use serde_json::json;

use super::{
    fleet::{Fleet, PEACE, SECRETS, note, widget},
    waves::waves,
};
use crate::{
    FLEET,
    kinds::is_active,
    rgd::{Node, Rgd},
    rights,
};

/// Runs `kubectl broker` with these arguments.
async fn broker(fleet: &Fleet, args: &[&str]) -> Said {
    let file = fleet.lab.directory().join("person.kubeconfig");
    fleet.hub.cluster.write_kubeconfig(PERSON, &file).unwrap();
    let prepare = |command: &mut tokio::process::Command| {
        command.args(["--cluster-secrets-namespace", SECRETS, "--kubeconfig"]).arg(file);
    };
    said::run(args, prepare).await
}

/// How it is asked for, by the ends of the files' names.
const TEXT: (&str, &[&str]) = (".txt", &[]);
const WIDE: (&str, &[&str]) = ("-wide.txt", &["-o", "wide"]);
const JSON: (&str, &[&str]) = (".json", &["-o", "json"]);

/// What it says, in these outputs, is as it is kept beside the tests.
async fn is_said(fleet: &Fleet, name: &str, args: &[&str], outputs: &[(&str, &[&str])]) {
    is_said_with(fleet, 0, name, args, outputs).await;
}

/// The same with this exit code.
async fn is_said_with(fleet: &Fleet, code: i32, name: &str, args: &[&str], outputs: &[(&str, &[&str])]) {
    for (end, output) in outputs {
        let said = broker(fleet, &[args, output].concat()).await;
        assert_eq!((said.code, &*said.err), (Some(code), ""), "{said:?}");
        let told = if *end == ".json" { format!("{:#}\n", json_alike(said.json())) } else { text_alike(&said.out) };
        is_kept("distributor", &format!("{name}{end}"), &told);
    }
}

#[test]
fn a_graph_is_rolled_out_and_taken_back_and_an_instance_is_traced() {
    FLEET.run(async |fleet| {
        // Alone: others read Events, of which the hub takes so many a second.
        let _peace = PEACE.write().await;
        fleet.join_all().await;
        fleet.roll_out("typed", waves()).await;
        let kind = fleet.define("typed", &note("1 ")).await;
        fleet.all_run(&kind, "1").await;
        fleet.bring_up("paris", &kind, "typed", "one").await;
        fleet.edit("typed", &note("2 ")).await;
        let status = async || {
            let said = broker(fleet, &["rollout", "status", "typed", "--timeout", "60"]).await;
            let done = said.code == Some(0) && said.out.contains("revision 2 runs in all ");
            if done { Ok(said.out) } else { Err(said.shown()) }
        };
        let mut asked = vec![wait_for(e2e::DEADLINE, "revision 2 everywhere", status).await.unwrap()];

        let object = format!("{}.{}/one", kind.plural, kind.group);
        for command in ["trace", "why"] {
            let args = [command, &object, "--namespace", "typed"];
            is_said(fleet, &format!("instance-{command}"), &args, &[TEXT, JSON]).await;
        }

        let args = ["trace", "resourcegraphdefinition/typed"];
        is_said(fleet, "graph-trace", &args, &[TEXT, JSON]).await;

        for (command, waits) in [("pause", true), ("resume", false)] {
            let said = broker(fleet, &["rollout", command, "typed"]).await;
            assert_eq!(said.code, Some(0), "{said:?}");
            asked.push(said.out);
            let rollouts = broker(fleet, &["rollouts", "--where", "name=typed", "-o", "json"]).await.json();
            assert_eq!(rollouts["items"][0]["paused"], waits, "{rollouts:#}");
        }
        let said = broker(fleet, &["rollout", "undo", "typed"]).await;
        assert!(said.code == Some(0) && said.out.contains("revision 1 runs in all "), "{said:?}");
        // Standard error tells how far it is on the way: as often as that was looked at.
        asked.push(said.out);
        fleet.all_run(&kind, "1").await;
        let back =
            |seen: &Object| seen.at("/status/targetRevision") == 1 && seen.has("Available", "True", "AllClusters");
        fleet.rollout_until("typed", "to be taken back", back).await;
        fleet.distributed("typed", "AllClusters", "3/3 clusters at revision 1").await;
        for table in ["graphs", "rollouts"] {
            is_said(fleet, table, &[table, "--where", "name=typed"], &[TEXT, WIDE, JSON]).await;
        }
        let said = broker(fleet, &["rollout", "undo", "nothing"]).await;
        assert!(said.code == Some(2) && said.err.contains("there is no ResourceGraphRollout nothing"), "{said:?}");
        asked.push(said.shown());
        is_kept("distributor", "rollout.txt", &asked.join("\n"));
    });
}

/// A graph of which one node is not ready, one waits for it, one is not included, and one is referred to.
fn gated() -> Rgd {
    Rgd::new("Gated")
        .spec(json!({"text": "string"}))
        .node(
            Node::config("gate", "${schema.metadata.name}-gate", json!({"text": "${schema.spec.text}"}))
                .ready_when("${gate.data.?open.orValue(\"no\") == \"yes\"}"),
        )
        .node(Node::config("after", "${schema.metadata.name}-after", json!({"text": "${gate.data.text}"})))
        .node(
            Node::config("never", "${schema.metadata.name}-never", json!({}))
                .include_when("${schema.spec.text == \"\"}"),
        )
        .node(Node::external("source", "v1", "ConfigMap", json!({"name": "source"})))
}

#[test]
fn an_instance_that_waits_says_for_what_and_where_its_children_differ() {
    FLEET.run(async |fleet| {
        let _peace = PEACE.read().await;
        fleet.join_all().await;
        let kind = fleet.define("gated", &gated()).await;
        fleet.runs("paris", &kind, "1").await;
        let paris = fleet.spoke("paris");
        paris.make_namespace("gated").await;
        paris.create(&kind, "gated", "one", json!({"spec": {"text": "paris"}})).await;
        let waits = |seen: &Object| {
            let ready = seen.condition("ResourcesReady");
            ready.is_some_and(|ready| ready.message.contains("gate") && ready.message.contains("source"))
        };
        paris.until(&kind, "gated", "one", "to wait for its gate", waits).await;
        let object = format!("{}.{}/one", kind.plural, kind.group);
        let args = |command| [command, &*object, "--namespace", "gated"];
        for command in ["trace", "why"] {
            is_said(fleet, &format!("gated-{command}"), &args(command), &[TEXT, JSON]).await;
        }
        let said = broker(fleet, &args("diff")).await;
        assert_eq!(said.code, Some(0), "what is made is as it is rendered: {said:?}");
        // Another, before it is made.
        let file = fleet.lab.directory().join("gated.yaml");
        let two = json!({"apiVersion": kind.api_version(), "kind": kind.kind, "metadata": {"name": "two"}, "spec": {"text": "paris"}});
        std::fs::write(&file, two.to_string()).unwrap();
        let file = file.display().to_string();
        let simulate = ["simulate", "-f", &file, "--in", "spoke#paris", "--namespace", "gated"];
        is_said(fleet, "gated-simulate", &simulate, &[TEXT, JSON]).await;

        // Nobody corrects what is changed by hand.
        let reconcile = |value: Option<&str>| json!({"metadata": {"annotations": {"kro.run/reconcile": value}}});
        paris.edit(&kind, "gated", "one", reconcile(Some("suspended"))).await;
        let rests = |seen: &Object| {
            seen.condition("ResourcesReady").is_some_and(|ready| ready.message.contains("reconciliation suspended"))
        };
        paris.until(&kind, "gated", "one", "to rest", rests).await;
        paris.edit(&CONFIG_MAP, "gated", "one-gate", json!({"data": {"text": "by hand", "mine": "x"}})).await;
        is_said_with(fleet, 1, "gated-diff", &args("diff"), &[TEXT, JSON]).await;
        is_said(fleet, "suspended-why", &args("why"), &[TEXT]).await;

        paris.edit(&kind, "gated", "one", reconcile(None)).await;
        paris.create(&CONFIG_MAP, "gated", "source", json!({})).await;
        paris.edit(&CONFIG_MAP, "gated", "one-gate", json!({"data": {"open": "yes"}})).await;
        paris.until(&kind, "gated", "one", "to be ACTIVE", is_active).await;
        let said = broker(fleet, &args("why")).await;
        assert!(said.code == Some(0) && !said.out.contains("waits") && !said.out.contains("not ready"), "{said:?}");
        assert_eq!(broker(fleet, &args("diff")).await.code, Some(0));

        // Somebody holds a child.
        let hold = |by: &[&str]| json!({"metadata": {"finalizers": by}});
        paris.edit(&CONFIG_MAP, "gated", "one-gate", hold(&["example.org/backup"])).await;
        paris.delete(&kind, "gated", "one").await;
        let leaves = |seen: &Object| *seen.at("/status/state") == json!("DELETING");
        paris.until(&kind, "gated", "one", "to be on its way out", leaves).await;
        paris.until_gone(&CONFIG_MAP, "gated", "one-after").await;
        is_said(fleet, "deleting-why", &args("why"), &[TEXT]).await;
        paris.edit(&CONFIG_MAP, "gated", "one-gate", hold(&[])).await;
        paris.until_gone(&kind, "gated", "one").await;

        // What a child is to be belongs to somebody else's set.
        let theirs = json!({"metadata": {"labels": {"applyset.kubernetes.io/part-of": "applyset-of-somebody-v1"}}});
        paris.create(&CONFIG_MAP, "gated", "two-gate", theirs).await;
        paris.create(&kind, "gated", "two", json!({"spec": {"text": "paris"}})).await;
        let fails = |seen: &Object| *seen.at("/status/state") == json!("ERROR");
        paris.until(&kind, "gated", "two", "to say ERROR", fails).await;
        let two = format!("{}.{}/two", kind.plural, kind.group);
        is_said(fleet, "failed-why", &["why", &two, "--namespace", "gated"], &[TEXT]).await;
    });
}

/// A graph with one child that is brokered: the spoke is a consumer as well.
#[test]
fn an_instance_is_traced_to_the_copy_of_its_brokered_child() {
    FLEET.run(async |fleet| {
        let _peace = PEACE.read().await;
        fleet.join_all().await;
        let (paris, lima, part) = (fleet.spoke("paris"), fleet.spoke("lima"), widget("brokered"));
        for place in [&fleet.hub, paris, lima, fleet.spoke("tokyo")] {
            place.apply(&part.crd().to_string()).await;
        }
        fleet.hub.apply(&format!("{}\n---\n{}", MIGRATION.crd(), MIGRATION_CONFIGURATION.crd())).await;
        lima.apply(&ACCEPT_API.crd().to_string()).await;
        lima.create(&ACCEPT_API, "default", "widgets", json!({"spec": {"gvr": part.gvr()}})).await;
        let setup = BrokerSetup {
            name: "broker",
            user: PERSON,
            coordination: Some(&fleet.hub),
            consumers: vec![paris],
            providers: vec![lima],
            kinds: &[part],
            ..BrokerSetup::default()
        };
        let _broker = Broker::start(&fleet.lab, &setup).await;

        fleet.grant("brokered-children", rights::children(&part)).await;
        let template = json!({
            "apiVersion": part.api_version(), "kind": part.kind,
            "metadata": {"name": "${schema.metadata.name}-part"}, "spec": {"text": "${schema.spec.text}"},
        });
        let rgd = Rgd::new("Shop").spec(json!({"text": "string"})).node(Node::new("part", template));
        let kind = fleet.define("brokered", &rgd).await;
        fleet.runs("paris", &kind, "1").await;
        fleet.bring_up("paris", &kind, "brokered", "one").await;
        let copy = lima.until_there(&part, "brokered", &paris.copy_name("one-part")).await;
        let ready = json!({"conditions": [{"type": "Ready", "status": "True", "reason": "Made", "message": ""}]});
        lima.set_status(&part, "brokered", copy.name(), ready).await;
        paris.until(&part, "brokered", "one-part", "to be ready", |seen| seen.has("Ready", "True", "Made")).await;

        let object = format!("{}.{}/one", kind.plural, kind.group);
        let folder = fleet.lab.directory().join("broker");
        let file = |role: &str, name: &str| folder.join(role).join(format!("{name}.kubeconfig")).display().to_string();
        let (consumer, provider) = (file("consumer", "paris"), file("provider", "lima"));
        let files = ["--consumer-kubeconfig", &consumer, "--provider-kubeconfig", &provider];
        let trace = ["trace", &object, "--namespace", "brokered", "--in", "spoke#paris"];
        is_said(fleet, "brokered-trace", &[&trace[..], &files].concat(), &[TEXT, JSON]).await;
    });
}
