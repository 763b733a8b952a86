//! `ClusterName`: which cluster, in which role. A type, so that a consumer is never taken for a provider.

use std::{fmt, str::FromStr, sync::Arc};

use serde::{Deserialize, Serialize};

/// What a cluster is for. It comes from how the cluster was discovered, never from its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The hub: migrations, cluster Secrets, leases, the signing key.
    Coordination,
    /// Where migration stages run.
    Compute,
    /// Where people create brokered objects.
    Consumer,
    /// Where brokered objects are realised.
    Provider,
    /// Where instances of resource graphs are served.
    Spoke,
}

impl Role {
    /// The word used in printed names, labels and flags.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Coordination => "coordination",
            Self::Compute => "compute",
            Self::Consumer => "consumer",
            Self::Provider => "provider",
            Self::Spoke => "spoke",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Why a text is not a role or a cluster name.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum ClusterNameError {
    /// The part before `#` is not a role.
    #[error("{0:?} is not a role: use coordination, compute, consumer, provider or spoke")]
    Role(String),
    /// There is no `#`, or nothing behind it.
    #[error("{0:?} is not a cluster name: write it as role#name, for example consumer#homer")]
    Form(String),
}

impl FromStr for Role {
    type Err = ClusterNameError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "coordination" => Ok(Self::Coordination),
            "compute" => Ok(Self::Compute),
            "consumer" => Ok(Self::Consumer),
            "provider" => Ok(Self::Provider),
            "spoke" => Ok(Self::Spoke),
            other => Err(ClusterNameError::Role(other.to_owned())),
        }
    }
}

/// A cluster in a role, printed `consumer#homer`. Cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ClusterName {
    role: Role,
    name: Arc<str>,
}

impl ClusterName {
    /// A cluster of this name in this role.
    pub fn new(role: Role, name: impl Into<Arc<str>>) -> Self {
        Self { role, name: name.into() }
    }

    /// A consumer cluster.
    pub fn consumer(name: impl Into<Arc<str>>) -> Self {
        Self::new(Role::Consumer, name)
    }

    /// A provider cluster.
    pub fn provider(name: impl Into<Arc<str>>) -> Self {
        Self::new(Role::Provider, name)
    }

    /// A spoke.
    pub fn spoke(name: impl Into<Arc<str>>) -> Self {
        Self::new(Role::Spoke, name)
    }

    /// A cluster in this role, as a person or the Go broker may have written it: `theseus`, or `provider#theseus`.
    pub fn written(role: Role, text: &str) -> Self {
        let bare = text.strip_prefix(role.as_str()).and_then(|rest| rest.strip_prefix('#'));
        Self::new(role, bare.filter(|name| !name.is_empty()).unwrap_or(text))
    }

    /// Its role.
    pub fn role(&self) -> Role {
        self.role
    }

    /// Its name without the role.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl fmt::Display for ClusterName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}", self.role, self.name)
    }
}

impl FromStr for ClusterName {
    type Err = ClusterNameError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once('#') {
            Some((role, name)) if !name.is_empty() => Ok(Self::new(role.parse()?, name)),
            _ => Err(ClusterNameError::Form(text.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn prints_and_parses_the_same() {
        let name = ClusterName::consumer("homer");
        assert_eq!(name.to_string(), "consumer#homer");
        assert_eq!("consumer#homer".parse(), Ok(name));
    }

    #[test]
    fn a_name_may_hold_a_hash() {
        let name: ClusterName = "consumer#consumer#cluster".parse().unwrap();
        assert_eq!((name.role(), name.name()), (Role::Consumer, "consumer#cluster"));
    }

    #[test]
    fn both_written_forms_are_one_name() {
        let name = ClusterName::provider("theseus");
        for text in ["theseus", "provider#theseus"] {
            assert_eq!(ClusterName::written(Role::Provider, text), name);
        }
        // Another role is no role here, and what is left has to be a name.
        for text in ["consumer#theseus", "provider#", "providertheseus"] {
            assert_eq!(ClusterName::written(Role::Provider, text).name(), text);
        }
    }

    #[test]
    fn says_what_is_wrong() {
        assert_eq!("homer".parse::<ClusterName>(), Err(ClusterNameError::Form("homer".into())));
        assert_eq!("tenant#homer".parse::<ClusterName>(), Err(ClusterNameError::Role("tenant".into())));
    }
}
