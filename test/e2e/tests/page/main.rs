//! The broker's page (`--dashboard-bind-address`) in a real Chromium. What is looked at there is in `test/e2e/page`.
//!
//! A machine without Chromium, Node or the font, on which nobody may install them, runs none of this, and says so.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod graph;
mod hostile;
mod look;
mod shop;

use std::{
    env, fs,
    io::{Write as _, stderr},
    path::Path,
};

use e2e::{Object, Shared, kind::CERTIFICATE};
use futures::FutureExt as _;
use serde_json::{Value, json};
use tokio::sync::Mutex;

use crate::{
    look::artifacts,
    shop::{NAMESPACE, Shop},
};

static SHOP: Shared<Result<Shop, String>> = Shared::new(|| Shop::open().boxed_local());

/// The page shows all that there is, and pictures are of nothing else: one test after the other.
static TURN: Mutex<()> = Mutex::const_new(());

/// Runs a test in which nothing is in the shop but what it was opened with.
fn in_the_shop(test: impl AsyncFnOnce(&'static Shop)) {
    SHOP.run(async |shop| {
        let shop = match shop {
            Ok(shop) => shop,
            Err(why) => {
                // Not kept back, as what tests print is when they pass.
                let _ = writeln!(stderr(), "{why}");
                return;
            }
        };
        let _turn = TURN.lock().await;
        shop.tidy().await;
        test(shop).await;
    });
}

/// The path of the trace of a Certificate of the shop.
fn trace(name: &str) -> String {
    shop::trace(&CERTIFICATE, NAMESPACE, name)
}

#[test]
fn every_page_is_whole_for_everybody_and_nothing_goes_wrong_on_it() {
    in_the_shop(async |shop| {
        let long = "w".repeat(200);
        shop.order(&long, "long.shop.example").await;
        shop.until_available(&long).await;
        let found = |typed: &str, shows: &str| {
            let path = format!("/search?q={typed}");
            json!({"path": path, "heading": "Found", "shows": [shows]})
        };
        let of = |name: &str, shows: &str| {
            let heading = format!("Certificate {NAMESPACE}/{name}");
            json!({"path": trace(name), "heading": heading, "shows": [shows]})
        };
        let pages = json!([
            {"path": "/", "heading": "How it stands", "shows": ["4 of 4 ready", "3 of 5 served", "1 of 1 under way"]},
            found("", "Type a part of a name"),
            found("shop", "shop/website"),
            found("none-of-this-name", "There is none."),
            of("website", "served by provider ariadne"),
            of("newsletter", "served by provider theseus"),
            of("intranet", "no provider accepts the object"),
            of("checkout", "stage copy runs"),
            of(&long, "served by provider ariadne"),
            {"path": trace("nobody"), "status": 404, "heading": "No such object"},
        ]);
        let secrets = shop.secrets().await;
        shop.look("pages", json!({"pages": pages, "secrets": secrets})).found_nothing().await;
    });
}

#[test]
fn what_changes_is_shown_and_a_broker_that_comes_back_is_found() {
    in_the_shop(async |shop| {
        let steps = json!([
            {"shows": "2 of 4 served", "says": "connected"},
            {"shows": "3 of 5 served", "flows": "Requests that write", "says": "seen"},
            {"told": "Not connected", "says": "lost"},
            {"shows": "4 of 6 served", "says": "back"},
        ]);
        let mut look = shop.look("live", json!({"path": "/", "steps": steps}));
        look.hears("connected").await;
        shop.order("late", "late.shop.example").await;
        look.hears("seen").await;
        let mut guard = shop.world.broker().await;
        let broker = guard.as_mut().expect("a broker");
        broker.kill();
        look.hears("lost").await;
        broker.start_again(&shop.world.lab).await;
        shop.order("later", "later.shop.example").await;
        look.hears("back").await;
        look.found_nothing().await;
    });
}

#[test]
fn the_trace_of_an_object_follows_it_to_its_end() {
    in_the_shop(async |shop| {
        shop.order("blog", "blog.corp").await;
        let refused = |seen: &Object| seen.has("Brokered", "False", "NoProvider");
        shop.homer().until(&CERTIFICATE, NAMESPACE, "blog", "to be refused", refused).await;
        let steps = json!([
            {"shows": "no provider accepts the object", "says": "waits"},
            {"shows": "served by provider ariadne", "says": "served"},
            {"shows": "Secret blog-key", "says": "brought"},
            {"shows": "nothing is remembered", "says": "gone"},
        ]);
        let mut look = shop.look("live", json!({"path": trace("blog"), "steps": steps}));
        look.hears("waits").await;
        let spec = json!({"spec": {"fqdn": "blog.shop.example"}});
        shop.homer().edit(&CERTIFICATE, NAMESPACE, "blog", spec).await;
        look.hears("served").await;
        look.hears("brought").await;
        shop.homer().delete(&CERTIFICATE, NAMESPACE, "blog").await;
        look.hears("gone").await;
        look.found_nothing().await;
    });
}

#[test]
fn objects_are_found_and_what_is_hostile_is_text() {
    in_the_shop(async |shop| {
        let hostile = hostile::arrive(shop).await;
        let found = |typed: &str, name: &str| {
            json!({
                "typed": typed,
                "link": format!("{NAMESPACE}/{name}"),
                "heading": format!("Certificate {NAMESPACE}/{name}"),
            })
        };
        let searches = json!([
            found("webs", "website"),
            found("homer shop/intra", "intranet"),
            found("letter shop", "newsletter"),
        ]);
        shop.look("search", json!({"searches": searches, "hostile": hostile})).found_nothing().await;
    });
}

#[test]
fn graphs_are_found_by_name_and_by_kind() {
    in_the_shop(async |shop| {
        graph::arrive(shop).await;
        let heading = format!("Graph {}", graph::NAME);
        let found = |typed: &str| json!({"typed": typed, "link": graph::NAME, "heading": heading, "picture": false});
        let searches = json!([found("stalls"), found("marketstall"), found("fair MarketStall.v1alpha1.kro.run")]);
        shop.look("search", json!({"searches": searches, "hostile": []})).found_nothing().await;
    });
}

#[test]
fn the_page_of_a_graph_is_whole_for_everybody_and_follows_it() {
    in_the_shop(async |shop| {
        graph::arrive(shop).await;
        let path = graph::path();
        let steps = json!([
            {"shows": "does not serve ResourceGraphRollouts", "says": "alone"},
            {"shows": "KindsMissing", "says": "failing"},
        ]);
        let mut look = shop.look("live", json!({"path": path, "steps": steps}));
        look.hears("alone").await;
        graph::fail(shop).await;
        look.hears("failing").await;
        look.found_nothing().await;
        let shows = ["Inactive", "spoke#paris", "no kind Stall", "canary"];
        let pages = json!([
            {"path": path, "heading": format!("Graph {}", graph::NAME), "shows": shows},
            {"path": "/graph?name=nobody", "status": 404, "heading": "No such graph"},
        ]);
        shop.look("pages", json!({"pages": pages})).found_nothing().await;
        shop.look("colours", json!({"pages": [path]})).found_nothing().await;
    });
}

/// What is shown of each kind of page.
fn shown() -> [(&'static str, String, Value); 2] {
    let overview = json!(["4 of 4 ready", "2 of 4 served", "1 of 1 under way", "stage copy runs"]);
    let moving = json!(["the new copy is ready", "Secret checkout-key", "stage copy runs"]);
    [("page", "/".to_owned(), overview), ("trace", trace("checkout"), moving)]
}

#[test]
fn all_text_can_be_read_by_day_and_by_night() {
    in_the_shop(async |shop| {
        let more = [trace("intranet"), "/search?q=shop".to_owned()];
        let pages: Vec<Value> = shown().map(|(_, path, _)| path).into_iter().chain(more).map(Value::from).collect();
        shop.look("colours", json!({"pages": pages})).found_nothing().await;
    });
}

#[test]
fn it_looks_as_on_the_pictures_of_the_documentation() {
    in_the_shop(async |shop| {
        let pages = shown().map(|(name, path, shows)| json!({"name": name, "path": path, "shows": shows}));
        let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/images");
        let keep = env::var_os("UPDATE_SAID").is_some();
        fs::create_dir_all(&kept).unwrap();
        let kept = kept.canonicalize().unwrap();
        let words = json!({"pages": pages, "kept": kept, "seen": artifacts(), "keep": keep});
        shop.look("images", words).found_nothing().await;
    });
}
