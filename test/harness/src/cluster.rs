//! One API server, its users, and what tests do to it.

use std::fmt;
use std::fs;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::Context as _;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use kube::api::DynamicObject;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};

use crate::apiserver::Setting;
use crate::audit::AuditLog;
use crate::certificate::Certificates;
use crate::port::{Port, random};
use crate::process::{FREEZING, Process, Program};
use crate::reaper::Reaper;
use crate::users::{CONTROLLER_MANAGER, LAB, Users};
use crate::{apply, controller_manager, wait_for};

/// One that cannot start ends, and is told of at once; on a busy machine others took more than a minute.
const READY_DEADLINE: Duration = Duration::from_mins(3);

/// How long the model may take to leave its data.
const SAVES: Duration = Duration::from_secs(20);

/// How a cluster differs from the usual one.
#[derive(Clone, Debug, Default)]
pub struct ClusterOptions {
    /// Runs a controller manager (80 MB): garbage collection by owner references, deletion of namespaces with all that
    /// is in them, service accounts and their tokens. The garbage collector looks for new kinds every 30 s. The model does the
    /// first two itself, at once.
    pub controller_manager: bool,
    /// What it serves of the API groups of workloads and nodes (`apps/v1`, `batch/v1`, `policy/v1`, …): none by default,
    /// for they are half of what it costs to start one. With [`ClusterOptions::nodes`] all.
    pub workloads: Vec<&'static str>,
    /// Users and their groups, added to [`crate::PREDEFINED_USERS`]; a predefined name replaces that user's groups.
    pub users: Vec<(String, Vec<String>)>,
    /// Arguments for the API server, after the harness's own, so that they win.
    pub extra_args: Vec<String>,
    /// Where it listens and what kubeconfigs name, for clients to which this machine's loopback is not theirs, such as
    /// pods. 127.0.0.1 if not set.
    pub address: Option<Ipv4Addr>,
    /// Its port. One that no other lab has if not set.
    pub port: Option<u16>,
    /// It is a real one in a lab of models, too: for what only that does.
    pub real: bool,
    /// The cluster gets nodes: all of Kubernetes' default admission, the Node authorizer and NodeRestriction, endpoints of
    /// Service `kubernetes`; with [`ClusterOptions::controller_manager`], all its controllers.
    pub nodes: bool,
}

/// One API server of a lab. Cloning it is cheap and yields the same server.
#[derive(Clone)]
pub struct Cluster {
    inner: Arc<Inner>,
}

struct Inner {
    name: String,
    address: Ipv4Addr,
    port: u16,
    /// Holds the port, where it was not given.
    _reservation: Option<Port>,
    users: Users,
    certificates: Certificates,
    audit_log: PathBuf,
    lab_directory: PathBuf,
    program: Program,
    /// Where it leaves its data when it stops, if it is the model, which keeps them in memory.
    data_file: Option<PathBuf>,
    has_run: AtomicBool,
    reaper: Arc<Reaper>,
    api_server: Mutex<Option<Process>>,
    controller_manager: Mutex<Option<Process>>,
}

impl Cluster {
    /// Starts one on a free port, with data of its own under its name in etcd, and returns when it is ready; without etcd it
    /// is the model.
    pub(crate) async fn start(
        place: Place<'_>,
        options: &ClusterOptions,
        etcd_url: Option<&str>,
    ) -> anyhow::Result<Self> {
        let Place { name, directory: lab_directory, reaper } = place;
        let directory = lab_directory.join(name);
        fs::create_dir_all(&directory).with_context(|| format!("cannot make {}", directory.display()))?;
        let users = Users::new(&options.users);
        let address = options.address.unwrap_or(Ipv4Addr::LOCALHOST);
        let certificates = Certificates::make(&directory, name, address)?;
        let audit_log = directory.join("audit.log");
        let reservation = if options.port.is_none() { Some(Port::reserve()?) } else { None };
        let port = options.port.or(reservation.as_ref().map(Port::number)).unwrap_or_default();
        let setting = Setting {
            name,
            directory: &directory,
            address,
            port,
            users: &users,
            certificates: &certificates,
            audit_log: &audit_log,
        };
        let program = setting.program(options, etcd_url)?;
        let data_file = etcd_url.is_none().then(|| setting.data_file());
        let cluster = Self {
            inner: Arc::new(Inner {
                name: name.to_owned(),
                address,
                port,
                _reservation: reservation,
                users,
                certificates,
                audit_log,
                lab_directory: lab_directory.to_owned(),
                program,
                data_file,
                has_run: AtomicBool::new(false),
                reaper: Arc::clone(reaper),
                api_server: Mutex::new(None),
                controller_manager: Mutex::new(None),
            }),
        };
        cluster.start_again().await?;
        if options.controller_manager && etcd_url.is_some() {
            cluster.start_controller_manager(&directory, options.nodes).await?;
        }
        Ok(cluster)
    }

