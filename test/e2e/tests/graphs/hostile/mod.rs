//! What people do who wish us ill: each attack is bounded and told, and others are served while it runs.

mod bombs;
mod bystander;
mod depth;
mod growth;
mod inventory;
mod labels;
mod names;
mod size;
mod theft;
