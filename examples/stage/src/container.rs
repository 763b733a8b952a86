//! The process that a pod's container is here.

use std::{
    collections::BTreeMap,
    fs::OpenOptions,
    io::{Read as _, Seek as _, SeekFrom},
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use harness::Port;
use k8s_openapi::api::{
    authentication::v1::{TokenRequest, TokenRequestSpec},
    core::v1::{Pod, ServiceAccount},
};
use kube::{
    Api, ResourceExt,
    api::PostParams,
    config::{AuthInfo, Context, Kubeconfig, NamedAuthInfo, NamedContext},
};
use rustix::process::{Pid, Signal, kill_process};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    process::{Child, Command},
};

use crate::{
    arguments::localise,
    pod::{Restart, Work, kubeconfig_variable},
    runner::Node,
};

/// How much of what a program said last is told in the pod's status, in bytes: what a kubelet takes, too.
const TOLD: u64 = 2048;
/// How long a token is good. A kubelet would renew it.
const TOKEN_SECONDS: i64 = 24 * 3600;

/// Why a container does not run. It is tried again, but for [`RunnerError::Never`].
#[derive(Debug, thiserror::Error)]
pub(crate) enum RunnerError {
    /// Trying again is of no use.
    #[error("{0}")]
    Never(String),
    /// A Secret lacks what a variable needs.
    #[error("Secret {0} has no text under key {1}")]
    Key(String, String),
    /// The API server did not answer as hoped.
    #[error(transparent)]
    Api(#[from] kube::Error),
    /// This machine did not do as hoped.
    #[error(transparent)]
    Machine(#[from] std::io::Error),
    /// A kubeconfig cannot be written as YAML.
    #[error(transparent)]
    Kubeconfig(#[from] serde_json::Error),
}

/// A running process. Dropping it kills it.
pub(crate) struct Container {
    child: Child,
    /// Address and path of the readiness probe.
    probe: Option<(String, String)>,
    log: PathBuf,
    /// Where this run's output begins in the log.
    log_start: u64,
    /// Where it listens.
    _ports: Vec<Port>,
}

impl Container {
    pub(crate) async fn start(
        node: &Node,
        pod: &Pod,
        work: &Work,
        environment: Vec<(String, String)>,
    ) -> Result<Self, RunnerError> {
        let known = || node.programs.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
        let path = node.programs.get(&work.program).ok_or_else(|| {
            RunnerError::Never(format!("this runner has no program {:?}; it has: {}", work.program, known()))
        })?;
        let mut ports = Vec::new();
        let free = || {
            let port = Port::reserve()?;
            let address = port.address();
            ports.push(port);
            Ok::<_, std::io::Error>(address)
        };
        let arguments = localise(work.args.clone(), work.readiness.is_some(), free)?;
        // A pod that is replaced goes on in the log of the one before: that is the file that people follow.
        let lasting = work.restart == Restart::Always;
        let name = if lasting { work.program.clone() } else { pod.name_any() };
        let log = node.directory.join(format!("{name}.log"));
        let output = OpenOptions::new().create(true).append(true).open(&log)?;
        let log_start = output.metadata()?.len();
        let mut command = Command::new(path);
        command.args(&arguments.args).env_clear().envs(environment);
        if let Some(account) = &work.account {
            command.env(kubeconfig_variable(&work.program), kubeconfig(node, pod, account).await?);
        }
        command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output).kill_on_drop(true);
        tracing::info!(pod = pod.name_any(), "starting {} {}", work.program, arguments.args.join(" "));
        let probe = arguments.health.zip(work.readiness.clone());
        Ok(Self { child: command.spawn()?, probe, log, log_start, _ports: ports })
    }

    /// Waits for its end. Returns the exit code; 137 when it was killed.
    pub(crate) async fn ended(&mut self) -> i32 {
        self.child.wait().await.ok().and_then(|status| status.code()).unwrap_or(137)
    }

    /// The end of what it said; of a program that failed, at least that it failed.
    pub(crate) fn said(&self, code: i32) -> String {
        let text = self.tail().unwrap_or_default();
        if text.is_empty() && code != 0 { format!("it ended with exit code {code}") } else { text }
    }

    fn tail(&self) -> std::io::Result<String> {
        let mut file = std::fs::File::open(&self.log)?;
        let end = file.metadata()?.len();
        file.seek(SeekFrom::Start(self.log_start.max(end.saturating_sub(TOLD))))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).trim().to_owned())
    }

