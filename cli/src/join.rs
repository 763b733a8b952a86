//! `kubectl broker join`: a cluster becomes a consumer, a provider or a spoke.

use std::{path::PathBuf, process::ExitCode, time::Duration};

use anyhow::{Context as _, bail, ensure};
use broker_api::{ClusterName, Role, keys};
use clap::{
    Args,
    builder::{PossibleValuesParser, TypedValueParser},
};
use futures::future::join_all;
use manifests::permissions::SYSTEM_NAMESPACE;
use resource_broker::watch_kind::KindFlag;
use runtime_effect::kind::Kind;
use runtime_fleet::kubeconfig::{Kubeconfig, Trust};
use serde_json::Value;
use tokio::time::{Instant, sleep};

use crate::{
    access::Access,
    cluster::{Applying, Cluster, Place, Trouble},
    cluster_secret::{self, ClusterSecret, secrets},
    clusters,
    deployed::{Deployed, brokers},
    identity::{self, Identity},
    kubeconfig::{self, MASK, Token},
    manifest::{self, Manifest, called},
    paint::harmless,
    permissions::Kinds,
    preflight::{Joined, Preflight, Verdict},
    programs::yaml,
    rights::{Right, denied},
};

/// How long the controller manager may take until it has put a token into the Secret.
const PATIENCE: Duration = Duration::from_secs(30);

/// How often it is looked.
const LOOK: Duration = Duration::from_millis(300);

/// Related kinds where the broker's flags are not known: its default.
pub(crate) const RELATED: [&str; 2] = ["Secret.v1.core", "ConfigMap.v1.core"];

/// What a cluster can be for the broker, or for the graphs controller.
pub(crate) fn member_role() -> impl TypedValueParser<Value = Role> {
    PossibleValuesParser::new(["consumer", "provider", "spoke"]).try_map(|role| role.parse::<Role>())
}

/// How a person reaches the cluster that joins.
#[derive(Debug, Clone, Args)]
#[group(required = true, multiple = true)]
pub(crate) struct Member {
    /// Context of the cluster that joins
    #[arg(long, value_name = "CONTEXT")]
    member_context: Option<String>,
    /// Kubeconfig of the cluster that joins; that of --kubeconfig, or kubectl's, unless it is given
    #[arg(long, value_name = "FILE")]
    member_kubeconfig: Option<PathBuf>,
}

/// Which cluster joins, and as what.
#[derive(Debug, Clone, Args)]
pub(crate) struct Join {
    /// Its name, and that of its Secret in the coordination cluster
    name: String,
    /// What it is
    #[arg(long, value_name = "ROLE", value_parser = member_role())]
    role: Role,
    #[command(flatten)]
    member: Member,
    /// Address at which the broker reaches it, where that is not the one of its kubeconfig
    #[arg(long, value_name = "URL")]
    server: Option<String>,
    /// Brokered kind, as Kind.version.group; those of the broker's flags unless it is given; repeatable
    #[arg(long, value_name = "KIND.VERSION.GROUP", value_delimiter = ',')]
    watch_kind: Vec<KindFlag>,
    /// Namespace of the broker's own objects, where its flags are read
    #[arg(long, value_name = "NAMESPACE", default_value = "resource-broker-system")]
    broker_namespace: String,
    /// Take over fields that somebody else has written, such as the rules of a role
    #[arg(long)]
    force_conflicts: bool,
    /// Check, and print what would be applied; tokens and keys are not shown
    #[arg(long)]
    dry_run: bool,
}

/// Who joins whom.
struct Joining<'a> {
    asked: &'a Join,
    hub: Cluster,
    member: Cluster,
    /// Namespace of its Secret.
    namespace: &'a str,
    server: String,
}

