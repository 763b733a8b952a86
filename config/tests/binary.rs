//! What `make manifests` and its `--check` do to a folder.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

use broker_api::crds::HEADER;

fn manifests(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_manifests")).args(arguments).output().unwrap()
}

#[test]
fn writes_checks_and_removes() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("config");
    let _ = fs::remove_dir_all(&folder);
    let path = folder.to_str().unwrap();

    assert_eq!(manifests(&["--check", path]).status.code(), Some(1), "nothing is there yet");
    assert!(!folder.exists(), "a check writes nothing");
    assert!(manifests(&[path]).status.success());
    assert!(manifests(&["--check", path]).status.success());

    let edited = folder.join("rbac/consumer.yaml");
    let right = fs::read_to_string(&edited).unwrap();
    fs::write(&edited, right.replace("patch", "update")).unwrap();
    let stale = folder.join("crd/example.platform-mesh.io_olds.yaml");
    fs::write(&stale, format!("{HEADER}a: b\n")).unwrap();
    let foreign = folder.join("operator/deployment.yaml");
    fs::write(&foreign, "a: b\n").unwrap();

    let check = manifests(&["--check", path]);
    let says = String::from_utf8(check.stderr).unwrap();
    assert_eq!(check.status.code(), Some(1));
    assert_eq!(says.lines().count(), 2, "{says}");
    let told = says.contains("rbac/consumer.yaml is out of date") && says.contains("_olds.yaml is out of date");
    assert!(told && says.contains("make manifests"), "{says}");

    assert!(manifests(&[path]).status.success());
    assert_eq!(fs::read_to_string(&edited).unwrap(), right);
    assert!(!stale.exists() && foreign.exists());
    assert!(manifests(&["--check", path]).status.success());
}

#[test]
fn a_wrong_call_says_how_to_call_it() {
    for arguments in [&[][..], &["--check"], &["a", "b"], &["--force", "a"], &["--force"]] {
        let output = manifests(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(String::from_utf8(output.stderr).unwrap().contains("usage"), "{arguments:?}");
    }
}

#[test]
fn the_files_of_the_repository_are_the_generated_ones() {
    let differences = manifests::folder::differences(Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap();
    assert_eq!(differences, [""; 0], "out of date: run `make manifests`");
}
