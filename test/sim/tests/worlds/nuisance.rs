//! Somebody is a nuisance for as long as it is watched. Others are served as if there were nobody (I6), and nobody is fought
//! without end (F16).

use std::{collections::BTreeMap, future::pending, time::Duration};

use broker_api::{condition, keys};
use runtime_fleet::wall;
use serde_json::{Value, json};
use sim::{ApiServer, Deed, Outage, Weather};
use tokio::{
    task::JoinHandle,
    time::{Instant, sleep, timeout},
};

use crate::{
    act::{Act, Policy, Thing},
    broker::Broker,
    customer::fqdn,
    director::{Director, copies_at},
    panics::heard,
    person::Person,
    plan::Plan,
    program::Program,
    stage::{CERTIFICATE, PRIVATE, PROVIDERS, SHOP, Stage, TENANTS, certificate, certificates},
    story::alone,
};

/// What somebody does all the time, or what is wrong with his clusters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Nuisance {
    Nobody,
    /// The provider of all that he has hears, and does not answer.
    SilentProvider,
    /// His own cluster does so.
    SilentConsumer,
    /// He edits all that he has, all the time.
    Floods,
    /// Whatever is written for him, somebody at his provider takes back at once.
    Fights,
}

/// So much he has: more than is written at once.
const MANY: usize = 40;

/// How long a write takes.
const WRITE: Duration = Duration::from_millis(20);

/// How often he, or whoever serves him, has news.
const TICK: Duration = Duration::from_millis(100);

/// How often the other edits what he has, and how long between.
const EDITS: u8 = 12;
const BETWEEN: Duration = Duration::from_millis(1700);

/// It takes no longer until all is where it belongs, or is said.
const PATIENCE: Duration = Duration::from_mins(10);

const TARGET: &str = PROVIDERS[0];

fn names() -> impl Iterator<Item = String> {
    (0..MANY).map(|number| format!("many-{number}"))
}

/// A world in which one has many objects and the other one.
struct Street {
    stage: Stage,
    program: Program,
    /// Whose edits are watched.
    other: Thing,
    /// Where his copy is.
    serves: &'static str,
}

impl Street {
    /// `apart`: the other one is served by another provider.
    async fn built(apart: bool) -> Self {
        let plan = Plan::of(1, vec![(Act::Ask(Thing::OTHERS), Duration::ZERO)]);
        let stage = Stage::set(&plan).await;
        wall::set(stage.world.clock().wall());
        let broker = Broker { at: 0, elects: false, skew: 0, narrow: false };
        let program = Program::start(broker, &stage.world, plan.seed, Vec::new());
        let serves = if apart { PROVIDERS[1] } else { TARGET };
        let street = Self { stage, program, other: Thing::OTHERS, serves };
        let director = Director::of(&street.stage);
        director.perform(Act::Policy(PROVIDERS[usize::from(!apart)], Policy::Cordoned)).await;
        director.perform(Act::Ask(street.other)).await;
        until(&street.stage.server(serves), "a copy", |at| !copies_at(at, street.other).is_empty()).await;
        director.perform(Act::Policy(PROVIDERS[1], Policy::Cordoned)).await;
        director.perform(Act::Policy(TARGET, Policy::Open)).await;
        street.edit_all("first").await;
        let others = usize::from(!apart);
        until(&street.stage.server(TARGET), "all", |at| brought(at, "first") == MANY && at_all(at) == MANY + others)
            .await;
        street.program.set_weather(Weather { slow: WRITE, ..Weather::CALM });
        street
    }

    /// He asks for all that he wants, or edits it.
    async fn edit_all(&self, edition: &str) {
        edit_all(&self.stage.server(TENANTS[0]), edition).await;
    }

