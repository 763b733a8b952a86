//! Tables: for people, with more columns, and for programs.

use std::fs;

use e2e::{World, place::PERSON};
use serde_json::{Value, json};

use super::{broker, is_said, is_told, until_counted};
use crate::trip::{Trip, at_home};

/// What of a table is kept, by the ends of the files' names, and how it is asked for.
const OUTPUTS: [(&str, &[&str]); 3] = [(".txt", &[]), ("-wide.txt", &["-o", "wide"]), (".json", &["-o", "json"])];

/// A table in all outputs, and what goes beside it.
async fn is_table(trip: &Trip<'_>, args: &[&str], code: i32) {
    for (end, output) in OUTPUTS {
        let said = broker(trip.scene.world, &[args, output].concat()).await;
        assert_eq!(said.code, Some(code), "{said:?}");
        let file = format!("{}{end}", args[0]);
        if end == ".json" {
            is_told(trip, &file, &said);
        } else {
            is_said(trip, &file, &format!("{}{}", said.err, said.out));
        }
    }
}

/// A kubeconfig of theseus that leads nowhere.
fn nowhere(world: &World) -> String {
    let cluster = &world.provider(crate::THESEUS).cluster;
    let text = cluster.kubeconfig(PERSON).unwrap().replace(&cluster.server_url(), "https://127.0.0.1:1");
    let file = world.lab.directory().join("nowhere.kubeconfig");
    fs::write(&file, text).unwrap();
    file.display().to_string()
}

#[test]
fn clusters_are_listed_and_one_that_does_not_answer_is_told_beside() {
    at_home("cli-clusters", Value::Null, async |trip| {
        let nowhere = nowhere(trip.scene.world);
        is_table(trip, &["clusters", "--provider-kubeconfig", &nowhere], 1).await;
        let said = broker(trip.scene.world, &["clusters", "-o", "yaml"]).await;
        assert_eq!((said.code, &*said.err), (Some(0), ""), "{said:?}");
        is_said(trip, "clusters-yaml.txt", &said.out);
        let said = broker(trip.scene.world, &["clusters", "--sort-by", "colour"]).await;
        assert_eq!(said.code, Some(2), "{said:?}");
        is_said(trip, "clusters-sorted.txt", &said.shown());
    });
}

#[test]
fn what_providers_accept_and_consumers_have_is_listed() {
    at_home("cli-tables", Value::Null, async |trip| {
        let more = json!({"capacity": 7, "weight": 2, "cordoned": true});
        let other = trip.scene.accept_kind(&trip.kind, trip.theseus, &[trip.scene.domain_filter()], more).await;
        until_counted(&[(trip.ariadne, &trip.accept, 1), (trip.theseus, &other, 0)]).await;
        is_table(trip, &["acceptapis", "--where", &format!("name={}", trip.scene.ns())], 0).await;
        let (kind, only) = (trip.kind.plural, format!("namespace={}", trip.scene.ns()));
        is_table(trip, &["objects", kind, "--where", &only], 0).await;
    });
}
