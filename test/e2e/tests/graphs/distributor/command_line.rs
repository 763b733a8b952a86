//! `kubectl broker`, as a person rolls a graph out and back, and looks at an instance.

use e2e::{
    Object, Said,
    said::{self, is_kept, json_alike, text_alike},
};
use harness::wait_for;

use super::{
    fleet::{Fleet, PEACE, SECRETS, note},
    waves::waves,
};
use crate::FLEET;

/// Runs `kubectl broker` with these arguments.
async fn broker(fleet: &Fleet, args: &[&str]) -> Said {
    let file = fleet.lab.directory().join("person.kubeconfig");
    fleet.hub.cluster.write_kubeconfig(e2e::place::PERSON, &file).unwrap();
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
    for (end, output) in outputs {
        let said = broker(fleet, &[args, output].concat()).await;
        assert_eq!((said.code, &*said.err), (Some(0), ""), "{said:?}");
        let told = if *end == ".json" { format!("{:#}\n", json_alike(said.json())) } else { text_alike(&said.out) };
        is_kept("graphs", &format!("{name}{end}"), &told);
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

        for (command, waits) in [("pause", true), ("resume", false)] {
            let said = broker(fleet, &["rollout", command, "typed"]).await;
            assert_eq!(said.code, Some(0), "{said:?}");
            asked.push(said.shown());
            let rollouts = broker(fleet, &["rollouts", "--where", "name=typed", "-o", "json"]).await.json();
            assert_eq!(rollouts["items"][0]["paused"], waits, "{rollouts:#}");
        }
        let said = broker(fleet, &["rollout", "undo", "typed"]).await;
        assert!(said.code == Some(0) && said.out.contains("goes back to revision 1"), "{said:?}");
        asked.push(said.shown());
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
        is_kept("graphs", "rollout.txt", &asked.join("\n"));
    });
}
