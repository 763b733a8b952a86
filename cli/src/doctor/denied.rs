//! What the broker's credentials in a cluster do not allow, although the broker needs it.

use super::{
    facts::{Facts, Member},
    finding::Finding,
};
use crate::rights::told;

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
    facts.members.iter().filter_map(of_one).collect()
}

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
}
