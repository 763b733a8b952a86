//! `Right`: one thing that credentials allow or not, asked of the API server itself.

use futures::{StreamExt as _, TryStreamExt as _, stream};
use serde_json::{Value, json};

use crate::{
    cluster::{Cluster, Trouble},
    resource::Resource,
};

/// How many questions are under way to one API server.
const AT_ONCE: usize = 8;

/// A verb on a resource.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Right {
    /// API group; empty for the core group.
    pub(crate) group: String,
    /// Plural, with `/status` and the like.
    pub(crate) resource: String,
    /// Namespace; empty: all of them, or none.
    pub(crate) namespace: String,
    /// Name; empty: all of them.
    pub(crate) name: String,
    /// Verb.
    pub(crate) verb: String,
}

impl Right {
    /// What it is about: `secrets`, `certificates/status.example.org`.
    fn object(&self) -> String {
        let Self { group, resource, namespace, name, .. } = self;
        let dot = if group.is_empty() { "" } else { "." };
        let name = if name.is_empty() { String::new() } else { format!(" {name}") };
        let within = if namespace.is_empty() { String::new() } else { format!(" in namespace {namespace}") };
        format!("{resource}{dot}{group}{name}{within}")
    }

    /// What an API server is asked (`kubectl auth can-i`).
    fn review(&self) -> Value {
        let Self { group, resource, namespace, name, verb } = self;
        let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
        json!({
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": { "resourceAttributes": {
                "group": group, "resource": resource, "subresource": subresource,
                "namespace": namespace, "name": name, "verb": verb,
            } },
        })
    }
}

/// Rights in one line, the verbs of one object together: `get, list secrets; create namespaces`.
pub(crate) fn told(rights: &[Right]) -> String {
    let mut objects: Vec<(String, Vec<&str>)> = Vec::new();
    for right in rights {
        let object = right.object();
        match objects.iter_mut().find(|(known, _)| *known == object) {
            Some((_, verbs)) => verbs.push(&right.verb),
            None => objects.push((object, vec![right.verb.as_str()])),
        }
    }
    let lines: Vec<String> =
        objects.into_iter().map(|(object, verbs)| format!("{} {object}", verbs.join(", "))).collect();
    lines.join("; ")
}

/// Those that the credentials by which a cluster is asked do not allow.
pub(crate) async fn denied(cluster: &Cluster, rights: Vec<Right>) -> Result<Vec<Right>, Trouble> {
    let answers = stream::iter(rights).map(|right| async move {
        let allowed = allows(cluster, &right).await?;
        Ok::<_, Trouble>((!allowed).then_some(right))
    });
    let answers: Vec<Option<Right>> = answers.buffered(AT_ONCE).try_collect().await?;
    Ok(answers.into_iter().flatten().collect())
}

async fn allows(cluster: &Cluster, right: &Right) -> Result<bool, Trouble> {
    let reviews = Resource::named("authorization.k8s.io", "v1", "SelfSubjectAccessReview", "selfsubjectaccessreviews")
        .cluster_wide();
    let answer = cluster.create(&reviews, "", &right.review()).await?;
    Ok(answer["status"]["allowed"] == true)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn right(verb: &str, resource: &str, group: &str) -> Right {
        let [verb, resource, group] = [verb, resource, group].map(str::to_owned);
        Right { group, resource, namespace: String::new(), name: String::new(), verb }
    }

    #[test]
    fn verbs_of_one_object_are_told_together() {
        let mut named = right("get", "namespaces", "");
        named.name = "kube-system".into();
        let rights = [
            right("get", "secrets", ""),
            right("patch", "certificates/status", "example.org"),
            right("list", "secrets", ""),
            named,
        ];
        assert_eq!(
            told(&rights),
            "get, list secrets; patch certificates/status.example.org; get namespaces kube-system"
        );
    }

    #[test]
    fn a_subresource_is_asked_for_as_one() {
        let asked = right("patch", "certificates/status", "example.org").review();
        let attributes = &asked["spec"]["resourceAttributes"];
        assert_eq!((&attributes["resource"], &attributes["subresource"]), (&json!("certificates"), &json!("status")));
        assert_eq!(right("get", "secrets", "").review()["spec"]["resourceAttributes"]["subresource"], "");
    }
}
