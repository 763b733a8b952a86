//! What runs during a demo: the lab, and programs in it that are expected to go on running.

use std::{
    path::Path,
    sync::{Mutex, PoisonError},
};

use harness::{Cluster, ClusterOptions, Lab, Process, Program, kubectl_binary};

use crate::{Place, Screen, controllers, installation::BROKER, program};

/// A lab with its programs, and the screen. Dropping it ends everything that was started.
pub struct Stage {
    /// Where the demo tells what it does.
    pub screen: Screen,
    // Before the lab, so that processes end before their directory goes.
    processes: Mutex<Vec<Process>>,
    /// An API server ends with the last of its values, and a story may be over before its clusters are.
    running: Mutex<Vec<Cluster>>,
    /// Clusters, and the directory of logs and kubeconfigs.
    pub lab: Lab,
}

impl Stage {
    /// A stage on which nothing stands yet.
    pub fn new(lab: Lab, screen: Screen) -> Self {
        Self { screen, processes: Mutex::default(), running: Mutex::default(), lab }
    }

    /// Starts one API server per name, at once, each with Deployments and Jobs, and with a kubeconfig for people in the lab's
    /// directory.
    pub async fn clusters<const N: usize>(&self, names: [&str; N]) -> anyhow::Result<[Place; N]> {
        let mut places = Vec::new();
        let options = ClusterOptions { workloads: controllers::GROUPS.into(), ..ClusterOptions::default() };
        for cluster in Box::pin(self.lab.clusters_with(&names, &options)).await? {
            self.running.lock().unwrap_or_else(PoisonError::into_inner).push(cluster.clone());
            places.push(Place::open(&self.lab, cluster).await?);
        }
        places.try_into().map_err(|_| anyhow::anyhow!("{N} clusters are expected"))
    }

    /// Starts Kubernetes' own controllers in a cluster. Best once its kinds are there: see [`controllers`].
    pub fn control(&self, place: &Place, controllers: &[&str]) -> anyhow::Result<()> {
        self.start(&controllers::program(&self.lab, &place.cluster, controllers)?)
    }

    /// Starts a program that runs until the end. When it ends before, the demo ends too.
    pub fn start(&self, program: &Program) -> anyhow::Result<()> {
        let process = self.lab.start_process(program)?;
        self.processes.lock().unwrap_or_else(PoisonError::into_inner).push(process);
        Ok(())
    }

    /// Starts a program of the examples in a cluster, as user `provider-controller`: it is called
    /// `<program>-<cluster>`, and gets `--kubeconfig` before `args`.
    pub fn start_in(&self, place: &Place, program: &str, args: &[&str]) -> anyhow::Result<()> {
        let name = format!("{program}-{}", place.name());
        let kubeconfig = self.lab.directory().join(format!("{name}.kubeconfig"));
        place.cluster.write_kubeconfig("provider-controller", &kubeconfig)?;
        let program = program::example(name, program)?.env("NO_COLOR", "1");
        self.start(&program.arg("--kubeconfig").arg(kubeconfig).args(args.iter().copied()))
    }

    /// What the program of this name has said so far; empty when it has said nothing.
    pub fn log(&self, name: &str) -> String {
        std::fs::read_to_string(self.lab.directory().join(format!("{name}.log"))).unwrap_or_default()
    }

    /// What `kubectl` says in a cluster, as the person.
    pub async fn kubectl(&self, place: &Place, args: &[&str]) -> anyhow::Result<String> {
        self.said("kubectl", &kubectl_binary()?, place.name(), args).await
    }

    /// What `kubectl broker` says to the person, whose context is the coordination cluster `hub`.
    pub async fn kubectl_broker(&self, args: &[&str]) -> anyhow::Result<String> {
        self.said("kubectl broker", &harness::binary("kubectl-broker")?, "hub", args).await
    }

    async fn said(&self, name: &str, program: &Path, cluster: &str, args: &[&str]) -> anyhow::Result<String> {
        let kubeconfig = self.lab.directory().join(format!("{cluster}.kubeconfig"));
        let mut command = tokio::process::Command::new(program);
        let output = command.arg("--kubeconfig").arg(kubeconfig).args(args).kill_on_drop(true).output().await?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end().to_owned();
        let (out, error) = (text(&output.stdout), text(&output.stderr));
        anyhow::ensure!(output.status.success(), "{name} {}: {error}\n{out}", args.join(" "));
        Ok(out)
    }

    /// Prints commands to try: `kubectl` in a cluster, as the person.
    pub fn suggest(&self, commands: &[(&Place, &str)]) -> anyhow::Result<()> {
        let kubectl = shown(&kubectl_binary()?);
        let directory = shown(self.lab.directory());
        self.screen.heading("Try");
        for (place, command) in commands {
            self.screen.say(&format!("  {kubectl} --kubeconfig {directory}/{}.kubeconfig {command}", place.name()));
        }
        self.screen.say(&format!("  tail -f {directory}/{BROKER}.log"));
        self.screen.say("");
        Ok(())
    }

    /// The first program that has ended by itself, in words.
    pub fn ended(&self) -> anyhow::Result<Option<String>> {
        for process in self.processes.lock().unwrap_or_else(PoisonError::into_inner).iter_mut() {
            if let Some(status) = process.exit_status()? {
                let log = process.log_path().display();
                return Ok(Some(format!("{} ended: {status}; its log: {log}", process.name())));
            }
        }
        Ok(None)
    }

    /// Does the work of a step and prints its line. Fails at once when one of the programs has ended.
    pub async fn step<T>(&self, what: &str, work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
        let watched = async {
            // On the heap: what starts API servers is a large future.
            let mut work = Box::pin(work);
            let mut look = tokio::time::interval(crate::show::LOOK);
            loop {
                tokio::select! {
                    done = &mut work => return done,
                    _ = look.tick() => if let Some(ended) = self.ended()? {
                        anyhow::bail!(ended);
                    },
                }
            }
        };
        self.screen.step(what, watched).await
    }
}

/// A path as a person in this directory would type it.
fn shown(path: &Path) -> String {
    let whole = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let here = std::env::current_dir().ok();
    let short = here.and_then(|here| whole.strip_prefix(here).ok().map(Path::to_owned));
    short.unwrap_or(whole).display().to_string()
}
