//! What a real API server makes of the CRDs in `config/crd-graphs`: it takes their rules, and refuses what they forbid.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod cluster;
mod definition;
mod revision;
