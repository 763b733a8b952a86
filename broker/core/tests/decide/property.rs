//! Whatever people, providers and faults do, in whatever order: once all is well again, every accepted origin has exactly
//! one copy that holds its spec, no copy is without its origin, and nothing more is written.

use broker_api::{ClusterName, keys};
use broker_core::{
    decision::State,
    snapshot::{OriginKey, Reach},
};
use proptest::{prelude::*, test_runner::Config};
use serde_json::{Value, json};

use crate::world::{World, key};

const PROVIDERS: [&str; 3] = ["p1", "p2", "p3"];
const NAMES: [&str; 2] = ["a", "b"];

/// Something that happens. Numbers choose among names and providers.
#[derive(Debug, Clone)]
enum Event {
    Create {
        name: usize,
        size: i64,
    },
    Edit {
        name: usize,
        size: i64,
    },
    Delete {
        name: usize,
    },
    ForceRemove {
        name: usize,
    },
    ForceDelete {
        name: usize,
    },
    /// Takes annotations, finalizer or both from the origin.
    Strip {
        name: usize,
        annotations: bool,
        finalizer: bool,
    },
    /// Steers by hand.
    Forge {
        name: usize,
        provider: usize,
    },
    /// Puts back annotations that were once valid.
    Replay {
        name: usize,
        which: usize,
    },
    Pause {
        name: usize,
        paused: bool,
    },
    WipeStatus {
        name: usize,
    },
    ProviderStatus {
        name: usize,
        provider: usize,
        phase: bool,
    },
    EditCopy {
        name: usize,
        provider: usize,
    },
    StripCopy {
        name: usize,
        provider: usize,
        labels: bool,
    },
    DeleteCopy {
        name: usize,
        provider: usize,
        slowly: bool,
    },
    /// Somebody else's object takes the copy's name.
    Squat {
        name: usize,
        provider: usize,
    },
    Reach {
        cluster: usize,
        reachable: bool,
    },
    Listed {
        cluster: usize,
        listed: bool,
    },
    /// The broker's cache of a cluster stands still, or catches up.
    Freeze {
        cluster: usize,
        frozen: bool,
    },
    Accept {
        provider: usize,
        least: i64,
        priority: i64,
        cordoned: bool,
    },
    AcceptNoMore {
        provider: usize,
    },
    Wait {
        millis: u64,
    },
    Pass {
        name: usize,
    },
    /// The broker dies after so many writes of a pass, and starts anew.
    Crash {
        name: usize,
        writes: usize,
    },
}

fn event() -> impl Strategy<Value = Event> {
    let name = || 0..NAMES.len();
    let provider = || 0..PROVIDERS.len();
    let cluster = || 0..=PROVIDERS.len();
    let yes = any::<bool>;
    prop_oneof![
        3 => (name(), 0_i64..5).prop_map(|(name, size)| Event::Create { name, size }),
        3 => (name(), 0_i64..5).prop_map(|(name, size)| Event::Edit { name, size }),
        1 => name().prop_map(|name| Event::Delete { name }),
        1 => name().prop_map(|name| Event::ForceRemove { name }),
        1 => name().prop_map(|name| Event::ForceDelete { name }),
        2 => (name(), yes(), yes())
            .prop_map(|(name, annotations, finalizer)| Event::Strip { name, annotations, finalizer }),
        1 => (name(), provider()).prop_map(|(name, provider)| Event::Forge { name, provider }),
        2 => (name(), 0_usize..8).prop_map(|(name, which)| Event::Replay { name, which }),
        1 => (name(), yes()).prop_map(|(name, paused)| Event::Pause { name, paused }),
        1 => name().prop_map(|name| Event::WipeStatus { name }),
        2 => (name(), provider(), yes())
            .prop_map(|(name, provider, phase)| Event::ProviderStatus { name, provider, phase }),
        1 => (name(), provider()).prop_map(|(name, provider)| Event::EditCopy { name, provider }),
        1 => (name(), provider(), yes())
            .prop_map(|(name, provider, labels)| Event::StripCopy { name, provider, labels }),
        1 => (name(), provider(), yes())
            .prop_map(|(name, provider, slowly)| Event::DeleteCopy { name, provider, slowly }),
        1 => (name(), provider()).prop_map(|(name, provider)| Event::Squat { name, provider }),
        2 => (cluster(), yes()).prop_map(|(cluster, reachable)| Event::Reach { cluster, reachable }),
        1 => (cluster(), yes()).prop_map(|(cluster, listed)| Event::Listed { cluster, listed }),
        1 => (cluster(), yes()).prop_map(|(cluster, frozen)| Event::Freeze { cluster, frozen }),
        2 => (provider(), 0_i64..4, 0_i64..3, yes())
            .prop_map(|(provider, least, priority, cordoned)| Event::Accept { provider, least, priority, cordoned }),
        1 => provider().prop_map(|provider| Event::AcceptNoMore { provider }),
        1 => (0_u64..400_000).prop_map(|millis| Event::Wait { millis }),
        10 => name().prop_map(|name| Event::Pass { name }),
        3 => (name(), 0_usize..3).prop_map(|(name, writes)| Event::Crash { name, writes }),
    ]
}

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
        for _ in 0..3 {
            self.world.settle_all();
        }
    }

    fn check(&mut self) {
        for name in (0..NAMES.len()).map(origin) {
            let state = self.world.settle(&name).state;
            let copies: Vec<&str> =
                PROVIDERS.into_iter().filter(|provider| self.world.copy(provider, &name).is_some()).collect();
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
                    assert_eq!(copies, Vec::<&str>::new(), "{name}");
                    assert!(self.world.condition(&name, "Brokered").unwrap().starts_with("False/NoProvider"));
                }
                other => panic!("{name} ends as {other:?}"),
            }
            self.world.assert_steady(&name);
        }
    }
}

proptest! {
    #![proptest_config(Config { cases: 1500, failure_persistence: None, ..Config::default() })]

    #[test]
    fn all_ends_well(events in prop::collection::vec(event(), 1..50)) {
        let mut story = Story::new();
        for event in &events {
            story.happen(event);
        }
        story.heal();
        story.check();
    }
}
