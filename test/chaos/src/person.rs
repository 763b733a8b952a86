//! `Person`: makes, edits, deletes and makes again objects of a kind in one cluster, one after the other, and keeps a ledger of
//! what the API server acknowledged.
//!
//! A person waits for each answer. Where none comes, because the API server was killed, they look what became of it: the one
//! that has started again knows.

use std::{sync::Arc, time::Duration};

use anyhow::{bail, ensure};
use e2e::{Kind, Object, Place};
use harness::Dice;
use kube::api::{DeleteParams, DynamicObject, Patch, PatchParams, PostParams, Preconditions};
use serde_json::{Value, json};
use tokio::{sync::watch, time::sleep};

use crate::{
    ledger::{Key, Ledger, Wanted},
    timeline::Timeline,
};

/// Names in each namespace.
const NAMES: u64 = 8;
/// A pause after an answer that did not come.
const PAUSE: Duration = Duration::from_millis(200);
/// How often somebody tries to make what is still being deleted.
const INSISTS: u32 = 20;

/// The spec of the next round, from that of the last one where there is one.
type Write = fn(&mut Dice, u64, Option<&Value>) -> Value;

/// A person at work.
pub(crate) struct Person {
    place: Place,
    kind: Kind,
    namespaces: Vec<String>,
    write: Write,
    /// Longest pause between two edits, in milliseconds.
    longest: u64,
    dice: Dice,
    round: u64,
    ledger: Ledger,
    timeline: Arc<Timeline>,
}

/// What an API server said.
enum Answer<T> {
    Done(T),
    /// No, with this status.
    Refused(u16, String),
    /// Nobody knows.
    None,
}

fn answer<T>(said: kube::Result<T>) -> Answer<T> {
    match said {
        Ok(done) => Answer::Done(done),
        // One that has just started may not know of a kind yet.
        Err(kube::Error::Api(status)) if matches!(status.code, 404 | 429) => Answer::None,
        Err(kube::Error::Api(status)) if (400..500).contains(&status.code) => {
            Answer::Refused(status.code, status.message.clone())
        }
        Err(_) => Answer::None,
    }
}

impl Person {
    /// Somebody who has not begun.
    pub(crate) fn new(
        place: &Place,
        kind: Kind,
        namespaces: &[&str],
        write: Write,
        longest: u64,
        dice: Dice,
        timeline: &Arc<Timeline>,
    ) -> Self {
        let namespaces = namespaces.iter().map(ToString::to_string).collect();
        let (place, timeline) = (place.clone(), Arc::clone(timeline));
        Self { place, kind, namespaces, write, longest, dice, round: 0, ledger: Ledger::default(), timeline }
    }

    /// Works until `stop` says so, and hands the ledger out.
    ///
    /// # Errors
    /// An object is not as it was acknowledged.
    pub(crate) async fn work(mut self, stop: watch::Receiver<bool>) -> anyhow::Result<Ledger> {
        while !*stop.borrow() {
            self.next().await?;
            let pause = Duration::from_millis(self.dice.below(self.longest));
            sleep(pause).await;
        }
        Ok(self.ledger)
    }

    async fn next(&mut self) -> anyhow::Result<()> {
        let namespace = self.dice.pick(&self.namespaces).clone();
        let key = (namespace, format!("web-{}", self.dice.below(NAMES)));
        match (self.ledger.wanted(&key), self.dice.below(10)) {
            (Wanted::Gone, _) => self.create(&key).await.map(drop),
            (Wanted::There { uid, .. }, 0..2) => self.delete(&key, &uid).await,
            (Wanted::There { uid, .. }, 2) => {
                self.delete(&key, &uid).await?;
                for _ in 0..INSISTS {
                    if self.create(&key).await? {
                        break;
                    }
                    sleep(PAUSE).await;
                }
                Ok(())
            }
            (Wanted::There { uid, spec }, _) => self.edit(&key, &uid, &spec).await,
        }
    }

    fn say(&self, what: &'static str, key: &Key, more: &str) {
        let (namespace, name) = key;
        self.timeline.edit(what, &format!("{} {} {namespace}/{name} {more}", self.place.name(), self.kind.kind));
    }

    fn spec(&mut self, before: Option<&Value>) -> Value {
        self.round += 1;
        (self.write)(&mut self.dice, self.round, before)
    }

