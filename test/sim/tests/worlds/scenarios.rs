//! Stories with a name, each told with a crash after every single write.

use std::time::Duration;

use sim::Outage as How;

use crate::{
    act::{
        Act::{
            self, Ask, Configure, Drop, Edit, Extend, Forge, GiveBack, Heal, Hide, Hold, Install, Keep, Leave, Mood,
            Nothing, Order, Outage, Pause, Policy, Raze, Readmit, Release, Resume, Return, Rotate, Show, Squat, Steal,
            Strip, Transfer, Uninstall, Withdraw, Yield,
        },
        Forgery, Mark, Order as Word, Policy as Says, Thing,
    },
    crowd::each,
    number,
    plan::Plan,
    provider::Mood as Works,
    read,
    stage::{HUB, PROVIDERS, TENANTS},
    story::{Told, tell},
};

const A: &str = PROVIDERS[0];
const B: &str = PROVIDERS[1];
const C: &str = PROVIDERS[2];
const HOMER: &str = TENANTS[0];
const ONE: Thing = Thing::FIRST;
const TWO: Thing = Thing::SECOND;
const OTHERS: Thing = Thing::OTHERS;

/// Name, and what is done. Half a minute is between one act and the next.
fn scenarios() -> Vec<(&'static str, Vec<Act>)> {
    let from_a = |acts: &[Act]| [&[Policy(B, Says::Closed), Ask(ONE), Policy(B, Says::Open)], acts].concat();
    let staged = |acts: &[Act]| [&[Configure], &*from_a(&[Policy(A, Says::Drained)]), acts].concat();
    let anew = &[Forge(ONE, Forgery::Unheld), GiveBack(ONE), Ask(ONE)][..];
    vec![
        ("one is asked for", vec![Ask(ONE)]),
        ("two are asked for", vec![Ask(ONE), Ask(TWO)]),
        ("two tenants ask for the same", vec![Ask(ONE), Ask(OTHERS)]),
        ("it is edited", vec![Ask(ONE), Edit(ONE, 1), Edit(ONE, 2)]),
        ("it is given back and asked for again", vec![Ask(ONE), GiveBack(ONE), Ask(ONE)]),
        ("it is asked for while paused", vec![Ask(ONE), Pause(ONE), Edit(ONE, 1), Resume(ONE)]),
        ("its signature is taken off", vec![Ask(ONE), Forge(ONE, Forgery::Unsigned)]),
        ("it claims to be elsewhere", from_a(&[Forge(ONE, Forgery::Elsewhere(B))])),
        ("it claims to move", from_a(&[Forge(ONE, Forgery::Moving(B))])),
        ("its finalizer is taken off", vec![Ask(ONE), Forge(ONE, Forgery::Unheld)]),
        ("it goes without its finalizer", vec![Ask(ONE), Forge(ONE, Forgery::Unheld), GiveBack(ONE)]),
        ("an old assignment comes back", from_a(&[Policy(A, Says::Drained), Forge(ONE, Forgery::Replay)])),
        ("its copy loses its origin", vec![Ask(ONE), Strip(ONE, Mark::Origin)]),
        ("its copy loses the name of its object", vec![Ask(ONE), Strip(ONE, Mark::Name)]),
        ("its copy loses its labels", vec![Ask(ONE), Strip(ONE, Mark::Labels)]),
        ("its copy loses all marks", vec![Ask(ONE), Strip(ONE, Mark::All)]),
        ("its copy is deleted", vec![Ask(ONE), Drop(ONE)]),
        ("somebody else has the name of its copy", vec![Ask(ONE), Squat(ONE), Edit(ONE, 1), Yield(ONE)]),
        ("somebody else holds it", vec![Ask(ONE), Hold(ONE), GiveBack(ONE), Release(ONE)]),
        ("the namespace of its copy is deleted", vec![Ask(ONE), Raze(ONE), Edit(ONE, 1)]),
        ("its marks are stolen", vec![Ask(ONE), Ask(OTHERS), Steal(A), Steal(B)]),
        ("its provider is drained", from_a(&[Policy(A, Says::Drained)])),
        ("its provider closes", from_a(&[Policy(A, Says::Closed)])),
        ("its provider takes its AcceptAPI back", from_a(&[Policy(A, Says::None)])),
        ("another wants its share", from_a(&[Policy(B, Says::Rebalancing)])),
        (
            "a drain that is taken back",
            from_a(&[Mood(B, Works::Idle), Policy(A, Says::Drained), Policy(A, Says::Open)]),
        ),
        (
            "the next provider closes in mid-move",
            from_a(&[Mood(B, Works::Idle), Policy(A, Says::Drained), Policy(B, Says::Closed)]),
        ),
        ("its provider leaves and returns", from_a(&[Leave(A), Nothing, Nothing, Return(A)])),
        ("its provider leaves for long and returns", from_a(&[&[Leave(A)], &[Nothing; 5][..], &[Return(A)]].concat())),
        ("it is made anew while its provider is away", from_a(&[&[Leave(A)], anew, &[Return(A)]].concat())),
        (
            "it is made anew while its provider cannot be reached",
            from_a(&[&[Outage(A, How::Silent)], anew, &[Heal(A)]].concat()),
        ),
        (
            "it goes while its consumer cannot be reached",
            vec![
                Ask(ONE),
                Ask(OTHERS),
                Outage(HOMER, How::Refused),
                Forge(ONE, Forgery::Unheld),
                GiveBack(ONE),
                Edit(OTHERS, 1),
                Heal(HOMER),
            ],
        ),
        (
            "somebody else has something where copies were",
            vec![Policy(B, Says::Closed), Ask(ONE), Ask(TWO), Squat(ONE), GiveBack(TWO), GiveBack(ONE)],
        ),
        ("somebody else has something beside its copy", vec![Ask(ONE), Keep(ONE), GiveBack(ONE), Nothing, Yield(ONE)]),
        ("its provider takes its time to let go", from_a(&[Mood(A, Works::Clinging), Nothing, GiveBack(ONE), Nothing])),
        ("its provider cannot be reached when it goes", from_a(&[Outage(A, How::Silent), GiveBack(ONE), Heal(A)])),
        ("its provider cannot be reached", from_a(&[Outage(A, How::Silent), Edit(ONE, 1), Heal(A)])),
        ("its consumer cannot be reached", vec![Ask(ONE), Outage(HOMER, How::Refused), GiveBack(ONE), Heal(HOMER)]),
        (
            "its consumer takes the rights away",
            vec![
                Ask(ONE),
                Outage(HOMER, How::Forbidden),
                Nothing,
                Nothing,
                Nothing,
                Strip(ONE, Mark::Labels),
                Heal(HOMER),
            ],
        ),
        (
            "its provider is silent for longer than it may",
            from_a(&[&[Policy(A, Says::Impatient), Outage(A, How::Silent)], &[Nothing; 5][..], &[Heal(A)]].concat()),
        ),
        (
            "its provider is silent for good",
            from_a(&[Policy(A, Says::Impatient), Nothing, Outage(A, How::Silent), Nothing]),
        ),
        ("its provider leaves for good", from_a(&[Leave(A), Nothing, Nothing])),
        ("its provider knows nobody any more", from_a(&[Outage(A, How::Unauthorized), Edit(ONE, 1), Heal(A)])),
        (
            "the provider that it leaves fails at all writes",
            from_a(&[Outage(A, How::Broken), Policy(A, Says::Drained), Nothing, Nothing, Mood(B, Works::Tokens)]),
        ),
        (
            "its consumer fails at all writes",
            from_a(&[Outage(HOMER, How::Broken), Edit(ONE, 1), Policy(A, Says::Drained), Heal(HOMER)]),
        ),
        ("the hub cannot be reached", from_a(&[Outage(HUB, How::Silent), Edit(ONE, 1), Heal(HUB), Edit(ONE, 2)])),
        ("the hub cannot be reached in mid-move", staged(&[Outage(HUB, How::Refused), Edit(ONE, 1), Heal(HUB)])),
        ("the kubeconfigs change", from_a(&[Rotate(A, 1), Rotate(HOMER, 1), Edit(ONE, 1), Rotate(A, 2)])),
        ("its kind vanishes and comes back", from_a(&[Uninstall(A), Edit(ONE, 1), Install(A)])),
        ("its consumer's kind vanishes and comes back", from_a(&[Uninstall(HOMER), Install(HOMER), Ask(ONE)])),
        ("its consumer's kind vanishes in mid-move", staged(&[Uninstall(HOMER), Nothing, Install(HOMER)])),
        ("its AcceptAPI vanishes with its kind", from_a(&[Withdraw(A), Edit(ONE, 1), Readmit(A)])),
        ("those who may have it accept nothing for a moment", staged(&[Withdraw(B), Nothing, Readmit(B)])),
        ("its kind grows", from_a(&[Extend, Edit(ONE, 1)])),
        ("its provider names a token", vec![Mood(A, Works::Tokens), Mood(B, Works::Tokens), Ask(ONE)]),
        ("its provider names another object", vec![Mood(A, Works::Foreign), Mood(B, Works::Foreign), Ask(ONE)]),
        ("it moves in stages", staged(&[])),
        (
            "what says that it moves in stages is hidden for a moment",
            [&[Configure, Hide, Show], &*from_a(&[Policy(A, Says::Drained)])].concat(),
        ),
        ("it is edited while it moves in stages", staged(&[Edit(ONE, 1)])),
        ("it is given back while it moves in stages", staged(&[GiveBack(ONE)])),
        ("its provider leaves while it moves in stages", staged(&[Leave(A), Nothing, Nothing, Return(A)])),
        ("a person moves it", from_a(&[Transfer(ONE, B)])),
        ("a person moves it in stages", [&[Configure], &*from_a(&[Transfer(ONE, B)])].concat()),
        ("a person moves it to who does not want it", from_a(&[Policy(B, Says::Closed), Transfer(ONE, B)])),
        ("a person holds its move up", staged(&[Order(Word::Pause), Nothing, Order(Word::Resume)])),
        ("a person gives its move up", staged(&[Order(Word::Abort), Nothing, Order(Word::Delete)])),
        ("a person gives up a move that is held up", staged(&[Order(Word::Pause), Order(Word::Abort), Edit(ONE, 1)])),
        ("a person ends its Migration", staged(&[Order(Word::Delete)])),
        (
            "a person ends a Migration that is held up while its next provider is away",
            staged(&[Order(Word::Pause), Outage(B, How::Silent), Order(Word::Delete), Nothing, Heal(B)]),
        ),
        (
            "three providers hand it on",
            from_a(&[Policy(C, Says::Preferred), Policy(A, Says::Closed), Policy(C, Says::Closed)]),
        ),
    ]
}

