//! Why an object is where it is: the broker's own decision, on what is there now.
//!
//! The production broker runs in this process as an onlooker: it takes part in no election and writes nothing. What the one
//! in the cluster keeps in its memory only, such as which provider it has given up for a while, is not known here.

use anyhow::{Context as _, bail};
use broker_api::{ClusterName, graphs::keys as graphs, keys};
use broker_core::{
    decide::Explanation,
    decision::{self, Decision, State},
    memory,
};
use k8s_openapi::jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::{
    access::Access,
    age,
    answers::Said,
    clusters::Clusters,
    instance::Told,
    object::{annotation, label},
    onlooker::{self, flag},
    output::Output,
    paint::{Paint, harmless},
    programs::{json, yaml},
    sought::{Found, Sought},
    standing::Standing,
    state::{self, Wait},
    trace::origin_key,
};

/// Why an object is where it is.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Why {
    /// Of one that is brokered.
    Brokered(Box<Explained>),
    /// Of an instance of a graph that is not.
    Instance(Box<Instance>),
}

/// Why a brokered object is where it is.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Explained {
    /// Its consumer, such as `consumer#homer`.
    cluster: String,
    /// Its kind.
    kind: String,
    /// Its namespace; empty where it has none.
    namespace: String,
    /// Its name.
    name: String,
    /// How it stands, as a broker would decide now.
    #[serde(serialize_with = "state::serialize")]
    #[schemars(schema_with = "state::schema")]
    state: State,
    /// What that means.
    meaning: &'static str,
    /// The provider that it is at, or gets; null: none, or that is not decided now.
    provider: Option<String>,
    /// The provider that it says it is at, where that is not decided now.
    #[serde(skip_serializing_if = "Option::is_none")]
    says_provider: Option<String>,
    /// The provider that it says it moves to.
    moving_to: Option<String>,
    /// What it shows.
    shown: Shown,
    /// What it waits for.
    waits_for: Vec<Wait>,
    /// What a broker would write that starts now.
    would_write: Vec<Written>,
    /// When that would look again although nothing changes.
    looks_again_in_seconds: Option<u64>,
    /// What AcceptAPIs say of it, in the order in which it would be placed now.
    asked: Vec<Said>,
    /// What could not be known.
    not_known: Vec<String>,
    /// Of an instance of a graph: its conditions.
    #[serde(skip_serializing_if = "Option::is_none")]
    conditions: Option<Vec<Condition>>,
    /// Of an instance of a graph: its nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    graph: Option<Told>,
}

/// What an object shows.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Shown {
    /// How it does, in a few words; empty: it says nothing of that.
    standing: String,
    /// What is wrong.
    message: Option<String>,
    /// Since when, as the object has it.
    since: Option<String>,
}

/// Something that would be written.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Written {
    /// What it is about.
    what: WriteSubject,
    /// Where.
    cluster: String,
    /// Kind of the object.
    kind: String,
    /// Its namespace.
    namespace: String,
    /// Its name.
    name: String,
}

/// What a write is about, in a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) enum WriteSubject {
    /// Finalizer and annotations of the object.
    Marks,
    /// Its copy.
    Copy,
    /// Its status.
    Status,
    /// What belongs to it, as its provider hands it back.
    Related,
    /// Its copy at the provider that takes over.
    Successor,
    /// A Migration.
    Migration,
    /// A copy that is to go.
    Removal,
}

impl WriteSubject {
    fn as_str(self) -> &'static str {
        match self {
            Self::Marks => "Marks",
            Self::Copy => "Copy",
            Self::Status => "Status",
            Self::Related => "Related",
            Self::Successor => "Successor",
            Self::Migration => "Migration",
            Self::Removal => "Removal",
        }
    }
}

impl From<memory::Subject> for WriteSubject {
    fn from(subject: memory::Subject) -> Self {
        match subject {
            memory::Subject::Marks => Self::Marks,
            memory::Subject::Copy => Self::Copy,
            memory::Subject::Status => Self::Status,
            memory::Subject::Related => Self::Related,
            memory::Subject::Successor => Self::Successor,
            memory::Subject::Migration => Self::Migration,
            memory::Subject::Removal => Self::Removal,
        }
    }
}

/// An instance of a graph.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Instance {
    /// Its cluster, such as `spoke#paris`.
    cluster: String,
    /// Its kind.
    kind: String,
    /// Its namespace; empty where it has none.
    namespace: String,
    /// Its name.
    name: String,
    /// How it does, in a word; null: nobody has looked at it yet.
    state: Option<String>,
    /// Its conditions.
    conditions: Vec<Condition>,
    /// Its nodes: which waits for which value.
    graph: Told,
}

