//! `Owner`: the owner of a cluster, with kubectl and the files of `config/rbac` as they are in the repository.

use std::{
    env, fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use e2e::{DEADLINE, Object, Place, place::PERSON};
use harness::{Lab, wait_for};

/// Who applies files in a cluster.
pub(crate) struct Owner {
    kubeconfig: PathBuf,
    context: String,
    server: String,
}

fn config(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config").join(path)
}

/// The arguments of a Deployment's pods but for addresses: of those there is one for all pods on this machine.
pub(crate) fn arguments(deployment: &Object) -> impl Iterator<Item = String> + use<> {
    let args = deployment.at("/spec/template/spec/containers/0/args").as_array().unwrap();
    let args: Vec<String> = args.iter().map(|arg| arg.as_str().unwrap().to_owned()).collect();
    args.into_iter().filter(|arg| !arg.contains("-bind-address"))
}

impl Owner {
    /// The owner of `place`.
    pub(crate) fn of(lab: &Lab, place: &Place) -> Self {
        let kubeconfig = lab.directory().join(format!("{}-owner.kubeconfig", place.name()));
        place.cluster.write_kubeconfig(PERSON, &kubeconfig).unwrap();
        Self { kubeconfig, context: place.cluster.name().to_owned(), server: place.cluster.server_url() }
    }

    /// Runs a program that finds kubectl and this cluster; returns what it prints.
    fn run(&self, program: &Path, args: &[&str], input: &str) -> Result<String, String> {
        let kubectl = harness::kubectl_binary().unwrap();
        let path = format!("{}:{}", kubectl.parent().unwrap().display(), env::var("PATH").unwrap_or_default());
        let mut child = Command::new(program)
            .args(args)
            .env("KUBECONFIG", &self.kubeconfig)
            .env("PATH", path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        if output.status.success() { Ok(text(output.stdout)) } else { Err(text(output.stderr)) }
    }

    fn kubectl(&self, args: &[&str], input: &str) -> String {
        let done = self.run(&harness::kubectl_binary().unwrap(), args, input);
        done.unwrap_or_else(|error| panic!("kubectl {args:?} in {}: {error}", self.context))
    }

    /// `kubectl --as <user>`: what it prints, or what it says is wrong. The audit log has it under the owner's name.
    pub(crate) fn kubectl_as(&self, user: &str, args: &[&str]) -> Result<String, String> {
        let args: Vec<&str> = ["--as", user].into_iter().chain(args.iter().copied()).collect();
        self.run(&harness::kubectl_binary().unwrap(), &args, "")
    }

    /// `kubectl apply -f config/<path>`.
    pub(crate) fn apply(&self, path: &str) {
        self.kubectl(&["apply", "-f", &config(path).display().to_string()], "");
    }

    /// `kubectl apply -k config/<folder>`.
    pub(crate) fn apply_folder(&self, folder: &str) {
        self.kubectl(&["apply", "-k", &config(folder).display().to_string()], "");
    }

    /// `kubectl apply --server-side -f -`.
    pub(crate) fn apply_text(&self, yaml: &str) {
        self.kubectl(&["apply", "--server-side", "-f", "-"], yaml);
    }

    /// The kubeconfig that docs/operations.md says how to make by kubectl alone: what that prints, or what it says is wrong.
    pub(crate) fn kubeconfig(&self) -> Result<String, String> {
        let page = fs::read_to_string(config("../docs/operations.md")).unwrap();
        let mut blocks = page.split("```sh\n").skip(1).filter_map(|part| part.split("```").next());
        let found = blocks.find(|block| block.contains("get secret resource-broker-token"));
        let command = found.expect("docs/operations.md says how to make a kubeconfig");
        let command = command
            .replace("--context homer", &format!("--context {}", self.context))
            .replace("https://homer.example.com:6443", &self.server)
            .replace(">homer.kubeconfig", "");
        self.run(Path::new("/bin/sh"), &["-euc", &command], "")
    }

    /// The same as a file, once the controller manager has made the token.
    pub(crate) async fn kubeconfig_file(&self) -> PathBuf {
        let what = format!("a token in {}", self.context);
        let made = wait_for(DEADLINE, &what, async || {
            let text = self.kubeconfig()?;
            if text.contains("<no value>") { Err(text) } else { Ok(text) }
        });
        let file = self.kubeconfig.with_file_name(format!("{}.kubeconfig", self.context));
        fs::write(&file, made.await.unwrap_or_else(|error| panic!("{error:#}"))).unwrap();
        file
    }

    /// The Secret that makes a cluster one of the brokers', made of its kubeconfig as docs/operations.md says.
    pub(crate) fn make_cluster(&self, name: &str, role: &str, kubeconfig: &Path) {
        let namespace = ["--namespace", "resource-broker-clusters"];
        let file = format!("--from-file=kubeconfig={}", kubeconfig.display());
        let create = ["create", "secret", "generic", name, &file, "--dry-run=client", "--output", "yaml"];
        // It may have been made for another broker.
        self.apply_text(&self.kubectl(&[&namespace[..], &create].concat(), ""));
        let label = format!("broker.platform-mesh.io/role={role}");
        self.kubectl(&[&namespace[..], &["label", "--overwrite", "secret", name, &label]].concat(), "");
    }

    /// A token of a ServiceAccount, as pods get one.
    pub(crate) fn token(&self, namespace: &str, account: &str) -> String {
        self.kubectl(&["create", "token", account, "--namespace", namespace], "").trim().to_owned()
    }

    /// A kubeconfig, as a file, with such a token.
    pub(crate) fn account_file(&self, place: &Place, namespace: &str, account: &str) -> PathBuf {
        let token = self.token(namespace, account);
        let admin = place.cluster.token(PERSON).unwrap();
        let text = place.cluster.kubeconfig(PERSON).unwrap().replace(admin, &token);
        let file = self.kubeconfig.with_file_name(format!("{namespace}-{account}.kubeconfig"));
        fs::write(&file, text).unwrap();
        file
    }
}
