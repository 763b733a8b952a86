//! What can be done with objects.

mod commit;
mod create;
mod delete;
mod list;
mod patch;
mod update;
mod watch;

use std::sync::Arc;

use http::Method;
use serde_json::Value;

pub(crate) use self::watch::{BOOKMARK, Line, News, Watching};
use crate::{
    answer::Answer,
    core_event,
    failure::Failure,
    fields::Writer,
    history::Key,
    request::{Request, Target},
    resource::Resource,
    selector::Selector,
    state::State,
};

/// A request for objects of a kind that is served.
pub(crate) struct Call<'a> {
    state: &'a mut State,
    request: &'a Request,
    target: &'a Target,
    resource: Arc<Resource>,
    now: String,
}

impl<'a> Call<'a> {
    pub(crate) fn new(state: &'a mut State, request: &'a Request, target: &'a Target, resource: Arc<Resource>) -> Self {
        let now = state.clock.stamp();
        Self { state, request, target, resource, now }
    }

    pub(crate) fn answer(mut self) -> Result<Answer, Failure> {
        let Self { request, target, .. } = self;
        let status = self.resource.status && target.subresource == "status";
        if !target.subresource.is_empty() && !status {
            let custom = self.resource.rules.custom;
            return Err(if custom { self.missing() } else { Failure::no_path() });
        }
        let all = target.name.is_empty();
        if self.resource.is_core_event() && request.method != Method::GET {
            return Err(Failure::method_not_allowed(&self.resource, request.method.as_str()));
        }
        match &request.method {
            method if method == Method::GET && all && request.query.is("watch") => self.watch(),
            method if method == Method::GET && all => self.list(),
            method if method == Method::GET => self.get(),
            method if method == Method::POST && (all || self.resource.rules.custom) => self.create(),
            method if method == Method::PUT && !all => self.update(),
            method if method == Method::PATCH && !all => self.patch(),
            method if method == Method::DELETE && !all && !status => self.delete(),
            method if method == Method::DELETE && all => self.delete_all(),
            method if (method == Method::PUT || method == Method::PATCH) && self.resource.rules.custom => {
                Err(Failure::bad_request("name must be provided"))
            }
            method => Err(Failure::method_not_allowed(&self.resource, method.as_str())),
        }
    }

    fn key(&self) -> Key {
        Key::new(&self.target.namespace, &self.target.name)
    }

    /// The object of the path, as it is kept.
    fn stored(&self) -> Option<Arc<Value>> {
        self.state.share(&self.resource.storage(), &self.key()).cloned()
    }

    fn missing(&self) -> Failure {
        Failure::not_found(&self.resource, &self.target.name)
    }

    fn get(&self) -> Result<Answer, Failure> {
        let stored = self.stored().ok_or_else(|| self.missing())?;
        Ok(self.shown(200, &self.resource.told(&stored)))
    }

    fn shown(&self, code: u16, object: &Arc<Value>) -> Answer {
        Answer::Object(code, self.request.media.show(object))
    }

    fn writer(&self) -> Writer<'_> {
        Writer {
            resource: &self.resource,
            manager: self.request.manager(),
            subresource: &self.target.subresource,
            time: &self.now,
        }
    }

    fn selector(&self) -> Result<Selector, Failure> {
        let query = &self.request.query;
        let known: &[&str] = match &*self.resource.plural {
            "events" if self.resource.is_core_event() => {
                let (labels, fields) = (query.get("labelSelector"), core_event::selected(query.get("fieldSelector")));
                let regarding = ["kind", "namespace", "name", "uid"].map(|field| format!("regarding.{field}"));
                let mut known: Vec<&str> = regarding.iter().map(String::as_str).collect();
                known.extend(["metadata.name", "metadata.namespace", "reason", "type"]);
                return Selector::parse(labels, &fields, &known);
            }
            "secrets" => &["metadata.name", "metadata.namespace", "type"],
            "namespaces" => &["metadata.name", "status.phase"],
            _ if self.resource.namespaced => &["metadata.name", "metadata.namespace"],
            _ => &["metadata.name"],
        };
        Selector::parse(query.get("labelSelector"), query.get("fieldSelector"), known)
    }

    /// Whether an object is among those of the path.
    fn is_within(&self, key: &Key) -> bool {
        self.target.namespace.is_empty() || key.namespace == self.target.namespace
    }
}