    /// Whether its readiness probe says yes.
    pub(crate) async fn ready(&self) -> bool {
        match &self.probe {
            Some((address, path)) => answers(address, path).await.unwrap_or(false),
            None => true,
        }
    }

    /// SIGTERM, and SIGKILL when it has not ended after `grace`.
    pub(crate) async fn terminate(&mut self, grace: Duration) {
        let id = self.child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        if let Some(id) = id
            && kill_process(id, Signal::TERM).is_ok()
            && tokio::time::timeout(grace, self.child.wait()).await.is_ok()
        {
            return;
        }
        let _gone = self.child.kill().await;
    }
}

async fn answers(address: &str, path: &str) -> std::io::Result<bool> {
    let mut stream = TcpStream::connect(address).await?;
    stream.write_all(format!("GET {path} HTTP/1.0\r\nHost: {address}\r\n\r\n").as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    Ok(answer.split(' ').nth(1) == Some("200"))
}

/// Writes a kubeconfig for the pod's ServiceAccount, in place of the token and the address that a kubelet mounts.
async fn kubeconfig(node: &Node, pod: &Pod, account: &str) -> Result<PathBuf, RunnerError> {
    let namespace = pod.namespace().unwrap_or_default();
    let accounts = Api::<ServiceAccount>::namespaced(node.client.clone(), &namespace);
    let token = token(&accounts, account).await?;
    let text = serde_json::to_string(&with_token(&node.kubeconfig, account, &namespace, token))?;
    let path = node.directory.join(format!("{}.kubeconfig", pod.name_any()));
    write_private(&path, &text)?;
    Ok(path)
}

/// A token of a ServiceAccount, for a day.
pub(crate) async fn token(accounts: &Api<ServiceAccount>, account: &str) -> Result<String, kube::Error> {
    let spec = TokenRequestSpec { expiration_seconds: Some(TOKEN_SECONDS), ..TokenRequestSpec::default() };
    let request = TokenRequest { spec: Some(spec), ..TokenRequest::default() };
    let answer = accounts.create_token_request(account, &PostParams::default(), &request).await?;
    Ok(answer.status.and_then(|status| status.token).unwrap_or_default())
}

/// The first cluster of a kubeconfig, for somebody else.
pub(crate) fn with_token(of: &Kubeconfig, user: &str, namespace: &str, token: String) -> Kubeconfig {
    let clusters: Vec<_> = of.clusters.iter().take(1).cloned().collect();
    let cluster = clusters.first().map(|cluster| cluster.name.clone()).unwrap_or_default();
    let auth = AuthInfo { token: Some(token.into()), ..AuthInfo::default() };
    let context =
        Context { cluster, user: Some(user.to_owned()), namespace: Some(namespace.to_owned()), ..Context::default() };
    Kubeconfig {
        clusters,
        auth_infos: vec![NamedAuthInfo { name: user.to_owned(), auth_info: Some(auth), other: BTreeMap::default() }],
        contexts: vec![NamedContext { name: user.to_owned(), context: Some(context), other: BTreeMap::default() }],
        current_context: Some(user.to_owned()),
        ..Kubeconfig::default()
    }
}

pub(crate) fn write_private(path: &Path, text: &str) -> std::io::Result<()> {
    use std::{io::Write as _, os::unix::fs::OpenOptionsExt as _};
    let mut file = OpenOptions::new().create(true).write(true).truncate(true).mode(0o600).open(path)?;
    file.write_all(text.as_bytes())
}
