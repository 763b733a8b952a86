//! Programs that a lab runs: their environment, logs and ends.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::os::unix::process::ExitStatusExt as _;
use std::time::Duration;

use harness::{Lab, LabOptions, Program, wait_for};

const DEADLINE: Duration = Duration::from_mins(1);

/// Set in the child that `computes`.
const COMPUTES: &str = "HARNESS_TEST_COMPUTES";
const THREADS: usize = 16;

fn shell(script: &str) -> Program {
    Program::new("shell", "sh").args(["-c", script])
}

#[tokio::test]
async fn a_program_is_run_stopped_and_read() {
    let lab = Lab::start(LabOptions::default()).await.unwrap();

    // Its end is its own: status, environment, output.
    let program = shell("echo \"$WORD\"; exit 3").env("WORD", "penelope");
    let mut first = lab.start_process(&program).unwrap();
    let status = first.exited(DEADLINE).await.unwrap();
    assert_eq!(status.code(), Some(3));
    assert_eq!(first.log().unwrap(), "penelope\n");
    let ended = first.terminate(DEADLINE).await.expect_err("it has ended");
    assert!(ended.to_string().contains("penelope"), "{ended:#}");

    // A second run of the name adds to the file, and reads its own part.
    let program = shell("trap 'echo bye; exit 0' TERM; echo ready; while :; do sleep 0.01; done");
    let mut second = lab.start_process(&program).unwrap();
    wait_for(DEADLINE, "the trap to be set", async || second.log().is_ok_and(|log| log == "ready\n")).await.unwrap();
    let status = second.terminate(DEADLINE).await.unwrap();
    assert!(status.success(), "{status}");
    assert_eq!(second.log().unwrap(), "ready\nbye\n");
    let file = std::fs::read_to_string(second.log_path()).unwrap();
    assert_eq!(file, "penelope\nready\nbye\n");

    // One that ignores SIGTERM is reported, and killed.
    let mut third = lab.start_process(&shell("trap '' TERM; echo deaf; while :; do sleep 0.01; done")).unwrap();
    wait_for(DEADLINE, "the trap to be set", async || third.log().is_ok_and(|log| log == "deaf\n")).await.unwrap();
    let error = third.terminate(Duration::from_millis(50)).await.expect_err("it ignores it");
    assert!(format!("{error:#}").contains("waited 50ms for shell to exit"), "{error:#}");
    third.kill();
    let status = third.exit_status().unwrap().expect("it is gone");
    assert_eq!(status.signal(), Some(9));

    let missing = Program::new("missing", lab.directory().join("no-such-program"));
    let error = lab.start_process(&missing).expect_err("there is none");
    assert!(error.to_string().contains("cannot start missing"), "{error:#}");
}

/// Not a test: the program of the one below.
#[test]
#[ignore = "started by another test"]
fn computes() {
    if std::env::var_os(COMPUTES).is_none() {
        return;
    }
    let spin = || {
        loop {
            std::hint::spin_loop();
        }
    };
    for _ in 1..THREADS {
        let _thread = std::thread::spawn(spin);
    }
    spin();
}

/// The states of a process's threads, as proc(5) has them.
fn states(process: u32) -> Vec<char> {
    let tasks = std::fs::read_dir(format!("/proc/{process}/task")).unwrap();
    let state = |task: std::io::Result<std::fs::DirEntry>| {
        let line = std::fs::read_to_string(task.unwrap().path().join("stat")).unwrap();
        // Before it is the name, which may hold anything.
        line.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next()).unwrap()
    };
    tasks.map(state).collect()
}

#[tokio::test]
async fn no_thread_of_a_frozen_program_runs() {
    let lab = Lab::start(LabOptions::default()).await.unwrap();
    let program = Program::new("busy", std::env::current_exe().unwrap());
    let program = program.args(["--exact", "computes", "--ignored"]).env(COMPUTES, "1");
    let mut busy = lab.start_process(&program).unwrap();
    wait_for(DEADLINE, "its threads", async || states(busy.id()).len() > THREADS).await.unwrap();
    for _ in 0..20 {
        busy.pause().await.unwrap();
        let states = states(busy.id());
        assert!(states.iter().all(|state| *state == 'T'), "{states:?}");
        busy.pause().await.expect("it is frozen already");
        busy.resume().unwrap();
    }
}
