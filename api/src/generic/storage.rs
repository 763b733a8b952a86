//! Storage: `storage.generic.platform-mesh.io`.

use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};

use crate::brokered_status::BrokeredStatus;

/// Which object store is wanted.
#[derive(CustomResource, KubeSchema, Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[kube(
    group = "storage.generic.platform-mesh.io",
    version = "v1alpha1",
    kind = "Object",
    plural = "objects",
    shortname = "gobj",
    namespaced,
    status = "BrokeredStatus",
    derive = "PartialEq",
    doc = "An object store (a bucket) that a provider runs.",
    printcolumn(name = "Region", type_ = "string", json_path = ".spec.region")
)]
#[serde(rename_all = "camelCase")]
pub struct ObjectSpec {
    /// Where it is made. The provider chooses when not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63))]
    pub region: Option<String>,
    /// Keep older versions of objects. The provider chooses when not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub versioning: Option<bool>,
}

/// Which block device is wanted.
#[derive(CustomResource, KubeSchema, Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[kube(
    group = "storage.generic.platform-mesh.io",
    version = "v1alpha1",
    kind = "Block",
    plural = "blocks",
    shortname = "gblk",
    namespaced,
    status = "BrokeredStatus",
    derive = "PartialEq",
    doc = "A block device that a provider runs.",
    printcolumn(name = "Size", type_ = "integer", json_path = ".spec.size"),
    printcolumn(name = "Class", type_ = "string", json_path = ".spec.storageClass")
)]
#[serde(rename_all = "camelCase")]
pub struct BlockSpec {
    /// Size in GiB.
    #[schemars(range(min = 1))]
    pub size: i64,
    /// How fast it is, for example `standard` or `premium`. The provider chooses when not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63))]
    pub storage_class: Option<String>,
}

/// Which file system is wanted.
#[derive(CustomResource, KubeSchema, Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[kube(
    group = "storage.generic.platform-mesh.io",
    version = "v1alpha1",
    kind = "File",
    plural = "files",
    shortname = "gfile",
    namespaced,
    status = "BrokeredStatus",
    derive = "PartialEq",
    doc = "A shared file system that a provider runs.",
    printcolumn(name = "Size", type_ = "integer", json_path = ".spec.size"),
    printcolumn(name = "Protocol", type_ = "string", json_path = ".spec.protocol")
)]
#[serde(rename_all = "camelCase")]
pub struct FileSpec {
    /// Size in GiB.
    #[schemars(range(min = 1))]
    pub size: i64,
    /// How it is mounted, for example `nfs` or `smb`. The provider chooses when not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63))]
    pub protocol: Option<String>,
}
