//! `Set`: an instance as its children know it.

use broker_api::graphs::keys;
use runtime_effect::view::View;

use super::{nesting, snapshot::Snapshot};
use crate::applyset;

/// An instance as its children know it.
pub(super) struct Set<'a> {
    /// Id of the set.
    pub(super) id: String,
    pub(super) uid: &'a str,
    pub(super) version: &'a str,
    /// How many instances are above the children.
    pub(super) depth: u32,
    snapshot: &'a Snapshot<'a>,
}

impl<'a> Set<'a> {
    pub(super) fn new(snapshot: &'a Snapshot<'a>, instance: &'a View) -> Self {
        let (key, kind) = (snapshot.key, snapshot.kind);
        let id = applyset::id(&key.name, &key.namespace, &kind.kind, &kind.group);
        Self { id, uid: &instance.uid, version: snapshot.version, depth: nesting::depth(instance) + 1, snapshot }
    }

    /// The labels of all children, without [`keys::VERSION`].
    pub(super) fn labels(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let (key, kind) = (self.snapshot.key, self.snapshot.kind);
        let namespace = Some((keys::INSTANCE_NAMESPACE, &*key.namespace)).filter(|(_, text)| !text.is_empty());
        [
            (keys::OWNED, keys::TRUE),
            (keys::MANAGED_BY, keys::MANAGED_BY_VALUE),
            (keys::INSTANCE_ID, self.uid),
            (keys::INSTANCE_NAME, &*key.name),
            (keys::INSTANCE_GROUP, kind.group.as_str()),
            (keys::INSTANCE_VERSION, kind.version.as_str()),
            (keys::INSTANCE_KIND, kind.kind.as_str()),
            (keys::APPLYSET_PART_OF, self.id.as_str()),
        ]
        .into_iter()
        .chain(namespace)
    }

    /// The other set that an object belongs to.
    pub(super) fn foreign<'b>(&self, object: &'b View) -> Option<&'b str> {
        object.label(keys::APPLYSET_PART_OF).filter(|set| *set != self.id)
    }

    /// Whether an object was there before we applied it: one that has lost the label of the set and still says whose it is
    /// was not.
    pub(super) fn adopts(&self, object: &View) -> bool {
        let is_ours = [(keys::APPLYSET_PART_OF, self.id.as_str()), (keys::INSTANCE_ID, self.uid)];
        object.annotation(keys::ADOPTED).is_some()
            || !is_ours.into_iter().any(|(name, value)| object.label(name) == Some(value))
    }

    /// Whether an object is this instance itself.
    pub(super) fn is_instance(&self, group: &str, kind: &str, namespace: &str, name: &str) -> bool {
        let (key, own) = (self.snapshot.key, self.snapshot.kind);
        own.group == group && own.kind == kind && *key.namespace == *namespace && *key.name == *name
    }
}
