//! What a hub does about the CRD of an RGD in a spoke: a row of the conflict table each.

mod leave;

use std::sync::Arc;

use broker_api::graphs::{GeneratedSchema, keys};
use graphs_core::{
    crd::{Owner, desired},
    distribution::{Decision, Snapshot, decide, mark},
    rollout::{Mark, Reason, Trouble},
};
use runtime_effect::{kind::Kind, seen::Seen, view::View, write::Op};
use serde_json::{Value, json};

const OWNER: Owner<'_> = Owner { name: "web", uid: "u-1", version: "v0.9.3" };
const HUB: &str = "0123456789ab";

fn wanted(owner: Owner<'_>, fields: &[&str]) -> Value {
    let schema: GeneratedSchema = serde_json::from_value(json!({"kind": "Web", "apiVersion": "v1alpha1"})).unwrap();
    let fields: serde_json::Map<String, Value> =
        fields.iter().map(|field| ((*field).to_owned(), json!({"type": "string"}))).collect();
    let spec = json!({"type": "object", "properties": fields});
    desired(owner, &schema, "webs", &spec, &json!({"type": "object"})).unwrap()
}

/// A spoke with one CRD, or none.
struct Spoke {
    crd: Option<Value>,
    missing: Vec<Kind>,
}

fn mark_of(revision: i64) -> Mark {
    Mark { revision, ..Mark::default() }
}

impl Spoke {
    fn empty() -> Self {
        Self { crd: None, missing: Vec::new() }
    }

    /// As a hub has left it.
    fn served(revision: i64, fields: &[&str]) -> Self {
        let mut spoke = Self::empty();
        spoke.turn(&mark_of(revision), fields);
        spoke.crd.as_mut().unwrap()["status"] = json!({"conditions": [{"type": "Established", "status": "True"}]});
        spoke
    }

    fn seen(&self) -> Seen {
        let Some(crd) = &self.crd else { return Seen::Absent };
        Seen::Present(View {
            uid: "u-crd".into(),
            resource_version: 7,
            deleting: !crd["metadata"]["deletionTimestamp"].is_null(),
            applied_by_us: true,
            value: Arc::new(crd.clone()),
            unread: None,
            conditions_known: true,
        })
    }

    fn decide_with(&self, mark: &Mark, fields: &[&str], owner: Owner<'_>, allow_breaking: bool) -> Decision {
        let (crd, wanted) = (self.seen(), wanted(owner, fields));
        let missing = &self.missing;
        decide(&Snapshot { crd: &crd, wanted: &wanted, owner, hub: HUB, mark, allow_breaking, missing })
    }

    fn decide(&self, mark: &Mark, fields: &[&str]) -> Decision {
        self.decide_with(mark, fields, OWNER, false)
    }

    /// Decides, and takes in what an API server makes of the write.
    fn turn(&mut self, mark: &Mark, fields: &[&str]) -> Decision {
        let decision = self.decide(mark, fields);
        match &decision {
            Decision::Write(Op::Create(body)) => self.crd = Some(body.clone()),
            Decision::Write(Op::Apply { body, uid }) => {
                assert_eq!(&**uid, "u-crd");
                let status = self.crd.as_ref().unwrap()["status"].clone();
                self.crd = Some(body.clone());
                self.crd.as_mut().unwrap()["status"] = status;
            }
            Decision::Write(Op::Merge(patch)) => {
                json_merge(self.crd.as_mut().unwrap(), patch);
            }
            _ => {}
        }
        decision
    }

    fn mark(&self) -> Option<Mark> {
        mark(self.seen().present().unwrap(), OWNER.uid, HUB)
    }

    fn label(&mut self, key: &str, value: &Value) {
        self.crd.as_mut().unwrap()["metadata"]["labels"][key] = value.clone();
    }
}

/// JSON merge patch (RFC 7396).
fn json_merge(target: &mut Value, patch: &Value) {
    let Some(fields) = patch.as_object() else {
        *target = patch.clone();
        return;
    };
    for (key, value) in fields {
        if value.is_null() {
            target.as_object_mut().unwrap().remove(key);
        } else {
            json_merge(&mut target[key.as_str()], value);
        }
    }
}