/// A condition of an object.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Condition {
    /// Of what.
    #[serde(rename = "type")]
    kind: String,
    /// `True`, `False` or `Unknown`.
    status: String,
    /// Why, in a word.
    reason: String,
    /// Why, in a sentence.
    message: String,
    /// Since when.
    last_transition_time: Option<String>,
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

impl Condition {
    /// All of an object.
    fn all(object: &Value) -> Vec<Self> {
        let conditions = object["status"]["conditions"].as_array().into_iter().flatten();
        let condition = |one: &Value| Self {
            kind: text(&one["type"]),
            status: text(&one["status"]),
            reason: text(&one["reason"]),
            message: text(&one["message"]),
            last_transition_time: one["lastTransitionTime"].as_str().map(str::to_owned),
        };
        conditions.map(condition).collect()
    }

    fn draw(&self) -> String {
        let Self { kind, status, reason, message, last_transition_time } = self;
        let colon = if message.is_empty() { "" } else { ": " };
        // What is as it should be is so since it came to be.
        let since = last_transition_time.as_deref().filter(|_| status != "True");
        format!("  {}\n", harmless(&format!("{kind}={status} ({reason}){}{colon}{message}", for_so_long(since))))
    }
}

impl Written {
    fn of(write: &decision::Write) -> Self {
        Self {
            what: write.subject.into(),
            cluster: write.cluster.to_string(),
            kind: write.kind.kind.clone(),
            namespace: write.namespace.clone(),
            name: write.name.clone(),
        }
    }
}

/// Answers `why`.
pub(crate) async fn why(access: &Access, sought: &Sought, output: Output, namespace: &str) -> anyhow::Result<String> {
    let why = Why::of(access, sought, namespace).await?;
    match output {
        Output::Text | Output::Wide => Ok(why.draw(Paint::of_output())),
        Output::Json => json(&why),
        Output::Yaml => yaml(&why),
    }
}

impl Why {
    async fn of(access: &Access, sought: &Sought, namespace: &str) -> anyhow::Result<Self> {
        let clusters = Clusters::connect(access).await?;
        let found = Found::find(&clusters, sought).await?;
        let consumer = ClusterName::consumer(found.cluster.name.name());
        let is_consumer = clusters.get(&consumer).is_some();
        let is_instance = [graphs::APPLYSET_ID, graphs::RGD_NAME].iter().any(|key| label(&found.object, key).is_some());
        let (options, mut notes) =
            onlooker::options(&clusters.hub, access, std::slice::from_ref(&found.resource.kind), namespace).await?;
        let is_brokered = is_consumer && options.is_some();
        if !is_brokered {
            if is_instance {
                let graph = Told::of(&clusters, &found).await;
                return Ok(Self::Instance(Box::new(Instance::of(&found, graph))));
            }
            let kind = &found.resource.kind;
            bail!(
                "{} {}: the broker is not told to broker this kind ({}), and it is no instance of a graph",
                found.cluster.name,
                kind.kind,
                flag(kind)
            );
        }
        let options = options.context("the broker's flags")?;
        let key = origin_key(&found.cluster.name, &found.resource, &found.object);
        let explained = onlooker::ask(options, access, &key.cluster, &mut notes, |broker| broker.explain(&key)).await?;
        let graph = if is_instance { Some(Told::of(&clusters, &found).await) } else { None };
        Ok(Self::Brokered(Box::new(Explained::of(&found, &explained, notes, graph))))
    }

    fn draw(&self, paint: Paint) -> String {
        match self {
            Self::Brokered(explained) => explained.draw(paint),
            Self::Instance(instance) => instance.draw(),
        }
    }
}

/// Where nothing is decided of an object, as long as a person wants that or too little is known: what it says itself.
fn says_provider(decision: &Decision, object: &Value) -> Option<String> {
    let undecided = matches!(decision.state, State::Paused | State::Ignored | State::Unknown);
    let says = annotation(object, keys::PROVIDER_CLUSTER).filter(|_| undecided && decision.provider.is_none())?;
    Some(says.parse::<ClusterName>().map_or_else(|_| says.to_owned(), |name| name.name().to_owned()))
}

/// ` for 5m`.
fn for_so_long(since: Option<&str>) -> String {
    let seconds = since.and_then(|since| age::seconds(since, Timestamp::now()));
    seconds.map(|seconds| format!(" for {}", age::told(seconds))).unwrap_or_default()
}

