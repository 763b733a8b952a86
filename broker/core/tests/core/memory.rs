//! What is remembered of an origin.

use broker_api::ClusterName;
use broker_core::memory::OriginMemory;

#[test]
fn whoever_was_given_up_last_is_last_in_line() {
    let mut memory = OriginMemory::default();
    let [one, two, three] = ["one", "two", "three"].map(ClusterName::provider);
    for provider in [&one, &two, &one] {
        memory.give_up(provider);
    }
    assert_eq!([&one, &two, &three].map(|provider| memory.given_up(provider)), [Some(0), Some(1), None]);
    memory.forget_given_up();
    assert_eq!(memory, OriginMemory::default());
}

#[test]
fn a_move_is_timed_from_when_it_was_first_seen() {
    let mut memory = OriginMemory::default();
    memory.saw_move(7, 1000);
    memory.saw_move(7, 3000);
    assert_eq!((memory.moving_for(7, 5000), memory.moving_for(8, 5000), memory.moving_for(7, 0)), (4000, 0, 0));
    memory.saw_move(8, 5000);
    assert_eq!((memory.moving_for(7, 6000), memory.moving_for(8, 6000)), (0, 1000));
}
