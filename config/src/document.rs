//! YAML documents of RBAC as people like to read them: the reason above each rule, lists on one line.

use std::fmt::Write as _;

use crate::permissions::{Aggregate, Grant, Role, Rule, Viewer};

/// Longest line of a comment.
const WIDTH: usize = 120;

/// The text as comment lines at an indentation; nothing for an empty text.
pub(crate) fn comment(text: &str, indent: usize) -> String {
    let mut lines = String::new();
    for paragraph in text.lines() {
        // What is indented is a command or the like, which stays on its line.
        if paragraph.starts_with(' ') {
            let _ = writeln!(lines, "{:indent$}# {paragraph}", "");
            continue;
        }
        let mut line = String::new();
        for word in paragraph.split(' ') {
            if !line.is_empty() && indent + 3 + line.len() + word.len() > WIDTH {
                let _ = writeln!(lines, "{:indent$}# {line}", "");
                line.clear();
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
        let _ = writeln!(lines, "{:indent$}# {line}", "");
    }
    lines
}

/// `key: [a, b]`, quoted where YAML wants it; one word to a line where one line would be too long.
fn list(start: &str, words: &[&str]) -> String {
    let quoted = words.iter().map(|word| match *word {
        "" | "*" => format!("\"{word}\""),
        plain => plain.to_owned(),
    });
    let words: Vec<String> = quoted.collect();
    let line = format!("{start}: [{}]\n", words.join(", "));
    if line.len() <= WIDTH + 1 {
        return line;
    }
    let lines = words.iter().map(|word| format!("      - {word}\n"));
    format!("{start}:\n{}", lines.collect::<String>())
}

fn rule(rule: &Rule) -> String {
    let mut text = comment(rule.why, 2);
    text += &list("  - apiGroups", rule.groups);
    text += &list("    resources", rule.resources);
    if !rule.names.is_empty() {
        text += &list("    resourceNames", rule.names);
    }
    text + &list("    verbs", rule.verbs)
}

fn role_kind(role: &Role) -> &'static str {
    if role.namespaced { "Role" } else { "ClusterRole" }
}

fn metadata(name: &str, namespace: Option<&str>) -> String {
    let namespace = namespace.map(|namespace| format!("  namespace: {namespace}\n")).unwrap_or_default();
    format!("metadata:\n  name: {name}\n{namespace}")
}

/// A Namespace.
pub(crate) fn namespace(name: &str) -> String {
    format!("---\napiVersion: v1\nkind: Namespace\n{}", metadata(name, None))
}

/// A ServiceAccount.
pub(crate) fn account(name: &str, namespace: &str) -> String {
    format!("---\napiVersion: v1\nkind: ServiceAccount\n{}", metadata(name, Some(namespace)))
}

/// A Secret that the controller manager fills with a token of a ServiceAccount.
pub(crate) fn token(account: &str, namespace: &str) -> String {
    let why = "Delete and apply it again to make a new token; the old one is worthless from then on.";
    format!(
        "---\n{}apiVersion: v1\nkind: Secret\n{}  annotations:\n    kubernetes.io/service-account.name: {account}\n\
         type: kubernetes.io/service-account-token\n",
        comment(why, 0),
        metadata(&format!("{account}-token"), Some(namespace)),
    )
}

/// A Role or ClusterRole.
pub(crate) fn role(grant: &Grant) -> String {
    let role = grant.role;
    let namespace = grant.within.filter(|_| role.namespaced);
    format!(
        "---\n{}apiVersion: rbac.authorization.k8s.io/v1\nkind: {}\n{}rules:\n{}",
        comment(role.why, 0),
        role_kind(role),
        metadata(role.name, namespace),
        role.rules.iter().map(rule).collect::<String>(),
    )
}

/// A ClusterRole that holds the rules of others. A controller of the cluster writes them: they are not mentioned here.
pub(crate) fn aggregate(aggregate: &Aggregate) -> String {
    let Aggregate { name, why, label } = aggregate;
    format!(
        "---\n{}apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\n{}aggregationRule:\n  clusterRoleSelectors:\n    \
         - matchLabels:\n        {label}: \"true\"\n",
        comment(why, 0),
        metadata(name, None),
    )
}

/// A ClusterRole of people who may `get` paths.
pub(crate) fn viewer(viewer: &Viewer) -> String {
    let Viewer { name, why, paths } = viewer;
    format!(
        "---\n{}apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\n{}rules:\n{}{}",
        comment(why, 0),
        metadata(name, None),
        list("  - nonResourceURLs", paths),
        list("    verbs", &["get"]),
    )
}

/// What binds a ClusterRole that holds the rules of others to a ServiceAccount.
pub(crate) fn aggregate_binding(aggregate: &Aggregate, account: &str, account_namespace: &str) -> String {
    bound(aggregate.name, "ClusterRole", None, account, account_namespace)
}

/// What binds a role to a ServiceAccount of the system namespace where the grant holds.
pub(crate) fn binding(grant: &Grant, account: &str, account_namespace: &str) -> String {
    bound(grant.role.name, role_kind(grant.role), grant.within, account, account_namespace)
}

fn bound(role: &str, role_kind: &str, within: Option<&str>, account: &str, account_namespace: &str) -> String {
    let kind = if within.is_some() { "RoleBinding" } else { "ClusterRoleBinding" };
    format!(
        "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: {kind}\n{}roleRef:\n  apiGroup: rbac.authorization.k8s.io\n  \
         kind: {role_kind}\n  name: {role}\nsubjects:\n  - kind: ServiceAccount\n    name: {account}\n    namespace: {account_namespace}\n",
        metadata(role, within),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_is_wrapped_and_commands_stay_whole() {
        let long = "word ".repeat(40);
        let text = comment(&format!("{}\n  kubectl {long}", long.trim_end()), 2);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 3, "{text}");
        assert!(lines[0].len() <= WIDTH && lines[0].len() > WIDTH - 6, "{text}");
        assert!(lines.iter().all(|line| line.starts_with("  # ")), "{text}");
        assert!(lines[2].starts_with("  #   kubectl word"), "{text}");
    }

    #[test]
    fn a_long_list_has_a_line_for_each_word() {
        let long = "word".repeat(20);
        assert_eq!(list("    key", &[&long, "b"]).lines().count(), 1);
        assert_eq!(list("    key", &[&long, &long]), format!("    key:\n      - {long}\n      - {long}\n"));
    }

    #[test]
    fn what_yaml_would_misread_is_quoted() {
        assert_eq!(list("key", &["", "*", "apps"]), "key: [\"\", \"*\", apps]\n");
    }
}
