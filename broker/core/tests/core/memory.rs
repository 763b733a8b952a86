//! What is remembered of an origin.

use broker_api::ClusterName;
use broker_core::{
    decision::Decision,
    memory::OriginMemory,
    movement::{Moving, Phase},
};

fn moving(to: &str, epoch: u64) -> Moving {
    let [from, to] = ["from", to].map(ClusterName::provider);
    Moving { from, to, epoch, migration: None, phase: Phase::Copying, waits_for: String::new() }
}

#[test]
fn whoever_was_given_up_last_is_last_in_line_until_a_move_arrives() {
    let mut memory = OriginMemory::default();
    let [one, two, three] = ["one", "two", "three"].map(ClusterName::provider);
    for (provider, now) in [(&one, 1000), (&two, 2000), (&one, 3000)] {
        memory.absorb(&Decision { gave_up: Some(provider.clone()), ..Decision::default() }, None, now);
    }
    assert_eq!([&one, &two, &three].map(|provider| memory.given_up(provider)), [Some(0), Some(1), None]);
    assert_eq!(
        [&one, &two, &three].map(|provider| memory.given_up_for(provider, 5000)),
        [Some(2000), Some(3000), None]
    );
    let held = memory.clone();
    let stays = Decision { provider: Some(ClusterName::provider("from")), ..Decision::default() };
    memory.absorb(&stays, Some(&moving("two", 7)), 6000);
    assert_eq!(memory, held, "it has not arrived");
    memory.absorb(&Decision { provider: Some(two), ..Decision::default() }, Some(&moving("two", 7)), 6000);
    assert_eq!(memory, OriginMemory::default());
}

#[test]
fn a_move_is_timed_from_when_it_was_first_seen() {
    let mut memory = OriginMemory::default();
    let see = |memory: &mut OriginMemory, epoch, now| {
        memory.absorb(&Decision { moving: Some(moving("two", epoch)), ..Decision::default() }, None, now);
    };
    see(&mut memory, 7, 1000);
    see(&mut memory, 7, 3000);
    assert_eq!((memory.moving_for(7, 5000), memory.moving_for(8, 5000), memory.moving_for(7, 0)), (4000, 0, 0));
    see(&mut memory, 8, 5000);
    assert_eq!((memory.moving_for(7, 6000), memory.moving_for(8, 6000)), (0, 1000));
}

#[test]
fn a_move_is_made_for_who_it_was_said_to_be_made_for() {
    let mut memory = OriginMemory::default();
    let mut see = |epoch, migration: Option<&str>| {
        let moving = Moving { migration: migration.map(str::to_owned), ..moving("two", epoch) };
        memory.absorb(&Decision { moving: Some(moving), ..Decision::default() }, None, 1000);
        [7, 8].map(|epoch| memory.made_for(epoch).map(str::to_owned))
    };
    let named = |name: &str| Some(name.to_owned());
    assert_eq!(see(7, Some("n/first")), [named("n/first"), None]);
    assert_eq!(see(7, None), [named("n/first"), None], "while Migrations are not known");
    assert_eq!(see(7, Some("n/second")), [named("n/second"), None], "the first is gone");
    assert_eq!(see(8, None), [None, None], "another move");
}
