//! Scenarios that a seed makes up.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{
    act::Act,
    alone::{grown, redefine},
    rgds::{CONFIGS, DEFINITIONS, ROLLOUTS, SITES, rollout, site, site_rgd, waves},
    scenario::{Scenario, Scene},
    stage::{HUB, SPOKES},
};
use crate::plan::OWN;

/// So many seeds that follow each other tell one story, each with faults of its own, and share what that is held against.
const ALIKE: u64 = 4;

/// Stories from here on may lose their hub, too: those of the seeds from [`OWN`] on.
const WIDER: u64 = OWN / ALIKE;

/// How their names begin.
pub(super) const NAME: &str = "seeded";

/// Names of instances.
const NAMES: [&str; 3] = ["one", "two", "three"];

/// What a story is made up of.
struct Author {
    random: u64,
    /// Instances that there are, by server and name.
    instances: BTreeSet<(&'static str, &'static str)>,
    /// A spoke that is lost.
    lost: Option<&'static str>,
    has_spokes: bool,
    paused: bool,
    hub: Hub,
}

/// Whether its hub is lost in a story.
#[derive(Default)]
struct Hub {
    may_be: bool,
    was: bool,
    /// The RGD was edited since, which nobody can have seen.
    edited: bool,
}

impl Author {
    fn new(seed: u64) -> Self {
        let (instances, lost, hub) = (BTreeSet::new(), None, Hub { may_be: seed >= WIDER, ..Hub::default() });
        let mut author = Self { random: seed, instances, lost, has_spokes: false, paused: false, hub };
        author.has_spokes = author.one_in(3);
        author
    }

    /// `SplitMix64`.
    fn number(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.random;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, count: usize) -> usize {
        usize::try_from(self.number() % count as u64).unwrap()
    }

    fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        let at = self.below(from.len());
        from[at].clone()
    }

    fn server(&mut self) -> &'static str {
        if self.has_spokes { self.pick(&[HUB, SPOKES[0], SPOKES[1], SPOKES[2]]) } else { HUB }
    }

    /// An instance that there is.
    fn instance(&mut self) -> Option<(&'static str, &'static str)> {
        let all: Vec<_> = self.instances.iter().copied().collect();
        if all.is_empty() { None } else { Some(self.pick(&all)) }
    }

    /// What somebody wants of an instance.
    fn fields(&mut self) -> Value {
        let items: Vec<&str> = ["a", "b", "c", "d"].into_iter().filter(|_| self.one_in(2)).collect();
        json!({"text": self.pick(&["red", "green", "blue"]), "wanted": self.one_in(2), "items": items})
    }

    fn make(&mut self) -> Vec<Act> {
        let (server, name) = (self.server(), self.pick(&NAMES));
        if !self.instances.insert((server, name)) {
            return self.change();
        }
        let fields = self.fields();
        vec![Act::create(SITES, site(name, &fields)).at(server)]
    }

    fn change(&mut self) -> Vec<Act> {
        let Some((server, name)) = self.instance() else { return self.make() };
        let fields = self.fields();
        vec![Act::edit(SITES, name, json!({ "spec": fields })).at(server)]
    }

    fn end(&mut self) -> Vec<Act> {
        let Some((server, name)) = self.instance() else { return self.make() };
        let mut acts = vec![Act::delete(SITES, name).at(server)];
        if self.one_in(2) && self.lost != Some(server) {
            let fields = self.fields();
            acts.push(Act::create(SITES, site(name, &fields)).at(server));
        } else {
            self.instances.remove(&(server, name));
        }
        acts
    }

    /// Somebody lays hands on what is made for an instance.
    fn meddle(&mut self) -> Vec<Act> {
        let Some((server, name)) = self.instance() else { return self.make() };
        let (config, report) = (format!("{name}-config"), format!("{name}-report"));
        let widgets = "/apis/parts.sim.io/v1/namespaces/shop/widgets";
        let act = match self.below(5) {
            0 => Act::edit(CONFIGS, &config, json!({"data": {"text": "mine"}})),
            1 => Act::delete(CONFIGS, &config),
            2 => Act::edit(CONFIGS, &report, json!({"metadata": {"labels": null}})),
            3 => Act::edit(CONFIGS, &report, json!({"data": {"address": null, "note": "mine"}})),
            _ => Act::delete(widgets, name),
        };
        vec![act.at(server)]
    }

    fn define(&mut self) -> Vec<Act> {
        // Of several edits that nobody has seen there are as many revisions as the watch tells of: each, or the last at once.
        if self.lost == Some(HUB) && std::mem::replace(&mut self.hub.edited, true) {
            return self.change();
        }
        let wanted = if self.one_in(2) { site_rgd() } else { grown() };
        let mut broken = wanted.clone();
        broken["spec"]["resources"][0]["template"]["data"]["text"] = json!("${schema.spec.nothing}");
        vec![redefine(if self.one_in(4) { &broken } else { &wanted })]
    }

    fn place(&mut self) -> Vec<Act> {
        if !self.has_spokes && !self.hub.may_be {
            return self.change();
        }
        if let Some(lost) = self.lost.take() {
            self.hub.edited = false;
            return vec![Act::find(lost)];
        }
        if !self.has_spokes || self.hub.may_be && self.one_in(3) {
            (self.lost, self.hub.was) = (Some(HUB), true);
            return vec![Act::lose(HUB)];
        }
        if self.one_in(2) {
            let lost = self.pick(&SPOKES);
            self.lost = Some(lost);
            return vec![Act::lose(lost)];
        }
        self.paused = !self.paused;
        vec![Act::edit(ROLLOUTS, "site", json!({"spec": {"paused": self.paused}}))]
    }

    fn scene(&mut self) -> Scene {
        let acts = match self.below(10) {
            0..=2 => self.make(),
            3 | 4 => self.change(),
            5 => self.end(),
            6 | 7 => self.meddle(),
            8 => self.define(),
            _ => self.place(),
        };
        Scene::new(acts)
    }
}

