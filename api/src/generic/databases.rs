//! Databases: `databases.generic.platform-mesh.io`.

use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};

use crate::brokered_status::BrokeredStatus;

/// Which database is wanted.
#[derive(CustomResource, KubeSchema, Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[kube(
    group = "databases.generic.platform-mesh.io",
    version = "v1alpha1",
    kind = "SQL",
    root = "Sql",
    plural = "sqls",
    shortname = "gsql",
    namespaced,
    status = "BrokeredStatus",
    derive = "PartialEq",
    doc = "A relational database that a provider runs.",
    printcolumn(name = "Engine", type_ = "string", json_path = ".spec.engine"),
    printcolumn(name = "Version", type_ = "string", json_path = ".spec.version")
)]
#[serde(rename_all = "camelCase")]
pub struct SqlSpec {
    /// Engine, for example `postgres` or `mysql`.
    #[schemars(length(min = 1, max = 63))]
    pub engine: String,
    /// Version of the engine. The provider chooses when not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63))]
    pub version: Option<String>,
}

/// Which database is wanted.
#[derive(CustomResource, KubeSchema, Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[kube(
    group = "databases.generic.platform-mesh.io",
    version = "v1alpha1",
    kind = "NoSQL",
    root = "NoSql",
    plural = "nosqls",
    shortname = "gnosql",
    namespaced,
    status = "BrokeredStatus",
    derive = "PartialEq",
    doc = "A document database that a provider runs.",
    printcolumn(name = "Engine", type_ = "string", json_path = ".spec.engine"),
    printcolumn(name = "Version", type_ = "string", json_path = ".spec.version")
)]
#[serde(rename_all = "camelCase")]
pub struct NoSqlSpec {
    /// Engine, for example `mongodb` or `cassandra`.
    #[schemars(length(min = 1, max = 63))]
    pub engine: String,
    /// Version of the engine. The provider chooses when not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63))]
    pub version: Option<String>,
}

/// Which database is wanted.
#[derive(CustomResource, KubeSchema, Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[kube(
    group = "databases.generic.platform-mesh.io",
    version = "v1alpha1",
    kind = "KeyValue",
    plural = "keyvalues",
    shortname = "gkv",
    namespaced,
    status = "BrokeredStatus",
    derive = "PartialEq",
    doc = "A key-value store that a provider runs.",
    printcolumn(name = "Engine", type_ = "string", json_path = ".spec.engine"),
    printcolumn(name = "Version", type_ = "string", json_path = ".spec.version")
)]
#[serde(rename_all = "camelCase")]
pub struct KeyValueSpec {
    /// Engine, for example `valkey` or `memcached`.
    #[schemars(length(min = 1, max = 63))]
    pub engine: String,
    /// Version of the engine. The provider chooses when not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63))]
    pub version: Option<String>,
}

/// Which database is wanted.
#[derive(CustomResource, KubeSchema, Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[kube(
    group = "databases.generic.platform-mesh.io",
    version = "v1alpha1",
    kind = "Vector",
    plural = "vectors",
    shortname = "gvec",
    namespaced,
    status = "BrokeredStatus",
    derive = "PartialEq",
    doc = "A vector database that a provider runs.",
    printcolumn(name = "Engine", type_ = "string", json_path = ".spec.engine"),
    printcolumn(name = "Version", type_ = "string", json_path = ".spec.version")
)]
#[serde(rename_all = "camelCase")]
pub struct VectorSpec {
    /// Engine, for example `milvus` or `qdrant`.
    #[schemars(length(min = 1, max = 63))]
    pub engine: String,
    /// Version of the engine. The provider chooses when not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63))]
    pub version: Option<String>,
}
