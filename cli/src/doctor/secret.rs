//! The Secrets of clusters: whether each can be used, and leads somewhere that no other leads to.

use broker_api::Role;
use k8s_openapi::jiff::Timestamp;

use super::{
    facts::{Facts, Inside},
    finding::Finding,
    twice::{self, Lead},
};
use crate::{age, cluster_secret::ClusterSecret, credentials::Ending};

const CHECK: &str = "cluster-secret";
const CREDENTIALS: &str = "credentials";

/// Seconds before their end at which credentials are told of.
const SOON: i64 = 14 * 24 * 3600;

/// Judges all of them.
pub(crate) fn check(facts: &Facts, inside: &Inside) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut all: Vec<&ClusterSecret> = Vec::new();
    for (namespace, read) in &inside.secrets {
        match read {
            Ok(secrets) => all.extend(secrets),
            Err(why) => {
                let place = format!("{} namespace {namespace}", facts.hub.name);
                findings.push(Finding::unchecked(CHECK, &place, why, "get and list of secrets there"));
            }
        }
    }
    if all.is_empty() && facts.members.is_empty() && findings.is_empty() {
        let names: Vec<&str> = inside.secrets.keys().map(String::as_str).collect();
        findings.push(Finding::warning(
            CHECK,
            &facts.hub.name,
            format!("there are no clusters: no labelled Secret in namespace {}", names.join(", ")),
            "`kubectl broker join` adds one; --cluster-secrets-namespace names other namespaces",
        ));
    }
    for secret in &all {
        findings.extend(of_one(&place(facts, secret), secret));
        findings.extend(secret.ends.as_ref().and_then(|ending| ends(&place(facts, secret), ending, facts.now)));
    }
    findings.extend(twice(facts, &all));
    findings
}

fn place(facts: &Facts, secret: &ClusterSecret) -> String {
    format!("{} Secret {}/{}", facts.hub.name, secret.namespace, secret.name)
}

fn of_one(place: &str, secret: &ClusterSecret) -> Vec<Finding> {
    let mut findings = Vec::new();
    if secret.role.is_none() {
        let what = format!("its label says {:?}, which is no role: it makes no cluster", secret.label);
        findings.push(Finding::error(CHECK, place, what, "label it consumer, provider or spoke"));
    }
    if let Err(why) = &secret.kubeconfig {
        let remedy = "`kubectl broker join` writes it anew";
        findings.push(Finding::error(CHECK, place, format!("it cannot be used: {why}"), remedy));
    }
    findings
}

fn ends(place: &str, ending: &Ending, now: Timestamp) -> Option<Finding> {
    let Ending { what, at } = ending;
    let left = at.as_second() - now.as_second();
    let remedy = "`kubectl broker join` once more gives it credentials that do not end";
    if left <= 0 {
        let told = format!("its {what} has expired {} ago", age::told(-left));
        Some(Finding::error(CREDENTIALS, place, told, remedy))
    } else if left < SOON {
        let told = format!("its {what} expires in {}", age::told(left));
        Some(Finding::warning(CREDENTIALS, place, told, remedy))
    } else {
        None
    }
}

/// Secrets of one role that lead to one address.
fn twice(facts: &Facts, all: &[&ClusterSecret]) -> Vec<Finding> {
    let leads = all.iter().filter_map(|secret| {
        let (role, server) = (secret.role?, secret.kubeconfig.as_ref().ok()?.endpoint().server);
        Some(Lead { role, server, name: format!("{}/{}", secret.namespace, secret.name) })
    });
    let told =
        |names: &str, server: &str, role: Role| format!("Secrets {names} lead to one API server, {server}, as {role}");
    twice::check(CHECK, &facts.hub.name, leads, told)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        cluster::Trouble,
        cluster_secret::tests::secret,
        doctor::{
            facts::{
                Read,
                tests::{facts, inside},
            },
            finding::Severity,
        },
    };

    fn found(secrets: Read<Vec<ClusterSecret>>) -> Vec<Finding> {
        let facts = facts(inside(), Vec::new());
        let mut inside = inside();
        inside.secrets.insert("clusters".into(), secrets);
        check(&facts, &inside)
    }

    const HOMER: &str = "https://homer.example.org";

    #[test]
    fn each_can_be_used_and_leads_elsewhere() {
        let one = |name: &str, role: &str, server: &str| secret(name, role, server);
        assert!(found(Ok(vec![one("homer", "consumer", HOMER), one("homer-p", "provider", HOMER)])).is_empty());
        let twice =
            found(Ok(vec![one("homer", "consumer", HOMER), one("bart", "consumer", "https://HOMER.example.org:443/")]));
        assert!(matches!(&twice[..], [it] if it.what.contains("clusters/homer and clusters/bart")), "{twice:?}");
        let broken = found(Ok(vec![one("homer", "consumer", "http://homer.example.org")]));
        assert!(matches!(&broken[..], [it] if it.what.contains("cannot be used")), "{broken:?}");
        let role = found(Ok(vec![one("homer", "consumers", HOMER)]));
        assert!(matches!(&role[..], [it] if it.what.contains("no role")), "{role:?}");
    }

    #[test]
    fn credentials_that_end_are_told_in_time() {
        let of = |at: &str| {
            let mut homer = secret("homer", "consumer", HOMER);
            homer.ends = Some(Ending { what: "token", at: at.parse().unwrap_or_default() });
            found(Ok(vec![homer]))
        };
        assert!(of("2026-03-01T12:00:00Z").is_empty());
        let soon = of("2026-01-03T12:00:00Z");
        assert_eq!((soon[0].severity, &*soon[0].what), (Severity::Warning, "its token expires in 2d"));
        let late = of("2026-01-01T11:59:00Z");
        assert_eq!((late[0].severity, &*late[0].what), (Severity::Error, "its token has expired 60s ago"));
    }

    #[test]
    fn none_and_those_that_may_not_be_read_are_told() {
        assert!(found(Ok(Vec::new()))[0].remedy.contains("kubectl broker join"));
        let denied = found(Err(Trouble::Forbidden("no".into())));
        assert!(matches!(&denied[..], [it] if it.remedy.contains("list of secrets")), "{denied:?}");
    }
}
