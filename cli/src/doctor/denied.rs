//! What the broker's credentials in a cluster do not allow, although the broker needs it.

use super::{
    facts::{Facts, Inside, Member, Read},
    finding::Finding,
};
use crate::rights::{Right, told};

const CHECK: &str = "permissions";

/// Judges those of all clusters.
pub(crate) fn check(facts: &Facts) -> Vec<Finding> {
    let of_one = |member: &Member| {
        let name = &member.name;
        match &member.within.as_ref()?.denied {
            Ok(denied) if denied.is_empty() => None,
            // They need not be the broker's.
            Ok(denied) if member.given => {
                let what = format!("the credentials that were given do not allow: {}", told(denied));
                Some(Finding::warning(CHECK, name, what, remedy(member)))
            }
            Ok(denied) => {
                let what = format!("the broker's credentials do not allow: {}", told(denied));
                Some(Finding::error(CHECK, name, what, remedy(member)))
            }
            Err(why) => {
                let needs = "create of selfsubjectaccessreviews.authorization.k8s.io, which every user has by default";
                Some(Finding::unchecked(CHECK, name, why, needs))
            }
        }
    };
    let here = facts.hub.inside.iter().flat_map(|inside| inside.denied.iter().map(move |one| (inside, one)));
    let of_broker = |(inside, (name, denied)): (&Inside, (&String, &Read<Vec<Right>>))| {
        let place = format!("{} Deployment {}/{name}", facts.hub.name, inside.namespace);
        match denied {
            Ok(denied) if denied.is_empty() => None,
            Ok(denied) => {
                let what = format!("its ServiceAccount is not allowed: {}", told(denied));
                let is_graphs = inside.deployed_graphs().iter().any(|graphs| graphs.name == *name);
                Some(Finding::error(CHECK, &place, what, if is_graphs { GRAPHS_HERE } else { HERE }))
            }
            Err(why) => {
                let needs = "create of subjectaccessreviews.authorization.k8s.io in the coordination cluster";
                Some(Finding::unchecked(CHECK, &place, why, needs))
            }
        }
    };
    here.filter_map(of_broker).chain(facts.members.iter().filter_map(of_one)).collect()
}

/// What grants a broker's rights in the coordination cluster.
const HERE: &str = "the operator binds its roles to it: see whether that works, and apply config/default (or the chart) again; without \
                    the operator apply config/rbac/coordination.yaml, with your namespaces";

/// What grants a graphs controller's.
const GRAPHS_HERE: &str = "the operator binds its roles to it: see whether that works, and apply config/default (or the chart) again; \
                           without the operator apply config/rbac/graphs-roles.yaml, and bind them to it with your namespaces";

fn remedy(member: &Member) -> String {
    let (name, role) = (member.name.name(), member.name.role());
    let file = format!("config/rbac/{role}.yaml");
    if member.given {
        return format!(
            "if the broker has the same, apply {file} there, with your kinds in place of the example's; if not, give the broker's kubeconfig (--{role}-kubeconfig)"
        );
    }
    format!(
        "`kubectl broker join {name} --role {role}` once more brings {file} up to date there; or apply that file, with your kinds in place of the example's"
    )
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use broker_api::ClusterName;

    use super::*;
    use crate::{
        cluster::Trouble,
        doctor::{
            facts::{
                Read,
                tests::{facts, inside, member},
            },
            finding::Severity,
        },
        rights::Right,
    };

    fn found(given: bool, denied: Read<Vec<Right>>) -> Vec<Finding> {
        let mut theseus = member(ClusterName::provider("theseus"));
        theseus.given = given;
        theseus.within.as_mut().unwrap().denied = denied;
        check(&facts(inside(), vec![theseus]))
    }

    #[test]
    fn what_is_not_allowed_is_told_with_what_grants_it() {
        assert!(found(false, Ok(Vec::new())).is_empty());
        let right = |verb: &str| Right {
            group: "x.io".into(),
            resource: "stores".into(),
            namespace: String::new(),
            name: String::new(),
            verb: verb.into(),
        };
        let denied = found(false, Ok(vec![right("create"), right("patch")]));
        assert_eq!(denied[0].what, "the broker's credentials do not allow: create, patch stores.x.io");
        assert_eq!(denied[0].severity, Severity::Error);
        assert!(denied[0].remedy.contains("config/rbac/provider.yaml"), "{denied:?}");
        assert!(found(false, Err(Trouble::Other("late".into())))[0].what.contains("late"));
        let given = found(true, Ok(vec![right("create")]));
        assert_eq!(given[0].what, "the credentials that were given do not allow: create stores.x.io");
        assert_eq!(given[0].severity, Severity::Warning);
        assert!(given[0].remedy.contains("(--provider-kubeconfig)"), "{given:?}");
    }

    #[test]
    fn what_a_broker_s_account_lacks_in_the_coordination_cluster_is_told() {
        let found = |denied: Read<Vec<Right>>| {
            let mut inside = inside();
            inside.denied.insert("broker".into(), denied);
            check(&facts(inside, Vec::new()))
        };
        assert!(found(Ok(Vec::new())).is_empty());
        let right = Right {
            group: String::new(),
            resource: "secrets".into(),
            namespace: "clusters".into(),
            name: String::new(),
            verb: "list".into(),
        };
        let denied = found(Ok(vec![right]));
        assert_eq!(denied[0].what, "its ServiceAccount is not allowed: list secrets in namespace clusters");
        assert!(denied[0].severity == Severity::Error && denied[0].remedy.contains("coordination.yaml"), "{denied:?}");
        let unread = found(Err(Trouble::Forbidden("no".into())));
        assert!(unread[0].remedy.contains("create of subjectaccessreviews"), "{unread:?}");
    }
}
