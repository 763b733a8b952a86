//! `Said`: what a command of `kubectl broker` said.

use std::{path::Path, process::Stdio};

use tokio::process::Command;

/// How tokens begin in JSON Web Tokens, the same in base64 once more, and how a kubeconfig begins in base64.
const SECRETS: [&str; 3] = ["eyJ", "ZXlK", "YXBpVmVyc2lvb"];

/// What a command said.
#[derive(Debug, Clone)]
pub(crate) struct Said {
    args: String,
    /// How it ended.
    pub(crate) code: Option<i32>,
    /// On standard output.
    pub(crate) out: String,
    /// On standard error.
    pub(crate) err: String,
}

impl Said {
    /// As a person sees it.
    pub(crate) fn shown(&self) -> String {
        let Self { args, code, out, err } = self;
        let end = match code {
            Some(0) => String::new(),
            Some(code) => format!("(exit code {code})\n"),
            None => "(killed)\n".to_owned(),
        };
        format!("$ kubectl broker {args}\n{err}{out}{end}")
    }
}

/// Runs `kubectl broker` with these arguments and this kubeconfig. Whatever it says, there is no token in it.
pub(crate) async fn run(kubeconfig: &Path, args: &[&str]) -> Said {
    let program = harness::binary("kubectl-broker").unwrap_or_else(|error| panic!("{error:#}"));
    let mut command = Command::new(program);
    command.args(args).env("KUBECONFIG", kubeconfig).env("NO_COLOR", "1").stdin(Stdio::null()).kill_on_drop(true);
    let output = command.output().await.unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let (out, err) = (text(output.stdout), text(output.stderr));
    let said = Said { args: args.join(" "), code: output.status.code(), out, err };
    let all = said.shown();
    // Which one it is, is not told here either.
    assert!(!SECRETS.iter().any(|secret| all.contains(secret)), "there is a token in what {args:?} says");
    said
}
