//! Conditions of an instance: the four built-in ones, or the author's.

use std::collections::BTreeMap;

use broker_api::graphs::condition;
use runtime_effect::{note::Note, view::View};
use serde_json::{Value, json};

use super::snapshot::{Author, Authored};

pub(super) const TRUE: &str = "True";
pub(super) const FALSE: &str = "False";
pub(super) const UNKNOWN: &str = "Unknown";

/// Longest message, in bytes: API servers take 32 KiB, people read less.
const MESSAGE: usize = 4096;

/// What a condition says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Said {
    pub(super) status: &'static str,
    pub(super) reason: &'static str,
    pub(super) message: String,
}

impl Said {
    pub(super) fn yes(reason: &'static str, message: impl Into<String>) -> Self {
        Self { status: TRUE, reason, message: message.into() }
    }

    pub(super) fn no(reason: &'static str, message: impl Into<String>) -> Self {
        Self { status: FALSE, reason, message: message.into() }
    }
}

/// What the built-in conditions say, by [`condition::INSTANCE_TYPES`]; `None`: this pass does not know, and what was said
/// before stays.
pub(super) type Builtin = [Option<Said>; 3];

/// What conditions are written onto.
pub(super) struct Ground<'a> {
    /// The status that is there.
    held: &'a Value,
    generation: i64,
    now: &'a str,
}

impl<'a> Ground<'a> {
    pub(super) fn new(instance: &'a View, now: &'a str) -> Self {
        Self { held: instance.value.get("status").unwrap_or(&Value::Null), generation: instance.generation(), now }
    }

    fn entries(&self) -> impl Iterator<Item = &'a Value> {
        entries(self.held)
    }

    fn entry_of(&self, kind: &str) -> Option<&'a Value> {
        self.entries().find(|entry| text(entry, "type") == kind)
    }

    /// The time moves only with the status.
    fn entry(&self, kind: &str, status: &str, reason: &str, message: &str) -> Value {
        let before = self.entry_of(kind).filter(|entry| text(entry, "status") == status);
        let since = before.map(|entry| text(entry, "lastTransitionTime")).filter(|since| !since.is_empty());
        json!({
            "type": kind,
            "status": status,
            "reason": reason,
            "message": cut(message),
            "observedGeneration": self.generation,
            "lastTransitionTime": since.unwrap_or(self.now),
        })
    }

    fn said(&self, kind: &str, said: &Said) -> Value {
        self.entry(kind, said.status, said.reason, &said.message)
    }

    /// The built-in ones, the root last.
    pub(super) fn builtin(&self, builtin: &Builtin) -> Vec<Value> {
        let mut entries: Vec<Value> = Vec::with_capacity(4);
        for (kind, said) in condition::INSTANCE_TYPES.into_iter().zip(builtin) {
            entries.push(match (said, self.entry_of(kind)) {
                (Some(said), _) => self.said(kind, said),
                (None, Some(held)) => held.clone(),
                (None, None) => self.entry(kind, UNKNOWN, condition::AWAITING_RECONCILIATION, ""),
            });
        }
        let root = match newest_not_true(&entries) {
            None => self.entry(condition::READY, TRUE, condition::READY_REASON, ""),
            Some(cause) => {
                let status = if text(cause, "status") == FALSE { FALSE } else { UNKNOWN };
                self.entry(condition::READY, status, text(cause, "reason"), text(cause, "message"))
            }
        };
        entries.push(root);
        entries
    }

    /// The author's, and what is wrong with them. Of types that are said twice none is taken.
    pub(super) fn authored(&self, author: &Author<'_>, builtin: &Builtin) -> (Vec<Value>, Vec<String>) {
        let authored = author(&self.builtin(builtin));
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for kind in authored.iter().filter_map(kind_of) {
            *counts.entry(kind).or_default() += 1;
        }
        let mut errors: Vec<String> = counts
            .iter()
            .filter(|(_, count)| **count > 1)
            .map(|(kind, _)| format!("status.conditions: type {kind:?} is said more than once"))
            .collect();
        let (mut entries, mut others) = (Vec::new(), false);
        for one in authored.iter().filter(|one| kind_of(one).is_none_or(|kind| counts.get(kind) == Some(&1))) {
            match one {
                Authored::Condition { kind, status, .. } if ![TRUE, FALSE, UNKNOWN].contains(&status.as_str()) => {
                    errors.push(format!(
                        "status.conditions: status of {kind:?} is {status:?}, not True, False or Unknown"
                    ));
                }
                Authored::Condition { kind, status, reason, message } => {
                    entries.push(self.entry(kind, status, reason, message));
                }
                Authored::Pending(Some(kind)) => entries.extend(self.previous(kind)),
                Authored::Pending(None) => others = true,
                Authored::Failed(why) => errors.push(format!("status.conditions: {why}")),
            }
        }
        if others && self.is_authored() {
            let more = self.entries().filter(|held| !counts.contains_key(text(held, "type")));
            entries.extend(more.cloned());
        }
        (entries, errors)
    }

    /// What an author has said before.
    fn previous(&self, kind: &str) -> Option<Value> {
        self.entry_of(kind).filter(|_| self.is_authored()).cloned()
    }

    /// Whether what is there was said by an author.
    fn is_authored(&self) -> bool {
        self.entries().next().is_some() && self.entry_of(condition::INSTANCE_MANAGED).is_none()
    }

    /// Where the author cannot be asked: what was said before, with what went wrong laid over it.
    pub(super) fn laid_over(&self, builtin: &Builtin) -> Vec<Value> {
        if !self.is_authored() {
            return self.builtin(builtin);
        }
        let news = condition::INSTANCE_TYPES.into_iter().zip(builtin);
        let news: Vec<(&str, &Said)> = news
            .filter_map(|(kind, said)| Some((kind, said.as_ref()?)))
            .filter(|(_, said)| said.status != TRUE)
            .collect();
        let stays = |held: &&Value| !news.iter().any(|(kind, _)| *kind == text(held, "type"));
        let mut entries: Vec<Value> = self.entries().filter(stays).cloned().collect();
        entries.extend(news.iter().map(|(kind, said)| self.said(kind, said)));
        entries
    }
}

