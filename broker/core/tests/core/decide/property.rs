//! Whatever people, providers and faults do, in whatever order: once all is well again, every accepted origin has exactly
//! one copy that holds its spec, no copy is without its origin, and nothing more is written.

mod event;

use broker_api::{ClusterName, MigrationState, keys};
use broker_core::{decision::State, movement::Configured, snapshot::OriginKey};
use proptest::{prelude::*, test_runner::Config};
use runtime_effect::reach::Reach;
use serde_json::{Value, json};

use self::event::{Dice, Event};
use crate::decide::world::{World, key};

const PROVIDERS: [&str; 3] = ["p1", "p2", "p3"];
const NAMES: [&str; 2] = ["a", "b"];

fn origin(name: usize) -> OriginKey {
    key("homer", NAMES[name])
}

fn cluster(index: usize) -> ClusterName {
    PROVIDERS.get(index).map_or_else(|| ClusterName::consumer("homer"), |name| ClusterName::provider(*name))
}

struct Story {
    world: World,
    /// Annotations that origins once had.
    past: Vec<(usize, Value)>,
}

impl Story {
    fn new() -> Self {
        let mut world = World::new(&PROVIDERS);
        for provider in PROVIDERS {
            world.accept(provider, &json!({}));
        }
        world.keys.extend((0..NAMES.len()).map(origin));
        Self { world, past: Vec::new() }
    }

    fn remember(&mut self, name: usize) {
        if let Some(object) = self.world.origin(&origin(name)) {
            self.past.push((name, object["metadata"]["annotations"].clone()));
        }
    }

