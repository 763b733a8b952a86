//! `Stage`: one model and one real API server for all sequences.

use std::{
    env,
    sync::{
        Arc, LazyLock,
        atomic::{AtomicUsize, Ordering},
    },
};

use futures::{StreamExt as _, stream};
use harness::{ClusterOptions, Lab, LabOptions, wait_for};
use runtime_fleet::{
    dial::{Dial as _, Sockets},
    kubeconfig::{Kubeconfig, Trust},
};
use serde_json::{Value, json};
use sim::World;
use tokio::{
    runtime::{Builder, Runtime},
    sync::OnceCell,
};

use crate::{
    difference::differences,
    sequence::{CRDS, JSON, NAMESPACES, Sequence},
    side::{Said, Side, request},
    topics::kinds,
};

/// So many sequences run at a time: a real API server answers all of them.
const AT_ONCE: usize = 8;

pub(crate) struct Stage {
    model: Side,
    real: Side,
}

static RUNTIME: LazyLock<Runtime> =
    LazyLock::new(|| Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap());
static STAGE: OnceCell<Stage> = OnceCell::const_new();
static MANAGED: OnceCell<Stage> = OnceCell::const_new();
static FORGETFUL: OnceCell<Stage> = OnceCell::const_new();
static NAMESPACE: AtomicUsize = AtomicUsize::new(0);

impl Stage {
    async fn start(controller_manager: bool) -> Self {
        let lab = Lab::start(LabOptions::default()).await.unwrap();
        let options = ClusterOptions { controller_manager, ..ClusterOptions::default() };
        let cluster = lab.cluster_with("real", &options).await.unwrap();
        let dial = async |text: &str, world: Option<&World>| {
            let kubeconfig = Kubeconfig::parse(text, &Trust::Secret).unwrap();
            match world {
                Some(world) => world.dial(&kubeconfig).await,
                None => Sockets.dial(&kubeconfig).await,
            }
            .unwrap()
            .service
        };
        let collects = controller_manager;
        let sends = dial(&cluster.kubeconfig("person").unwrap(), None).await;
        let real = Side { sends, model: None, real: Some(Arc::new((cluster, lab))), collects };
        let world = World::new(1);
        let server = world.server("model");
        let sends = dial(&World::kubeconfig("model"), Some(&world)).await;
        let model = Side { sends, model: Some(server), real: None, collects };
        let stage = Self { model, real };
        for crd in kinds::definitions() {
            stage.define(&stage.real, &crd).await;
            stage.define(&stage.model, &crd).await;
        }
        stage
    }

    async fn define(&self, side: &Side, crd: &Value) {
        let (code, answer) = side.send(request("POST", CRDS, JSON, JSON, crd)).await;
        assert_eq!(code, 201, "{answer}");
        if let Some(model) = &side.model {
            model.settle();
        }
        let text = |pointer: &str| crd.pointer(pointer).and_then(Value::as_str).unwrap().to_owned();
        let path = format!("/apis/{}/v1/{}", text("/spec/group"), text("/spec/names/plural"));
        let served = async || {
            let (code, answer) = side.get(&path).await;
            if code == 200 { Ok(()) } else { Err(answer.to_string()) }
        };
        wait_for(std::time::Duration::from_mins(1), &path, served).await.unwrap();
    }

    /// Runs sequences on both sides.
    ///
    /// # Panics
    /// Where any two answers differ.
    pub(crate) fn run(sequences: Vec<Sequence>) {
        Self::run_on(&STAGE, false, sequences);
    }

    /// The same where a controller manager runs.
    pub(crate) fn run_managed(sequences: Vec<Sequence>) {
        Self::run_on(&MANAGED, true, sequences);
    }

    /// One that needs API servers of its own, for they forget.
    pub(crate) fn run_forgetful(sequence: Sequence) {
        Self::run_on(&FORGETFUL, false, vec![sequence]);
    }

    fn run_on(stage: &'static OnceCell<Self>, controller_manager: bool, sequences: Vec<Sequence>) {
        let only = env::var("SIM_ONLY").unwrap_or_default();
        let chosen: Vec<Sequence> = sequences.into_iter().filter(|sequence| sequence.name.contains(&only)).collect();
        let count = chosen.len();
        let differ: Vec<String> = RUNTIME.block_on(async {
            let stage = stage.get_or_init(|| Self::start(controller_manager)).await;
            let results = stream::iter(chosen).map(|sequence| stage.compare(sequence)).buffered(AT_ONCE);
            results.collect::<Vec<_>>().await.into_iter().flatten().collect()
        });
        assert!(differ.is_empty(), "{} of {count} sequences differ\n\n{}", differ.len(), differ.join("\n"));
    }

    async fn compare(&self, sequence: Sequence) -> Option<String> {
        let namespace = format!("ns-{}", NAMESPACE.fetch_add(1, Ordering::Relaxed));
        for side in [&self.model, &self.real] {
            let body = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
            let (code, answer) = side.send(request("POST", NAMESPACES, JSON, JSON, &body)).await;
            assert_eq!(code, 201, "{answer}");
        }
        let (model, real) = futures::join!(self.model.run(&sequence, &namespace), self.real.run(&sequence, &namespace));
        let mut told = format!("--- {}\n", sequence.name);
        let mut same = true;
        for (at, (model, real)) in model.iter().zip(&real).enumerate() {
            let Said { step, answer } = real;
            let step: String = step.chars().take(600).collect();
            told.extend(["  ", &at.to_string(), " ", &step, "\n"]);
            for difference in differences(&model.answer, answer) {
                same = false;
                told.extend(["      ", &difference, "\n"]);
            }
            if !same {
                // What comes after follows from it.
                return Some(told);
            }
        }
        None
    }
}
