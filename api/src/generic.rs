//! Provider-neutral kinds, by area: `<area>.generic.platform-mesh.io`.
//!
//! Their fields say what a consumer can ask of any provider; which values a provider serves is its AcceptAPI's business.

pub mod ai;
pub mod compute;
pub mod databases;
pub mod identity;
pub mod messaging;
pub mod networking;
pub mod storage;