    fn happen(&mut self, event: &Event) {
        let world = &mut self.world;
        match *event {
            Event::Create { name, size } => {
                if world.origin(&origin(name)).is_none() {
                    world.create(&origin(name), json!({"fqdn": "x", "size": size}));
                }
            }
            Event::Edit { name, size } => world.edit(&origin(name), |origin| origin["spec"]["size"] = json!(size)),
            Event::Delete { name } => self.delete(name),
            Event::ForceRemove { name } => self.force_remove(name),
            Event::ForceDelete { name } => {
                world.edit(&origin(name), |origin| {
                    origin["metadata"]["annotations"][keys::FORCE_DELETE] = json!("true");
                });
            }
            Event::Strip { name, annotations, finalizer } => {
                self.remember(name);
                let deleting = |origin: &Value| origin["metadata"].get("deletionTimestamp").is_some();
                let held = !self.world.origin(&origin(name)).is_some_and(deleting);
                let finalizer = finalizer && (held || self.marked(name));
                self.world.edit(&origin(name), |origin| {
                    if annotations {
                        origin["metadata"]["annotations"] = json!({});
                    }
                    if finalizer {
                        origin["metadata"]["finalizers"] = json!([]);
                    }
                });
            }
            Event::Forge { name, provider } => {
                self.remember(name);
                self.world.edit(&origin(name), |origin| {
                    origin["metadata"]["annotations"][keys::PROVIDER_CLUSTER] = json!(PROVIDERS[provider]);
                });
            }
            Event::Replay { name, which } => {
                self.remember(name);
                let past: Vec<&Value> =
                    self.past.iter().filter(|(other, _)| *other == name).map(|(_, annotations)| annotations).collect();
                if let Some(annotations) = past.get(which).map(|annotations| (*annotations).clone()) {
                    self.world.edit(&origin(name), |origin| origin["metadata"]["annotations"] = annotations);
                }
            }
            Event::Pause { name, paused } => {
                let value = json!(if paused { "true" } else { "false" });
                world.edit(&origin(name), |origin| origin["metadata"]["annotations"][keys::PAUSED] = value);
            }
            Event::WipeStatus { name } => world.edit(&origin(name), |origin| origin["status"] = json!({})),
            Event::ProviderStatus { name, provider, phase } => {
                let phase = if phase { "Up" } else { "Down" };
                world.provider_status(PROVIDERS[provider], &origin(name), json!({"phase": phase}));
            }
            Event::EditCopy { name, provider } => {
                world.edit_copy(PROVIDERS[provider], &origin(name), |copy| copy["spec"]["size"] = json!(99));
            }
            Event::StripCopy { name, provider, labels } => {
                if world.origin(&origin(name)).is_none() {
                    return;
                }
                world.edit_copy(PROVIDERS[provider], &origin(name), |copy| {
                    copy["metadata"]["annotations"] = json!({});
                    if labels {
                        copy["metadata"]["labels"] = json!({});
                    }
                });
            }
            Event::DeleteCopy { name, provider, slowly } => {
                world.edit_copy(PROVIDERS[provider], &origin(name), |copy| {
                    copy["metadata"]["finalizers"] = if slowly { json!(["theirs/one"]) } else { json!([]) };
                });
                world.provider(PROVIDERS[provider]).delete(&World::copy_at(&origin(name)));
            }
            Event::Squat { name, provider } => {
                let at = World::copy_at(&origin(name));
                let server = world.provider(PROVIDERS[provider]);
                if server.get(&at).is_none() {
                    server.put(&at, json!({"metadata": {}, "spec": {"fqdn": "squatter"}}));
                }
            }
            Event::Reach { cluster: index, reachable } => {
                let reach = if reachable { Reach::Ready } else { Reach::Unreachable("down".into()) };
                world.servers.get_mut(&cluster(index)).unwrap().reach = reach;
            }
            Event::Listed { cluster: index, listed } => {
                world.servers.get_mut(&cluster(index)).unwrap().listed = listed;
            }
            Event::Freeze { cluster: index, frozen } => {
                let server = world.servers.get_mut(&cluster(index)).unwrap();
                server.stale = frozen.then(|| server.objects.clone());
            }
            Event::Accept { provider, least, priority, cordoned } => {
                let filters = json!([{"key": "size", "boundary": {"min": least}}]);
                let spec = json!({"priority": priority, "cordoned": cordoned, "filters": filters});
                world.accept(PROVIDERS[provider], &spec);
            }
            Event::AcceptNoMore { provider } => world.accept_no_more(PROVIDERS[provider]),
            Event::Serve { name, provider } => world.serve(PROVIDERS[provider], &origin(name)),
            Event::Annotate { provider, drain, rebalance } => {
                let id = format!("{}/all", PROVIDERS[provider]);
                if world.acceptances.contains_key(&id) {
                    world.annotate(&id, drain, rebalance);
                }
            }
            Event::Leave { provider, back } => {
                let provider = ClusterName::provider(PROVIDERS[provider]);
                if back {
                    world.moves.left.remove(&provider);
                } else {
                    world.moves.left.entry(provider).or_insert(world.millis);
                }
            }
            Event::Configure { how } => {
                let [unknown, no, yes] = [Configured::Unknown, Configured::No, Configured::Yes];
                world.moves.configured = [unknown, no, yes][how].clone();
            }
            Event::MigrationsKnown { known } => world.moves.migrations_known = known,
            Event::Migration { which, how } => match how {
                0 => {
                    if let Some((_, view)) =
                        world.moves.migrations.get_mut(which).filter(|(_, view)| !view.has_switched())
                    {
                        view.state = MigrationState::Failed;
                        view.ended = Some(world.millis);
                    }
                }
                1 if which < world.moves.migrations.len() && world.moves.migrations[which].1.has_ended() => {
                    world.moves.migrations.remove(which);
                }
                _ => world.moves.step(which, world.millis),
            },
            Event::Ask { name, from, to } => {
                let number = world.moves.migrations.len();
                if from != to && number < 6 {
                    let millis = world.millis;
                    let asked = format!("asked-{millis}-{number}");
                    world.moves.ask(&origin(name), &asked, PROVIDERS[from], PROVIDERS[to], millis);
                }
            }
            Event::Wait { millis } => world.millis += millis,
            Event::Pass { name } => {
                world.pass(&origin(name));
            }
            Event::Crash { name, writes } => {
                world.pass_within(&origin(name), writes);
                world.restart();
            }
        }
    }

    /// Whether all copies have their marks. A copy without marks and without origin is nobody's, not even people can tell:
    /// so an origin is only taken away by force while this holds, and marks only while there is an origin.
    fn marked(&self, name: usize) -> bool {
        PROVIDERS.iter().all(|provider| {
            let copy = self.world.copy(provider, &origin(name));
            copy.is_none_or(|copy| !copy["metadata"]["annotations"][keys::ORIGIN].is_null())
        })
    }

    fn delete(&mut self, name: usize) {
        let finalizers =
            |origin: &Value| origin["metadata"]["finalizers"].as_array().is_some_and(|held| !held.is_empty());
        if self.world.origin(&origin(name)).is_some_and(finalizers) || self.marked(name) {
            self.world.delete(&origin(name));
        }
    }

    fn force_remove(&mut self, name: usize) {
        if self.marked(name) {
            self.world.force_remove(&origin(name));
        }
    }