    /// Whether it was made, or may have been.
    async fn create(&mut self, key: &Key) -> anyhow::Result<bool> {
        let spec = self.spec(None);
        let object = self.kind.object(&key.0, &key.1, &json!({"spec": spec}));
        let object: DynamicObject = serde_json::from_value(object)?;
        let made = self.place.api(&self.kind, &key.0).create(&PostParams::default(), &object).await;
        match answer(made.map(Object::from)) {
            Answer::Done(made) => {
                self.say("create acknowledged", key, &spec.to_string());
                let uid = made.uid().to_owned();
                self.ledger.set(key.clone(), Wanted::There { uid, spec });
                Ok(true)
            }
            Answer::Refused(409, _) => {
                self.say("create refused (still being deleted)", key, "");
                Ok(false)
            }
            Answer::Refused(code, why) => bail!("create of {key:?} in {}: {code} {why}", self.place.name()),
            Answer::None => self.settle(key, Some(&spec)).await.map(|()| true),
        }
    }

    async fn edit(&mut self, key: &Key, uid: &str, before: &Value) -> anyhow::Result<()> {
        let spec = self.spec(Some(before));
        let mut patch = spec.clone();
        // Fields that are no more.
        for field in before.as_object().into_iter().flat_map(|fields| fields.keys()) {
            if patch[field].is_null() {
                patch[field] = Value::Null;
            }
        }
        let patch = Patch::Merge(json!({"metadata": {"uid": uid}, "spec": patch}));
        let edited = self.place.api(&self.kind, &key.0).patch(&key.1, &PatchParams::default(), &patch).await;
        match answer(edited.map(Object::from)) {
            Answer::Done(edited) => {
                self.say("edit acknowledged", key, &spec.to_string());
                ensure!(!edited.is_deleting(), "somebody else deletes {key:?} in {}: {edited}", self.place.name());
                self.ledger.set(key.clone(), Wanted::There { uid: uid.to_owned(), spec });
                Ok(())
            }
            Answer::Refused(code, why) => bail!("edit of {key:?} in {}: {code} {why}", self.place.name()),
            Answer::None => self.settle(key, Some(&spec)).await,
        }
    }

    async fn delete(&mut self, key: &Key, uid: &str) -> anyhow::Result<()> {
        let this = Preconditions { uid: Some(uid.to_owned()), ..Preconditions::default() };
        let params = DeleteParams::default().preconditions(this);
        match answer(self.place.api(&self.kind, &key.0).delete(&key.1, &params).await) {
            Answer::Done(_) => {
                self.say("delete acknowledged", key, "");
                self.ledger.set(key.clone(), Wanted::Gone);
                Ok(())
            }
            Answer::Refused(code, why) => bail!("delete of {key:?} in {}: {code} {why}", self.place.name()),
            Answer::None => self.settle(key, None).await,
        }
    }

    /// Looks what became of a write to which no answer came: all of it or nothing. `tried`: the spec; without one, a deletion.
    async fn settle(&mut self, key: &Key, tried: Option<&Value>) -> anyhow::Result<()> {
        let api = self.place.api(&self.kind, &key.0);
        let found = loop {
            // Before it is ready it may say of what is there that it is not.
            let ready = http::Request::get("/readyz").body(Vec::new())?;
            if self.place.client().request_text(ready).await.is_ok()
                && let Ok(found) = api.get_opt(&key.1).await
            {
                break found.map(Object::from);
            }
            sleep(PAUSE).await;
        };
        let before = self.ledger.wanted(key);
        let now = match &found {
            Some(found) if !found.is_deleting() => {
                Wanted::There { uid: found.uid().to_owned(), spec: found.at("/spec").clone() }
            }
            _ => Wanted::Gone,
        };
        let is_tried = match (&now, tried) {
            (Wanted::Gone, None) => true,
            (Wanted::There { spec, .. }, Some(tried)) => spec == tried,
            _ => false,
        };
        let what = if is_tried { "unanswered, was done" } else { "unanswered, was not done" };
        self.say(what, key, &format!("{now:?}"));
        ensure!(
            is_tried || now == before,
            "{key:?} in {} was acknowledged as {before:?}, and is {now:?} after an unanswered {tried:?}",
            self.place.name()
        );
        self.ledger.set(key.clone(), now);
        Ok(())
    }
}
