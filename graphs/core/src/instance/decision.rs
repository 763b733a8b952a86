//! `Decision`: what to do about one instance now.

use std::time::Duration;

use broker_api::graphs::condition as words;
use runtime_effect::{memory::Subject as _, note::Note, step::Step, view::View, write::Op};

use super::subject::Subject;

/// One write about an instance.
pub type Write = runtime_effect::write::Write<Subject>;

/// How it stands with an instance: what metrics count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum State {
    /// Not enough is known.
    #[default]
    Unknown,
    /// There is no such object, or nothing of ours is on it any more.
    Gone,
    /// No graph serves its kind.
    Unserved,
    /// All children are there and ready.
    Active,
    /// Something is written, or waited for.
    InProgress,
    /// Something failed.
    Error,
    /// A person has suspended it.
    Suspended,
    /// It is being deleted.
    Deleting,
}

/// What to do about one instance now.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Decision {
    /// In this order; after the first failure no more. With what API servers answered, it is decided again.
    pub writes: Vec<Write>,
    /// How it stands.
    pub state: State,
    /// To tell now, whether or not anything is written; the same again and again.
    pub notes: Vec<Note>,
    /// Look again after this time, even if nothing changes.
    pub again: Option<Duration>,
    /// Once its writes went through there is nothing left to decide until something changes.
    pub complete: bool,
}

/// Whether the status of an instance says ERROR.
pub fn says_error(instance: &View) -> bool {
    instance.value["status"]["state"] == *words::INSTANCE_ERROR
}

fn namespaces_first(step: Step<Subject>) -> Vec<Step<Subject>> {
    let Step::Together(writes) = step else { return vec![step] };
    let (namespaces, others): (Vec<Write>, Vec<Write>) =
        writes.into_iter().partition(|write| write.kind.group.is_empty() && write.kind.kind == "Namespace");
    [namespaces, others].into_iter().filter(|writes| !writes.is_empty()).map(Step::Together).collect()
}

impl Decision {
    /// Its writes as they go out. Children that are written now do not refer to each other, for whatever refers to one waits
    /// until that is there; neither do those of one wave that are deleted. But some may be in a namespace that is one of
    /// them, and is named in words of its own: namespaces come first.
    pub fn steps(writes: Vec<Write>) -> Vec<Step<Subject>> {
        let mut steps: Vec<Step<Subject>> = Vec::new();
        for write in writes {
            match steps.last_mut() {
                Some(Step::Together(others)) if others.iter().all(|other| other.subject == write.subject) => {
                    others.push(write);
                }
                _ if write.subject.is_many() => steps.push(Step::Together(vec![write])),
                _ => steps.push(write.into()),
            }
        }
        steps.into_iter().flat_map(namespaces_first).collect()
    }

    /// Whether the status of the instance says ERROR once this is written.
    pub fn says_error(&self, instance: &View) -> bool {
        let status = |write: &Write| match &write.op {
            Op::MergeStatus(patch) => patch["status"]["state"].as_str().map(str::to_owned),
            _ => None,
        };
        let written = self.writes.iter().filter(|write| write.subject == Subject::Status).find_map(status);
        written.map_or_else(|| says_error(instance), |state| state == words::INSTANCE_ERROR)
    }

    /// Look again after so many milliseconds, or sooner if that was already wanted.
    pub(super) fn again_in(&mut self, millis: u64) {
        let wait = Duration::from_millis(millis);
        self.again = Some(self.again.map_or(wait, |held| held.min(wait)));
    }
}

#[cfg(test)]
mod tests {
    use broker_api::ClusterName;
    use runtime_effect::kind::Kind;
    use serde_json::{Value, json};

    use super::*;

    fn write(subject: Subject) -> Write {
        Write {
            cluster: ClusterName::consumer("hub"),
            kind: Kind { group: String::new(), version: "v1".into(), kind: "ConfigMap".into() },
            namespace: String::new(),
            name: String::new(),
            op: Op::Merge(Value::Null),
            intent: [0; 8],
            subject,
            notes: Vec::new(),
        }
    }

    #[test]
    fn children_go_out_together_between_what_comes_before_and_after() {
        use Subject::{Child, Inventory, Removal, Status};
        let subjects = [Inventory, Inventory, Child, Child, Removal, Removal, Child, Status];
        let steps = Decision::steps(subjects.into_iter().map(write).collect());
        let sizes: Vec<(bool, usize)> =
            steps.iter().map(|step| (matches!(step, Step::Together(_)), step.writes().len())).collect();
        let alone = (false, 1);
        assert_eq!(sizes, [alone, alone, (true, 2), (true, 2), (true, 1), alone]);
    }

    #[test]
    fn namespaces_go_out_before_what_may_be_in_them() {
        let mut namespace = write(Subject::Child);
        namespace.kind.kind = "Namespace".into();
        let steps = Decision::steps(vec![write(Subject::Child), namespace.clone(), write(Subject::Child)]);
        let others = vec![write(Subject::Child), write(Subject::Child)];
        assert_eq!(steps, [Step::Together(vec![namespace]), Step::Together(others)]);
    }
    #[test]
    fn an_instance_says_what_is_about_to_be_written_or_what_it_said() {
        let said = |state: &str| View {
            uid: "u".into(),
            resource_version: 1,
            deleting: false,
            applied_by_us: true,
            value: json!({"status": {"state": state}}).into(),
            unread: None,
            conditions_known: true,
        };
        let writes = |op| Decision { writes: vec![Write { op, ..write(Subject::Status) }], ..Decision::default() };
        let nothing = Decision { writes: vec![write(Subject::Child)], ..Decision::default() };
        assert!(nothing.says_error(&said("ERROR")), "whatever is written of its children");
        assert!(!nothing.says_error(&said("ACTIVE")));
        let error = writes(Op::MergeStatus(json!({"status": {"state": "ERROR"}})));
        let recovers = writes(Op::MergeStatus(json!({"status": {"state": "ACTIVE"}})));
        let same = writes(Op::MergeStatus(json!({"status": {"conditions": []}})));
        assert!(error.says_error(&said("ACTIVE")));
        assert!(!recovers.says_error(&said("ERROR")));
        assert!(same.says_error(&said("ERROR")));
    }
}
