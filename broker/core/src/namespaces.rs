//! Which namespaces of consumers an AcceptAPI takes objects from.
//!
//! A copy is made in the namespace of its origin, so the name that a consumer's namespace has decides where a provider
//! is written to. Namespaces that Kubernetes keeps for itself (`kube-*`) are refused unless the AcceptAPI gives its own
//! list of what it denies.

use broker_api::NamespaceRules;

use crate::glob;

/// What is denied where an AcceptAPI does not say.
const RESERVED: &str = "kube-*";

/// Most patterns of a list.
const MAX_PATTERNS: usize = 64;

/// Longest name of a namespace (RFC 1123 label).
const MAX_NAME: usize = 63;

/// `spec.namespaces`, checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Namespaces {
    allow: Vec<String>,
    deny: Vec<String>,
}

impl Namespaces {
    /// Checks the rules. The errors are led by their place: `spec.namespaces.allow[2]: …`.
    pub fn compile(rules: Option<&NamespaceRules>) -> Result<Self, Vec<String>> {
        let mut errors = Vec::new();
        let allow = rules.map(|rules| rules.allow.clone()).unwrap_or_default();
        let deny = rules.and_then(|rules| rules.deny.clone()).unwrap_or_else(|| vec![RESERVED.to_owned()]);
        for (list, patterns) in [("allow", &allow), ("deny", &deny)] {
            if patterns.len() > MAX_PATTERNS {
                errors.push(format!("spec.namespaces.{list}: has {} patterns; at most {MAX_PATTERNS}", patterns.len()));
                continue;
            }
            for (index, pattern) in patterns.iter().enumerate() {
                let plain =
                    |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'*');
                if pattern.is_empty() || pattern.len() > MAX_NAME || !pattern.bytes().all(plain) {
                    errors.push(format!(
                        "spec.namespaces.{list}[{index}]: is no pattern of a namespace's name; use lower case letters, digits, - and * (any characters, or none), at most {MAX_NAME}"
                    ));
                }
            }
        }
        if errors.is_empty() { Ok(Self { allow, deny }) } else { Err(errors) }
    }

    /// Why objects of this namespace are not taken: the reason and the rule; `None`: they are.
    pub fn refusal(&self, namespace: &str) -> Option<(&'static str, String)> {
        if let Some(pattern) = self.deny.iter().find(|pattern| glob::matches(pattern, namespace)) {
            return Some(("is denied", format!("namespaces.deny: {pattern}")));
        }
        let allowed = self.allow.is_empty() || self.allow.iter().any(|pattern| glob::matches(pattern, namespace));
        (!allowed).then(|| ("is not among those that are allowed", "namespaces.allow".to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(allow: &[&str], deny: Option<&[&str]>) -> Namespaces {
        let all = |patterns: &[&str]| patterns.iter().map(ToString::to_string).collect::<Vec<_>>();
        let rules = NamespaceRules { allow: all(allow), deny: deny.map(all) };
        Namespaces::compile(Some(&rules)).unwrap()
    }

    #[test]
    fn system_namespaces_are_denied_unless_the_list_of_what_is_denied_is_given() {
        let refused = |rules: &Namespaces, name: &str| rules.refusal(name).map(|(_, rule)| rule);
        let default = Namespaces::compile(None).unwrap();
        assert_eq!(refused(&default, "kube-system").as_deref(), Some("namespaces.deny: kube-*"));
        assert_eq!(refused(&default, "team"), None);
        // Allowing all does not lift it.
        assert!(refused(&rules(&["*"], None), "kube-public").is_some());
        assert!(refused(&rules(&["kube-public"], None), "kube-public").is_some());
        assert_eq!(refused(&rules(&[], Some(&[])), "kube-public"), None);
        assert_eq!(refused(&rules(&["kube-*"], Some(&["kube-system"])), "kube-public"), None);
    }

    #[test]
    fn what_is_not_allowed_is_refused_and_what_is_denied_goes_first() {
        let rules = rules(&["team-*"], Some(&["team-b"]));
        assert_eq!(rules.refusal("team-a"), None);
        assert_eq!(rules.refusal("team-b").unwrap().0, "is denied");
        assert_eq!(rules.refusal("other").unwrap().1, "namespaces.allow");
    }

    #[test]
    fn a_pattern_that_no_name_can_have_is_an_error() {
        let rules = NamespaceRules { allow: vec!["team".into(), "Team".into()], deny: Some(vec![String::new()]) };
        let errors = Namespaces::compile(Some(&rules)).unwrap_err();
        assert_eq!(errors.len(), 2);
        assert!(
            errors[0].starts_with("spec.namespaces.allow[1]: ") && errors[1].starts_with("spec.namespaces.deny[0]: ")
        );
    }

    #[test]
    fn lists_and_patterns_have_an_end() {
        let errors = |count: usize, length: usize| {
            let rules = NamespaceRules { allow: vec!["a".repeat(length); count], deny: None };
            Namespaces::compile(Some(&rules)).map_or_else(|errors| errors.len(), |_| 0)
        };
        assert_eq!((errors(MAX_PATTERNS, 63), errors(MAX_PATTERNS + 1, 63)), (0, 1));
        assert_eq!((errors(2, 64), errors(2, 65)), (2, 2));
    }
}
