//! The pure cores are tested without requests: the worlds of their unit tests have servers that carry out a decided write on a
//! map. They do what the model does, which `tests/conformance` holds to a real API server: the same writes, sent to the model as
//! the engine sends them, leave the same object, or are refused for the same reason.
//!
//! `SIM_STORIES` is how many stories there are of each (200), `SIM_SEED` what the first follows from.

#![allow(clippy::unwrap_used)]

mod brokered;
mod content;
mod graphed;
mod model;
mod served;
mod stand_in;
mod story;

use self::{brokered::Brokered, graphed::Graphed, stand_in::StandIn, story::Story};

const STEPS: usize = 20;

async fn tell<S: StandIn>() {
    let number = |name: &str, default| std::env::var(name).map_or(default, |text| text.parse().unwrap());
    let first: u64 = number("SIM_SEED", 1);
    for seed in first..first + number("SIM_STORIES", 200) {
        let mut story = Story::<S>::begin(seed).await;
        for _ in 0..STEPS {
            story.step().await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_the_brokers_decisions_are_tested_with_does_what_an_api_server_does() {
    tell::<Brokered>().await;
}

#[tokio::test(start_paused = true)]
async fn what_the_decisions_on_instances_are_tested_with_does_what_an_api_server_does() {
    tell::<Graphed>().await;
}
