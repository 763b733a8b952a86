//! ResourceGraphDefinitions: as tests write them, and the controller that serves them with the rights of kro's installation.

pub mod controller;
pub mod kinds;
pub mod rgd;
pub mod rights;

/// The CRDs of graphs.
pub const CRDS: [&str; 3] = [
    include_str!("../../../../config/crd-graphs/broker.platform-mesh.io_resourcegraphrollouts.yaml"),
    include_str!("../../../../config/crd-graphs/internal.kro.run_graphrevisions.yaml"),
    include_str!("../../../../config/crd-graphs/kro.run_resourcegraphdefinitions.yaml"),
];
