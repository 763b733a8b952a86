//! Nothing that a lab started outlives the process that started it.
//!
//! The test runs itself a second time: the child holds a lab, and is killed.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::env;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use harness::{Lab, LabOptions, Program, wait_for};

const DEADLINE: Duration = Duration::from_mins(1);
/// Set in the child, to the directory its lab is to have.
const HOLD: &str = "HARNESS_TEST_HOLDS_LAB";

/// The command lines of processes that name the directory, as all of a lab's do (but the shell's trailing `rm`).
fn members(directory: &Path) -> Vec<String> {
    let directory = directory.to_str().unwrap();
    fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| fs::read(entry.ok()?.path().join("cmdline")).ok())
        .map(|line| String::from_utf8_lossy(&line).replace('\0', " "))
        .filter(|line| line.contains(directory))
        .collect()
}

async fn until_nothing_is_left(directory: &Path) {
    wait_for(DEADLINE, "everything of the lab to go", async || {
        let members = members(directory);
        match (members.is_empty(), directory.exists()) {
            (true, false) => Ok(()),
            (_, exists) => Err(format!("directory exists: {exists}, processes: {members:#?}")),
        }
    })
    .await
    .unwrap();
}

fn new_directory(name: &str) -> std::path::PathBuf {
    env::temp_dir().join(format!("harness-{name}-{}", std::process::id()))
}

/// `sleep` under another name of its own: a long-lived program that names the directory, as the broker's flags do.
fn sleeper(directory: &Path) -> Program {
    Program::new("sleeper", "sh").args([
        "-c",
        "trap '' TERM; sleep 1000 & wait; sleep 1000",
        directory.to_str().unwrap(),
    ])
}

/// Runs `holds_a_lab` of this binary as a process of its own, and returns it once its lab is up.
fn holder(directory: &Path) -> Child {
    let mut child = Command::new(env::current_exe().unwrap())
        .args(["--exact", "holds_a_lab", "--nocapture", "--ignored"])
        .env(HOLD, directory)
        .env_remove("HARNESS_KEEP")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("the lab is up")), "the child ended early");
    child
}

#[tokio::test]
#[ignore = "run by the other tests as a process of its own"]
async fn holds_a_lab() {
    let directory = env::var_os(HOLD).unwrap();
    let options = LabOptions { directory: Some(directory.into()), keep: false, ..LabOptions::default() };
    let lab = Lab::start(options).await.unwrap();
    let _cluster = lab.cluster("homer").await.unwrap();
    let _sleeper = lab.start_process(&sleeper(lab.directory())).unwrap();
    println!("the lab is up");
    // Until the parent kills this process, or is gone itself.
    let _end = std::io::stdin().read_line(&mut String::new());
}

#[tokio::test]
async fn a_killed_process_leaves_nothing() {
    let directory = new_directory("killed");
    let mut child = holder(&directory);
    // The shell may not have come to its first line yet.
    wait_for(DEADLINE, "all programs", async || {
        let up = members(&directory);
        for program in ["etcd", "kube-apiserver", "sleep 1000", "harness-reaper"] {
            anyhow::ensure!(up.iter().any(|line| line.contains(program)), "{program} is not among {up:#?}");
        }
        Ok(())
    })
    .await
    .unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    until_nothing_is_left(&directory).await;
}

#[tokio::test]
async fn a_dropped_lab_leaves_nothing() {
    let directory = new_directory("dropped");
    let options = LabOptions { directory: Some(directory.clone()), keep: false, ..LabOptions::default() };
    let lab = Lab::start(options).await.unwrap();
    let mut sleeper = lab.start_process(&sleeper(&directory)).unwrap();
    sleeper.pause().await.unwrap();
    assert!(sleeper.is_running());
    drop(lab);
    assert!(!directory.exists(), "dropping returns when all is done");
    sleeper.exited(DEADLINE).await.unwrap();
    until_nothing_is_left(&directory).await;
}

#[tokio::test]
async fn a_kept_lab_leaves_its_directory_only() {
    let directory = new_directory("kept");
    let options = LabOptions { directory: Some(directory.clone()), keep: true, ..LabOptions::default() };
    let lab = Lab::start(options.clone()).await.unwrap();
    let again = Lab::start(options).await.expect_err("the directory exists");
    assert!(format!("{again:#}").contains("anew"), "{again:#}");
    drop(lab);
    assert!(directory.join("etcd.log").exists());
    fs::remove_dir_all(&directory).unwrap();
    until_nothing_is_left(&directory).await;
}
