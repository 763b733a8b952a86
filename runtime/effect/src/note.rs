//! `Note`: what is told as an Event.

use std::borrow::Cow;

use broker_api::ClusterName;

/// Something to tell as an Event.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Note {
    /// CamelCase word.
    pub reason: Cow<'static, str>,
    /// One or two sentences.
    pub message: String,
    /// Whether people should look.
    pub warning: bool,
    /// Tell it on this object of this cluster as well (a foreign object in a provider).
    pub also: Option<ClusterName>,
}

impl Note {
    /// Things go their way.
    pub fn normal(reason: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Self {
        Self { reason: reason.into(), message: message.into(), warning: false, also: None }
    }

    /// People should look.
    pub fn warning(reason: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Self {
        Self { reason: reason.into(), message: message.into(), warning: true, also: None }
    }
}
