//! What API servers make of the machine's writes.

use broker_api::{Role, condition, keys};
use broker_core::{decision::Write, memory::Subject};
use runtime_effect::{reach::Reach, write::Op};
use serde_json::{Value, json};

use super::{World, rules};

impl World {
    /// Carries out a write as its API server would. Returns whether it went through.
    pub(super) fn execute(&mut self, write: &Write) -> bool {
        rules::check(self, write);
        let done = if write.cluster.role() == Role::Coordination {
            self.write_migration(write)
        } else {
            self.write_object(write)
        };
        if done {
            if !matches!(write.op, Op::Delete { .. }) {
                self.memory.wrote(write.subject, write.intent, None, self.now);
            }
            self.notes.extend(write.notes.iter().cloned());
            self.written.push(write.clone());
        }
        done
    }

    fn write_migration(&mut self, write: &Write) -> bool {
        let version = self.tick();
        let Some(migration) = &mut self.migration else { return false };
        let metadata = migration["metadata"].clone();
        assert_eq!((&metadata["namespace"], &*write.name), (&json!(write.namespace), "certificate-1"));
        match &write.op {
            Op::Merge(patch) | Op::MergeStatus(patch) => {
                assert_eq!(patch["metadata"]["uid"], metadata["uid"], "a patch names the uid");
                if patch["metadata"]["resourceVersion"] != metadata["resourceVersion"] {
                    return false;
                }
                let is_status = matches!(write.op, Op::MergeStatus(_));
                assert_eq!(patch.get("status").is_some(), is_status);
                assert_eq!(write.subject, if is_status { Subject::Status } else { Subject::Marks });
                merge(migration, patch);
                migration["metadata"]["resourceVersion"] = json!(version);
                self.collect();
                true
            }
            Op::Delete { uid, .. } => {
                assert_eq!(metadata["uid"], **uid);
                self.delete();
                true
            }
            other => panic!("{other:?}"),
        }
    }

    fn write_object(&mut self, write: &Write) -> bool {
        assert_eq!(write.subject, Subject::Related);
        if self.reach != Reach::Ready {
            return false;
        }
        let at = (write.kind.clone(), write.namespace.clone(), write.name.clone());
        let held = self.objects.get(&at).cloned();
        let refuse = |world: &mut Self, reason, message: &str| {
            world.memory.refused(write.subject, write.intent, reason, message.into(), world.now, 0);
            false
        };
        match (&write.op, held) {
            (Op::Create(_), Some(held)) => {
                let ours = held["metadata"]["labels"].get(keys::MIGRATION_ID).is_some();
                !ours && refuse(self, "RelatedConflict", "it exists already and is not the broker's")
            }
            (Op::Create(_), None) if !self.kinds.contains_key(&at.0) => false,
            (Op::Create(body), None) if body["spec"]["invalid"] == true => {
                refuse(self, condition::INVALID, "the API server says it is invalid")
            }
            (Op::Create(body), None) => {
                self.put(&at, body.clone());
                true
            }
            (Op::Merge(patch), Some(held)) => {
                let current = patch["metadata"]["resourceVersion"] == held["metadata"]["resourceVersion"];
                current && {
                    let version = self.tick();
                    let object = self.objects.get_mut(&at).unwrap();
                    merge(object, patch);
                    object["metadata"]["resourceVersion"] = json!(version);
                    true
                }
            }
            (Op::Delete { uid, .. }, Some(held)) => {
                held["metadata"]["uid"] == **uid && {
                    if held["metadata"].get("finalizers").is_some() {
                        let object = self.objects.get_mut(&at).unwrap();
                        object["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
                    } else {
                        self.objects.remove(&at);
                    }
                    true
                }
            }
            (Op::Delete { .. }, None) => true,
            (Op::Merge(_), None) => false,
            (other, _) => panic!("{other:?}"),
        }
    }
}

/// A JSON merge patch, as RFC 7386 has it.
pub(super) fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = json!({});
    }
    for (name, value) in patch {
        if value.is_null() {
            target.as_object_mut().unwrap().remove(name);
        } else {
            merge(&mut target[name.as_str()], value);
        }
    }
}
