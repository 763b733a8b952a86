//! What stays in the foreground: Ctrl-C leaves going what was asked for, and says so; `--watch` prints what has changed.

use std::process::Stdio;

use e2e::{DEADLINE, World, said::text_alike, traveller::PROVIDER};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncRead, BufReader, Lines},
    process::{Child, Command},
    time::timeout,
};

use super::{broker, forget_others, is_said, kubeconfigs};
use crate::{
    ARIADNE, THESEUS,
    trip::{at_home, on_its_way, stage},
};

/// `kubectl broker` with these arguments, which goes on.
fn start(world: &World, args: &[&str]) -> Child {
    let mut command = Command::new(harness::binary("kubectl-broker").unwrap());
    command.args(args).args(kubeconfigs(world)).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.kill_on_drop(true).spawn().unwrap()
}

/// What a program says next.
async fn next<R: AsyncRead + Unpin>(lines: &mut Lines<BufReader<R>>) -> Option<String> {
    timeout(DEADLINE, lines.next_line()).await.expect("the program says something, or ends").unwrap()
}

#[test]
fn ctrl_c_leaves_a_drain_going() {
    at_home("cli-ctrl-c", Value::Null, async |trip| {
        forget_others(trip).await;
        let only = format!("default/{}", trip.accept);
        let mut drain = start(trip.scene.world, &["drain", ARIADNE, "--acceptapi", &only]);
        let mut told = BufReader::new(drain.stderr.take().unwrap()).lines();
        while !next(&mut told).await.expect("it waits").ends_with(" 1 of 1 objects are left") {}
        let pid = drain.id().unwrap().to_string();
        assert!(Command::new("kill").args(["-INT", &pid]).status().await.unwrap().success());
        let ended = timeout(DEADLINE, drain.wait_with_output()).await.unwrap().unwrap();
        let said = String::from_utf8(ended.stdout).unwrap();
        assert_eq!((ended.status.code(), said.lines().last()), (Some(0), Some("it goes on by itself")), "{said}");

        trip.scene.accept_kind(&trip.kind, trip.theseus, &[trip.scene.domain_filter()], Value::Null).await;
        trip.item.until_served_by(trip.theseus).await;
    });
}

#[test]
fn a_share_that_is_asked_for_is_waited_for_until_it_has_come_and_not_where_it_is_not_allowed() {
    at_home("cli-share", json!([stage("copy", Value::Null)]), async |trip| {
        let world = trip.scene.world;
        let more = json!({"priority": 9});
        let better = trip.scene.accept_kind(&trip.kind, trip.theseus, &[trip.scene.domain_filter()], more).await;
        let only = format!("default/{better}");
        let args = ["rebalance", THESEUS, "--acceptapi", &only, "--broker-namespace", "default"];
        let said = broker(world, &args).await;
        assert!(said.code == Some(2) && said.err.contains("error: provider theseus gets no share: "), "{said:?}");
        let refused = said.out + said.err.lines().last().unwrap();

        // A person's files have policies of their own.
        for folder in ["person", "broker/provider"] {
            let policy = world.lab.directory().join(folder).join("theseus.policy.yaml");
            let new = policy.with_extension("new");
            std::fs::write(&new, "allowRebalance: true\n").unwrap();
            std::fs::rename(new, policy).unwrap();
        }
        let mut share = start(world, &args);
        let mut told = BufReader::new(share.stderr.take().unwrap()).lines();
        while !next(&mut told).await.expect("it waits").ends_with(" 1 of 1 objects are still to come") {}
        let migration = trip.migration("InitialInProgress").await;
        trip.object(&migration, &e2e::kind::CONFIG_MAP, "copy").await;
        assert!(share.try_wait().unwrap().is_none(), "it is on its way");
        trip.say(&migration, "copy", "done").await;
        let ended = timeout(DEADLINE, share.wait_with_output()).await.unwrap().unwrap();
        let said = String::from_utf8(ended.stdout).unwrap();
        let last = "nothing more is to come to provider theseus";
        assert_eq!((ended.status.code(), said.lines().last()), (Some(0), Some(last)), "{said}");
        // How far it was at each look is another matter.
        is_said(trip, "rebalance.txt", &format!("{refused}\n\n{said}"));
        assert_eq!(trip.item.get().await.annotation(PROVIDER), Some("theseus"));
        trip.item.until_copy_gone(trip.ariadne).await;
    });
}

#[test]
fn what_is_watched_is_printed_when_it_changes_and_not_because_time_passes() {
    at_home("cli-watch", Value::Null, async |trip| {
        let (world, ns) = (trip.scene.world, trip.scene.ns());
        let object = format!("{}/item", trip.kind.kind.to_lowercase());
        let traced = ["trace", &object, "-n", ns];
        let age = async || {
            let told = broker(world, &[&traced[..], &["-o", "json"]].concat()).await.json();
            told["ageSeconds"].as_i64().unwrap()
        };
        let mut watch = start(world, &[&traced[..], &["--watch"]].concat());
        let mut said = BufReader::new(watch.stdout.take().unwrap()).lines();
        let mut lines = vec![next(&mut said).await.unwrap()];
        let first = age().await;
        while age().await < first + 3 {}
        trip.homer.edit(&trip.kind, ns, "item", json!({"spec": {"size": 4}})).await;
        while !lines.last().is_some_and(|line| line.starts_with("consumer#") && line.contains("generation 2")) {
            lines.push(next(&mut said).await.expect("it goes on"));
        }
        let text = format!("\n{}", text_alike(&lines.join("\n")));
        let trees: Vec<&str> = text.trim_end().split("\nconsumer#").skip(1).collect();
        assert!(trees.len() > 1 && trees.windows(2).all(|two| two[0] != two[1]), "{text}");

        // Whoever watches is told of what cannot be looked at, and sees it again when it can.
        let mut errors = BufReader::new(watch.stderr.take().unwrap()).lines();
        let spec = trip.item.get().await.at("/spec").clone();
        trip.item.delete().await;
        trip.item.until_gone().await;
        while !next(&mut errors).await.expect("it goes on").contains("is in none of the clusters") {}
        trip.homer.create(&trip.kind, ns, "item", json!({"spec": spec})).await;
        while !next(&mut said).await.expect("it goes on").contains("generation 1") {}
    });
}

#[test]
fn moves_are_watched_stage_by_stage() {
    let stages = json!([stage("copy", json!({"progress": true})), stage("check", json!({"progress": true}))]);
    on_its_way("cli-stages", stages, async |trip| {
        let migration = trip.migration("InitialInProgress").await;
        let only = format!("namespace={}", trip.scene.ns());
        let mut watch = start(trip.scene.world, &["migrations", "--where", &only, "--watch"]);
        let mut said = BufReader::new(watch.stdout.take().unwrap()).lines();
        for name in ["copy", "check"] {
            while !next(&mut said).await.expect("it goes on").contains(name) {}
            trip.say(&migration, name, "done").await;
        }
        while !next(&mut said).await.expect("it goes on").contains("CutoverCompleted") {}
        trip.until_arrived().await;
    });
}
