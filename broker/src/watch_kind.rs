//! Kinds as people write them on the command line: `Kind.version.group`.

use std::str::FromStr;

use runtime_effect::kind::Kind;

/// A kind named by a flag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KindFlag(pub Kind);

/// Why a text names no kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{text:?} is not a kind: {why}; write Kind.version.group, for example Certificate.v1alpha1.example.platform-mesh.io or Secret.v1.core"
)]
pub struct KindFlagError {
    text: String,
    why: &'static str,
}

fn is_version(text: &str) -> bool {
    text.strip_prefix('v').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
        && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
}

fn is_group(text: &str) -> bool {
    text.split('.').all(|label| {
        !label.is_empty()
            && label.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    })
}

impl FromStr for KindFlag {
    type Err = KindFlagError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let fail = |why| Err(KindFlagError { text: text.to_owned(), why });
        let mut parts = text.splitn(3, '.');
        let (Some(kind), Some(version), Some(group)) = (parts.next(), parts.next(), parts.next()) else {
            return fail("it needs three parts");
        };
        if !kind.starts_with(|c: char| c.is_ascii_uppercase()) || !kind.bytes().all(|byte| byte.is_ascii_alphanumeric())
        {
            return fail("the first part is no kind (CamelCase)");
        }
        if !is_version(version) {
            return fail("the second part is no version (v1, v1alpha1)");
        }
        if !is_group(group) {
            return fail("the third part is no API group (for the core group write core)");
        }
        let group = if group == "core" { "" } else { group };
        Ok(Self(Kind { group: group.into(), version: version.into(), kind: kind.into() }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_kinds_of_groups_and_of_core() {
        let KindFlag(kind) = "Certificate.v1alpha1.example.platform-mesh.io".parse().unwrap();
        assert_eq!(
            (kind.kind.as_str(), kind.version.as_str(), kind.group.as_str()),
            ("Certificate", "v1alpha1", "example.platform-mesh.io")
        );
        let KindFlag(kind) = "Secret.v1.core".parse().unwrap();
        assert_eq!(kind.group, "");
    }

    #[test]
    fn malformed_kinds_are_errors_that_show_the_form() {
        for text in [
            "",
            "Certificate",
            "Certificate.v1",
            "certificate.v1.x",
            "Certificate.1.x",
            "Certificate.v1.",
            "A.v1.x..y",
            ".v1.x",
            "C.v1.X",
        ] {
            let error = text.parse::<KindFlag>().unwrap_err().to_string();
            assert!(error.contains("Kind.version.group"), "{text}: {error}");
        }
    }
}
