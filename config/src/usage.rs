//! Whether grants and requests go together: each verb of the list has a request that nothing else would have allowed.

use std::fmt;

use crate::permissions::{Grant, Rule};

/// What was asked of an API server for a resource.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Request {
    /// API group; empty for the core group.
    pub group: String,
    /// Plural name, with `/status` and the like.
    pub resource: String,
    /// Verb.
    pub verb: String,
    /// Namespace; empty where there is none.
    pub namespace: String,
    /// Name; empty for a list and mostly for a create.
    pub name: String,
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { group, resource, verb, namespace, name } = self;
        let dot = if group.is_empty() { "" } else { "." };
        write!(f, "{verb} {resource}{dot}{group}")?;
        if !namespace.is_empty() || !name.is_empty() {
            write!(f, " {namespace}/{name}")?;
        }
        Ok(())
    }
}

/// One verb on one resource, or on one object where a rule names it: the smallest thing that can be taken away.
#[derive(Debug, Clone, Copy)]
pub struct Word {
    grant: Grant,
    group: &'static str,
    resource: &'static str,
    name: Option<&'static str>,
    verb: &'static str,
}

impl Word {
    /// Name of its role.
    pub fn role(&self) -> &'static str {
        self.grant.role.name
    }

    /// Whether it allows a request.
    pub fn allows(&self, request: &Request) -> bool {
        let is = |word: &str, asked: &str| word == "*" || word == asked;
        is(self.group, &request.group)
            && is(self.resource, &request.resource)
            && is(self.verb, &request.verb)
            && self.name.is_none_or(|name| name == request.name)
            && self.grant.within.is_none_or(|namespace| namespace == request.namespace)
    }
}

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { grant, group, resource, name, verb } = self;
        let dot = if group.is_empty() { "" } else { "." };
        write!(f, "{}: {verb} {resource}{dot}{group}", grant.role.name)?;
        name.map_or(Ok(()), |name| write!(f, " {name}"))
    }
}

/// All words of grants.
pub fn words(grants: &[Grant]) -> Vec<Word> {
    grants.iter().flat_map(|grant| grant.role.rules.iter().flat_map(|rule| words_of(*grant, rule))).collect()
}

fn words_of(grant: Grant, rule: &'static Rule) -> Vec<Word> {
    let names: Vec<Option<&str>> =
        if rule.names.is_empty() { vec![None] } else { rule.names.iter().map(|name| Some(*name)).collect() };
    let mut words = Vec::new();
    for group in rule.groups {
        for resource in rule.resources {
            for verb in rule.verbs {
                words.extend(names.iter().map(|name| Word { grant, group, resource, name: *name, verb }));
            }
        }
    }
    words
}

/// The words that could be taken away without any of these requests being denied.
pub fn unused<'a>(grants: &[Grant], requests: impl IntoIterator<Item = &'a Request>) -> Vec<Word> {
    let words = words(grants);
    let mut needed = vec![false; words.len()];
    for request in requests {
        let mut allowing = words.iter().enumerate().filter(|(_, word)| word.allows(request));
        if let (Some((only, _)), None) = (allowing.next(), allowing.next()) {
            needed[only] = true;
        }
    }
    words.into_iter().zip(needed).filter(|(_, needed)| !needed).map(|(word, _)| word).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::permissions::Role;

    const fn rule(
        resources: &'static [&'static str],
        names: &'static [&'static str],
        verbs: &'static [&'static str],
    ) -> Rule {
        Rule { why: "", groups: &[""], resources, names, verbs }
    }

    const PODS: Role = Role {
        name: "pods",
        why: "",
        namespaced: false,
        rules: &[rule(&["pods", "pods/status"], &[], &["get", "patch"]), rule(&["nodes"], &["one"], &["get"])],
    };
    const ALL: Role = Role { name: "all", why: "", namespaced: false, rules: &[rule(&["*"], &[], &["get"])] };

    fn request(verb: &str, resource: &str, namespace: &str, name: &str) -> Request {
        let [verb, resource, namespace, name] = [verb, resource, namespace, name].map(str::to_owned);
        Request { group: String::new(), resource, verb, namespace, name }
    }

    fn names(words: &[Word]) -> Vec<String> {
        words.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn what_nobody_asked_for_is_named() {
        let asked = [
            request("get", "pods", "a", "x"),
            request("patch", "pods/status", "a", "x"),
            request("get", "pods/status", "a", "x"),
            request("get", "nodes", "", "two"),
        ];
        let unused = unused(&[Grant::everywhere(&PODS)], &asked);
        assert_eq!(names(&unused), ["pods: patch pods", "pods: get nodes one"]);
    }

    #[test]
    fn a_request_elsewhere_does_not_count() {
        let grants = [Grant::within("a", &ALL)];
        assert_eq!(names(&unused(&grants, &[request("get", "pods", "b", "x")])), ["all: get *"]);
        assert_eq!(names(&unused(&grants, &[request("get", "pods", "a", "x")])), [""; 0]);
    }

    #[test]
    fn what_two_words_allow_proves_neither() {
        let grants = [Grant::everywhere(&PODS), Grant::everywhere(&ALL)];
        let asked = [request("get", "pods", "a", "x"), request("get", "secrets", "a", "x")];
        let unused = names(&unused(&grants, &asked));
        assert!(unused.contains(&"pods: get pods".to_owned()) && !unused.contains(&"all: get *".to_owned()));
    }
}
