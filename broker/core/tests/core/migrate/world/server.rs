//! What API servers make of the machine's writes.

use broker_api::{Role, condition, keys};
use broker_core::{decision::Write, memory::Subject};
use objects::Refused;
use runtime_effect::{reach::Reach, write::Op};
use serde_json::json;

use super::{NAME, World, migration_at, rules};

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
        let Some(migration) = self.migration() else { return false };
        assert_eq!((&*write.namespace, &*write.name), (migration["metadata"]["namespace"].as_str().unwrap(), NAME));
        let uid = migration["metadata"]["uid"].as_str().unwrap();
        match &write.op {
            Op::Merge(patch) | Op::MergeStatus(patch) => {
                let is_status = matches!(write.op, Op::MergeStatus(_));
                assert_eq!(write.subject, if is_status { Subject::Status } else { Subject::Marks });
                assert_eq!((patch.get("status").is_some(), &patch["metadata"]["uid"]), (is_status, &json!(uid)));
            }
            Op::Delete { uid: of, .. } => assert_eq!(&**of, uid),
            other => panic!("{other:?}"),
        }
        self.hub.execute(&migration_at(), &write.op).is_ok()
    }

    fn write_object(&mut self, write: &Write) -> bool {
        assert_eq!(write.subject, Subject::Related);
        if self.reach != Reach::Ready {
            return false;
        }
        let at = (write.kind.clone(), write.namespace.clone(), write.name.clone());
        let held = self.objects.get(&at);
        let is_ours = held.is_some_and(|held| held["metadata"]["labels"].get(keys::MIGRATION_ID).is_some());
        let refusal = match &write.op {
            Op::Create(_) if !self.kinds.contains_key(&at.0) => return false,
            Op::Create(body) if held.is_none() && body["spec"]["invalid"] == true => {
                Some((condition::INVALID, "the API server says it is invalid"))
            }
            Op::Create(_) | Op::Merge(_) | Op::Delete { .. } => match self.objects.execute(&at, &write.op) {
                Ok(_) => None,
                Err(Refused::Exists) if !is_ours => {
                    Some(("RelatedConflict", "it exists already and is not the broker's"))
                }
                Err(_) => return false,
            },
            other => panic!("{other:?}"),
        };
        if let Some((reason, message)) = refusal {
            self.memory.refused(write.subject, write.intent, reason, message.into(), self.now, 0);
        }
        refusal.is_none()
    }
}
