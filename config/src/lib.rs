//! What is applied to clusters besides people's own objects: CRDs and permissions. `config/` is generated from here.

pub mod roles;
