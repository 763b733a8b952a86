//! `kubectl broker`, as a person rolls a graph out and back, and looks at an instance.

use harness::wait_for;
use serde_json::Value;
use tokio::process::Command;

use super::{
    fleet::{Fleet, PEACE, SECRETS, note},
    waves::waves,
};
use crate::FLEET;

/// What `kubectl broker` says and how it ends.
async fn broker(fleet: &Fleet, args: &[&str]) -> (Option<i32>, String) {
    let program = harness::binary("kubectl-broker").unwrap_or_else(|error| panic!("{error:#}"));
    let file = fleet.lab.directory().join("person.kubeconfig");
    fleet.hub.cluster.write_kubeconfig(e2e::place::PERSON, &file).unwrap();
    let mut command = Command::new(program);
    command.args(args).args(["--cluster-secrets-namespace", SECRETS, "--kubeconfig"]).arg(file).env("NO_COLOR", "1");
    let output = command.output().await.unwrap();
    let said = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8(said).unwrap())
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
            let (code, said) = broker(fleet, &["rollout", "status", "typed", "--timeout", "60"]).await;
            if code == Some(0) && said.contains("revision 2 runs in all ") { Ok(()) } else { Err(said) }
        };
        wait_for(e2e::DEADLINE, "revision 2 everywhere", status).await.unwrap();

        let object = format!("{}.{}/one", kind.plural, kind.group);
        let (code, said) = broker(fleet, &["trace", &object, "--namespace", "typed"]).await;
        assert_eq!(code, Some(0), "{said}");
        let lines: Vec<&str> = said.lines().collect();
        assert!(lines[0].starts_with("spoke#paris Note typed/one  ACTIVE"), "{said}");
        assert!(lines[1].contains("spoke#paris ConfigMap typed/one-config"), "{said}");
        let (code, said) = broker(fleet, &["why", &object, "--namespace", "typed"]).await;
        assert!(code == Some(0) && said.contains("ACTIVE") && said.contains("Ready=True"), "{said}");

        for (command, waits) in [("pause", "true"), ("resume", "false")] {
            let (code, said) = broker(fleet, &["rollout", command, "typed"]).await;
            assert_eq!(code, Some(0), "{said}");
            let (_, said) = broker(fleet, &["rollouts", "--where", "name=typed", "-o", "json"]).await;
            let rollouts: Value = serde_json::from_str(&said).unwrap();
            assert_eq!(rollouts["items"][0]["paused"].to_string(), waits, "{rollouts:#}");
        }
        let (code, said) = broker(fleet, &["rollout", "undo", "typed"]).await;
        assert!(code == Some(0) && said.contains("goes back to revision 1"), "{said}");
        fleet.all_run(&kind, "1").await;
        let (code, said) = broker(fleet, &["graphs", "--where", "name=typed"]).await;
        assert!(code == Some(0) && said.contains("Active"), "{said}");
        let (code, said) = broker(fleet, &["rollout", "undo", "nothing"]).await;
        assert!(code == Some(2) && said.contains("there is no ResourceGraphRollout nothing"), "{said}");
    });
}
