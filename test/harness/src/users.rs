//! The users of an API server: one token each, so that the audit log tells the actors apart.

use std::collections::BTreeMap;

use crate::port::random;

/// Users that every cluster has, all in the group `system:masters` but `limited`, which is in none: RBAC decides what
/// it may. `lab` is the harness's own, for requests that no test counts.
pub const PREDEFINED_USERS: [&str; 7] =
    ["admin", "broker", "broker-2", "person", "provider-controller", LAB, "limited"];

/// The user of the harness's own requests.
pub(crate) const LAB: &str = "lab";
/// The user of the controller manager, kept apart from those that tests count.
pub(crate) const CONTROLLER_MANAGER: &str = "controller-manager";

const MASTERS: &str = "system:masters";

/// Users by name.
#[derive(Clone, Debug)]
pub(crate) struct Users(BTreeMap<String, User>);

#[derive(Clone, Debug)]
struct User {
    token: String,
    groups: Vec<String>,
}

impl Users {
    /// The predefined users, with `changes` (name → groups) added to or replacing them.
    pub(crate) fn new(changes: &[(String, Vec<String>)]) -> Self {
        let predefined = PREDEFINED_USERS.into_iter().chain([CONTROLLER_MANAGER]).map(|name| {
            let groups = (name != "limited").then(|| MASTERS.to_owned());
            (name.to_owned(), groups.into_iter().collect())
        });
        let users = predefined.chain(changes.iter().cloned()).map(|(name, groups)| {
            let token = format!("{name}-{:016x}{:016x}", random(), random());
            (name, User { token, groups })
        });
        Self(users.collect())
    }

    /// The token of a user.
    pub(crate) fn token(&self, name: &str) -> anyhow::Result<&str> {
        match self.0.get(name) {
            Some(user) => Ok(&user.token),
            None => anyhow::bail!(
                "no user {name:?}; there are {:?}, and ClusterOptions adds others",
                self.0.keys().collect::<Vec<_>>()
            ),
        }
    }

    /// The file for `--token-auth-file`: `token,user,uid,"group,group"` per line.
    pub(crate) fn token_file(&self) -> String {
        let lines = self
            .0
            .iter()
            .map(|(name, User { token, groups })| format!("{token},{name},{name},\"{}\"\n", groups.join(",")));
        lines.collect::<Vec<_>>().concat()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_predefined_user_can_be_given_other_groups() {
        let users = Users::new(&[("broker".to_owned(), vec!["brokers".to_owned()])]);
        let file = users.token_file();
        assert!(file.contains(",broker,broker,\"brokers\"\n"), "{file}");
        assert!(file.contains(",person,person,\"system:masters\"\n"));
        assert!(file.contains(",limited,limited,\"\"\n"));
        assert_ne!(users.token("broker").unwrap(), users.token("person").unwrap());
        assert!(users.token("nobody").is_err());
    }
}
