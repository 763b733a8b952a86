//! `Bystander`: somebody who is served while others are attacked.

use std::{
    fs,
    sync::atomic::{AtomicU64, Ordering},
    time::Instant,
};

use e2e::{Kind, broker::http_get};
use serde_json::json;
use tokio::sync::OnceCell;

use crate::{
    rgd::{Node, Rgd},
    scene::Scene,
};

/// Far more than a process needs that is not being filled, in KiB.
const MOST_MEMORY: u64 = 1 << 20;

/// The kind of all bystanders: each more would cost the API server more than what is done to it.
static KIND: OnceCell<Kind> = OnceCell::const_new();

/// Instances of somebody else's RGD, in a namespace of theirs.
pub(crate) struct Bystander<'a> {
    scene: Scene<'a>,
    kind: Kind,
    /// What their names begin with.
    name: String,
    next: AtomicU64,
}

impl<'a> Bystander<'a> {
    /// One beside an attack.
    pub(crate) async fn beside(attack: &Scene<'a>) -> Self {
        let scene = Scene::new(attack.stage, "hostile-aside").await;
        let rgd = Rgd::new("Bystander")
            .spec(json!({"text": "string"}))
            .status(json!({"text": "${config.data.text}"}))
            .node(Node::config("config", "${schema.metadata.name}", json!({"text": "${schema.spec.text}"})));
        let kind = *KIND.get_or_init(|| scene.define(&rgd)).await;
        let bystander = Self { scene, kind, name: attack.ns().to_owned(), next: AtomicU64::new(0) };
        bystander.is_served("before").await;
        bystander
    }

    /// A new instance becomes active, the process is well and no larger than it should be.
    pub(crate) async fn is_served(&self, during: &str) {
        let name = format!("{}-{}", self.name, self.next.fetch_add(1, Ordering::Relaxed));
        let began = Instant::now();
        let seen = self.scene.bring_up(&self.kind, &name, json!({"text": name})).await;
        assert_eq!(seen.text("/status/text"), name, "{seen}");
        let elapsed = began.elapsed();
        self.scene.delete(&self.kind, &name).await;
        let (health, id) = {
            let mut controller = self.scene.stage.controller().await;
            (controller.health().to_owned(), controller.process().id())
        };
        let (status, body) = http_get(&health, "/healthz").await.unwrap();
        assert_eq!(status, 200, "{body}");
        let memory = resident(id);
        println!("{}, {during}: served in {elapsed:?}, {} MiB", self.name, memory / 1024);
        assert!(memory < MOST_MEMORY, "{memory} KiB");
    }
}

/// What a process holds of memory, in KiB.
fn resident(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}
