//! Of two clusters that are one API server, or say so, the one that is earlier in the configuration is served, whichever
//! connects first.

use std::fs;

use e2e::{Broker, BrokerSetup, DEADLINE, Kind};
use harness::wait_for;

use crate::{HOMER, WORLD};

/// A kind that nobody serves: which clusters are engaged is all that is asked about.
const TWICE: Kind = Kind::test("Twice", "twices");

/// Waits until `/readyz` has a line that holds all `words`.
async fn until_said(broker: &Broker, words: &[&str]) {
    let what = format!("/readyz to say {words:?}");
    let said = wait_for(DEADLINE, &what, async || {
        let (code, body) = broker.health("/readyz").await?;
        let told = body.lines().any(|line| words.iter().all(|word| line.contains(word)));
        anyhow::ensure!(told, "{code} {body}");
        Ok(())
    });
    said.await.unwrap_or_else(|error| panic!("{error:#}\n{}", broker.last_lines(20)));
}

#[test]
fn the_earlier_configured_of_two_that_give_one_identity_stays_whoever_connects_first() {
    WORLD.run(async |world| {
        let _beside = crate::MIGRATIONS.read().await;
        let homer = &world.consumer(HOMER).cluster;
        world.hub.make_namespace("twice-broker").await;
        let directory = world.lab.directory().join("twice-consumers");
        fs::create_dir_all(&directory).unwrap();
        let file = |name: &str| directory.join(format!("{name}.kubeconfig"));
        let kubeconfig = homer.kubeconfig("broker").unwrap();
        let rejected = kubeconfig.replace(homer.token("broker").unwrap(), "nobody");
        fs::write(file("earlier"), &rejected).unwrap();
        fs::write(file("a-later"), &kubeconfig).unwrap();
        let mut args = crate::arguments(&["--namespace", "twice-broker"]);
        for name in ["earlier", "a-later"] {
            args.extend(["--consumer-kubeconfig".to_owned(), file(name).display().to_string()]);
        }
        let setup = BrokerSetup {
            name: "twice-broker",
            coordination: Some(&world.hub),
            kinds: &[TWICE],
            args,
            ..BrokerSetup::default()
        };
        let mut broker = Broker::start(&world.lab, &setup).await;
        until_said(&broker, &["consumer#a-later does not serve Twice"]).await;
        until_said(&broker, &["consumer#earlier is unreachable"]).await;
        // Its credentials are put right.
        homer.write_kubeconfig("broker", &file("earlier")).unwrap();
        until_said(&broker, &["consumer#earlier does not serve Twice"]).await;
        until_said(&broker, &["consumer#a-later is unreachable", "already engaged as consumer#earlier"]).await;
        // Only when it leaves the configuration does the other take over.
        fs::remove_file(file("earlier")).unwrap();
        until_said(&broker, &["consumer#a-later does not serve Twice"]).await;
        assert_eq!(broker.terminate().await, Some(0));
    });
}
