//! Decisions are tested without requests: what stands in for an API server there (`test/objects`) carries out a decided write
//! on a map. It does what the model does, which `tests/conformance` holds to a real API server: the same writes, sent to the model
//! as the engine sends them, leave the same object, or are refused for the same reason.
//!
//! `SIM_STORIES` is how many stories there are (300), `SIM_SEED` what the first follows from.

#![allow(clippy::unwrap_used)]

mod content;
mod model;
mod served;
mod story;

use self::story::Story;

const STEPS: usize = 20;

#[tokio::test(start_paused = true)]
async fn the_stand_in_does_what_the_model_does() {
    let number = |name: &str, default| std::env::var(name).map_or(default, |text| text.parse().unwrap());
    let first: u64 = number("SIM_SEED", 1);
    for seed in first..first + number("SIM_STORIES", 300) {
        let mut story = Story::begin(seed).await;
        for _ in 0..STEPS {
            story.step().await;
        }
    }
}