/// What a person says of a move is said while it is under way.
fn plan(acts: &[Act]) -> Plan {
    let soon = |at: usize| matches!(acts.get(at + 1), Some(Order(_)));
    let pause = |at| Duration::from_secs(if soon(at) { 6 } else { 30 });
    Plan::of(1, acts.iter().enumerate().map(|(at, act)| (*act, pause(at))).collect()).heeding()
}

/// Tells these, and then each of them with a crash after each `step`-th write. Returns how many worlds with a crash that were.
fn crash_everywhere(step: usize, is_told: impl Fn(usize, &str) -> bool) -> usize {
    let told = scenarios().into_iter().enumerate().filter(|(at, (name, _))| is_told(*at, name));
    let calm = told.map(|(_, (name, acts))| {
        let plan = plan(&acts);
        let calm = tell(&plan);
        calm.hold(&calm);
        assert!(calm.writes > 5, "{name}: {}", calm.writes);
        (name, plan, calm)
    });
    calm.collect::<Vec<_>>().iter().map(|(name, plan, calm)| crash(step, name, plan, calm)).sum()
}

fn crash(step: usize, name: &str, plan: &Plan, calm: &Told) -> usize {
    assert!(number("CRASH").is_none_or(|after| after <= calm.writes), "{name} has {} writes", calm.writes);
    let crashes = number("CRASH").map_or(1..=calm.writes, |after| after..=after);
    let writes: Vec<u64> = crashes.step_by(step).collect();
    let failed = each(&writes, |after| tell(&plan.clone().crashing(*after)).check(calm).err());
    if let Some(after) = failed.first() {
        println!("{name}, a crash after {after} writes: make simulate SCENARIO='{name}' CRASH={after}");
        tell(&plan.clone().crashing(**after)).hold(calm);
    }
    writes.len()
}