/// Answers `join`.
pub(crate) async fn join(access: &Access, asked: &Join) -> anyhow::Result<ExitCode> {
    is_name(&asked.name)?;
    let namespace = access.cluster_secrets_namespace.first().context("--cluster-secrets-namespace names none")?;
    let file = asked.member.member_kubeconfig.as_deref().or(access.kubeconfig.as_deref());
    let reached = clusters::kubeconfig(file, asked.member.member_context.as_deref(), "the cluster that joins")?;
    let server = asked.server.clone().unwrap_or_else(|| reached.server().to_owned());
    // What the broker would refuse is told before anything is made.
    let masked = kubeconfig::text(&server, SYSTEM_NAMESPACE, MASK, None);
    let leads_to = Kubeconfig::parse(&masked, &Trust::Secret)
        .with_context(|| format!("the broker would not take the address {server}: give another one with --server"))?;
    let member = Cluster::new(ClusterName::new(asked.role, asked.name.as_str()), clusters::dial(&reached).await);
    let joining = Joining { asked, hub: clusters::hub(access).await?, member, namespace, server };

    let kinds = joining.kinds().await;
    let known = kinds.as_ref().ok().and_then(Option::as_ref);
    let manifest = Manifest::of(asked.role, known.map(|(kinds, _)| kinds))?;
    let preflight = Box::pin(joining.preflight(access, &manifest, &leads_to, kinds)).await?;
    let verdicts = preflight.verdicts();
    let bad = tell(&verdicts);
    if asked.dry_run {
        joining.show(&manifest)?;
        return Ok(if bad == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    }
    ensure!(bad == 0, "{} does not join like this, and nothing was changed", joining.member.name);
    joining.apply(&manifest).await?;
    Ok(ExitCode::SUCCESS)
}

/// Whether a text can be the name of a Secret (RFC 1123, subdomain).
fn is_name(name: &str) -> anyhow::Result<()> {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let fits = name.bytes().all(|byte| plain(byte) || byte == b'-' || byte == b'.');
    let ends = [name.bytes().next(), name.bytes().last()].into_iter().all(|byte| byte.is_some_and(plain));
    ensure!(
        fits && ends && name.len() <= 253,
        "{name:?} is no name of a cluster: use at most 253 of a-z, 0-9, - and ., a letter or digit first and last"
    );
    Ok(())
}

/// Prints verdicts beside the output; how many are bad.
fn tell(verdicts: &[Verdict]) -> usize {
    for verdict in verdicts {
        let (word, said) = match verdict {
            Verdict::Fine(said) => ("ok", said),
            Verdict::Note(said) => ("note", said),
            Verdict::Bad(said) => ("error", said),
        };
        eprintln!("{word:<7}{}", harmless(said));
    }
    verdicts.iter().filter(|verdict| matches!(verdict, Verdict::Bad(_))).count()
}

/// What applying objects takes: a server-side apply of what is not there yet is a creation as well.
fn takes(documents: &[Value]) -> anyhow::Result<Vec<Right>> {
    let mut rights: Vec<Right> = Vec::new();
    for document in documents {
        let resource = manifest::resource(document)?;
        let namespace = document["metadata"]["namespace"].as_str().unwrap_or_default();
        for verb in ["create", "patch"] {
            rights.push(Right {
                group: resource.kind.group.clone(),
                resource: resource.plural.clone(),
                namespace: namespace.to_owned(),
                name: String::new(),
                verb: verb.to_owned(),
            });
        }
        if resource.plural == "secrets" {
            rights.push(Right {
                group: String::new(),
                resource: "secrets".into(),
                namespace: namespace.into(),
                name: document["metadata"]["name"].as_str().unwrap_or_default().to_owned(),
                verb: "get".into(),
            });
        }
    }
    rights.sort();
    rights.dedup();
    Ok(rights)
}

/// The role that says what the broker may do with the brokered kinds.
fn kinds_role(role: Role) -> String {
    format!("resource-broker-{role}-kinds")
}

/// Where no kind is named: whether the role may be made for those of the example, or why not. Whoever has joined already, or
/// has a broker that says other kinds, would lose those. `there`: whether the role is.
fn example(brokers: &Result<Vec<Deployed>, Trouble>, role: &str, there: &Result<bool, Trouble>) -> Result<(), String> {
    let unreadable = brokers.iter().flatten().find_map(|broker| broker.options.as_ref().err());
    let why = match (brokers, unreadable, there) {
        (Err(why), _, _) => format!("the broker's Deployment cannot be read ({why})"),
        (_, Some(why), _) => format!("the broker's flags cannot be read ({why})"),
        (_, _, Ok(true)) => {
            format!("no broker is there, and ClusterRole {role}, which is, would be made anew for the example's")
        }
        (_, _, Err(why)) => format!("no broker is there, and whether ClusterRole {role} is cannot be read ({why})"),
        (_, _, Ok(false)) => return Ok(()),
    };
    Err(format!("which kinds are brokered is not known: {why}; name them with --watch-kind"))
}

impl Joining<'_> {
    /// The brokered kinds as the member serves them, and those that it does not. `None`: no broker is there to say which, or they
    /// are of no account. The error: why they are not known, and what to do.
    async fn kinds(&self) -> Result<Option<(Kinds, Vec<Kind>)>, String> {
        let Join { role, watch_kind, broker_namespace, .. } = self.asked;
        if *role == Role::Spoke {
            return Ok(None);
        }
        let brokers = brokers(&self.hub, broker_namespace).await;
        let options: Vec<_> = brokers.iter().flatten().filter_map(|broker| broker.options.as_ref().ok()).collect();
        let mut brokered = watch_kind.clone();
        if brokered.is_empty() {
            brokered.extend(options.iter().flat_map(|options| options.watch_kind.iter().cloned()));
        }
        if brokered.is_empty() {
            let name = kinds_role(*role);
            let place = Place { namespace: "", name: &name };
            let there = self.member.get(&manifest::cluster_roles(), place).await.map(|found| found.is_some());
            return example(&brokers, &name, &there).map(|()| None);
        }
        let mut related: Vec<KindFlag> =
            options.iter().flat_map(|options| options.related_kind.iter().cloned()).collect();
        if related.is_empty() {
            related = RELATED.iter().filter_map(|kind| kind.parse().ok()).collect();
        }
        let resources = self.member.resources().await.map_err(|why| format!("what it serves is not known: {why}"))?;
        Ok(Some(Kinds::served(&brokered, &related, resources)))
    }

    async fn preflight(
        &self,
        access: &Access,
        manifest: &Manifest,
        leads_to: &Kubeconfig,
        kinds: Result<Option<(Kinds, Vec<Kind>)>, String>,
    ) -> anyhow::Result<Preflight> {
        let Self { asked, hub, member, namespace, server } = self;
        let probe = member.probe().await;
        let shown = kubeconfig::shown(namespace, &asked.name, asked.role, "");
        let (there, here) = (takes(&manifest.documents)?, takes(&[shown])?);
        let (uid, hub_uid, denied_there, denied_in_hub, resources, joined) = futures::join!(
            identity::uid(member),
            identity::uid(hub),
            denied(member, None, there),
            denied(hub, None, here),
            member.resources(),
            self.joined(access)
        );
        let served = resources.map(|resources| resources.versions(keys::GROUP, "AcceptAPI")).unwrap_or_default();
        Ok(Preflight {
            name: member.name.clone(),
            secret: format!("{namespace}/{}", asked.name),
            probe,
            identity: Identity::of(uid, Some(leads_to)),
            hub: Identity::of(hub_uid, None),
            denied: denied_there,
            denied_in_hub,
            accept_api: served.contains(&"v1alpha1"),
            kinds: kinds.map(|known| known.map(|(kinds, missing)| (kinds.brokered.len(), missing))),
            joined: joined?,
            server: server.clone(),
        })
    }

    /// All that have joined, and the Secret that has the name, whatever it is.
    async fn joined(&self, access: &Access) -> anyhow::Result<Vec<Joined>> {
        let namespaces = &access.cluster_secrets_namespace;
        let lists = join_all(namespaces.iter().map(|namespace| cluster_secret::list(&self.hub, namespace))).await;
        let mut found: Vec<ClusterSecret> = Vec::new();
        for (namespace, list) in namespaces.iter().zip(lists) {
            found.extend(list.with_context(|| {
                format!("who has joined is not known, which takes get and list of secrets in namespace {namespace} of the coordination cluster")
            })?);
        }
        let name = &self.asked.name;
        if !found.iter().any(|one| one.namespace == self.namespace && one.name == *name) {
            let there = self.hub.get(&secrets(), Place { namespace: self.namespace, name }).await?;
            found.extend(there.and_then(|secret| ClusterSecret::read(secret, None)));
        }
        let joined = found.iter().map(|one| async move {
            let uid = match one.cluster().await {
                Some(cluster) => identity::uid(&cluster).await,
                None => Ok(None),
            };
            Joined {
                secret: format!("{}/{}", one.namespace, one.name),
                label: one.label.clone(),
                name: one.cluster_name(),
                identity: Identity::of(uid, one.kubeconfig.as_ref().ok()),
                unusable: one.kubeconfig.as_ref().err().cloned(),
            }
        });
        Ok(join_all(joined).await)
    }

    /// Prints what would be applied.
    fn show(&self, manifest: &Manifest) -> anyhow::Result<()> {
        let Self { asked, hub, member, namespace, server } = self;
        println!("# In {}:", member.name);
        for document in &manifest.documents {
            println!("---\n{}", yaml(document)?.trim_end());
        }
        let masked = kubeconfig::text(server, SYSTEM_NAMESPACE, MASK, Some(MASK));
        let secret = kubeconfig::shown(namespace, &asked.name, asked.role, &masked);
        println!("---\n# In {}, with the token of {}:", hub.name, called(manifest.token()?));
        println!("{}", yaml(&secret)?.trim_end());
        Ok(())
    }

    async fn apply(&self, manifest: &Manifest) -> anyhow::Result<()> {
        let Self { asked, hub, member, namespace, server } = self;
        let how = Applying { force: asked.force_conflicts, dry: false };
        // Whoever may not grant what a role allows is told so before anything is there.
        for document in manifest.of_kind("ClusterRole") {
            self.put(document, Applying { dry: true, ..how }).await?;
        }
        for document in &manifest.documents {
            self.put(document, how).await?;
            println!("{}: {} applied", member.name, called(document));
        }
        let text = self.token(manifest).await?.kubeconfig(server, SYSTEM_NAMESPACE);
        let made = Kubeconfig::parse(&text, &Trust::Secret).context("the broker would not take the kubeconfig")?;
        let secret = kubeconfig::secret(namespace, &asked.name, asked.role, &text);
        hub.apply(&secrets(), &secret, Applying { force: true, dry: false }).await.with_context(|| {
            format!(
                "the cluster's Secret cannot be written: is there a namespace {namespace} in the coordination cluster?"
            )
        })?;
        println!("{}: Secret {namespace}/{} applied; the broker takes it up by itself", hub.name, asked.name);
        self.look(&made).await;
        Ok(())
    }

    async fn put(&self, document: &Value, how: Applying) -> anyhow::Result<()> {
        let what = called(document);
        let applied = self.member.apply(&manifest::resource(document)?, document, how).await;
        applied.map(drop).with_context(|| {
            format!(
                "{what} cannot be applied; where fields of it are somebody else's, --force-conflicts takes them over, and where \
                 you may not grant what it allows, somebody who may has to do it"
            )
        })
    }

    /// Waits until the Secret holds a token.
    async fn token(&self, manifest: &Manifest) -> anyhow::Result<Token> {
        let document = manifest.token()?;
        let part = |name: &str| document["metadata"][name].as_str().unwrap_or_default();
        let place = Place { namespace: part("namespace"), name: part("name") };
        let end = Instant::now() + PATIENCE;
        loop {
            let there = self.member.get(&secrets(), place).await?;
            if let Some(token) = there.as_ref().and_then(Token::of) {
                return Ok(token);
            }
            if Instant::now() >= end {
                bail!(
                    "{}: {} holds no token after {} s: is there its ServiceAccount, and does the controller manager run?",
                    self.member.name,
                    called(document),
                    PATIENCE.as_secs()
                );
            }
            sleep(LOOK).await;
        }
    }

    /// Whether the broker's credentials lead there from here. The broker may reach more, or less.
    async fn look(&self, made: &Kubeconfig) {
        let name = &self.member.name;
        let broker = Cluster::new(name.clone(), clusters::dial(made).await);
        match broker.probe().await {
            Ok(_) => println!("{name}: it answers at {} with the broker's credentials", self.server),
            Err(trouble) => eprintln!(
                "note   from here it does not answer with the broker's credentials at {}: {}",
                self.server,
                harmless(&trouble.to_string())
            ),
        }
        println!("`kubectl broker doctor` looks at all of it");
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::{deployed::tests::broker, rights::told};

    #[test]
    fn names_are_those_of_secrets() {
        for name in ["homer", "eu-1.homer", "1"] {
            is_name(name).unwrap();
        }
        for name in ["", "Homer", "-homer", "homer.", "a/b", "consumer#homer"] {
            assert!(is_name(name).is_err(), "{name}");
        }
    }

    #[test]
    fn what_is_asked_for_beforehand_is_what_is_applied() {
        let manifest = Manifest::of(Role::Consumer, None).unwrap();
        let told = told(&takes(&manifest.documents).unwrap());
        for right in [
            "create, patch namespaces",
            "create, patch serviceaccounts in namespace resource-broker-system",
            "create, patch clusterroles.rbac.authorization.k8s.io",
            "create, patch clusterrolebindings.rbac.authorization.k8s.io",
            "get secrets resource-broker-token in namespace resource-broker-system",
        ] {
            assert!(told.contains(right), "{right}: {told}");
        }
    }

    #[test]
    fn the_role_is_made_for_the_examples_kinds_only_where_no_others_can_be_meant() {
        let name = kinds_role(Role::Consumer);
        let with = |brokers: Result<Vec<Deployed>, Trouble>, there| example(&brokers, &name, &there);
        assert_eq!(with(Ok(Vec::new()), Ok(false)), Ok(()));
        let away = || Trouble::Other("late".into());
        for (brokers, there, told) in [
            (Err(away()), Ok(false), "Deployment cannot be read (late)"),
            (Ok(vec![broker(&["--watch-kind=A.v1.x.io", "--nonsense"], 1, 1)]), Ok(false), "flags cannot be read"),
            (Ok(Vec::new()), Ok(true), "ClusterRole resource-broker-consumer-kinds, which is,"),
            (Ok(Vec::new()), Err(away()), "cannot be read (late)"),
        ] {
            let why = with(brokers, there).unwrap_err();
            assert!(why.contains(told) && why.ends_with("name them with --watch-kind"), "{why}");
        }
        let applied = Manifest::of(Role::Consumer, None).unwrap();
        assert!(applied.of_kind("ClusterRole").any(|role| role["metadata"]["name"] == *name));
    }
}
