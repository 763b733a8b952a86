//! Why an object is where it is: the broker's own decision, on what is there now.
//!
//! The production broker runs in this process as an onlooker: it takes part in no election and writes nothing. What the one
//! in the cluster keeps in its memory only, such as which provider it has given up for a while, is not known here.

use anyhow::{Context as _, bail};
use broker_api::{ClusterName, graphs::keys as graphs, keys};
use broker_core::{
    decide::{Asked, Explanation},
    decision::State,
};
use k8s_openapi::jiff::Timestamp;
use serde_json::{Value, json};

use crate::{
    age, answers,
    arguments::{Access, Output, Subject},
    clusters::Clusters,
    onlooker::{self, flag},
    paint::{Paint, harmless},
    standing::Standing,
    subject::Found,
    table::yaml,
    trace::{annotation, origin_key},
};

/// Answers `why`.
pub(crate) async fn why(access: &Access, subject: &Subject, output: Output, namespace: &str) -> anyhow::Result<String> {
    let clusters = Clusters::connect(access).await?;
    let found = Found::find(&clusters, subject).await?;
    let consumer = ClusterName::consumer(found.cluster.name.name());
    let is_consumer = clusters.get(&consumer).is_some();
    let is_instance = found.object["metadata"]["labels"].get(graphs::OWNED).is_some();
    let (options, mut notes) = onlooker::options(&clusters.hub, access, &found.resource.kind, namespace).await?;
    let is_brokered = is_consumer && options.is_some();
    if !is_brokered {
        if is_instance {
            return tell(output, &instance(&found), |value| Ok(tell_instance(value)));
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
    let value = as_value(&found, &explained, &notes, is_instance);
    tell(output, &value, |value| Ok(draw(value, Paint::of_output())))
}

fn tell(output: Output, value: &Value, text: impl Fn(&Value) -> anyhow::Result<String>) -> anyhow::Result<String> {
    match output {
        Output::Text | Output::Wide => text(value),
        Output::Json => Ok(format!("{value:#}\n")),
        Output::Yaml => yaml(value),
    }
}

/// What is told, as JSON.
fn as_value(
    found: &Found,
    Explanation { decision, asked }: &Explanation,
    notes: &[String],
    is_instance: bool,
) -> Value {
    let writes = decision.writes().map(|write| {
        json!({
            "what": format!("{:?}", write.subject),
            "cluster": write.cluster.to_string(),
            "kind": write.kind.kind,
            "namespace": write.namespace,
            "name": write.name,
        })
    });
    let asked = asked.iter().map(|asked: &Asked| {
        let mut answer = answers::value(asked);
        answer["score"] = json!(asked.score);
        answer
    });
    let said = Standing::of(&found.object);
    let mut value = json!({
        "cluster": found.cluster.name.to_string(),
        "kind": found.resource.kind.kind,
        "namespace": found.object["metadata"]["namespace"],
        "name": found.object["metadata"]["name"],
        "state": decision.state.as_str(),
        "meaning": meaning(decision.state),
        "provider": decision.provider.as_ref().map(ClusterName::name),
        "movingTo": annotation(&found.object, keys::NEW_PROVIDER_CLUSTER),
        "shown": { "standing": said.summary, "message": said.message, "since": said.since },
        "waitsFor": decision.notes.iter().filter(|note| note.warning).map(|note| json!({ "reason": note.reason, "message": note.message })).collect::<Vec<_>>(),
        "wouldWrite": writes.collect::<Vec<_>>(),
        "looksAgainInSeconds": decision.again.map(|again| again.as_secs()),
        "asked": asked.collect::<Vec<_>>(),
        "notKnown": notes,
    });
    if is_instance {
        value["instance"] = instance(found)["conditions"].take();
    }
    value
}

/// What a state means, for people.
pub(crate) fn meaning(state: State) -> &'static str {
    match state {
        State::Unknown => "not enough is known to decide",
        State::Gone => "there is no such object, or it is none of the broker's business",
        State::Waiting => "no provider takes it now",
        State::Placing => "it is being placed",
        State::Served => "its copy is in place",
        State::NotAccepted => "its provider no longer accepts it, and no other takes it",
        State::Moving => "it moves to another provider",
        State::Blocked => "something keeps it from being served",
        State::Deleting => "it is being deleted",
        State::Paused => "a person has paused it: remove its annotation broker.platform-mesh.io/paused",
        State::Ignored => "a person has told the broker to ignore it: remove its label broker.platform-mesh.io/ignore",
    }
}

fn draw(value: &Value, paint: Paint) -> String {
    let text = |path: &str| harmless(value.pointer(path).and_then(Value::as_str).unwrap_or_default());
    let list = |name: &str| value[name].as_array().cloned().unwrap_or_default();
    let mut out = format!("{} {} {}/{}\n", text("/cluster"), text("/kind"), text("/namespace"), text("/name"));
    let place = match (text("/provider"), text("/movingTo")) {
        (provider, _) if provider.is_empty() => "at no provider".to_owned(),
        (provider, to) if to.is_empty() => format!("at provider {provider}"),
        (provider, to) => format!("at provider {provider}, on its way to {to}"),
    };
    out.push_str(&format!("  {}: {place}; {}\n", paint.bold(&text("/state")), text("/meaning")));
    let since = text("/shown/since");
    if !text("/shown/standing").is_empty() {
        let since = age::seconds(&since, Timestamp::now()).map(|seconds| format!(" for {}", age::told(seconds)));
        out.push_str(&format!("  it shows {}{}\n", text("/shown/standing"), since.unwrap_or_default()));
    }
    let field = |value: &Value, name: &str| harmless(value[name].as_str().unwrap_or_default());
    for wait in list("waitsFor") {
        out.push_str(&format!("  waits: {} ({})\n", field(&wait, "message"), field(&wait, "reason")));
    }
    if list("waitsFor").is_empty() && !text("/shown/message").is_empty() {
        out.push_str(&format!("  because: {}\n", text("/shown/message")));
    }
    for condition in list("instance") {
        out.push_str(&format!("  {}\n", tell_condition(&condition)));
    }
    let asked = list("asked");
    if asked.is_empty() {
        out.push_str("\nNo provider has an AcceptAPI for this kind.\n");
    } else {
        out.push_str("\nAcceptAPIs, in the order in which it would be placed now:\n");
    }
    for (index, one) in asked.iter().enumerate() {
        let weighed = format!("priority {}, score {:.2}", one["priority"], one["score"].as_f64().unwrap_or_default());
        out.push_str(&answers::draw(one, &format!("{}.", index + 1), 3, &weighed));
    }
    let writes = list("wouldWrite");
    if !writes.is_empty() {
        out.push_str("\nA broker that starts now, and remembers nothing, would write:\n");
    }
    for write in writes {
        let part = |name| field(&write, name);
        out.push_str(&format!(
            "  {} ({} {} {}/{})\n",
            part("what"),
            part("cluster"),
            part("kind"),
            part("namespace"),
            part("name")
        ));
    }
    for note in list("notKnown") {
        out.push_str(&format!("\nnot known: {}\n", harmless(note.as_str().unwrap_or_default())));
    }
    out
}

/// An instance of a graph: its own conditions say which node waits for which value.
fn instance(found: &Found) -> Value {
    json!({
        "cluster": found.cluster.name.to_string(),
        "kind": found.resource.kind.kind,
        "namespace": found.object["metadata"]["namespace"],
        "name": found.object["metadata"]["name"],
        "state": found.object["status"]["state"],
        "conditions": found.object["status"]["conditions"],
    })
}

fn tell_condition(condition: &Value) -> String {
    let text = |name: &str| harmless(condition[name].as_str().unwrap_or_default());
    let message = text("message");
    let colon = if message.is_empty() { "" } else { ": " };
    format!("{}={} ({}){colon}{message}", text("type"), text("status"), text("reason"))
}

fn tell_instance(value: &Value) -> String {
    let text = |name: &str| harmless(value[name].as_str().unwrap_or_default());
    let mut out =
        format!("{} {} {}/{}\n  {}\n", text("cluster"), text("kind"), text("namespace"), text("name"), text("state"));
    for condition in value["conditions"].as_array().into_iter().flatten() {
        out.push_str(&format!("  {}\n", tell_condition(condition)));
    }
    out
}

#[cfg(test)]
mod tests {
    use broker_core::{acceptance::AcceptId, decide::Answer, decision::Decision};
    use runtime_effect::note::Note;

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
            let told =
                draw(&as_value(&found(), &Explanation { decision, asked: Vec::new() }, &[], false), Paint::plain());
            let line = format!("  {}: at provider theseus; {}\n", state.as_str(), meaning(state));
            assert!(told.contains(&line) && told.contains("No provider has an AcceptAPI"), "{told}");
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
        let value = as_value(&found(), &Explanation { decision, asked }, &["bart has not answered".into()], false);
        assert_eq!(
            draw(&value, Paint::plain()),
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
