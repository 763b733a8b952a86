//! Globs: patterns of names in which `*` stands for any characters, or none. Linear in the name's length.

/// Whether a pattern speaks of a name.
pub fn matches(pattern: &str, name: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else { return pattern == name };
    let (middle, tail) = rest.rsplit_once('*').unwrap_or(("", rest));
    let inner = name.strip_prefix(head).and_then(|name| name.strip_suffix(tail));
    let Some(mut inner) = inner else { return false };
    for part in middle.split('*') {
        // The first place leaves the most for the parts that follow.
        let Some(at) = inner.find(part) else { return false };
        inner = &inner[at + part.len()..];
    }
    true
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn a_star_stands_for_anything() {
        for (pattern, name) in
            [("*", "a"), ("*", ""), ("a*", "a"), ("pg-*-app", "pg-x-y-app"), ("a*b*c", "a-b-c"), ("**", "x")]
        {
            assert!(matches(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in
            [("", "a"), ("a", "ab"), ("a*", "ba"), ("*a", "ab"), ("ab*ba", "aba"), ("a*b*c", "a-c-b"), ("*b*", "aaa")]
        {
            assert!(!matches(pattern, name), "{pattern} {name}");
        }
    }

    #[test]
    fn a_star_stands_for_any_characters_and_all_else_for_itself() {
        for (pattern, name, expected) in [
            ("kube-*", "kube-system", true),
            ("kube-*", "kube-", true),
            ("kube-*", "kube", false),
            ("kube-*", "my-kube-system", false),
            ("team", "team", true),
            ("team", "team-a", false),
            ("*", "anything", true),
            ("*-prod", "team-a-prod", true),
            ("*-prod", "team-a-prod-2", false),
            ("a*b*c", "abc", true),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "acb", false),
            ("a*a", "a", false),
            ("*ab*ab", "ab", false),
            ("*ab*b*", "ab", false),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }
}
