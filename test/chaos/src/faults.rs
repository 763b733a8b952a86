//! What fails: ways, programs, API servers, their store, credentials. Five go about it, each by a sequence of its own.

use std::{sync::Arc, time::Duration};

use harness::Dice;
use tokio::time::{Instant, sleep};

use crate::{
    proxy::Way,
    runner::Runner,
    stage::{Site, Stage},
    timeline::Timeline,
};

/// How often an API server is started until one stays.
const STARTS: u32 = 4;
/// So long people go on after the last fault.
const AFTER: Duration = Duration::from_secs(5);

/// Who lets things fail until then, and then no more: all that was killed or frozen runs again when [`Faults::run`] returns.
pub(crate) struct Faults<'a> {
    pub(crate) stage: &'a Stage,
    pub(crate) timeline: &'a Arc<Timeline>,
    pub(crate) until: Instant,
}

/// What is drawn from is drawn whole before anything comes twice: in a short run, too, all of it happens.
struct Deck<T> {
    all: Vec<T>,
    left: Vec<T>,
}

impl<T: Clone> Deck<T> {
    fn new(all: Vec<T>) -> Self {
        Self { all, left: Vec::new() }
    }

    fn draw(&mut self, dice: &mut Dice) -> T {
        if self.left.is_empty() {
            self.left.clone_from(&self.all);
        }
        let at = usize::try_from(dice.below(self.left.len() as u64)).unwrap_or_default();
        self.left.swap_remove(at)
    }
}

/// Starts an API server that was killed. One that gives up while it starts, as it does where its store is slow, is started once
/// more: a kubelet would do that.
pub(crate) async fn start(site: &Site, timeline: &Timeline) -> anyhow::Result<()> {
    for _ in 1..STARTS {
        let Err(error) = site.place.cluster.start_again().await else { return Ok(()) };
        let text = format!("{error:#}");
        let last = text.lines().last().unwrap_or_default();
        timeline.tell(&format!("{} did not start, and is started again: {last}", site.place.name()));
    }
    site.place.cluster.start_again().await
}

fn millis(dice: &mut Dice, from: u64, to: u64) -> Duration {
    Duration::from_millis(dice.between(from, to))
}