    async fn start_controller_manager(&self, directory: &Path, nodes: bool) -> anyhow::Result<()> {
        let kubeconfig = directory.join("controller-manager.kubeconfig");
        self.write_kubeconfig(CONTROLLER_MANAGER, &kubeconfig)?;
        let inner = &self.inner;
        let program = controller_manager::program(&inner.name, &kubeconfig, &inner.certificates, nodes)?;
        let mut process = program.start(&inner.lab_directory, &inner.reaper)?;
        controller_manager::until_ready(&mut process, &self.client(LAB).await?).await?;
        *lock(&inner.controller_manager) = Some(process);
        Ok(())
    }

    /// The name it was given.
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// `https://<address>:<port>`, the address mostly 127.0.0.1; the same after [`Cluster::start_again`].
    pub fn server_url(&self) -> String {
        format!("https://{}:{}", self.inner.address, self.inner.port)
    }

    /// The token of a user.
    ///
    /// # Errors
    /// When there is no such user.
    pub fn token(&self, user: &str) -> anyhow::Result<&str> {
        self.inner.users.token(user)
    }

    /// The certificate of its authority, in PEM.
    pub fn authority_pem(&self) -> &str {
        &self.inner.certificates.authority_pem
    }

    /// A kubeconfig for a user as YAML, with everything in it: no paths, no programs.
    ///
    /// # Errors
    /// When there is no such user.
    pub fn kubeconfig(&self, user: &str) -> anyhow::Result<String> {
        let name = self.name();
        let server = self.server_url();
        let authority = BASE64.encode(self.authority_pem());
        let token = self.token(user)?;
        Ok(format!(
            "apiVersion: v1
kind: Config
clusters:
- name: {name}
  cluster:
    server: {server}
    certificate-authority-data: {authority}
users:
- name: {user}
  user:
    token: {token}
contexts:
- name: {name}
  context:
    cluster: {name}
    user: {user}
current-context: {name}
"
        ))
    }

    /// Writes [`Cluster::kubeconfig`] to a file, whole or not at all: watchers of its directory never see half of it.
    pub fn write_kubeconfig(&self, user: &str, path: &Path) -> anyhow::Result<()> {
        let text = self.kubeconfig(user)?;
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        // Others may be writing it, too.
        let partial = path.with_file_name(format!(".{file}.{:016x}.partial", random()));
        fs::write(&partial, text)
            .and_then(|()| fs::rename(&partial, path))
            .with_context(|| format!("cannot write {}", path.display()))
    }

    /// A client for a user, without retries: what fails is seen. It belongs to the runtime that called this.
    ///
    /// # Errors
    /// When there is no such user.
    pub async fn client(&self, user: &str) -> anyhow::Result<Client> {
        let kubeconfig = Kubeconfig::from_yaml(&self.kubeconfig(user)?)?;
        let mut config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
        config.default_retry = false;
        // On a machine on which ten API servers start at once a handshake took more than 5 s.
        config.connect_timeout = Some(Duration::from_secs(20));
        Ok(Client::try_from(config)?)
    }

