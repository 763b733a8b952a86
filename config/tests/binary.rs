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
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("manifests");
    let _ = fs::remove_dir_all(&root);
    let folder = root.join("config");
    let path = folder.to_str().unwrap();

    assert_eq!(manifests(&["--check", path]).status.code(), Some(1), "nothing is there yet");
    assert!(!root.exists(), "a check writes nothing");
    assert!(manifests(&[path]).status.success());
    assert!(manifests(&["--check", path]).status.success());

    let edited = folder.join("rbac/consumer.yaml");
    let right = fs::read_to_string(&edited).unwrap();
    fs::write(&edited, right.replace("patch", "update")).unwrap();
    let stale = folder.join("crd/example.platform-mesh.io_olds.yaml");
    fs::write(&stale, format!("{HEADER}a: b\n")).unwrap();
    let foreign = folder.join("operator/deployment.yaml");
    fs::write(&foreign, "a: b\n").unwrap();
    let kinds = root.join("docs/kinds");
    let page = kinds.join("acceptapi.md");
    let told = fs::read_to_string(&page).unwrap();
    fs::write(&page, told.replace("cordoned", "closed")).unwrap();
    let stale_page = kinds.join("old.md");
    fs::write(&stale_page, format!("{}# Old\n", manifests::kinds::HEADER)).unwrap();
    let own_page = kinds.join("own.md");
    fs::write(&own_page, "# Own\n").unwrap();

    let check = manifests(&["--check", path]);
    let says = String::from_utf8(check.stderr).unwrap();
    assert_eq!(check.status.code(), Some(1));
    assert_eq!(says.lines().count(), 4, "{says}");
    for name in ["rbac/consumer.yaml", "_olds.yaml", "docs/kinds/acceptapi.md", "docs/kinds/old.md"] {
        assert!(says.contains(&format!("{name} is out of date: run `make manifests`")), "{name}: {says}");
    }

    assert!(manifests(&[path]).status.success());
    assert_eq!(fs::read_to_string(&edited).unwrap(), right);
    assert!(!stale.exists() && foreign.exists());
    assert_eq!(fs::read_to_string(&page).unwrap(), told);
    assert!(!stale_page.exists() && own_page.exists());
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