impl Faults<'_> {
    /// Lets things fail.
    ///
    /// # Errors
    /// What was to come back does not: an API server that does not start, say.
    pub(crate) async fn run(&self, dice: &mut Dice) -> anyhow::Result<()> {
        let forks = [dice.fork(), dice.fork(), dice.fork(), dice.fork(), dice.fork(), dice.fork()];
        let [ways, weather, programs, servers, store, credentials] = forks;
        tokio::try_join!(
            self.ways(ways),
            self.weather(weather),
            self.programs(programs),
            self.servers(servers),
            self.store(store),
            self.credentials(credentials),
        )?;
        // Last of all what nothing else will mend: our programs have to find it out themselves.
        for proxy in self.stage.proxies() {
            self.timeline.fault("connections lost without a word", &format!("all to {}", proxy.name()));
            proxy.set_flaws(0);
            proxy.lose();
        }
        sleep(AFTER).await;
        Ok(())
    }

    /// Waits for so long; false where faults have come to their end meanwhile.
    async fn pause(&self, span: Duration) -> bool {
        let now = Instant::now();
        sleep(span.min(self.until.saturating_duration_since(now))).await;
        Instant::now() < self.until
    }

    /// How long something lasts: not beyond the end.
    async fn last(&self, span: Duration) {
        self.pause(span).await;
    }

    async fn ways(&self, mut dice: Dice) -> anyhow::Result<()> {
        let proxies = self.stage.proxies();
        let all = (0..proxies.len()).flat_map(|at| (0..4).map(move |what| (at, what)));
        let mut deck = Deck::new(all.collect());
        while self.pause(millis(&mut dice, 500, 4_000)).await {
            let (at, what) = deck.draw(&mut dice);
            let (proxy, span) = (proxies[at], millis(&mut dice, 500, 15_000));
            let name = proxy.name();
            match what {
                0 => {
                    self.timeline.fault("connections cut", &format!("all to {name}"));
                    proxy.cut();
                }
                1 => {
                    self.timeline.fault("connections lost without a word", &format!("all to {name}"));
                    proxy.lose();
                }
                2 => {
                    self.timeline.fault("way held", &format!("to {name} for {span:.1?}"));
                    proxy.set_way(Way::Held);
                    self.last(span).await;
                }
                _ => {
                    self.timeline.fault("way shut", &format!("to {name} for {span:.1?}"));
                    proxy.set_way(Way::Shut);
                    self.last(span).await;
                }
            }
            proxy.set_way(Way::Open);
        }
        Ok(())
    }

    /// How many connections have flaws of their own.
    async fn weather(&self, mut dice: Dice) -> anyhow::Result<()> {
        loop {
            for proxy in self.stage.proxies() {
                proxy.set_flaws(*dice.pick(&[0, 300, 700, 1000]));
            }
            if !self.pause(millis(&mut dice, 10_000, 30_000)).await {
                return Ok(());
            }
        }
    }

    async fn programs(&self, mut dice: Dice) -> anyhow::Result<()> {
        let [one, two] = &self.stage.brokers;
        let all = [one, two, &self.stage.graphs];
        let mut deck = Deck::new(all.iter().flat_map(|runner| [(*runner, true), (*runner, false)]).collect());
        while self.pause(millis(&mut dice, 1_000, 10_000)).await {
            let (runner, kills) = deck.draw(&mut dice);
            if kills {
                self.killed(runner, millis(&mut dice, 1, 5_000)).await?;
                // A newborn dies once more, some time.
                if dice.one_in(3) && self.pause(millis(&mut dice, 1, 1_500)).await {
                    self.killed(runner, millis(&mut dice, 1, 1_000)).await?;
                }
            } else {
                // A lease lasts 15 s: another may lead when it wakes up.
                let span = millis(&mut dice, 500, 25_000);
                self.timeline.fault("program frozen (SIGSTOP)", &format!("{} for {span:.1?}", runner.name()));
                runner.freeze().await?;
                self.last(span).await;
                runner.thaw().await?;
            }
        }
        Ok(())
    }

    async fn killed(&self, runner: &Runner, down: Duration) -> anyhow::Result<()> {
        self.timeline.fault("program killed (SIGKILL)", &format!("{}, down for {down:.1?}", runner.name()));
        runner.kill().await;
        self.last(down).await;
        runner.start(&self.stage.lab).await
    }

    async fn servers(&self, mut dice: Dice) -> anyhow::Result<()> {
        let sites = self.stage.sites.iter();
        let mut deck = Deck::new(sites.flat_map(|site| [(site, true), (site, false)]).collect());
        while self.pause(millis(&mut dice, 2_000, 12_000)).await {
            let (site, kills) = deck.draw(&mut dice);
            let _alone = site.peace.lock().await;
            let (name, cluster) = (site.place.name(), &site.place.cluster);
            if kills {
                let down = millis(&mut dice, 1, 6_000);
                self.timeline.fault("API server killed (SIGKILL)", &format!("{name}, down for {down:.1?}"));
                cluster.stop();
                self.last(down).await;
                start(site, self.timeline).await?;
            } else {
                let span = millis(&mut dice, 500, 15_000);
                self.timeline.fault("API server frozen (SIGSTOP)", &format!("{name} for {span:.1?}"));
                cluster.pause().await?;
                self.last(span).await;
                cluster.resume()?;
            }
        }
        Ok(())
    }

    async fn store(&self, mut dice: Dice) -> anyhow::Result<()> {
        while self.pause(millis(&mut dice, 5_000, 25_000)).await {
            let revision = self.stage.lab.compact().await?;
            self.timeline.fault("etcd compacted", &format!("at revision {revision}"));
        }
        Ok(())
    }

    async fn credentials(&self, mut dice: Dice) -> anyhow::Result<()> {
        let mut deck = Deck::new(self.stage.sites.iter().collect());
        while self.pause(millis(&mut dice, 5_000, 25_000)).await {
            let site: &Site = deck.draw(&mut dice);
            let gap = millis(&mut dice, 1, 8_000);
            let (name, cluster) = (site.place.name(), &site.place.cluster);
            {
                let _alone = site.peace.lock().await;
                if site.credential.is_token() {
                    self.timeline.fault("token rotated", &format!("{name}: starts again, refused for {gap:.1?}"));
                    cluster.stop();
                    site.credential.rotate(&site.place)?;
                    start(site, self.timeline).await?;
                } else {
                    self.timeline.fault("certificate rotated", &format!("{name}: refused for {gap:.1?}"));
                    site.credential.rotate(&site.place)?;
                }
            }
            self.last(gap).await;
            self.stage.tell_credential(site).await?;
        }
        Ok(())
    }
}