impl Explained {
    fn of(found: &Found, explanation: &Explanation, notes: Vec<String>, graph: Option<Told>) -> Self {
        let Explanation { decision, asked } = explanation;
        let Standing { summary, message, since, .. } = Standing::of(&found.object);
        let metadata = &found.object["metadata"];
        Self {
            cluster: found.cluster.name.to_string(),
            kind: found.resource.kind.kind.clone(),
            namespace: text(&metadata["namespace"]),
            name: text(&metadata["name"]),
            state: decision.state,
            meaning: state::meaning(decision.state),
            provider: decision.provider.as_ref().map(|provider| provider.name().to_owned()),
            says_provider: says_provider(decision, &found.object),
            moving_to: annotation(&found.object, keys::NEW_PROVIDER_CLUSTER).map(str::to_owned),
            shown: Shown { standing: summary, message, since },
            waits_for: state::waits_of(&found.object, decision),
            would_write: decision.writes().map(Written::of).collect(),
            looks_again_in_seconds: decision.again.map(|again| again.as_secs()),
            asked: asked.iter().map(|asked| Said { score: Some(asked.score), ..Said::of(asked) }).collect(),
            not_known: notes,
            conditions: graph.as_ref().map(|_| Condition::all(&found.object)),
            graph,
        }
    }

    fn draw(&self, paint: Paint) -> String {
        let Self { cluster, kind, namespace, name, state, meaning, provider, moving_to, .. } = self;
        let mut out = harmless(&format!("{cluster} {kind} {namespace}/{name}")) + "\n";
        let place = match (provider, moving_to) {
            (None, _) => match &self.says_provider {
                Some(says) => format!("at provider {says}, as its annotation says"),
                None => "at no provider".to_owned(),
            },
            (Some(provider), None) => format!("at provider {provider}"),
            (Some(provider), Some(to)) => format!("at provider {provider}, on its way to {to}"),
        };
        out.push_str(&format!("  {}: {}; {meaning}\n", paint.bold(state.as_str()), harmless(&place)));
        let Shown { standing, message, since } = &self.shown;
        if !standing.is_empty() {
            out.push_str(&format!("  it shows {}{}\n", harmless(standing), for_so_long(since.as_deref())));
        }
        for Wait { reason, message, since } in &self.waits_for {
            let message = message.strip_prefix("deletion waits: ").unwrap_or(message);
            out.push_str(&format!(
                "  waits: {} ({}){}\n",
                harmless(message),
                harmless(reason),
                for_so_long(since.as_deref())
            ));
        }
        if let (true, Some(message)) = (self.waits_for.is_empty(), message) {
            out.push_str(&format!("  because: {}\n", harmless(message)));
        }
        out.extend(self.conditions.iter().flatten().map(Condition::draw));
        out.extend(self.graph.iter().map(Told::draw));
        out.push_str(match (self.asked.is_empty(), self.state) {
            (false, State::Deleting | State::Gone | State::Ignored | State::Paused) => {
                "\nAcceptAPIs, in the order in which one like it would be placed now:\n"
            }
            (false, _) => "\nAcceptAPIs, in the order in which it would be placed now:\n",
            (true, State::Unknown) => "\nWhat AcceptAPIs say of it is not known.\n",
            (true, _) => "\nNo provider that answers has an AcceptAPI for this kind.\n",
        });
        for (index, said) in self.asked.iter().enumerate() {
            let weighed = format!("priority {}, score {:.2}", said.priority, said.score.unwrap_or_default());
            out.push_str(&said.draw(&format!("{}.", index + 1), 3, &weighed));
        }
        if !self.would_write.is_empty() {
            out.push_str("\nA broker that starts now, and remembers nothing, would write:\n");
        }
        for Written { what, cluster, kind, namespace, name } in &self.would_write {
            let what = what.as_str();
            let told = format!("{what} ({cluster} {kind} {namespace}/{name})");
            out.push_str(&format!("  {}\n", harmless(&told)));
        }
        for note in &self.not_known {
            out.push_str(&format!("\nnot known: {}\n", harmless(note)));
        }
        out
    }
}

impl Instance {
    fn of(found: &Found, graph: Told) -> Self {
        let metadata = &found.object["metadata"];
        Self {
            cluster: found.cluster.name.to_string(),
            kind: found.resource.kind.kind.clone(),
            namespace: text(&metadata["namespace"]),
            name: text(&metadata["name"]),
            state: found.object["status"]["state"].as_str().map(str::to_owned),
            conditions: Condition::all(&found.object),
            graph,
        }
    }