fn kind_of(authored: &Authored) -> Option<&str> {
    match authored {
        Authored::Condition { kind, .. } | Authored::Pending(Some(kind)) => Some(kind),
        Authored::Pending(None) | Authored::Failed(_) => None,
    }
}

/// The newest that is False, else the newest that is not True; of several, the first.
fn newest_not_true(entries: &[Value]) -> Option<&Value> {
    let newest =
        |is: &dyn Fn(&str) -> bool| {
            let candidates = entries.iter().filter(|entry| is(text(entry, "status")));
            candidates.reduce(|best, next| {
                if text(next, "lastTransitionTime") > text(best, "lastTransitionTime") { next } else { best }
            })
        };
    newest(&|status| status == FALSE).or_else(|| newest(&|status| status != TRUE))
}

fn entries(status: &Value) -> impl Iterator<Item = &Value> {
    status.get("conditions").and_then(Value::as_array).into_iter().flatten()
}

/// What is told of the conditions that say something else in `wanted` than in `held`, or are new there.
pub(super) fn changes(held: &Value, wanted: &Value) -> Vec<Note> {
    let change = |entry: &Value| {
        let (kind, status) = (text(entry, "type"), text(entry, "status"));
        let before = entries(held).find(|held| text(held, "type") == kind);
        let before = before.map_or("none", |held| text(held, "status"));
        let message = format!("{before} -> {status}: {}", text(entry, "reason"));
        (before != status).then(|| match status {
            TRUE => Note::normal(kind.to_owned(), message),
            _ => Note::warning(kind.to_owned(), message),
        })
    };
    entries(wanted).filter_map(change).collect()
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn cut(message: &str) -> String {
    if message.len() <= MESSAGE {
        return message.to_owned();
    }
    format!("{}…", message.get(..message.floor_char_boundary(MESSAGE)).unwrap_or_default())
}
