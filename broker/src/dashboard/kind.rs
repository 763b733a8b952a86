//! Kinds in words, as flags have them.

use runtime_effect::kind::Kind;

/// `Kind.version.group`; the core group is `core`.
pub(super) fn kind_text(kind: &Kind) -> String {
    let group = if kind.group.is_empty() { "core" } else { &kind.group };
    format!("{}.{}.{group}", kind.kind, kind.version)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watch_kind::KindFlag;

    #[test]
    fn flags_read_what_is_written() {
        for text in ["Secret.v1.core", "Certificate.v1alpha1.example.platform-mesh.io"] {
            let KindFlag(kind) = text.parse().unwrap();
            assert_eq!(kind_text(&kind), text);
        }
    }
}
