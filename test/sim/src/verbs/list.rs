//! Objects of a kind, page by page.

use std::sync::Arc;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use super::Call;
use crate::{answer::Answer, failure::Failure, history::Key, media::Media};

/// Where the next page begins: of the objects as they were at a revision, or as they are, behind a key.
struct Token {
    revision: Option<u64>,
    behind: Key,
}

impl Token {
    fn write(&self) -> String {
        let Key { namespace, name } = &self.behind;
        STANDARD.encode(json!({"v": "sim", "rv": self.revision, "namespace": namespace, "name": name}).to_string())
    }

    fn read(text: &str) -> Result<Option<Self>, Failure> {
        if text.is_empty() {
            return Ok(None);
        }
        let wrong = || Failure::bad_request("continue key is not valid");
        let bytes = STANDARD.decode(text).map_err(|_| wrong())?;
        let token: Value = serde_json::from_slice(&bytes).map_err(|_| wrong())?;
        let part = |name: &str| token[name].as_str().ok_or_else(wrong);
        let revision = if token["rv"].is_null() { None } else { Some(token["rv"].as_u64().ok_or_else(wrong)?) };
        Ok(Some(Self { revision, behind: Key::new(part("namespace")?, part("name")?) }))
    }
}

/// Some of what is there.
pub(super) struct Page {
    /// In their order.
    pub(super) objects: Vec<(Key, Arc<Value>)>,
    metadata: Value,
}

impl Call<'_> {
    /// What a list is asked for.
    pub(super) fn page(&self) -> Result<Page, Failure> {
        let (query, storage) = (&self.request.query, self.resource.storage());
        let selector = self.selector()?;
        let token = Token::read(query.get("continue"))?;
        let revision = token.as_ref().and_then(|token| token.revision).unwrap_or(self.state.history.revision());
        let behind = token.map(|token| token.behind);
        if let (false, Some(behind)) = (self.state.history.reaches(revision), &behind) {
            return Err(Failure::expired_page(Token { revision: None, behind: behind.clone() }.write()));
        }
        let held = self.state.at(&storage, revision);
        let rest = held.iter().filter(|(key, object)| {
            self.is_within(key) && behind.as_ref().is_none_or(|behind| *key > behind) && selector.selects(object)
        });
        let limit = query.number("limit").filter(|limit| *limit > 0).and_then(|limit| usize::try_from(limit).ok());
        let rest = rest.map(|(key, object)| (key.clone(), Arc::clone(object)));
        let objects: Vec<(Key, Arc<Value>)> = rest.take(limit.unwrap_or(usize::MAX)).collect();
        // Who looks no further than a full page does not know whether what comes behind is selected.
        let full = limit.is_some_and(|limit| objects.len() >= limit);
        let last = objects.last().map(|(key, _)| key).filter(|_| full);
        let left = last.map_or(0, |last| held.keys().filter(|key| self.is_within(key) && *key > last).count());
        let mut metadata = json!({"resourceVersion": revision.to_string()});
        if let (1.., Some(last)) = (left, last) {
            metadata["continue"] = json!(Token { revision: Some(revision), behind: last.clone() }.write());
            if selector.is_empty() {
                metadata["remainingItemCount"] = json!(left);
            }
        }
        Ok(Page { objects, metadata })
    }

    pub(super) fn list(&self) -> Result<Answer, Failure> {
        Ok(self.told(&self.page()?))
    }

    /// A list of these.
    pub(super) fn told(&self, Page { objects, metadata }: &Page) -> Answer {
        let items: Vec<Value> = objects.iter().map(|(_, object)| self.item(object)).collect();
        let items =
            if items.is_empty() && self.request.media == Media::Partial { Value::Null } else { Value::Array(items) };
        let (kind, api_version) = match self.request.media {
            Media::Partial => ("PartialObjectMetadataList", "meta.k8s.io/v1".to_owned()),
            Media::Whole | Media::Discovery => (&*self.resource.list_kind, self.resource.api_version()),
        };
        let mut body = json!({"kind": kind, "apiVersion": api_version, "metadata": metadata});
        // To say it there would copy all of them.
        body["items"] = items;
        Answer::Json(200, body)
    }

    /// What is built in does not say its kind in a list.
    fn item(&self, stored: &Arc<Value>) -> Value {
        let mut item = Arc::unwrap_or_clone(self.request.media.show(&self.resource.told(stored)));
        if let (Media::Whole, false, Some(fields)) =
            (self.request.media, self.resource.rules.custom, item.as_object_mut())
        {
            fields.remove("kind");
            fields.remove("apiVersion");
        }
        item
    }
}
