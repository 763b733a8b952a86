//! `Conventions`: in whose name a program writes, and by which marks it knows what is its own.

use broker_api::Role;

/// What a program calls itself and how it labels things. There is one of it for the life of the process.
#[derive(Debug)]
pub struct Conventions {
    /// What people are told that it is, in the middle of a sentence: `the broker`.
    pub program: &'static str,
    /// Field manager of its writes. What was applied under this name was applied by us.
    pub manager: &'static str,
    /// What the objects of most indexes have in common, so that each need not hold it again: a dictionary for their
    /// compression, in memory only.
    pub words: &'static [u8],
    /// How the keys of its labels and annotations begin, with the `/`.
    pub prefix: &'static str,
    /// The label of a Secret with a kubeconfig that says which role the cluster has.
    pub role: &'static str,
    /// The roles that such a label may give.
    pub roles: &'static [Role],
    /// Roles that one API server may not be in both of, as it may not be in one role twice.
    pub apart: &'static [[Role; 2]],
    /// Roles in which nothing may be done with an API server as long as nobody can tell which one it is.
    pub identified: &'static [Role],
    /// Whether schemas are read of kinds that every API server serves, too.
    pub reads_core_schemas: bool,
}

impl Conventions {
    /// The label of what we have made, whose value is [`Conventions::manager`].
    pub fn managed_by(&self) -> String {
        format!("{}managed-by", self.prefix)
    }

    /// Whether one API server may not be in both of these roles.
    pub(crate) fn excludes(&self, one: Role, two: Role) -> bool {
        one == two || self.apart.contains(&[one, two]) || self.apart.contains(&[two, one])
    }

    /// Whether a cluster in this role has to let its uid be read.
    pub(crate) fn needs_uid(&self, role: Role) -> bool {
        self.identified.contains(&role)
    }

    /// Selects Secrets that hold kubeconfigs, for their watch.
    pub fn secrets(&self) -> String {
        let roles: Vec<&str> = self.roles.iter().map(|role| role.as_str()).collect();
        format!("{} in ({})", self.role, roles.join(","))
    }
}

/// There is one, so that it is the same as itself only.
impl PartialEq for Conventions {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for Conventions {}

#[cfg(test)]
pub(crate) static PLAIN: Conventions = Conventions {
    program: "the program",
    manager: "us",
    words: br#""metadata":{"name":"","namespace":"","uid":"","resourceVersion":"#,
    prefix: "example.org/",
    role: "example.org/role",
    roles: &[Role::Consumer, Role::Provider],
    apart: &[[Role::Coordination, Role::Spoke]],
    identified: &[Role::Spoke],
    reads_core_schemas: false,
};
