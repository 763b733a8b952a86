//! What `make crds` and its `--check` do to a folder.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

use broker_api::crds::HEADER;

fn crds(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_crds")).args(arguments).output().unwrap()
}

#[test]
fn writes_checks_and_removes() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("crds");
    let _ = fs::remove_dir_all(&folder);
    let path = folder.to_str().unwrap();

    assert_eq!(crds(&["--check", path]).status.code(), Some(1), "nothing is there yet");
    assert!(!folder.exists(), "a check writes nothing");
    assert!(crds(&[path]).status.success());
    assert!(crds(&["--check", path]).status.success());

    let edited = folder.join("example.platform-mesh.io_vms.yaml");
    let right = fs::read_to_string(&edited).unwrap();
    fs::write(&edited, right.replace("VM", "Vm")).unwrap();
    let stale = folder.join("example.platform-mesh.io_olds.yaml");
    fs::write(&stale, format!("{HEADER}a: b\n")).unwrap();
    let foreign = folder.join("mine.yaml");
    fs::write(&foreign, "a: b\n").unwrap();

    let check = crds(&["--check", path]);
    let says = String::from_utf8(check.stderr).unwrap();
    assert_eq!(check.status.code(), Some(1));
    assert_eq!(says.lines().count(), 2, "{says}");
    assert!(says.contains("_vms.yaml is out of date") && says.contains("_olds.yaml is out of date"), "{says}");

    assert!(crds(&[path]).status.success());
    assert_eq!(fs::read_to_string(&edited).unwrap(), right);
    assert!(!stale.exists() && foreign.exists());
    assert!(crds(&["--check", path]).status.success());
}

#[test]
fn a_wrong_call_says_how_to_call_it() {
    for arguments in [&[][..], &["--check"], &["a", "b"], &["--force", "a"]] {
        let output = crds(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(String::from_utf8(output.stderr).unwrap().contains("usage"), "{arguments:?}");
    }
}
