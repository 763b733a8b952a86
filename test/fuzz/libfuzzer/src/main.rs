//! Hands what libFuzzer makes up to the target that `FUZZ_TARGET` names.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;

static TARGET: LazyLock<fn(&[u8])> = LazyLock::new(|| {
    let name = std::env::var("FUZZ_TARGET").unwrap_or_default();
    let found = fuzz::TARGETS.iter().find(|target| target.name == name);
    let Some(target) = found else { panic!("FUZZ_TARGET={name:?} is none of the targets") };
    target.run
});

fuzz_target!(|data: &[u8]| TARGET(data));
