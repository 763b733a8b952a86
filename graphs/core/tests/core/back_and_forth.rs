//! Who may be edited back and forth.

use runtime_effect::memory::{Memory, Pace, Subject};

/// Whether a subject that is written in one way and then in another, again and again in one moment, has to wait.
pub(crate) fn is_slowed<S: Subject>(subject: S) -> bool {
    let mut memory = Memory::<S>::default();
    (0..20).any(|turn| {
        let intent = [turn % 2; 8];
        let paces = [memory.pace(subject, intent, 1000), memory.allowance(0, 1000)];
        memory.wrote(subject, intent, None, 1000);
        paces != [Pace::Go; 2]
    })
}
