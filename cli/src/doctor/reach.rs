//! Whether each cluster answers, keeps the time, and is one of its own.

use broker_api::{ClusterName, Role};

use super::{
    facts::{Facts, Read},
    finding::Finding,
    twice::{self, Lead},
};
use crate::{
    clock,
    cluster::{Probe, Trouble},
};

const CHECK: &str = "reach";
const CLOCK: &str = "clock";

/// Judges all of them.
pub(crate) fn check(facts: &Facts) -> Vec<Finding> {
    let mut findings = Vec::new();
    findings.extend(clock(&facts.hub.name, &facts.hub.probe));
    for member in &facts.members {
        findings.extend(clock(&member.name, &member.probe));
        let Err(why) = &member.probe else { continue };
        if !member.given && facts.is_unusable(&member.name) {
            // That its Secret cannot be used is told already.
            continue;
        }
        let remedy = match why {
            Trouble::Forbidden(_) if member.given => {
                // They are a person's: nothing is wrong with the broker's.
                let remedy =
                    format!("log in there again: its kubeconfig was given (--{}-kubeconfig)", member.name.role());
                findings.push(Finding::warning(CHECK, &member.name, why.to_string(), remedy));
                continue;
            }
            Trouble::Forbidden(_) => {
                format!(
                    "`kubectl broker join {} --role {}` once more gives it new ones",
                    member.name.name(),
                    member.name.role()
                )
            }
            Trouble::NotServed(_) | Trouble::Other(_) => {
                "see whether its API server runs and can be reached from here; the broker may reach more, or less"
                    .to_owned()
            }
        };
        findings.push(Finding::error(CHECK, &member.name, why.to_string(), remedy));
    }
    findings.extend(twice(facts));
    findings
}

fn clock(name: &ClusterName, probe: &Read<Probe>) -> Option<Finding> {
    let apart = clock::apart(probe.as_ref().ok()?.ahead?)?;
    Some(Finding::warning(CLOCK, name, apart, "let all clusters and this machine keep the time (NTP)"))
}

/// Clusters of one role that say that they are the same.
fn twice(facts: &Facts) -> Vec<Finding> {
    let leads = facts.members.iter().filter_map(|member| {
        let server = member.within.as_ref()?.uid.as_ref().ok()?.clone()?;
        Some(Lead { role: member.name.role(), server, name: member.name.name().to_owned() })
    });
    let told = |names: &str, _: &str, role: Role| format!("{names} are one API server (uid of kube-system), as {role}");
    twice::check(CHECK, &facts.hub.name, leads, told)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::{
        cluster_secret::tests::secret,
        doctor::{
            facts::{
                Member,
                tests::{facts, inside, member},
            },
            finding::Severity,
        },
    };

    fn found(members: Vec<Member>) -> Vec<Finding> {
        check(&facts(inside(), members))
    }

    #[test]
    fn who_does_not_answer_or_does_not_take_the_credentials_is_told() {
        let with = |trouble: Trouble| {
            let mut homer = member(ClusterName::consumer("homer"));
            (homer.probe, homer.within) = (Err(trouble), None);
            found(vec![homer, member(ClusterName::provider("theseus"))])
        };
        let silent = with(Trouble::Other("no answer".into()));
        assert!(matches!(&silent[..], [it] if it.severity == Severity::Error && it.what == "no answer"), "{silent:?}");
        let refused = with(Trouble::Forbidden("401".into()));
        assert!(refused[0].remedy.contains("kubectl broker join homer --role consumer"), "{refused:?}");
        let mut given = member(ClusterName::consumer("homer"));
        (given.given, given.probe, given.within) = (true, Err(Trouble::Forbidden("401".into())), None);
        let given = found(vec![given]);
        assert!(given[0].remedy.contains("(--consumer-kubeconfig)"), "{given:?}");
        assert_eq!(given[0].severity, Severity::Warning, "nothing is said of the broker's");
    }

    #[test]
    fn a_secret_that_cannot_be_used_is_told_of_elsewhere() {
        let mut homer = member(ClusterName::consumer("homer"));
        (homer.probe, homer.within) = (Err(Trouble::Other("its Secret".into())), None);
        let mut inside = inside();
        inside.secrets.insert("clusters".into(), Ok(vec![secret("homer", "consumer", "http://homer.example.org")]));
        assert!(check(&facts(inside, vec![homer])).is_empty());
    }

    #[test]
    fn clocks_are_together_within_some_seconds() {
        let apart = |ahead| {
            let mut homer = member(ClusterName::consumer("homer"));
            homer.probe = Ok(Probe { version: "v1.36.0".into(), ahead });
            found(vec![homer])
        };
        assert!([None, Some(5), Some(-5)].into_iter().all(|ahead| apart(ahead).is_empty()));
        assert_eq!(apart(Some(-6))[0].what, "its clock is 6s behind the one here");
        assert_eq!(apart(Some(6))[0].severity, Severity::Warning);
    }

    #[test]
    fn one_api_server_is_engaged_once_in_a_role() {
        let same = |role| {
            let mut other = member(ClusterName::new(role, "bart"));
            other.within.as_mut().unwrap().uid = Ok(Some("homer".into()));
            found(vec![member(ClusterName::consumer("homer")), other])
        };
        assert!(same(Role::Provider).is_empty());
        assert!(same(Role::Consumer)[0].what.starts_with("homer and bart are one API server"));
    }
}