    /// Begins to be a nuisance, for good.
    fn begin(&self, nuisance: Nuisance) -> JoinHandle<()> {
        let (homers, targets) = (self.stage.server(TENANTS[0]), self.stage.server(TARGET));
        match nuisance {
            Nuisance::SilentProvider => self.stage.world.set_outage(TARGET, Some(Outage::Silent)),
            Nuisance::SilentConsumer => self.stage.world.set_outage(TENANTS[0], Some(Outage::Silent)),
            Nuisance::Nobody | Nuisance::Floods | Nuisance::Fights => {}
        }
        tokio::spawn(async move {
            match nuisance {
                Nuisance::Nobody => pending().await,
                Nuisance::Fights => fight(&targets).await,
                Nuisance::Floods | Nuisance::SilentProvider => {
                    for edition in 0_u64.. {
                        edit_all(&homers, &format!("flood{edition}")).await;
                        sleep(TICK).await;
                    }
                }
                Nuisance::SilentConsumer => {
                    for edition in 0_u64.. {
                        report_all(&targets, edition).await;
                        sleep(TICK).await;
                    }
                }
            }
        })
    }

    /// How long the longest of the other's edits takes to arrive.
    async fn slowest(&self) -> Duration {
        let (at, serves) = (self.stage.server(self.other.tenant), self.stage.server(self.serves));
        let mut slowest = Duration::ZERO;
        for edition in 1..=EDITS {
            let wanted = fqdn(self.other, edition);
            let path = format!("{}/{}", certificates(SHOP), self.other.name);
            let begun = Instant::now();
            let marge = Person { name: "marge", server: &at };
            marge.ask("PATCH", &path, &json!({"spec": {"fqdn": wanted}})).await;
            until(&serves, "an edit", |at| {
                copies_at(at, self.other).iter().any(|copy| copy.2["spec"]["fqdn"] == *wanted)
            })
            .await;
            slowest = slowest.max(begun.elapsed());
            sleep(BETWEEN).await;
        }
        slowest
    }

    /// How often the broker has written each of his copies.
    fn written(&self) -> BTreeMap<String, u32> {
        let mut written = BTreeMap::new();
        for entry in self.stage.world.journal().entries() {
            if let Deed::Change(change) = &entry.deed
                && (&*entry.server, &*entry.by, &*change.resource) == (TARGET, "resource-broker", CERTIFICATE)
            {
                *written.entry(change.name.clone()).or_default() += 1;
            }
        }
        written
    }

    fn end(self) {
        self.program.end();
        self.stage.world.end();
    }
}

async fn edit_all(at: &ApiServer, edition: &str) {
    let homer = Person { name: "homer", server: at };
    for name in names() {
        let wanted = certificate(SHOP, &name, &format!("{edition}.{name}.example.org"));
        if homer.ask("POST", &certificates(SHOP), &wanted).await.0 == 409 {
            homer.ask("PATCH", &format!("{}/{name}", certificates(SHOP)), &json!({"spec": wanted["spec"]})).await;
        }
    }
}

/// Whoever serves him has news of all that he has.
async fn report_all(at: &ApiServer, edition: u64) {
    let owner = Person { name: "owner", server: at };
    for (namespace, name) in many(at, |_| true) {
        let path = format!("{}/{name}/status", certificates(&namespace));
        owner.ask("PATCH", &path, &json!({"status": {"phase": format!("news {edition}")}})).await;
    }
}

/// Somebody who would have all else.
async fn fight(at: &ApiServer) {
    let mut changes = at.changes_of(CERTIFICATE);
    let fighter = Person { name: "fighter", server: at };
    loop {
        for (namespace, name) in many(at, |fqdn| !fqdn.starts_with("mine")) {
            let path = format!("{}/{name}", certificates(&namespace));
            fighter.ask("PATCH", &path, &json!({"spec": {"fqdn": "mine.example.org"}})).await;
        }
        changes.changed().await.unwrap();
    }
}

