//! What `kubectl broker` says where no cluster is asked: what is simulated by files, and what shells, kubectl, `man` and
//! programs are told.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use e2e::{
    Said,
    said::{is_kept, json_alike, run},
};
use serde_json::Value;

/// Runs `kubectl broker` in the project's folder, without any kubeconfig.
async fn broker(args: &[&str]) -> Said {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let prepare = |command: &mut tokio::process::Command| {
        command.current_dir(root).env("KUBECONFIG", "/nowhere");
    };
    run(args, prepare).await
}

/// What each of these says, one after the other.
async fn all(commands: &[&[&str]]) -> String {
    let mut told = Vec::new();
    for args in commands {
        told.push(broker(args).await.shown());
    }
    told.join("\n")
}

const OBJECT: [&str; 9] = [
    "simulate",
    "-f",
    "config/samples/certificate.yaml",
    "--in",
    "homer",
    "--acceptapi",
    "theseus=config/samples/acceptapi-certificates.yaml",
    "--acceptapi",
    "nestor=examples/graphs/internal-corp/acceptapi.yaml",
];
const NOBODY: [&str; 5] =
    ["simulate", "-f", "config/samples/vm.yaml", "--acceptapi", "config/samples/acceptapi-certificates.yaml"];
const INSTANCE: [&str; 9] = [
    "simulate",
    "-f",
    "examples/graphs/consumer/bakery.yaml",
    "--rgd",
    "examples/graphs/consumer/securesite.yaml",
    "--in",
    "homer",
    "--acceptapi",
    "examples/graphs/internal-corp/acceptapi.yaml",
];
const DEFINITION: [&str; 3] = ["simulate", "--rgd", "examples/graphs/consumer/webapplication.yaml"];
const MISSPELT: [&str; 3] = ["simulate", "--rgd", "examples/graphs/consumer/misspelt.yaml"];

#[tokio::test]
async fn what_files_say_is_simulated() {
    let wide = [&INSTANCE[..], &["-o", "wide"]].concat();
    let commands: [&[&str]; 6] = [&OBJECT, &NOBODY, &INSTANCE, &wide, &DEFINITION, &MISSPELT];
    is_kept("migrations", "simulated.txt", &all(&commands).await);
    let mut told = Vec::new();
    let commands: [&[&str]; 4] = [&OBJECT, &INSTANCE, &DEFINITION, &MISSPELT];
    for args in commands {
        let said = broker(&[args, &["-o", "json"]].concat()).await;
        told.push(format!("{:#}\n", json_alike(said.json())));
    }
    is_kept("migrations", "simulated-json.txt", &told.concat());
}

#[tokio::test]
async fn what_can_be_asked_is_told() {
    let commands: [&[&str]; 7] = [
        &["-h"],
        &["completions", "kubectl"],
        &["__complete", "--", "do"],
        &["__complete", "--", "join", "homer", "--role", ""],
        &["__complete", "--", "schema", ""],
        &["schema"],
        &["why"],
    ];
    is_kept("migrations", "help.txt", &all(&commands).await);
}

/// A folder of its own for a test, which is not there yet.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
    if folder.exists() {
        fs::remove_dir_all(&folder).unwrap();
    }
    folder
}

/// Each shell takes its script, where there is that shell.
#[tokio::test]
async fn shells_take_their_scripts() {
    let folder = folder("shells");
    fs::create_dir_all(&folder).unwrap();
    for shell in ["bash", "zsh", "fish"] {
        let said = broker(&["completions", shell]).await;
        assert!(said.code == Some(0) && said.out.contains("kubectl-broker __complete"), "{shell}: {}", said.err);
        let script = folder.join(shell);
        fs::write(&script, said.out).unwrap();
        let Ok(checked) = Command::new(shell).arg("-n").arg(&script).output() else { continue };
        assert!(checked.status.success(), "{shell}: {}", String::from_utf8_lossy(&checked.stderr));
    }
    fs::remove_dir_all(folder).unwrap();
}

#[tokio::test]
async fn there_is_a_page_for_each_command() {
    let folder = folder("man1");
    let said = broker(&["man", folder.to_str().unwrap()]).await;
    assert_eq!(said.code, Some(0), "{said:?}");
    let pages = fs::read_dir(&folder).unwrap().map(|page| page.unwrap().file_name().into_string().unwrap());
    let mut pages: Vec<String> = pages.collect();
    pages.sort();
    is_kept("migrations", "man.txt", &(pages.join("\n") + "\n"));
    fs::remove_dir_all(folder).unwrap();
}

/// `why` on every state that a broker decides on: each is in what is kept of the other tests.
#[test]
fn why_is_kept_for_every_state() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let schema = fs::read_to_string(root.join("../../cli/schemas/why.json")).unwrap();
    let schema: Value = serde_json::from_str(&schema).unwrap();
    let states = schema.pointer("/$defs/Explained/properties/state/enum").and_then(Value::as_array).unwrap();
    let kept = fs::read_dir(root.join("tests/migrations/said")).unwrap().map(|file| file.unwrap().path());
    let kept: Vec<String> = kept.filter_map(|file| fs::read_to_string(file).ok()).collect();
    let missing = |state: &&str| !kept.iter().any(|said| said.contains(&format!("\n  {state}: at ")));
    let missing: Vec<&str> = states.iter().filter_map(Value::as_str).filter(missing).collect();
    assert!(!states.is_empty() && missing.is_empty(), "`why` is kept for none that is {missing:?}");
}
