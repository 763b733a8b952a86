//! `Definitions`: CRDs that were established once, for all API servers that begin with them. There are thousands in a run, and
//! CRDs are long.

use std::sync::Arc;

use http::{HeaderMap, HeaderValue, Method, Uri, header};
use serde_json::Value;

use crate::{
    answer::Answer,
    clock::Clock,
    request::Request,
    resource::Storage,
    server::answer,
    state::{CRDS, State},
    world::EPOCH,
};

const PATH: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions?fieldManager=platform";

/// See the module.
#[derive(Debug)]
pub struct Definitions {
    state: State,
    count: usize,
}

impl Definitions {
    /// These CRDs.
    ///
    /// # Panics
    /// The API server takes one of them not.
    pub fn of(crds: &[Value]) -> Self {
        let mut state = State::new(0, Clock::starting(EPOCH));
        let headers = HeaderMap::from_iter([(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))]);
        for crd in crds {
            let request = Request::new(Method::POST, &Uri::from_static(PATH), &headers, crd.to_string().into_bytes());
            let told = answer(&mut state, &request);
            assert!(matches!(told, Answer::Object(201, _)), "{told:?}");
        }
        while state.settle_definitions() {}
        Self { state, count: crds.len() }
    }

    /// The CRDs as they are established. Every server that begins with them holds the same, until somebody changes one.
    pub fn crds(&self) -> Vec<Arc<Value>> {
        let storage = Storage::new(CRDS[0], CRDS[1]);
        self.state.kept(&storage).map(|(_, crd)| Arc::clone(crd)).collect()
    }

    /// What a server holds that begins with them.
    pub(crate) fn begin(&self, seed: u64, clock: Clock) -> State {
        let mut state = self.state.begin(seed, clock);
        // What follows from a seed is the same as where each server is given its CRDs by itself.
        for _ in 0..self.count {
            state.uids.uid();
        }
        state
    }
}