/// Where his copies are whose content is such.
fn many(at: &ApiServer, is_such: impl Fn(&str) -> bool) -> Vec<(String, String)> {
    let is_his = |copy: &Value| copy["metadata"]["annotations"][keys::CONSUMER_CLUSTER] == TENANTS[0];
    let all = at.objects(CERTIFICATE).into_iter();
    let such = all.filter(|(_, copy)| is_his(copy) && copy["spec"]["fqdn"].as_str().is_some_and(&is_such));
    such.map(|(place, _)| place).collect()
}

fn brought(at: &ApiServer, edition: &str) -> usize {
    many(at, |fqdn| fqdn.starts_with(&format!("{edition}."))).len()
}

fn at_all(at: &ApiServer) -> usize {
    at.objects(CERTIFICATE).keys().filter(|(namespace, _)| namespace != PRIVATE).count()
}

async fn until(at: &ApiServer, what: &str, is_so: impl Fn(&ApiServer) -> bool) {
    let mut changes = at.changes_of(CERTIFICATE);
    let looks = async {
        while !is_so(at) {
            changes.changed().await.unwrap();
        }
    };
    assert!(timeout(PATIENCE, looks).await.is_ok(), "{what} is missing at {}", at.name());
}

/// How long the longest of one's edits takes while another is a nuisance.
fn slowest(nuisance: Nuisance, apart: bool) -> Duration {
    let (slowest, panic) = heard(|| {
        alone(1, async {
            let street = Street::built(apart).await;
            let begun = street.begin(nuisance);
            let slowest = street.slowest().await;
            assert!(!begun.is_finished(), "{nuisance:?} has ended");
            begun.abort();
            street.end();
            slowest
        })
    });
    assert_eq!(panic, None);
    slowest
}

#[test]
fn nobody_waits_because_another_is_a_nuisance() {
    for apart in [true, false] {
        assert_eq!(slowest(Nuisance::Nobody, apart), WRITE);
    }
    // Where all are written at one API server, it waits for a write that is under way to end.
    for (nuisance, apart, writes) in [
        (Nuisance::SilentProvider, true, 1),
        (Nuisance::SilentConsumer, false, 1),
        (Nuisance::Floods, true, 1),
        (Nuisance::Floods, false, 2),
        (Nuisance::Fights, false, 2),
    ] {
        let slowest = slowest(nuisance, apart);
        println!("{nuisance:?} apart: {apart}: {slowest:?}");
        assert!(slowest <= writes * WRITE, "{nuisance:?}, apart: {apart}: {slowest:?}");
    }
}

/// It is told, repeated ever more slowly, and right as soon as the other gives in.
#[test]
fn whoever_fights_for_ever_is_not_fought_without_end() {
    alone(1, async {
        let street = Street::built(true).await;
        let (homers, targets) = (street.stage.server(TENANTS[0]), street.stage.server(TARGET));
        let fights = street.begin(Nuisance::Fights);
        street.edit_all("second").await;
        let says_so = |at: &ApiServer| {
            let of = |name: String| at.objects(CERTIFICATE).remove(&(SHOP.to_owned(), name));
            let reasons = |origin: &Value| origin["status"]["conditions"].to_string().contains(condition::FIGHTING);
            names().all(|name| of(name).is_some_and(|origin| reasons(&origin)))
        };
        until(&homers, "a word of the fight", says_so).await;
        let before = street.written();
        sleep(Duration::from_mins(20)).await;
        let mut written = street.written();
        for (copy, count) in &mut written {
            *count -= before.get(copy).copied().unwrap_or_default();
        }
        let (least, most) = (written.values().min(), written.values().max());
        println!("{least:?} to {most:?} writes for each in 20 min");
        assert_eq!(written.len(), MANY);
        assert!(
            written.values().all(|count| (1..20).contains(count)),
            "{least:?} to {most:?} writes for each in 20 min"
        );
        assert!(!fights.is_finished());
        fights.abort();
        until(&targets, "what was fought over", |at| brought(at, "second") == MANY).await;
        street.end();
    });
}
