//! What is applied to clusters besides people's own objects: CRDs and permissions. `config/` is generated from here.

pub mod crds;
mod document;
pub mod folder;
pub mod permissions;
pub mod rbac;
pub mod roles;
pub mod usage;