    /// Applies YAML as a user: see [`crate::apply`].
    pub async fn apply(&self, user: &str, yaml: &str) -> anyhow::Result<Vec<DynamicObject>> {
        let applied = apply(&self.client(user).await?, yaml).await;
        applied.with_context(|| format!("in cluster {} as {user}", self.name()))
    }

    /// Its audit log.
    pub fn audit(&self) -> AuditLog {
        AuditLog::new(self.inner.audit_log.clone(), self.clone())
    }

    /// What the API server has logged since it was started last.
    pub fn log(&self) -> anyhow::Result<String> {
        self.with_api_server(|process| process.log())
    }

    /// Ends the API server at once (SIGKILL; the model is given time to leave its data): connections break, new ones are
    /// refused. Its data and its port stay its own.
    pub fn stop(&self) {
        let process = lock(&self.inner.api_server).take();
        if let Some(process) = process.filter(|_| self.inner.data_file.is_some()) {
            process.end(SAVES);
        }
    }

    /// Starts it on the same port with the same data, and returns when it is ready. One that runs is stopped first.
    pub async fn start_again(&self) -> anyhow::Result<()> {
        self.stop();
        let inner = &self.inner;
        if let (Some(data), true) = (&inner.data_file, inner.has_run.swap(true, Ordering::Relaxed)) {
            anyhow::ensure!(data.is_file(), "API server {} ended without leaving its data", self.name());
        }
        let process = inner.program.start(&inner.lab_directory, &inner.reaper)?;
        *lock(&inner.api_server) = Some(process);
        self.until_ready().await
    }

    /// Freezes the API server (SIGSTOP), and returns once it is: connections stay open, new ones are accepted by the
    /// kernel, nothing answers.
    ///
    /// # Errors
    /// Those of [`Process::pause`].
    pub async fn pause(&self) -> anyhow::Result<()> {
        self.with_api_server(Process::begin_to_freeze)?;
        let what = format!("API server {} to freeze", self.name());
        wait_for(FREEZING, &what, async || self.with_api_server(|process| process.is_frozen())).await
    }

    /// Lets a frozen API server go on.
    pub fn resume(&self) -> anyhow::Result<()> {
        self.with_api_server(Process::resume)
    }

    /// Waits until `/readyz` says ok.
    ///
    /// # Errors
    /// When it has ended, or is not ready within three minutes; the message ends with the API server's last lines.
    pub async fn until_ready(&self) -> anyhow::Result<()> {
        let client = self.client(LAB).await?;
        let what = format!("API server {} to be ready", self.name());
        // The outer result is for what waiting cannot mend.
        wait_for(READY_DEADLINE, &what, async || {
            if let Some(ended) = self.ended() {
                return Ok(Err(ended));
            }
            let request = http::Request::get("/readyz").body(Vec::new())?;
            client.request_text(request).await?;
            anyhow::Ok(Ok(()))
        })
        .await
        .with_context(|| self.last_lines())?
    }

    fn ended(&self) -> Option<anyhow::Error> {
        self.with_api_server(|process| match process.exit_status()? {
            Some(status) => anyhow::bail!("API server {} ended ({status})\n{}", process.name(), process.last_lines()),
            None => Ok(()),
        })
        .err()
    }

    fn last_lines(&self) -> String {
        self.with_api_server(|process| Ok(process.last_lines())).unwrap_or_else(|error| error.to_string())
    }

    fn with_api_server<T>(&self, act: impl FnOnce(&mut Process) -> anyhow::Result<T>) -> anyhow::Result<T> {
        match lock(&self.inner.api_server).as_mut() {
            Some(process) => act(process),
            None => anyhow::bail!("API server {} is stopped", self.name()),
        }
    }
}

/// Where a cluster is.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    /// Its name in the lab.
    pub(crate) name: &'a str,
    /// The lab's directory.
    pub(crate) directory: &'a Path,
    pub(crate) reaper: &'a Arc<Reaper>,
}

impl fmt::Debug for Cluster {
    /// Without the tokens.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Cluster({} at {})", self.name(), self.server_url())
    }
}

/// A panic of another thread that held the lock leaves nothing half done here.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
