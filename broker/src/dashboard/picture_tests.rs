//! Tests of [`super`], and of the page around it.

use std::sync::Arc;

use broker_api::{MigrationState, migration::StageState};
use broker_core::{
    decision::State,
    movement::{Moving, Phase},
};
use runtime_effect::kind::Kind;
use runtime_fleet::object::ObjectKey;

use super::*;
use crate::{
    dashboard::{
        age::Age,
        object,
        trace::{CopyRow, Said},
    },
    origins::key::origin_key,
};

const HOSTILE: &str = "\"'><script>alert(1)</script><b>\u{202e}\n\n";

/// An object called `name` that moves in stages.
fn moving(name: &str) -> Trace {
    let kind = Kind { group: "g.io".into(), version: "v1".into(), kind: "Certificate".into() };
    let place = ObjectKey::new("n", name);
    let [one, two] = ["one", "two"].map(|provider| ClusterName::provider(format!("{provider}{name}")));
    let copy = |provider: &ClusterName, part, unready: Option<&str>| CopyRow {
        provider: provider.clone(),
        health: Some(Health::Ready),
        part,
        presence: Presence::There,
        unready: unready.map(str::to_owned),
    };
    let text = |words: &str| format!("{words} {name}");
    Trace {
        key: origin_key(&ClusterName::consumer(name), &Arc::new(kind), &place),
        origin: Presence::There,
        state: Some(State::Moving),
        conditions: vec![Said {
            kind: "Brokered".into(),
            status: "True".into(),
            reason: "Placed".into(),
            message: text("served by"),
        }],
        counts_at: Some(text("one/n/accept")),
        provider: Some(one.clone()),
        moving: Some(Moving {
            from: one.clone(),
            to: two.clone(),
            epoch: 1,
            migration: None,
            phase: Phase::Copying,
            waits_for: text("the stage"),
        }),
        copies: vec![copy(&one, Part::Leaves, None), copy(&two, Part::TakesOver, Some("it has no status yet"))],
        copy: ObjectKey::new("n", format!("a8b70b353e97-{name}")),
        more_copies: 0,
        more_related: 0,
        related: (0..5).map(|number| format!("Secret {name}{number}")).collect(),
        migrations: vec![MigrationRow {
            key: place,
            kind: "Certificate".into(),
            origin: None,
            from: one,
            to: two,
            state: MigrationState::InitialInProgress,
            by_person: false,
            age: Age::of_millis(0),
            stages: vec![("copy-the-whole-data".into(), StageState::Succeeded), (text("verify"), StageState::Running)],
            note: text("waits for"),
        }],
    }
}

#[test]
fn it_shows_the_way_from_the_object_to_its_copies() {
    let shown = picture(&moving("cert")).into_string();
    for part in [
        "viewBox=\"0 0 950 346\"",
        "<title id=\"picture-title\">Trace of Certificate.v1.g.io n/cert</title>",
        ">Consumer’s object</text>",
        ">Certificate at cert</text>",
        ">Assignment</text>",
        ">Moving to twocert</text>",
        ">serves it until the new copy does</text>",
        ">takes over</text>",
        ">is ready</text>",
        ">it has no status yet</text>",
        ">and 3 more</text>",
        ">InitialInProgress: onecert → twocert</text>",
        ">copy-the-wh…: Succeeded</text>",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert_eq!(shown.matches("class=\"arrow\"").count(), 4, "to the assignment, to both copies, and back");
    assert_eq!(shown.matches("<g ").count(), shown.matches("</g>").count());
}

#[test]
fn an_object_that_nobody_serves_is_one_box_and_its_assignment() {
    let trace = Trace {
        state: Some(State::Waiting),
        counts_at: None,
        provider: None,
        moving: None,
        copies: vec![],
        related: vec![],
        migrations: vec![],
        ..moving("cert")
    };
    let shown = picture(&trace).into_string();
    assert!(shown.contains(">no provider</text>") && shown.contains(">Waiting</text>"));
    assert_eq!(shown.matches("class=\"arrow\"").count(), 1);
    let page = object::page(&trace, "events").into_string();
    assert!(page.contains("It has no copy.") && !page.contains("Moves"));
}

#[test]
fn of_many_stages_those_are_drawn_that_are_to_be_done() {
    let mut trace = moving("cert");
    let state = |number: usize| if number < 7 { StageState::Succeeded } else { StageState::Pending };
    trace.migrations[0].stages = (1..10).map(|number| (format!("stage-{number}"), state(number))).collect();
    let shown = picture(&trace).into_string();
    assert!(shown.contains(">InitialInProgress, stages 5 to 9 of 9: onecert → twocert</text>"), "{shown}");
    assert!(shown.contains(">stage-5: Succeeded</text>") && shown.contains(">stage-9: Pending</text>"));
    assert!(!shown.contains("stage-4"));
}

#[test]
fn what_there_is_no_room_for_is_counted() {
    let trace = Trace { more_related: 480, more_copies: 7, ..moving("cert") };
    assert!(picture(&trace).into_string().contains(">and 483 more</text>"));
    let page = object::page(&trace, "events").into_string();
    assert!(page.contains("And 480 more objects.") && page.contains("And 7 more providers."), "{page}");
    let gone = Trace { copies: vec![], ..moving("cert") };
    assert_eq!(picture(&gone).into_string().matches("class=\"arrow\"").count(), 1, "nothing comes from nowhere");
}

#[test]
fn the_page_says_in_words_what_the_picture_shows() {
    let page =
        object::page(&moving("cert"), "events?cluster=consumer%23cert&kind=K&namespace=n&name=cert").into_string();
    for part in [
        "data-events=\"events?cluster=consumer%23cert&amp;kind=K",
        "<h1>Certificate n/cert</h1>",
        "<div id=\"trace\">",
        "<dt>Moves</dt><dd>onecert → twocert</dd>",
        "<dt>Waits for</dt><dd>the stage cert</dd>",
        "<dt>Name of its copy</dt><dd>n/a8b70b353e97-cert</dd>",
        "<td>served by cert</td>",
        "<li>Secret cert4</li>",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert!(object::missing().into_string().contains("<h1>No such object</h1>"));
}

#[test]
fn hostile_names_are_text() {
    let page = object::page(&moving(HOSTILE), "events").into_string();
    assert_eq!(page.matches("<script").count(), 1, "our own");
    assert!(!page.contains("<b>") && !page.contains('\u{202e}') && !page.contains(" style="));
    for tag in ["svg", "g", "title", "text", "table", "div", "a"] {
        let begun = page.matches(&format!("<{tag}>")).count() + page.matches(&format!("<{tag} ")).count();
        assert_eq!(begun, page.matches(&format!("</{tag}>")).count(), "{tag}");
    }
    assert!(page.len() < 100_000, "{}", page.len());
}
