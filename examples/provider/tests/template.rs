//! The template stands alone: a copy of it needs nothing of the rest of this repository.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;

const TEMPLATE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/template");

/// What cargo reads in a manifest. It compiles nothing, resolves nothing and asks nobody.
fn packages(manifest: &Path) -> Vec<Value> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["metadata", "--no-deps", "--offline", "--format-version", "1", "--manifest-path"]).arg(manifest);
    let output = cargo.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    told["packages"].as_array().unwrap().clone()
}

fn dependencies(package: &Value) -> &[Value] {
    package["dependencies"].as_array().map(Vec::as_slice).unwrap_or_default()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if !path.is_dir() {
            found.push(path);
        } else if !path.ends_with("target") {
            found.extend(files(&path));
        }
    }
    found
}

#[test]
fn a_copy_is_a_package_of_its_own_with_the_versions_that_are_tested_here() {
    let place = tempfile::tempdir().unwrap();
    let copy = place.path().join("my-provider");
    assert!(Command::new("cp").arg("-r").arg(TEMPLATE).arg(&copy).status().unwrap().success());
    let copied = packages(&copy.join("Cargo.toml"));
    assert_eq!(copied.len(), 1);
    let ours = packages(&Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml"));
    let others: Vec<_> = ours.iter().filter(|package| package["name"] != copied[0]["name"]).collect();
    assert!(others.len() < ours.len(), "the template is no member of the workspace: nobody compiles it");
    for dependency in dependencies(&copied[0]) {
        assert!(dependency["path"].is_null(), "{dependency} is not there in a copy");
        let same = |other: &Value| other["name"] == dependency["name"] && other["req"] == dependency["req"];
        let known = others.iter().any(|package| dependencies(package).iter().any(&same));
        assert!(known, "{} {} is not what the workspace has", dependency["name"], dependency["req"]);
    }
}

#[test]
fn nothing_in_it_leads_out_of_it() {
    let files = files(Path::new(TEMPLATE));
    assert!(files.len() > 10, "{files:?}");
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        assert!(!text.contains("../"), "{} leads out of the folder", file.display());
    }
}
