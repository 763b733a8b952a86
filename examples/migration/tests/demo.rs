//! The whole, with the broker: the demo checks every step itself.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::process::Command;

/// Needs `resource-broker` built with the same profile (`cargo build --workspace --bins`; `make test` does).
#[test]
fn a_store_moves_with_its_data() {
    let directory = std::env::temp_dir().join(format!("migration-demo-{}", std::process::id()));
    let output =
        Command::new(env!("CARGO_BIN_EXE_migration-demo")).arg("--once").arg("--directory").arg(&directory).output();
    let output = output.unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{told}\n{}", String::from_utf8_lossy(&output.stderr));
    assert!(told.contains("all checks passed"), "{told}");
    assert!(!directory.exists(), "{} is left over", directory.display());
}