    /// All faults end, and all that people and providers left half done.
    fn heal(&mut self) {
        let world = &mut self.world;
        for server in world.servers.values_mut() {
            server.reach = Reach::Ready;
            server.listed = true;
            server.stale = None;
        }
        for name in (0..NAMES.len()).map(origin) {
            world.edit(&name, |origin| {
                if origin["metadata"]["annotations"][keys::PAUSED] == "true" {
                    origin["metadata"]["annotations"][keys::PAUSED] = json!("false");
                }
            });
            for provider in PROVIDERS {
                let squats = |copy: &Value| copy["spec"]["fqdn"] == "squatter";
                if world.copy(provider, &name).is_some_and(squats) {
                    world.provider(provider).delete(&World::copy_at(&name));
                }
                world.edit_copy(provider, &name, |copy| copy["metadata"]["finalizers"] = json!([]));
            }
        }
        world.benign = true;
        world.moves.left.clear();
        world.moves.migrations_known = true;
        if world.moves.configured == Configured::Unknown {
            world.moves.configured = Configured::Yes;
        }
        for _ in 0..12 {
            for name in (0..NAMES.len()).map(origin) {
                world.settle_briefly(&name);
            }
            for which in 0..world.moves.migrations.len() {
                world.moves.step(which, world.millis);
            }
        }
        // Whatever failed is forgotten, and so tried again.
        world.moves.configured = Configured::No;
        world.moves.migrations.clear();
        for _ in 0..3 {
            self.world.settle_all();
        }
    }

    fn check(&mut self) {
        for name in (0..NAMES.len()).map(origin) {
            let state = self.world.settle(&name).state;
            let copies: Vec<&str> =
                PROVIDERS.into_iter().filter(|provider| self.world.copy(provider, &name).is_some()).collect();
            let world = &self.world;
            let nobodys = |provider: &&str| {
                let marks = world.copy(provider, &name).map(|copy| copy["metadata"]["annotations"].clone());
                marks.is_some_and(|marks| marks.get(keys::CONSUMER_UID).is_none() && marks.get(keys::ORIGIN).is_none())
            };
            // Both sides lost all marks and the broker its memory: nothing proves whose a copy elsewhere is, and it stays.
            let assigned =
                world.origin(&name).map(|origin| origin["metadata"]["annotations"][keys::PROVIDER_CLUSTER].clone());
            let copies: Vec<&str> = copies
                .into_iter()
                .filter(|provider| assigned.as_ref().is_some_and(|a| a == *provider) || !nobodys(provider))
                .collect();
            let Some(origin) = self.world.origin(&name) else {
                assert_eq!((state, copies), (State::Gone, vec![]), "{name}: a copy without an origin");
                continue;
            };
            match state {
                State::Served => {
                    let [provider] = copies[..] else { panic!("{name}: copies at {copies:?}") };
                    let copy = self.world.copy(provider, &name).unwrap();
                    assert_eq!(copy["spec"]["size"], origin["spec"]["size"], "{name}");
                    assert!(self.world.signed(provider, &name).is_some(), "{name}: the copy is not signed");
                    assert_eq!(origin["metadata"]["annotations"][keys::PROVIDER_CLUSTER], *provider);
                    assert_eq!(origin["metadata"]["finalizers"], json!([keys::FINALIZER]));
                    if let Some(phase) = copy["status"].get("phase") {
                        assert_eq!(&origin["status"]["phase"], phase, "{name}");
                    }
                    assert!(self.world.condition(&name, "Brokered").unwrap().starts_with("True/"));
                }
                State::NotAccepted => assert!(copies.len() <= 1, "{name}: copies at {copies:?}"),
                State::Waiting => {
                    // Where both sides lost all marks and the broker its memory, nothing proves whose a copy is: it stays
                    // until the origin is placed.
                    let signed = copies.iter().filter(|provider| self.world.signed(provider, &name).is_some());
                    assert_eq!(signed.count(), 0, "{name}: copies at {copies:?}");
                    assert!(self.world.condition(&name, "Brokered").unwrap().starts_with("False/NoProvider"));
                }
                other => panic!("{name} ends as {other:?}"),
            }
            self.world.assert_steady(&name);
        }
    }
}

fn runs(events: &[Event]) {
    let mut story = Story::new();
    for event in events {
        story.happen(event);
    }
    story.heal();
    story.check();
}

/// What was found once: a provider that asked for its share and was not ready in time never got it from a broker that ran on,
/// and got it from one that was started again.
#[test]
fn who_gave_up_and_who_was_started_anew_want_the_same() {
    let seeds = [
        11_744_018_608_334_851_210,
        11_735_976_908_142_870_528,
        4_880_203_412_446_839_040,
        12_004_780_183_820_471_465,
        4_944_869_134_545_125_504,
        16_535_759_826_218_491_698,
        18_135_912_713_938_213_886,
        14_396_137_931_808_457_022,
        7_359_587_424_960_441_406,
    ];
    runs(&seeds.map(|seed| Dice(seed).event()));
}

proptest! {
    #![proptest_config(Config { cases: 1500, failure_persistence: None, ..Config::default() })]

    #[test]
    fn all_ends_well(seeds in prop::collection::vec(any::<u64>(), 1..50)) {
        let events: Vec<Event> = seeds.into_iter().map(|seed| Dice(seed).event()).collect();
        let ending = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| runs(&events)));
        prop_assert!(ending.is_ok(), "after {events:#?}");
    }
}
