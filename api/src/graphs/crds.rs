//! The CRDs of the three kinds, and the files in `config/crd-graphs/`.

use std::collections::BTreeMap;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt;

use super::{GraphRevision, ResourceGraphDefinition, rollout::ResourceGraphRollout};
use crate::crds::{FilesError, HEADER, file_name, presentable, yaml};

/// What the kustomization says about itself.
const KUSTOMIZATION: &str = "\
# The CRDs of ResourceGraphDefinitions, for config/default.
";

/// The CRDs of all kinds, ready to be applied. The columns of kro's two are kro's: their names and what is not described
/// alike.
pub fn crds() -> Vec<CustomResourceDefinition> {
    [ResourceGraphDefinition::crd(), GraphRevision::crd(), ResourceGraphRollout::crd()]
        .into_iter()
        .map(presentable)
        .collect()
}

/// The files of `config/crd-graphs/` by name: one per CRD, and a kustomization of all.
pub fn files() -> Result<BTreeMap<String, String>, FilesError> {
    let mut files = BTreeMap::new();
    for crd in crds() {
        files.insert(file_name(&crd), yaml(serde_json::to_value(crd)?)?);
    }
    let kustomization = yaml(serde_json::json!({
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": files.keys().collect::<Vec<_>>(),
    }))?;
    let kustomization = kustomization.replacen(HEADER, &format!("{HEADER}{KUSTOMIZATION}"), 1);
    files.insert("kustomization.yaml".to_owned(), kustomization);
    Ok(files)
}
