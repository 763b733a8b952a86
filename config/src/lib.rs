//! What is applied to clusters besides people's own objects: CRDs and permissions. `config/` is generated from here, and what
//! `docs/kinds/` says of the kinds. Knows no client: others apply it.

pub mod crds;
mod document;
pub mod folder;
pub mod kinds;
pub mod permissions;
pub mod rbac;
pub mod roles;
pub mod usage;