    fn draw(&self) -> String {
        let Self { cluster, kind, namespace, name, state, conditions, graph } = self;
        let mut out = harmless(&format!("{cluster} {kind} {namespace}/{name}")) + "\n";
        out.push_str(&format!("  {}\n", harmless(state.as_deref().unwrap_or_default())));
        out.extend(conditions.iter().map(Condition::draw));
        out.push_str(&graph.draw());
        out
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use broker_core::{
        acceptance::AcceptId,
        decide::{Answer, Asked},
    };
    use runtime_effect::note::Note;
    use serde_json::json;

    use super::*;
    use crate::{cluster::Cluster, resource::Resource};

    fn found() -> Found {
        let object = json!({ "metadata": { "name": "website", "namespace": "team" }, "status": { "conditions": [
            { "type": "Brokered", "status": "False", "reason": "NoProvider", "message": "nobody\u{1b}[2J takes it" } ] } });
        let cluster = Cluster::new(ClusterName::consumer("homer"), Err("not asked".into()));
        Found { cluster, resource: Resource::named("cert.io", "v1", "Certificate", "certificates"), object }
    }

    fn asked(name: &str, answer: Answer) -> Asked {
        let id =
            AcceptId { provider: ClusterName::provider("theseus"), namespace: "default".into(), name: name.into() };
        Asked { id, priority: 3, weight: 1, score: 0.5, answer }
    }

    #[test]
    fn every_state_is_explained() {
        for state in State::ALL {
            let decision = Decision { provider: Some(ClusterName::provider("theseus")), ..Decision::state(state) };
            let explanation = Explanation { decision, asked: Vec::new() };
            let told = Explained::of(&found(), &explanation, Vec::new(), None).draw(Paint::plain());
            let line = format!("  {}: at provider theseus; {}\n", state.as_str(), state::meaning(state));
            let nobody =
                if state == State::Unknown { "is not known." } else { "No provider that answers has an AcceptAPI" };
            assert!(told.contains(&line) && told.contains(nobody), "{told}");
        }
    }

    #[test]
    fn what_is_written_has_one_name_for_programs_and_for_people() {
        use memory::Subject::{Copy, Marks, Migration, Related, Removal, Status, Successor};
        let named = [
            (Marks, "Marks"),
            (Copy, "Copy"),
            (Status, "Status"),
            (Related, "Related"),
            (Successor, "Successor"),
            (Migration, "Migration"),
            (Removal, "Removal"),
        ];
        for (subject, name) in named {
            let about = WriteSubject::from(subject);
            assert_eq!((about.as_str(), json!(about)), (name, json!(name)));
        }
    }

    #[test]
    fn each_answer_comes_with_its_reasons_and_nothing_moves_the_cursor() {
        let mut decision = Decision::state(State::Waiting);
        decision.notes = vec![Note::normal("Fine", "not told"), Note::warning("Refused", "nobody takes it")];
        let asked = vec![
            asked("a", Answer::Accepts),
            asked("b", Answer::Refuses(vec!["theseus/default/b: size is too small".into()])),
            asked("c", Answer::CannotTake("is cordoned".into())),
            asked("d", Answer::Unknown("it is unreachable".into())),
        ];
        let notes = vec!["bart has not answered".to_owned()];
        let explained = Explained::of(&found(), &Explanation { decision, asked }, notes, None);
        let value = serde_json::to_value(&explained).unwrap();
        assert_eq!((&value["state"], &value["asked"][2]["answer"]), (&json!("Waiting"), &json!("CannotTake")));
        assert_eq!(
            explained.draw(Paint::plain()),
            "consumer#homer Certificate team/website\n\
             \u{20} Waiting: at no provider; no provider takes it now\n\
             \u{20} it shows Brokered=False (NoProvider)\n\
             \u{20} waits: nobody takes it (Refused)\n\
             \n\
             AcceptAPIs, in the order in which it would be placed now:\n\
             \u{20} 1. theseus/default/a  accepts  (priority 3, score 0.50)\n\
             \u{20} -  theseus/default/b  refuses  (priority 3, score 0.50)\n\
             \u{20}      size is too small\n\
             \u{20} -  theseus/default/c  cannot take it  (priority 3, score 0.50)\n\
             \u{20}      is cordoned\n\
             \u{20} ?  theseus/default/d  unknown  (priority 3, score 0.50)\n\
             \u{20}      it is unreachable\n\
             \n\
             not known: bart has not answered\n"
        );
    }
}
