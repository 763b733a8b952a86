//! `Act`: something that a person does, or that happens to a cluster.

use std::{fmt, time::Duration};

use broker_api::graphs::keys;
use serde_json::{Value, json};
use sim::{ApiServer, Outage};
use tokio::time::{sleep, timeout};

use super::{
    judge::Place,
    rgds::{CRDS, SITES},
    stage::Stage,
};
use crate::person::Person;

/// What is in the way goes within this.
const PATIENCE: Duration = Duration::from_hours(1);

/// See the module.
#[derive(Clone)]
pub(crate) struct Act {
    pub(crate) server: &'static str,
    deed: Deed,
}

#[derive(Clone)]
enum Deed {
    /// What was left out.
    Nothing,
    /// As soon as there is none of that name.
    Create(String, Value),
    Edit(String, Value),
    Delete(String),
    /// The owner of a spoke says that this hub is to have a CRD there.
    Claim(String, &'static str),
    Lose,
    Find,
}

/// What tells a hub from others: the first 12 digits of the uid of its `kube-system`.
pub(crate) fn identity(hub: &ApiServer) -> String {
    let namespace = hub.objects("namespaces").remove(&(String::new(), "kube-system".to_owned()));
    let uid = namespace.map(|namespace| namespace["metadata"]["uid"].as_str().unwrap_or_default().replace('-', ""));
    uid.unwrap_or_default().chars().take(12).collect()
}

fn path_of(collection: &str, name: &str) -> String {
    format!("{collection}/{name}")
}

impl Act {
    /// In the hub.
    fn of(deed: Deed) -> Self {
        Self { server: super::stage::HUB, deed }
    }

    pub(crate) fn nothing() -> Self {
        Self::of(Deed::Nothing)
    }

    pub(crate) fn is_nothing(&self) -> bool {
        matches!(self.deed, Deed::Nothing)
    }

    pub(crate) fn create(collection: &str, object: Value) -> Self {
        Self::of(Deed::Create(collection.to_owned(), object))
    }

    pub(crate) fn edit(collection: &str, name: &str, patch: Value) -> Self {
        Self::of(Deed::Edit(path_of(collection, name), patch))
    }

    pub(crate) fn delete(collection: &str, name: &str) -> Self {
        Self::of(Deed::Delete(path_of(collection, name)))
    }

    /// Nobody from elsewhere reaches a server any more.
    pub(crate) fn lose(server: &'static str) -> Self {
        Self { server, deed: Deed::Lose }
    }

    pub(crate) fn find(server: &'static str) -> Self {
        Self { server, deed: Deed::Find }
    }

    /// The server that it finds again.
    pub(crate) fn finds(&self) -> Option<&'static str> {
        matches!(self.deed, Deed::Find).then_some(self.server)
    }

    pub(crate) fn claim(crd: &str, hub: &'static str) -> Self {
        Self::of(Deed::Claim(path_of(CRDS, crd), hub))
    }

    /// The same elsewhere.
    pub(crate) fn at(self, server: &'static str) -> Self {
        Self { server, ..self }
    }

    /// Whether it deletes the object of this server, resource, namespace and name.
    pub(crate) fn deletes(&self, place: &Place) -> bool {
        matches!(&self.deed, Deed::Delete(path) if self.is_at(path, place))
    }

    /// Whether it takes an object's labels.
    pub(crate) fn disowns(&self, place: &Place) -> bool {
        let takes = |patch: &Value| patch["metadata"].get("labels").is_some_and(Value::is_null);
        matches!(&self.deed, Deed::Edit(path, patch) if takes(patch) && self.is_at(path, place))
    }

    fn is_at(&self, path: &str, [server, resource, namespace, name]: &Place) -> bool {
        let plural = resource.split('.').next().unwrap_or_default();
        self.server == server && path.ends_with(&format!("/namespaces/{namespace}/{plural}/{name}"))
    }

    /// Whether this server is lost by it.
    pub(crate) fn loses(&self, server: &str) -> bool {
        matches!(self.deed, Deed::Lose) && self.server == server
    }

    /// Whether it deletes an instance of this server.
    pub(crate) fn ends_one_of(&self, server: &str) -> bool {
        matches!(&self.deed, Deed::Delete(path) if self.server == server && path.starts_with(SITES))
    }

    /// Whether it edits, makes or ends an RGD.
    pub(crate) fn defines(&self) -> bool {
        let of = |path: &str| path.contains("/resourcegraphdefinitions");
        match &self.deed {
            Deed::Create(path, _) | Deed::Edit(path, _) | Deed::Delete(path) => of(path),
            Deed::Nothing | Deed::Claim(..) | Deed::Lose | Deed::Find => false,
        }
    }

    /// Whether it makes or edits an instance.
    pub(crate) fn asks(&self) -> bool {
        match &self.deed {
            Deed::Create(path, _) | Deed::Edit(path, _) => path.starts_with(SITES),
            Deed::Nothing | Deed::Delete(_) | Deed::Claim(..) | Deed::Lose | Deed::Find => false,
        }
    }

    /// Whether two of what is done at the same moment leave it to chance which clusters get a revision.
    pub(crate) fn race(acts: &[&Self]) -> bool {
        let paces = |act: &&Self| matches!(&act.deed, Deed::Edit(path, _) if path.contains("/resourcegraphrollouts"));
        let (paces, defines) = (acts.iter().any(paces), acts.iter().any(|act| act.defines()));
        let loses = acts.iter().any(|act| matches!(act.deed, Deed::Lose));
        loses && (paces || defines) || paces && defines
    }

    /// `outage`: how it is noticed of a server that it is lost.
    pub(crate) async fn play(&self, stage: &Stage, outage: Outage) {
        let server = stage.server(self.server);
        let ann = Person { name: "ann", server: &server };
        match &self.deed {
            Deed::Nothing => {}
            Deed::Create(collection, object) => {
                let create = async {
                    while ann.ask("POST", collection, object).await.0 != 201 {
                        sleep(Duration::from_secs(1)).await;
                    }
                };
                // What stands in its way for ever is told by the end.
                let _ = timeout(PATIENCE, create).await;
            }
            Deed::Edit(path, patch) => _ = ann.ask("PATCH", path, patch).await,
            Deed::Delete(path) => _ = ann.ask("DELETE", path, &Value::Null).await,
            Deed::Claim(path, hub) => {
                let claim = json!({"metadata": {"annotations": {keys::CLAIM: identity(&stage.server(hub))}}});
                ann.ask("PATCH", path, &claim).await;
            }
            Deed::Lose => stage.world.set_outage(self.server, Some(outage)),
            Deed::Find => stage.world.set_outage(self.server, None),
        }
    }
}

impl fmt::Display for Act {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.server)?;
        match &self.deed {
            Deed::Nothing => f.write_str("nothing"),
            Deed::Create(collection, object) => write!(f, "POST {collection} {}", object["metadata"]["name"]),
            Deed::Edit(path, patch) => write!(f, "PATCH {path} {patch}"),
            Deed::Delete(path) => write!(f, "DELETE {path}"),
            Deed::Claim(path, hub) => write!(f, "{hub} may have {path}"),
            Deed::Lose => f.write_str("is lost"),
            Deed::Find => f.write_str("is found"),
        }
    }
}