fn refused(decision: Decision) -> Trouble {
    match decision {
        Decision::Refuse(trouble) => trouble,
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_is_not_known_is_left_alone() {
    let wanted = wanted(OWNER, &["a"]);
    let mark = mark_of(1);
    let snapshot = Snapshot {
        crd: &Seen::Unknown,
        wanted: &wanted,
        owner: OWNER,
        hub: HUB,
        mark: &mark,
        allow_breaking: true,
        missing: &[],
    };
    assert_eq!(decide(&snapshot), Decision::Unknown);
}

#[test]
fn absent_is_made_with_all_that_is_said_of_it() {
    let mut spoke = Spoke::empty();
    assert!(matches!(spoke.turn(&mark_of(3), &["a"]), Decision::Write(Op::Create(_))));
    let crd = spoke.crd.as_ref().unwrap();
    assert_eq!(crd["metadata"]["labels"][keys::HUB], HUB);
    assert_eq!(crd["metadata"]["annotations"][keys::GRAPH_REVISION], "3");
    assert_eq!(crd["metadata"]["annotations"][keys::ROLLOUT], "{}", "there is nothing to say");
    assert_eq!(spoke.mark(), Some(mark_of(3)));
    assert_eq!(spoke.turn(&mark_of(3), &["a"]), Decision::Keep { established: false });
}

#[test]
fn another_revision_is_one_write_although_the_schema_is_the_same() {
    let mut spoke = Spoke::served(3, &["a"]);
    let next = Mark { revision: 4, previous: Some(3), errors: 2, done: false };
    for fields in [&["a"][..], &["a", "b"]] {
        assert!(matches!(spoke.turn(&next, fields), Decision::Write(_)));
        assert_eq!(spoke.mark(), Some(next.clone()));
        assert_eq!(spoke.turn(&next, fields), Decision::Keep { established: true });
    }
}

#[test]
fn what_is_said_of_a_revision_stays_and_that_it_does_well_is_added() {
    let mut spoke = Spoke::served(3, &["a"]);
    let later = Mark { errors: 5, ..mark_of(3) };
    assert_eq!(spoke.turn(&later, &["a"]), Decision::Keep { established: true });
    assert!(matches!(spoke.turn(&Mark { done: true, ..later.clone() }, &["a"]), Decision::Write(_)));
    assert_eq!(spoke.mark(), Some(Mark { done: true, ..mark_of(3) }));
    assert_eq!(spoke.turn(&later, &["a"]), Decision::Keep { established: true }, "for good");
}

#[test]
fn what_another_rgd_or_hub_has_said_means_nothing() {
    for (key, value) in [(keys::RGD_ID, "u-9"), (keys::HUB, "ba9876543210")] {
        let mut spoke = Spoke::served(3, &["a"]);
        spoke.label(key, &json!(value));
        assert_eq!(spoke.mark(), None);
    }
    for number in ["0", "-1", "three"] {
        let mut spoke = Spoke::served(3, &["a"]);
        spoke.crd.as_mut().unwrap()["metadata"]["annotations"][keys::GRAPH_REVISION] = number.into();
        assert_eq!(spoke.mark(), None, "{number} is no revision");
    }
    let mut spoke = Spoke::served(3, &["a"]);
    spoke.crd.as_mut().unwrap()["metadata"]["annotations"][keys::ROLLOUT] = "{rubbish".into();
    assert!(matches!(spoke.turn(&mark_of(3), &["a"]), Decision::Write(_)), "it is written anew");
    assert_eq!(spoke.turn(&mark_of(3), &["a"]), Decision::Keep { established: true });
}

#[test]
fn an_rgd_that_was_made_anew_adopts() {
    let mut spoke = Spoke::served(3, &["a"]);
    let anew = Owner { uid: "u-2", ..OWNER };
    assert!(matches!(spoke.decide_with(&mark_of(3), &["a"], anew, false), Decision::Write(_)));
    spoke.label(keys::RGD_ID, &json!("u-9"));
    assert!(matches!(spoke.turn(&mark_of(3), &["a"]), Decision::Write(_)));
    assert_eq!(spoke.crd.unwrap()["metadata"]["labels"][keys::RGD_ID], "u-1");
}

#[test]
fn what_others_serve_is_untouched_until_its_owner_hands_it_over() {
    let whole = format!("{HUB}/{}", OWNER.name);
    for (key, value, claim) in [
        (keys::RGD_NAME, json!("other"), &*whole),
        (keys::HUB, json!("ba9876543210"), HUB),
        (keys::HUB, Value::Null, &*whole),
    ] {
        let mut spoke = Spoke::served(3, &["a"]);
        spoke.label(key, &value);
        let trouble = refused(spoke.decide(&mark_of(4), &["a", "b"]));
        assert_eq!((trouble.reason, trouble.revision), (Reason::Conflict, 4), "{key}");
        assert!(trouble.message.contains(keys::CLAIM), "{trouble:?}");
        spoke.crd.as_mut().unwrap()["metadata"]["annotations"][keys::CLAIM] = claim.into();
        assert!(matches!(spoke.turn(&mark_of(4), &["a", "b"]), Decision::Write(_)));
        assert_eq!(spoke.turn(&mark_of(4), &["a", "b"]), Decision::Keep { established: true });
    }
}

#[test]
fn two_of_one_hub_do_not_take_a_kind_from_each_other() {
    let mut spoke = Spoke::served(3, &["a"]);
    spoke.crd.as_mut().unwrap()["metadata"]["annotations"][keys::CLAIM] = HUB.into();
    let other = Owner { name: "other", uid: "u-9", ..OWNER };
    let trouble = match spoke.decide_with(&mark_of(4), &["a"], other, false) {
        Decision::Refuse(trouble) => trouble,
        decision => panic!("{decision:?}"),
    };
    assert_eq!(trouble.reason, Reason::Conflict);
    assert!(trouble.message.contains(&format!("{}: {HUB}/other ", keys::CLAIM)), "{}", trouble.message);
    assert_eq!(spoke.turn(&mark_of(3), &["a"]), Decision::Keep { established: true }, "and whose it is goes on");
}

#[test]
fn what_nobodys_controller_made_is_never_touched() {
    let mut spoke = Spoke::served(3, &["a"]);
    spoke.label(keys::HUB, &Value::Null);
    spoke.label(keys::OWNED, &Value::Null);
    spoke.crd.as_mut().unwrap()["metadata"]["annotations"][keys::CLAIM] = HUB.into();
    assert_eq!(refused(spoke.decide(&mark_of(4), &["a", "b"])).reason, Reason::Conflict);
}

#[test]
fn what_somebody_edited_is_restored() {
    let mut spoke = Spoke::served(3, &["a"]);
    spoke.crd.as_mut().unwrap()["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"] =
        json!({"type": "object", "properties": {"a": {"type": "string"}, "mine": {"type": "string"}}});
    assert!(matches!(spoke.turn(&mark_of(3), &["a"]), Decision::Write(Op::Merge(_))));
    assert_eq!(spoke.turn(&mark_of(3), &["a"]), Decision::Keep { established: true });
    for (key, value) in [(keys::OWNED, Value::Null), (keys::RGD_ID, json!("u-9"))] {
        spoke.label(key, &value);
        assert!(matches!(spoke.turn(&mark_of(3), &["a"]), Decision::Write(_)), "{key}");
        assert_eq!(spoke.turn(&mark_of(3), &["a"]), Decision::Keep { established: true });
    }
    spoke.crd.as_mut().unwrap()["metadata"]["annotations"][keys::GRAPH_REVISION] = "17".into();
    assert!(matches!(spoke.turn(&mark_of(3), &["a"]), Decision::Write(_)), "a forged mark");
    assert_eq!(spoke.mark().unwrap().revision, 3);
}

#[test]
fn a_breaking_change_is_refused_by_what_is_there_unless_it_is_allowed() {
    let spoke = Spoke::served(3, &["a", "b"]);
    assert_eq!(refused(spoke.decide(&mark_of(4), &["a"])).reason, Reason::BreakingChange);
    assert!(matches!(spoke.decide_with(&mark_of(4), &["a"], OWNER, true), Decision::Write(_)));
    assert!(matches!(spoke.decide(&mark_of(4), &["a", "b", "c"]), Decision::Write(_)));
}

#[test]
fn without_a_kind_of_the_graph_nothing_is_installed_and_what_is_there_stays() {
    let missing = vec![Kind { group: "eks.aws".into(), version: "v1".into(), kind: "Cluster".into() }];
    for spoke in [Spoke::empty(), Spoke::served(3, &["a"])] {
        let spoke = Spoke { missing: missing.clone(), ..spoke };
        let trouble = refused(spoke.decide(&mark_of(4), &["a", "b"]));
        let told = (trouble.reason, trouble.message.as_str());
        assert_eq!(told, (Reason::KindMissing, "kind Cluster of eks.aws/v1 is not served there"));
    }
    let mut spoke = Spoke { missing, ..Spoke::served(3, &["a"]) };
    assert_eq!(spoke.turn(&mark_of(3), &["a"]), Decision::Keep { established: true });
    spoke.label(keys::OWNED, &Value::Null);
    assert!(matches!(spoke.turn(&mark_of(3), &["a"]), Decision::Write(_)), "edits are put right nevertheless");
}

#[test]
fn a_crd_whose_names_are_taken_is_told_unless_it_is_served_nevertheless() {
    for (established, is_told) in [("False", true), ("True", false)] {
        let mut spoke = Spoke::served(3, &["a"]);
        spoke.crd.as_mut().unwrap()["status"]["conditions"] = json!([
            {"type": "Established", "status": established},
            {"type": "NamesAccepted", "status": "False", "message": "\"Web\" is already in use"},
        ]);
        let decision = spoke.decide(&mark_of(3), &["a"]);
        if is_told {
            let trouble = refused(decision);
            assert_eq!((trouble.revision, trouble.reason), (3, Reason::NotEstablished));
            assert!(trouble.message.ends_with("its names are taken: \"Web\" is already in use"), "{trouble:?}");
        } else {
            assert_eq!(decision, Decision::Keep { established: true });
        }
    }
}

#[test]
fn one_that_is_being_deleted_is_waited_for() {
    let mut spoke = Spoke::served(3, &["a"]);
    spoke.crd.as_mut().unwrap()["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
    assert_eq!(refused(spoke.decide(&mark_of(4), &["a"])).reason, Reason::NotEstablished);
}
