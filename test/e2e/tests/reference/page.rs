//! Commands of `docs/upgrade.md`, run as they stand there.

use std::process::Command;

use e2e::World;

use crate::{CONSUMER, INTERNAL};

const PAGE: &str = include_str!("../../../../docs/upgrade.md");

/// Runs the block of the page that begins so, with kubectl's contexts `consumer` and `internalca`.
pub(crate) fn run(world: &World, beginning: &str) {
    let blocks = PAGE.split("```").filter_map(|block| block.strip_prefix("sh\n"));
    let found: Vec<&str> = blocks.filter(|block| block.starts_with(beginning)).collect();
    let [commands] = found[..] else { panic!("one block that begins with {beginning:?}: {found:?}") };
    let folder = world.lab.directory().join("person");
    std::fs::create_dir_all(&folder).unwrap();
    // Users of one name would be one user.
    let contexts = [(world.consumer(CONSUMER), "admin"), (world.provider(INTERNAL), "person")];
    let files = contexts.map(|(place, user)| {
        let file = folder.join(place.name());
        place.cluster.write_kubeconfig(user, &file).unwrap();
        file.display().to_string()
    });
    let kubectl = harness::kubectl_binary().unwrap();
    let path = std::env::var("PATH").unwrap_or_default();
    let done = Command::new("sh")
        .args(["-euc", commands])
        .env("PATH", format!("{}:{path}", kubectl.parent().unwrap().display()))
        .env("KUBECONFIG", files.join(":"))
        .output()
        .unwrap();
    assert!(done.status.success(), "{commands}\n{}", String::from_utf8_lossy(&done.stderr));
}
