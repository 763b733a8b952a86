//! `ObjectKey`: a namespace and a name.

use std::{cmp::Ordering, fmt, iter, sync::Arc};

/// Namespace and name. The namespace is empty for cluster-scoped objects. Cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectKey {
    /// Namespace, or empty.
    pub namespace: Arc<str>,
    /// Name.
    pub name: Arc<str>,
}

impl ObjectKey {
    /// A key of these two parts.
    pub fn new(namespace: impl Into<Arc<str>>, name: impl Into<Arc<str>>) -> Self {
        Self { namespace: namespace.into(), name: name.into() }
    }

    /// How an API server orders objects of one kind in a list: by `namespace/name`, byte by byte, as they are stored. So
    /// `team-a/x` stands before `team/x`, for `-` does before `/`.
    pub fn cmp_as_listed(&self, other: &Self) -> Ordering {
        self.stored().cmp(other.stored())
    }

    fn stored(&self) -> impl Iterator<Item = u8> {
        self.namespace.bytes().chain(iter::once(b'/')).chain(self.name.bytes())
    }
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.namespace.is_empty() { f.write_str(&self.name) } else { write!(f, "{}/{}", self.namespace, self.name) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_has_the_order_of_its_store() {
        let mut keys = [("team", "b"), ("team", "a"), ("team-a", "z"), ("team.x", "c"), ("team0", "c"), ("tea", "z")]
            .map(|(namespace, name)| ObjectKey::new(namespace, name));
        keys.sort_by(ObjectKey::cmp_as_listed);
        let listed: Vec<String> = keys.iter().map(ToString::to_string).collect();
        assert_eq!(listed, ["tea/z", "team-a/z", "team.x/c", "team/a", "team/b", "team0/c"]);
        let [short, long] = ["web", "web-a"].map(|name| ObjectKey::new("", name));
        assert_eq!(short.cmp_as_listed(&long), Ordering::Less);
    }
}
