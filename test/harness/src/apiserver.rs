//! The program that is an API server: kube-apiserver, or the model.

use std::fs;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

use crate::certificate::Certificates;
use crate::cluster::ClusterOptions;
use crate::process::Program;
use crate::users::Users;
use crate::{audit, binaries};

/// Admission that concerns pods, volumes and quotas, of which a lab has none. What stays: NamespaceLifecycle, the
/// webhooks and admission policies. Names that an older API server does not know would stop it, hence no newer ones.
const DISABLED_ADMISSION: &str = "CertificateApproval,CertificateSigning,CertificateSubjectRestriction,DefaultIngressClass,\
DefaultStorageClass,DefaultTolerationSeconds,LimitRanger,PersistentVolumeClaimResize,PodSecurity,Priority,ResourceQuota,\
RuntimeClass,ServiceAccount,StorageObjectInUseProtection,TaintNodesByCondition";

/// Groups of what runs on nodes, and of nodes. A cluster without them takes half the time to start and to idle.
const WORKLOADS: [&str; 10] = [
    "apps/v1",
    "autoscaling/v1",
    "autoscaling/v2",
    "batch/v1",
    "certificates.k8s.io/v1",
    "node.k8s.io/v1",
    "policy/v1",
    "resource.k8s.io/v1",
    "scheduling.k8s.io/v1",
    "storage.k8s.io/v1",
];

impl ClusterOptions {
    /// Arguments of an API server with nodes, or without.
    fn node_args(&self) -> Vec<String> {
        let args: &[&str] = if self.nodes {
            &["--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction"]
        } else {
            // There is no Service to keep endpoints for.
            &["--authorization-mode=RBAC", "--endpoint-reconciler-type=none"]
        };
        let disabled = (!self.nodes).then(|| format!("--disable-admission-plugins={DISABLED_ADMISSION}"));
        let missing = WORKLOADS.iter().filter(|group| !self.nodes && !self.workloads.contains(group));
        let missing: Vec<String> = missing.map(|group| format!("{group}=false")).collect();
        let groups = (!missing.is_empty()).then(|| format!("--runtime-config={}", missing.join(",")));
        args.iter().map(|&arg| arg.to_owned()).chain(disabled).chain(groups).collect()
    }
}

/// All that an API server is given.
#[derive(Clone, Copy)]
pub(crate) struct Setting<'a> {
    /// The cluster's name.
    pub(crate) name: &'a str,
    /// Where its files are.
    pub(crate) directory: &'a Path,
    pub(crate) address: Ipv4Addr,
    pub(crate) port: u16,
    pub(crate) users: &'a Users,
    pub(crate) certificates: &'a Certificates,
    pub(crate) audit_log: &'a Path,
}

impl Setting<'_> {
    /// kube-apiserver, with its data under the cluster's name in this etcd, or without etcd the model.
    pub(crate) fn program(&self, options: &ClusterOptions, etcd_url: Option<&str>) -> anyhow::Result<Program> {
        let tokens = self.directory.join("tokens.csv");
        fs::write(&tokens, self.users.token_file())?;
        let binary = if etcd_url.is_some() {
            binaries::control_plane("kube-apiserver")?
        } else {
            binaries::binary("model-apiserver")?
        };
        let program = Program::new(format!("{}-apiserver", self.name), binary).args([
            format!("--secure-port={}", self.port),
            format!("--bind-address={}", self.address),
            format!("--tls-cert-file={}", self.certificates.serving.display()),
            format!("--tls-private-key-file={}", self.certificates.serving_key.display()),
            format!("--token-auth-file={}", tokens.display()),
            format!("--audit-log-path={}", self.audit_log.display()),
        ]);
        if let Some(url) = etcd_url {
            return self.real(program, options, url);
        }
        let says_more = options.nodes || !options.extra_args.is_empty();
        anyhow::ensure!(!says_more, "the model has neither nodes nor further arguments: such a cluster is real");
        let program = program.arg(format!("--data-file={}", self.data_file().display()));
        Ok(program.args(options.controller_manager.then_some("--controllers")))
    }

    /// Where the model leaves what it holds.
    pub(crate) fn data_file(&self) -> PathBuf {
        self.directory.join("data.json")
    }

    fn real(&self, program: Program, options: &ClusterOptions, etcd_url: &str) -> anyhow::Result<Program> {
        let policy = self.directory.join("audit-policy.yaml");
        fs::write(&policy, audit::POLICY)?;
        let program = program
            .args([
                format!("--etcd-servers={etcd_url}"),
                format!("--etcd-prefix=/{}", self.name),
                format!("--advertise-address={}", self.address),
                format!("--cert-dir={}", self.directory.display()),
                format!("--service-account-signing-key-file={}", self.certificates.service_account_key.display()),
                format!("--service-account-key-file={}", self.certificates.service_account_public_key.display()),
                format!("--audit-policy-file={}", policy.display()),
            ])
            .args(options.node_args())
            .args([
                // Rotation would take lines away from the readers; this many megabytes never come together.
                "--audit-log-maxsize=1000000",
                "--profiling=false",
                // A tenth of what a start computes; whoever asks for too much is told so by the limits on requests in flight.
                "--enable-priority-and-fairness=false",
                // Counts of what is in etcd, for metrics that nobody reads.
                "--etcd-count-metric-poll-period=0",
                "--etcd-db-metric-poll-interval=0",
                "--service-account-issuer=https://kubernetes.default.svc",
                "--service-cluster-ip-range=10.0.0.0/24",
            ])
            .args(options.extra_args.iter().cloned());
        Ok(program)
    }
}
