//! What the broker's credentials in a cluster do not allow, although the broker needs it.

use broker_api::Role;

use super::{facts::Facts, finding::Finding};
use crate::rights::told;

const CHECK: &str = "permissions";

/// Judges those of all clusters.
pub(crate) fn check(facts: &Facts) -> Vec<Finding> {
    let roles = [Role::Consumer, Role::Provider, Role::Spoke];
    let all = roles.into_iter().flat_map(|role| facts.answering(role));
    let told = all.filter_map(|(name, within)| match &within.denied {
        Ok(denied) if denied.is_empty() => None,
        Ok(denied) => {
            let file = format!("config/rbac/{}.yaml", name.role());
            let remedy = format!(
                "`kubectl broker join {} --role {}` once more brings {file} up to date there; or apply that file, with your kinds in place of the example's",
                name.name(),
                name.role()
            );
            Some(Finding::error(CHECK, name, format!("the broker's credentials do not allow: {}", told(denied)), remedy))
        }
        Err(why) => {
            let needs = "create of selfsubjectaccessreviews.authorization.k8s.io, which every user has by default";
            Some(Finding::unchecked(CHECK, name, why, needs))
        }
    });
    told.collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use broker_api::ClusterName;

    use super::*;
    use crate::{
        cluster::Trouble,
        doctor::facts::{
            Read,
            tests::{facts, inside, member},
        },
        rights::Right,
    };

    fn found(denied: Read<Vec<Right>>) -> Vec<Finding> {
        let mut theseus = member(ClusterName::provider("theseus"));
        theseus.within.as_mut().unwrap().denied = denied;
        check(&facts(inside(), vec![theseus]))
    }

    #[test]
    fn what_is_not_allowed_is_told_with_what_grants_it() {
        assert!(found(Ok(Vec::new())).is_empty());
        let right = |verb: &str| Right {
            group: "x.io".into(),
            resource: "stores".into(),
            namespace: String::new(),
            name: String::new(),
            verb: verb.into(),
        };
        let denied = found(Ok(vec![right("create"), right("patch")]));
        assert!(denied[0].what.ends_with("create, patch stores.x.io"), "{denied:?}");
        assert!(denied[0].remedy.contains("config/rbac/provider.yaml"), "{denied:?}");
        assert!(found(Err(Trouble::Other("late".into())))[0].what.contains("late"));
    }
}
