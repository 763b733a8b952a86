//! The bill of materials that is written beside each image.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::tool;

fn bill(binary: &str, digest: &str) -> Value {
    let printed = tool::output(&tool::root().join("config/images/sbom.sh"), &[binary, digest], &[]);
    serde_json::from_str(&printed).unwrap()
}

#[test]
fn the_bill_names_what_is_linked_and_nothing_else() {
    let digest = "0123456789abcdef".repeat(4);
    let bill = bill("resource-broker", &format!("sha256:{digest}"));
    assert_eq!(bill["bomFormat"], "CycloneDX");
    assert_eq!(bill["metadata"]["component"]["name"], "resource-broker");
    assert_eq!(bill["metadata"]["component"]["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(bill["metadata"]["component"]["hashes"][0]["content"], digest.as_str());

    let mut components = BTreeMap::new();
    for component in bill["components"].as_array().unwrap() {
        let reference = component["bom-ref"].as_str().unwrap();
        assert!(components.insert(reference, component).is_none(), "{reference} is there twice");
        assert!(component["licenses"][0]["expression"].is_string(), "{component}");
        // What is ours, and the standard library, is not from crates.io.
        if reference.starts_with("pkg:cargo/") {
            assert_eq!(component["purl"], reference);
            assert_eq!(component["hashes"][0]["content"].as_str().unwrap().len(), 64, "{component}");
        }
    }
    let names: BTreeSet<_> = components.values().map(|component| component["name"].as_str().unwrap()).collect();
    for linked in
        ["std", "resource-broker", "broker-core", "runtime-fleet", "kube-client", "ring", "libmimalloc-sys", "tokio"]
    {
        assert!(names.contains(linked), "{linked} is missing in {names:?}");
    }
    // Builds, macros, tests, other systems.
    for foreign in ["cc", "syn", "serde_derive", "proptest", "harness", "windows-sys", "security-framework"] {
        assert!(!names.contains(foreign), "{foreign} is not linked");
    }

    let known: BTreeSet<_> = components.keys().copied().collect();
    let mut listed = BTreeSet::new();
    for dependency in bill["dependencies"].as_array().unwrap() {
        listed.insert(dependency["ref"].as_str().unwrap());
        for needed in dependency["dependsOn"].as_array().unwrap() {
            assert!(known.contains(needed.as_str().unwrap()), "{needed} is no component");
        }
    }
    let missing: Vec<_> = known.difference(&listed).filter(|reference| !reference.starts_with("rust:")).collect();
    assert!(missing.is_empty(), "without dependencies: {missing:?}");
}

#[test]
fn a_binary_that_nobody_has_is_named() {
    let complaint = tool::attempt(&tool::root().join("config/images/sbom.sh"), &["no-such-binary"], &[]).unwrap_err();
    assert!(complaint.contains("no package of this workspace has a binary no-such-binary"), "{complaint}");
}
