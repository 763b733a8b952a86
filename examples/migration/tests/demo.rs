//! The whole, with the broker: the demo checks every step itself.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::process::Command;

use example_stage::program;

/// Needs broker, operator and `demo` built with the same profile (`cargo build --workspace --bins`; `make test` does).
#[test]
fn a_store_moves_with_its_data() {
    let directory = std::env::temp_dir().join(format!("migration-demo-{}", std::process::id()));
    let demo = harness::binary(program::BINARY).unwrap();
    let output = Command::new(demo).args(["migration", "--once", "--directory"]).arg(&directory).output();
    let output = output.unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{told}\n{}", String::from_utf8_lossy(&output.stderr));
    assert!(told.contains("all checks passed"), "{told}");
    assert!(!directory.exists(), "{} is left over", directory.display());
}
