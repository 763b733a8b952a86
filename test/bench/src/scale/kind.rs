//! The kinds that stubs hold objects of, and the paths that lead to these.

use crate::widget;

/// A kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Widget,
    AcceptApi,
}

impl Kind {
    pub(super) const ALL: [Self; 2] = [Self::Widget, Self::AcceptApi];

    /// As in `kind`.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Widget => "Widget",
            Self::AcceptApi => "AcceptAPI",
        }
    }

    /// As in `apiVersion`.
    pub(super) fn api_version(self) -> &'static str {
        match self {
            Self::Widget => "bench.example.org/v1",
            Self::AcceptApi => "broker.platform-mesh.io/v1alpha1",
        }
    }

    /// As in paths.
    pub(super) fn plural(self) -> &'static str {
        match self {
            Self::Widget => widget::RESOURCE,
            Self::AcceptApi => "acceptapis",
        }
    }
}

/// What a path leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Target<'p> {
    pub(super) kind: Kind,
    /// Empty: all of them.
    pub(super) namespace: &'p str,
    /// Empty: all objects.
    pub(super) name: &'p str,
    /// Whether it is the status of the object.
    pub(super) status: bool,
}

impl<'p> Target<'p> {
    /// `None`: it leads to something that stubs do not hold.
    pub(super) fn of(path: &'p str) -> Option<Self> {
        let rest = path.strip_prefix("/apis/")?;
        let (kind, rest) = Kind::ALL.into_iter().find_map(|kind| {
            let rest = rest.strip_prefix(kind.api_version())?.strip_prefix('/')?;
            Some((kind, rest))
        })?;
        let steps: Vec<&str> = rest.split('/').collect();
        let (namespace, rest) = match steps.as_slice() {
            ["namespaces", namespace, rest @ ..] => (*namespace, rest),
            all => ("", all),
        };
        let (plural, name, status) = match rest {
            [plural] => (*plural, "", false),
            [plural, name] => (*plural, *name, false),
            [plural, name, "status"] => (*plural, *name, true),
            _ => return None,
        };
        (plural == kind.plural()).then_some(Self { kind, namespace, name, status })
    }

    /// One object.
    pub(super) fn object(kind: Kind, namespace: &'p str, name: &'p str) -> Self {
        Self { kind, namespace, name, status: false }
    }

    /// The same object as it is kept: in the order of lists.
    pub(super) fn key(&self) -> String {
        format!("{}/{}", self.namespace, self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lead_to_objects() {
        let said = |path| {
            let Target { kind, namespace, name, status } = Target::of(path)?;
            Some((kind.name(), namespace, name, status))
        };
        assert_eq!(said(widget::ALL), Some(("Widget", "", "", false)));
        let one = "/apis/bench.example.org/v1/namespaces/n/widgets/a";
        assert_eq!(said(one), Some(("Widget", "n", "a", false)));
        let status = format!("{one}/status");
        assert_eq!(said(&status), Some(("Widget", "n", "a", true)));
        let all = "/apis/broker.platform-mesh.io/v1alpha1/acceptapis";
        assert_eq!(said(all), Some(("AcceptAPI", "", "", false)));
        assert_eq!(said("/apis/bench.example.org/v1"), None);
        assert_eq!(said("/api/v1/secrets"), None);
    }
}
