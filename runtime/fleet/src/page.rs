//! `Page`: one page of a list, read item by item. What cannot be read is counted, not told of one by one.

use std::{borrow::Cow, sync::Arc, time::Duration};

use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::time::Instant;
use tracing::warn;

use crate::{
    audience::Audience,
    blocking::computing,
    call::Answer,
    conventions::Conventions,
    cost::cost,
    each::within,
    error::{CallError, cut},
    index::Index,
    kind::KindInfo,
    object::{Object, ObjectError, ObjectKey},
};

/// Most objects of one page. Some servers do not know pages and send all they have.
const MOST_OF_PAGE: usize = 100_000;

/// Longest page that is read in between.
const QUICK: usize = 256 << 10;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ListMeta<'a> {
    #[serde(borrow, default)]
    pub(crate) resource_version: Cow<'a, str>,
    #[serde(borrow, default, rename = "continue")]
    pub(crate) next: Cow<'a, str>,
}

/// The object as it is held: without a body that no decision will read.
pub(crate) fn kept(told: &dyn Audience, index: &Index, key: &ObjectKey, mut object: Object) -> Object {
    // Metadata is no body: whoever wants one reads it.
    if index.spec().metadata_only || !told.keeps(index, key) {
        object.forget_body();
    }
    object
}

/// Objects that could not be read: how many, and what was wrong with the first.
#[derive(Default)]
pub(crate) struct Bad {
    count: usize,
    first: String,
    told: Option<Instant>,
}

impl Bad {
    pub(crate) fn add(&mut self, error: &ObjectError) {
        if self.count == 0 {
            self.first = cut(&error.to_string());
        }
        self.count += 1;
    }

    pub(crate) fn join(&mut self, other: Self) {
        if self.count == 0 {
            self.first = other.first;
        }
        self.count += other.count;
    }

    /// Tells of all of them in one line.
    pub(crate) fn tell(&mut self, index: &Index) {
        if self.count > 0 {
            warn!(cluster = %index.cluster(), kind = %index.spec().gvk.kind, count = self.count, first = self.first,
                "unreadable objects skipped");
            self.count = 0;
            self.told = Some(Instant::now());
        }
    }

    /// The same, but once a minute.
    pub(crate) fn tell_now_and_then(&mut self, index: &Index) {
        if self.told.is_none_or(|told| told.elapsed() > Duration::from_mins(1)) {
            self.tell(index);
        }
    }
}

/// A page of a list.
pub(crate) struct Page {
    /// Those that are held already are what is held.
    pub(crate) objects: Vec<(ObjectKey, Arc<Object>)>,
    /// What the others take.
    pub(crate) cost: usize,
    pub(crate) bad: Bad,
    /// The version that the list is of.
    pub(crate) version: String,
    /// Where it goes on; empty: this was the last.
    pub(crate) next: String,
}

/// Reads a page, item by item. Large ones are read where that holds up nobody.
pub(crate) async fn read_page(
    told: &Arc<dyn Audience>,
    conventions: &'static Conventions,
    index: &Arc<Index>,
    kind: &Arc<KindInfo>,
    answer: Answer,
) -> Result<Page, CallError> {
    if answer.len() <= QUICK {
        return parse_page(&**told, conventions, index, kind, &answer);
    }
    let (told, index, kind) = (Arc::clone(told), Arc::clone(index), Arc::clone(kind));
    let read = computing(move || parse_page(&*told, conventions, &index, &kind, &answer)).await;
    read.map_err(|error| CallError::UnknownOutcome(format!("the list was not read: {error}")))?
}

fn parse_page(
    told: &dyn Audience,
    conventions: &'static Conventions,
    index: &Index,
    kind: &KindInfo,
    answer: &[u8],
) -> Result<Page, CallError> {
    let api_version = kind.api_version();
    let type_meta = Some((api_version.as_str(), kind.gvk.kind.as_str()));
    let mut page =
        Page { objects: Vec::new(), cost: 0, bad: Bad::default(), version: String::new(), next: String::new() };
    let read = within::<_, ListMeta<'_>>(answer, "items", "metadata", |item: &RawValue| {
        if page.objects.len() > MOST_OF_PAGE {
            return;
        }
        match Object::parse(item.get().as_bytes(), type_meta, conventions) {
            Ok((key, object)) => {
                let object = index.listed(&key, kept(told, index, &key, object));
                if Arc::strong_count(&object) == 1 {
                    page.cost += cost(&key, &object);
                }
                page.objects.push((key, object));
            }
            // One malformed object must not hide the others.
            Err(error) => page.bad.add(&error),
        }
    });
    let metadata = read
        .map_err(|error| CallError::UnknownOutcome(format!("unreadable list: {}", cut(&error.to_string()))))?
        .ok_or_else(|| CallError::UnknownOutcome("a list without metadata".into()))?;
    if page.objects.len() > MOST_OF_PAGE {
        return Err(CallError::Invalid(format!("a page of a list holds more than {MOST_OF_PAGE} objects")));
    }
    page.version = metadata.resource_version.into_owned();
    page.next = metadata.next.into_owned();
    Ok(page)
}
