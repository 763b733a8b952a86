//! Namespaces, as they are made for what is written into them.

use runtime_fleet::{GroupVersionKind, kind::KindInfo, well_known};

/// The kind `Namespace`.
pub fn kind() -> KindInfo {
    let gvk = GroupVersionKind::gvk("", "v1", "Namespace");
    well_known(&gvk).unwrap_or_else(|| KindInfo {
        gvk,
        plural: "namespaces".into(),
        namespaced: false,
        has_status: true,
    })
}
