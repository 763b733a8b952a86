//! A command of `kubectl broker`, as a person types it.

use std::path::Path;

use e2e::{Said, said};
use harness::WallClock;
use tokio::process::Command;

/// How tokens begin in JSON Web Tokens, the same in base64 once more, and how a kubeconfig begins in base64.
const SECRETS: [&str; 3] = ["eyJ", "ZXlK", "YXBpVmVyc2lvb"];

/// Runs `kubectl broker` with these arguments, this kubeconfig and by this clock. Whatever it says, there is no token in it.
pub(crate) async fn run(kubeconfig: &Path, clock: &WallClock, args: &[&str]) -> Said {
    let prepare = |command: &mut Command| {
        command.env("KUBECONFIG", kubeconfig);
        command.envs(clock.env());
    };
    let said = said::run(args, prepare).await;
    let all = said.shown();
    // Which one it is, is not told here either.
    assert!(!SECRETS.iter().any(|secret| all.contains(secret)), "there is a token in what {args:?} says");
    said
}
