//! `Outlook`: what would become of an object if it were made now.

use std::collections::BTreeSet;

use broker_core::{
    decide::{Answer, Asked, Explanation},
    decision::State,
    snapshot::OriginKey,
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    answers::Said,
    paint::{Paint, harmless},
    state::{self, Wait},
};

/// What would become of an object.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Outlook {
    /// Its consumer, such as `consumer#homer`.
    cluster: String,
    /// Its kind.
    kind: String,
    /// Its namespace.
    namespace: String,
    /// Its name.
    name: String,
    /// How it would stand with it.
    #[serde(serialize_with = "state::serialize")]
    #[schemars(schema_with = "state::schema")]
    pub(crate) state: State,
    /// What that means.
    meaning: &'static str,
    /// What it would wait for.
    waits_for: Vec<Wait>,
    /// What AcceptAPIs say of it, in the order in which it would be placed.
    asked: Vec<Said>,
    /// What could not be known.
    not_known: Vec<String>,
}

/// For each answer the share of such objects that its AcceptAPI gets, in percent; `None`: it accepts none of them.
///
/// Of several of one provider the first counts. Others than those of the highest priority get an object only where these do not
/// take it any more.
fn shares(asked: &[Asked]) -> Vec<Option<f64>> {
    let mut providers = BTreeSet::new();
    let counts: Vec<bool> =
        asked.iter().map(|one| one.answer == Answer::Accepts && providers.insert(&one.id.provider)).collect();
    let counting = || asked.iter().zip(&counts).filter_map(|(one, counts)| counts.then_some(one));
    let highest = counting().map(|one| one.priority).max();
    let total: f64 = counting().filter(|one| Some(one.priority) == highest).map(|one| f64::from(one.weight)).sum();
    let share = |(one, counts): (&Asked, &bool)| {
        let best = *counts && Some(one.priority) == highest;
        let share = if best { 100.0 * f64::from(one.weight) / total } else { 0.0 };
        (one.answer == Answer::Accepts).then_some(share)
    };
    asked.iter().zip(&counts).map(share).collect()
}

/// `75 %`, `<1 %`.
fn percent(share: f64) -> String {
    if share < 1.0 { "<1 %".to_owned() } else { format!("{share:.0} %") }
}

impl Outlook {
    /// Of an object, by what a broker explains of it.
    pub(crate) fn of(key: &OriginKey, Explanation { decision, asked }: &Explanation, notes: &[String]) -> Self {
        let mut asked: Vec<(Option<f64>, &Asked)> = shares(asked).into_iter().zip(asked).collect();
        // By the uid that nobody knows yet they would be in some other order.
        asked.sort_by(|(left_share, left), (right_share, right)| {
            (right_share.is_some().cmp(&left_share.is_some()))
                .then_with(|| right.priority.cmp(&left.priority))
                .then_with(|| right_share.unwrap_or_default().total_cmp(&left_share.unwrap_or_default()))
                .then_with(|| left.id.cmp(&right.id))
        });
        Self {
            cluster: key.cluster.to_string(),
            kind: key.gvk.kind.clone(),
            namespace: key.namespace.to_string(),
            name: key.name.to_string(),
            state: decision.state,
            meaning: state::meaning(decision.state),
            waits_for: state::waits(decision),
            asked: asked.into_iter().map(|(share, one)| Said { share, ..Said::of(one) }).collect(),
            not_known: notes.to_vec(),
        }
    }

    /// Whether a provider would get it.
    pub(crate) fn is_taken(&self) -> bool {
        self.state == State::Placing
    }

    /// Who would get it, in one line: `theseus 75 %, nestor 25 %`; without a share where there is one only.
    pub(crate) fn takers(&self) -> String {
        let shares = self.asked.iter().filter_map(|said| Some((harmless(&said.provider), said.share?)));
        let takers: Vec<(String, f64)> = shares.filter(|(_, share)| *share > 0.0).collect();
        match &takers[..] {
            [(only, _)] => only.clone(),
            all => all.iter().map(|(name, share)| format!("{name} {}", percent(*share))).collect::<Vec<_>>().join(", "),
        }
    }

