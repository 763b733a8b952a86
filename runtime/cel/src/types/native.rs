//! `Native`: values that only functions make and take.

use super::cel_type::Type;

/// A value that only functions make and take; none of these has a form in JSON but a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Native {
    /// `url("https://…")`
    Url,
    /// `quantity("1Gi")`
    Quantity,
    /// `semver("1.2.3")`
    Semver,
    /// `ip("10.0.0.1")`
    Ip,
    /// `cidr("10.0.0.0/8")`
    Cidr,
    /// The variable `runtime`.
    Runtime,
    /// `runtime.newCondition({…})`
    Condition,
}

/// The fields of a [`Native::Condition`], all of them texts.
pub(super) const CONDITION_FIELDS: &[&str] = &["type", "status", "reason", "message"];

impl Native {
    /// All of them.
    pub(super) const ALL: &[Self] =
        &[Self::Url, Self::Quantity, Self::Semver, Self::Ip, Self::Cidr, Self::Runtime, Self::Condition];

    /// How expressions and messages name the type.
    pub fn name(self) -> &'static str {
        match self {
            Self::Url => "kubernetes.URL",
            Self::Quantity => "kubernetes.Quantity",
            Self::Semver => "kubernetes.Semver",
            Self::Ip => "net.IP",
            Self::Cidr => "net.CIDR",
            Self::Runtime => "kro.run.Runtime",
            Self::Condition => "kro.run.Condition",
        }
    }

    /// Whether CEL takes it for an object, the fields of which may be asked for; else it is opaque.
    pub(super) fn is_object(self) -> bool {
        !matches!(self, Self::Ip | Self::Cidr)
    }

    /// The type of a field; none of them has any but a condition.
    pub(super) fn field(self, name: &str) -> Option<Type> {
        (self == Self::Condition && CONDITION_FIELDS.contains(&name)).then_some(Type::String)
    }
}
