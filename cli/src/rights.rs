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

    /// What an API server is asked (`kubectl auth can-i`), about whoever asks or about somebody else.
    fn review(&self, of: Option<&Account>) -> Value {
        let Self { group, resource, namespace, name, verb } = self;
        let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
        let mut review = json!({
            "apiVersion": "authorization.k8s.io/v1",
            "kind": kind_of_review(of),
            "spec": { "resourceAttributes": {
                "group": group, "resource": resource, "subresource": subresource,
                "namespace": namespace, "name": name, "verb": verb,
            } },
        });
        if let Some(Account { namespace, name }) = of {
            review["spec"]["user"] = json!(format!("system:serviceaccount:{namespace}:{name}"));
            let all = ["system:serviceaccounts".to_owned(), format!("system:serviceaccounts:{namespace}")];
            review["spec"]["groups"] = json!([all[0], all[1], "system:authenticated"]);
        }
        review
    }
}

/// A ServiceAccount.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Account {
    /// Its namespace.
    pub(crate) namespace: String,
    /// Its name.
    pub(crate) name: String,
}

fn kind_of_review(of: Option<&Account>) -> &'static str {
    if of.is_some() { "SubjectAccessReview" } else { "SelfSubjectAccessReview" }
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

/// Those that the credentials by which a cluster is asked do not allow; `of`: those that somebody else has not.
pub(crate) async fn denied(cluster: &Cluster, of: Option<&Account>, rights: Vec<Right>) -> Result<Vec<Right>, Trouble> {
    let answers = stream::iter(rights).map(|right| async move {
        let allowed = allows(cluster, of, &right).await?;
        Ok::<_, Trouble>((!allowed).then_some(right))
    });
    let answers: Vec<Option<Right>> = answers.buffered(AT_ONCE).try_collect().await?;
    Ok(answers.into_iter().flatten().collect())
}

async fn allows(cluster: &Cluster, of: Option<&Account>, right: &Right) -> Result<bool, Trouble> {
    let kind = kind_of_review(of);
    let plural = format!("{}s", kind.to_lowercase());
    let reviews = Resource::named("authorization.k8s.io", "v1", kind, &plural).cluster_wide();
    let answer = cluster.create(&reviews, "", &right.review(of)).await?;
    match answer["status"]["evaluationError"].as_str() {
        // What an authorizer that fails would have allowed nobody knows.
        Some(why) if answer["status"]["allowed"] != true => {
            Err(Trouble::Other(format!("{} cannot tell what is allowed: {why}", cluster.name)))
        }
        _ => Ok(answer["status"]["allowed"] == true),
    }
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
        let asked = right("patch", "certificates/status", "example.org").review(None);
        let attributes = &asked["spec"]["resourceAttributes"];
        assert_eq!((&attributes["resource"], &attributes["subresource"]), (&json!("certificates"), &json!("status")));
        let of = Account { namespace: "system".into(), name: "broker".into() };
        let asked = right("get", "secrets", "").review(Some(&of));
        assert_eq!(asked["spec"]["resourceAttributes"]["subresource"], "");
        assert_eq!(asked["kind"], "SubjectAccessReview");
        assert_eq!(asked["spec"]["user"], "system:serviceaccount:system:broker");
    }
}