    /// For people.
    pub(crate) fn draw(&self, paint: Paint) -> String {
        let Self { cluster, kind, namespace, name, state, meaning, waits_for, asked, not_known } = self;
        let mut out = harmless(&format!("{cluster} {kind} {namespace}/{name}, if it were made now")) + "\n";
        let takers = self.takers();
        let said = match (self.is_taken(), takers.contains(", ")) {
            (true, false) => format!("provider {takers} gets it"),
            (true, true) => format!("one of these gets it, by the uid that it will have: {takers}"),
            (false, _) => (*meaning).to_owned(),
        };
        out.push_str(&format!("  {}: {said}\n", paint.bold(state.as_str())));
        for Wait { reason, message, .. } in waits_for {
            out.push_str(&format!("  because: {} ({})\n", harmless(message), harmless(reason)));
        }
        out.push_str(if asked.is_empty() {
            "\nNo provider has an AcceptAPI for this kind.\n"
        } else {
            "\nAcceptAPIs, in the order in which it would be placed:\n"
        });
        for one in asked {
            let place = match one.share {
                Some(share) if share > 0.0 => percent(share),
                _ => "then".to_owned(),
            };
            let weighed = format!("priority {}, weight {}", one.priority, one.weight);
            out.push_str(&one.draw(&place, 6, &weighed));
        }
        for note in not_known {
            out.push_str(&format!("\nnot known: {}\n", harmless(note)));
        }
        out
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use broker_api::ClusterName;
    use runtime_cel::expression::Evaluator;
    use serde_json::json;

    use super::*;
    use crate::simulate::{accept_apis, object, offline};

    const OBJECT: &str = "apiVersion: x.io/v1\nkind: Thing\nmetadata: {name: a, namespace: team}\nspec: {size: 3}\n";

    /// An AcceptAPI of things.
    fn api(name: &str, spec: &str) -> String {
        format!(
            "---\napiVersion: broker.platform-mesh.io/v1alpha1\nkind: AcceptAPI\nmetadata: {{name: {name}, namespace: default}}\nspec: {{gvr: {{group: x.io, version: v1, resource: things}}, {spec}}}\n"
        )
    }

    fn outlook(providers: &[(&str, &str)]) -> Outlook {
        let object = object::tests::of(OBJECT, None).unwrap();
        let key = object.key(&ClusterName::consumer("homer"));
        let mut acceptances = Vec::new();
        for (provider, text) in providers {
            acceptances.extend(accept_apis::tests::of(provider, text).unwrap().speaking(&object.kind, "things"));
        }
        let explained = offline::explain_new(&key, object.value, &acceptances, "things", &Evaluator::new()).unwrap();
        Outlook::of(&key, &explained, &["quotas".into()])
    }

    #[test]
    fn those_of_the_highest_priority_share_by_weight_and_each_says_why() {
        let first = api("first", "weight: 3, priority: 5") + &api("second", "weight: 1, priority: 5");
        let outlook = outlook(&[
            ("theseus", &first),
            ("nestor", &api("x", "weight: 1, priority: 5")),
            ("ajax", &api("x", "priority: 1")),
            ("argus", &api("x", "filters: [{key: size, boundary: {max: 2}}]")),
            ("jason", &api("x", "cordoned: true")),
            ("idmon", &api("x", "expression: 'self.spec.size > 5'")),
        ]);
        assert!(outlook.is_taken());
        assert_eq!(
            outlook.draw(Paint::plain()),
            "consumer#homer Thing team/a, if it were made now\n\
             \u{20} Placing: one of these gets it, by the uid that it will have: theseus 75 %, nestor 25 %\n\
             \n\
             AcceptAPIs, in the order in which it would be placed:\n\
             \u{20} 75 %  theseus/default/first  accepts  (priority 5, weight 3)\n\
             \u{20} 25 %  nestor/default/x  accepts  (priority 5, weight 1)\n\
             \u{20} then  theseus/default/second  accepts  (priority 5, weight 1)\n\
             \u{20} then  ajax/default/x  accepts  (priority 1, weight 1)\n\
             \u{20} -     argus/default/x  refuses  (priority 0, weight 1)\n\
             \u{20}         size \"3\" is above the largest accepted value (boundary.max: 2)\n\
             \u{20} -     idmon/default/x  refuses  (priority 0, weight 1)\n\
             \u{20}         expression is false (self.spec.size > 5)\n\
             \u{20} -     jason/default/x  cannot take it  (priority 0, weight 1)\n\
             \u{20}         is cordoned\n\
             \n\
             not known: quotas\n"
        );
    }

    #[test]
    fn one_that_accepts_gets_it_and_where_none_does_it_waits() {
        let one = outlook(&[("theseus", &api("a", "priority: 2")), ("nestor", &api("a", "priority: 1"))]);
        assert_eq!(one.takers(), "theseus");
        assert!(one.draw(Paint::plain()).contains("Placing: provider theseus gets it\n"));
        for none in [outlook(&[]), outlook(&[("theseus", &api("a", "capacity: 0"))])] {
            assert!(!none.is_taken() && none.takers().is_empty());
            let told = none.draw(Paint::plain());
            assert!(told.contains("  Waiting: no provider takes it now\n  because: no provider "), "{told}");
        }
    }

    #[test]
    fn shares_are_short() {
        assert_eq!([0.2, 1.0, 33.4, 100.0].map(percent), ["<1 %", "1 %", "33 %", "100 %"]);
        let value = serde_json::to_value(outlook(&[("theseus", &api("a", "weight: 1"))])).unwrap();
        assert_eq!((&value["asked"][0]["share"], &value["state"]), (&json!(100.0), &json!("Placing")));
    }
}
