//! What a person wants to see when a step has failed.

use std::{
    fs,
    path::{Path, PathBuf},
};

use example_stage::Screen;

use crate::world::World;

/// Lines of each log that are shown.
const LINES: usize = 25;

/// Shows pods, Brokers, Events, and the last lines of what runs in pods of our own.
pub(crate) async fn show(world: &World, screen: &Screen) {
    for args in [
        &["get", "pods", "--all-namespaces", "--output", "wide"][..],
        &["get", "brokers", "--all-namespaces", "--output", "yaml"],
        &["get", "events", "--all-namespaces", "--sort-by", ".metadata.creationTimestamp"],
    ] {
        screen.heading(&format!("kubectl --context hub {}", args.join(" ")));
        let shown = world.kubectl.run("hub", args).await.unwrap_or_else(|error| format!("{error:#}"));
        screen.detail(&shown);
    }
    for node in &world.nodes {
        let mut logs = Vec::new();
        files(&node.logs(), &mut logs);
        logs.sort();
        for log in logs {
            screen.heading(&log.display().to_string());
            let text = fs::read_to_string(&log).unwrap_or_default();
            let lines: Vec<_> = text.lines().collect();
            for line in &lines[lines.len().saturating_sub(LINES)..] {
                screen.detail(line);
            }
        }
    }
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for path in fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            files(&path, found);
        } else {
            found.push(path);
        }
    }
}
