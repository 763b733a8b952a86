//! One API server, and what the broker knows of it.

use std::{cell::RefCell, sync::Arc};

use objects::{At, Objects, Refused, Stored};
use runtime_cel::schema::Schema;
use runtime_effect::{
    kind::Kind,
    reach::Reach,
    seen::Seen,
    serving::{KindView, Serving},
    view::{Unread, View},
    write::Op,
};
use serde_json::Value;

/// An annotation, which does not travel: the object cannot be read.
pub(crate) const DEEP: &str = "test.k8s.io/deep";

#[expect(clippy::struct_excessive_bools, reason = "each is something that may not be known, whatever is known besides")]
#[derive(Debug, Clone)]
pub(crate) struct Server {
    pub(crate) objects: Objects,
    pub(crate) reach: Reach,
    /// Since when it does not answer.
    pub(crate) silent_since: Option<u64>,
    /// Whether the broker's list of objects is complete.
    pub(crate) listed: bool,
    /// Whether the broker knows which kinds there are.
    pub(crate) discovered: bool,
    pub(crate) acceptances_known: bool,
    pub(crate) acceptances_served: bool,
    /// What the broker's cache holds, where it lags behind.
    pub(crate) stale: Option<Objects>,
}

impl Server {
    pub(crate) fn new(name: &str) -> Self {
        Self {
            objects: Objects::new(name),
            reach: Reach::Ready,
            silent_since: None,
            listed: true,
            discovered: true,
            acceptances_known: true,
            acceptances_served: true,
            stale: None,
        }
    }

    pub(crate) fn view(stored: &Stored) -> View {
        let view = stored.view();
        if view.annotation(DEEP).is_none() {
            return view;
        }
        // What stands for nesting that cannot be read. The fleet then knows metadata and what of the status is flat.
        let mut value = Value::clone(&stored.value);
        let fields = value.as_object_mut().unwrap();
        fields.retain(|name, _| matches!(name.as_str(), "apiVersion" | "kind" | "metadata" | "status"));
        View { unread: Some(Unread::Nested), value: Arc::new(value), ..view }
    }

    /// What the broker's cache says.
    pub(crate) fn seen(&self, at: &At) -> Seen {
        if !self.listed {
            return Seen::Unknown;
        }
        self.cached().stored(at).map_or(Seen::Absent, |stored| Seen::Present(Self::view(stored)))
    }

    pub(crate) fn cached(&self) -> &Objects {
        self.stale.as_ref().unwrap_or(&self.objects)
    }

    pub(crate) fn cached_views(&self) -> impl Iterator<Item = (&At, View)> {
        self.cached().all().map(|(at, stored)| (at, Self::view(stored)))
    }

    pub(crate) fn serving(&self, kind: &Kind) -> Serving {
        if !self.discovered {
            return Serving::Unknown;
        }
        self.objects.kinds.get(kind).map_or(Serving::Missing, |rule| {
            Serving::Served(KindView {
                plural: "certificates".into(),
                namespaced: rule.namespaced,
                has_status: rule.has_status,
                schema: if rule.published { compiled(&rule.schema) } else { Arc::new(Schema::any()) },
            })
        })
    }

    pub(crate) fn get(&self, at: &At) -> Option<&Value> {
        self.objects.get(at)
    }

    /// A write of somebody else: replaces the object, creating it if it is not there.
    pub(crate) fn put(&mut self, at: &At, value: Value) {
        self.objects.put(at, value);
    }

    /// Changes an object, if it is there.
    pub(crate) fn edit(&mut self, at: &At, edit: impl FnOnce(&mut Value)) -> bool {
        self.objects.edit(at, edit)
    }

    pub(crate) fn delete(&mut self, at: &At) {
        self.objects.delete(at);
    }

    /// Carries out a write of the broker's.
    pub(crate) fn execute(&mut self, at: &At, op: &Op) -> Result<Option<Value>, Refused> {
        if self.reach == Reach::Ready { self.objects.execute(at, op) } else { Err(Refused::Unreachable) }
    }
}

/// Schemas are compiled once, as in the binary.
fn compiled(schema: &Value) -> Arc<Schema> {
    thread_local!(static COMPILED: RefCell<Vec<(Value, Arc<Schema>)>> = const { RefCell::new(Vec::new()) });
    COMPILED.with_borrow_mut(|known| {
        let found = known.iter().find(|(source, _)| source == schema).map(|(_, compiled)| Arc::clone(compiled));
        found.unwrap_or_else(|| {
            let compiled = Arc::new(Schema::compile(schema));
            known.push((schema.clone(), Arc::clone(&compiled)));
            compiled
        })
    })
}