#[test]
fn a_broker_that_crashes_after_any_write_gets_to_the_same_end() {
    let worlds = match (read("SCENARIO"), read("SCENARIOS").as_deref()) {
        (Some(only), _) => crash_everywhere(1, |_, name| name == only),
        (None, Some("all")) => crash_everywhere(1, |_, _| true),
        (None, _) => crash_everywhere(5, |at, _| at % 11 == 0),
    };
    println!("{worlds} worlds with a crash");
}

/// F9: a provider is lost at each second of a move in stages, the one that is left or the next, and comes back: all ends as
/// where nobody is lost.
#[test]
fn a_provider_that_is_lost_at_any_moment_of_a_move_changes_nothing_of_its_end() {
    let secs = Duration::from_secs;
    let begins = [Configure, Policy(B, Says::Closed), Ask(ONE), Policy(B, Says::Open)].map(|act| (act, secs(30)));
    let plan = |after: u64, goes, comes| {
        let moves = [(Policy(A, Says::Drained), secs(after)), (goes, secs(150)), (comes, secs(30))];
        Plan::of(1, begins.into_iter().chain(moves).collect())
    };
    let lost = |provider| {
        [
            (Outage(provider, How::Silent), Heal(provider)),
            (Outage(provider, How::Refused), Heal(provider)),
            (Leave(provider), Return(provider)),
        ]
    };
    let calm = tell(&plan(0, Nothing, Nothing));
    calm.hold(&calm);
    let moments = (0..=number("MOMENTS").unwrap_or(24)).collect::<Vec<u64>>();
    for (goes, comes) in [A, B].into_iter().flat_map(lost) {
        let failed = each(&moments, |after| tell(&plan(*after, goes, comes)).check(&calm).err());
        if let Some(after) = failed.first() {
            println!("{goes:?} {after} s after the drain");
            tell(&plan(**after, goes, comes)).hold(&calm);
        }
    }
}
