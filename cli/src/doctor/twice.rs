//! API servers that several clusters of one role lead to: the broker engages only one of those.

use std::collections::BTreeMap;

use broker_api::{ClusterName, Role};

use super::finding::Finding;

/// What leads to a server, in which role.
pub(crate) struct Lead {
    /// As what.
    pub(crate) role: Role,
    /// Which server.
    pub(crate) server: String,
    /// What leads there, for people.
    pub(crate) name: String,
}

/// A finding for each server that several lead to in one role. `told`: what is said of them, by their names, the server and
/// the role.
pub(crate) fn check(
    check: &'static str,
    place: &ClusterName,
    leads: impl Iterator<Item = Lead>,
    told: impl Fn(&str, &str, Role) -> String,
) -> Vec<Finding> {
    let mut servers: BTreeMap<(Role, String), Vec<String>> = BTreeMap::new();
    for Lead { role, server, name } in leads {
        servers.entry((role, server)).or_default().push(name);
    }
    let several = servers.into_iter().filter(|(_, names)| names.len() > 1);
    let found = several.map(|((role, server), names)| {
        let what = told(&names.join(" and "), &server, role);
        Finding::error(
            check,
            place,
            what,
            "the broker engages only one of them: `kubectl broker leave` with the others",
        )
    });
    found.collect()
}