/// The number of the story that a seed tells.
pub(crate) fn story(seed: u64) -> u64 {
    seed / ALIKE
}

/// A scenario that follows from the number of its story.
pub(crate) fn scenario(story: u64) -> Scenario {
    let mut author = Author::new(story);
    let mut first = vec![Act::create(DEFINITIONS, site_rgd())];
    if author.has_spokes {
        let mut waves = rollout(&waves());
        waves["metadata"]["name"] = json!("site");
        first.push(Act::create(ROLLOUTS, waves));
    }
    let mut scenes = vec![Scene::new(first)];
    for _ in 0..3 + author.below(5) {
        scenes.push(author.scene());
        if author.one_in(3) {
            let more = author.scene().acts;
            let goes_together = |last: &Scene| {
                let all: Vec<&Act> = last.acts.iter().chain(&more).collect();
                let finds_hub = all.iter().any(|act| act.finds() == Some(HUB));
                // Of several edits of an RGD that follow each other at once only the last need be recorded. What was asked for
                // while the hub was lost is made first: a write that arrives minutes after its instance has gone makes what
                // nobody looks for.
                all.iter().filter(|act| act.defines()).count() <= 1 && !Act::race(&all) && !finds_hub
            };
            match scenes.last_mut().filter(|last| goes_together(last)) {
                Some(last) => last.acts.extend(more),
                None => scenes.push(Scene::new(more)),
            }
        }
    }
    if author.lost == Some(HUB) {
        scenes.push(Scene::new(author.lost.take().map(Act::find)));
    }
    let found = author.lost.map(Act::find);
    let gone = author.instances.iter().map(|(server, name)| Act::delete(SITES, name).at(server));
    scenes.push(Scene::new(found.into_iter().chain(gone)));
    scenes.push(Scene::new([Act::delete(DEFINITIONS, "site")]));
    let args: &[&str] = if author.has_spokes { &["--enable-multicluster"] } else { &[] };
    let scenario = Scenario::new(&format!("{NAME} {story}"), args, scenes);
    // Where nobody can be elected nothing is done, from the moment on when the lease ends, which is chance.
    if author.one_in(6) && !author.hub.was { scenario.by_two() } else { scenario }
}
