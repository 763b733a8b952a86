//! Why an object is where it is: the broker's own decision, on what is there now.
//!
//! The production broker runs in this process as an onlooker: it takes part in no election and writes nothing. What the one
//! in the cluster keeps in its memory only, such as which provider it has given up for a while, is not known here.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use anyhow::{Context as _, bail};
use broker_api::{ClusterName, Role, graphs::keys as graphs, keys};
use broker_core::{
    decide::{Answer, Asked, Explanation},
    decision::State,
};
use k8s_openapi::jiff::Timestamp;
use resource_broker::{
    app::{Own, look_on},
    broker::Broker,
    command_line::CommandLine,
    options::Options,
    watch_kind::KindFlag,
};
use runtime_cel::expression::Evaluator;
use runtime_engine::decisions::Decisions;
use runtime_fleet::{cluster::ClusterState, dial::Sockets};
use runtime_process::metrics::METERS;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::{
    age,
    arguments::{Access, Output, Subject},
    broker::{Deployed, deployed},
    cluster::{Cluster, Trouble},
    clusters::{Clusters, hub_kubeconfig},
    paint::{Paint, harmless},
    resource::Resource,
    standing::Standing,
    subject::Found,
    table::yaml,
    trace::{annotation, origin_key},
};

/// How long all clusters may take until what is known has to do.
const PATIENCE: Duration = Duration::from_secs(10);

/// How often it is looked.
const LOOK: Duration = Duration::from_millis(20);

/// Answers `why`.
pub(crate) async fn why(access: &Access, subject: &Subject, output: Output, namespace: &str) -> anyhow::Result<String> {
    let clusters = Clusters::connect(access).await?;
    let found = Found::find(&clusters, subject).await?;
    let consumer = ClusterName::consumer(found.cluster.name.name());
    let is_consumer = clusters.get(&consumer).is_some();
    let is_instance = found.object["metadata"]["labels"].get(graphs::OWNED).is_some();
    let (options, mut notes) = options(&clusters.hub, access, &found.resource, namespace).await?;
    let is_brokered = is_consumer && options.is_some();
    if !is_brokered {
        if is_instance {
            return tell(output, &instance(&found), |value| Ok(tell_instance(value)));
        }
        let kind = &found.resource.kind;
        bail!(
            "{} {}: the broker is not told to broker this kind (--watch-kind {}.{}.{}), and it is no instance of a graph",
            found.cluster.name,
            kind.kind,
            kind.kind,
            kind.version,
            if kind.group.is_empty() { "core" } else { &kind.group }
        );
    }
    let options = options.context("the broker's flags")?;
    let explained = explain(options, access, &found, &mut notes).await?;
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

/// The flags of the broker in the cluster, as far as they can be read; `None`: it does not broker the kind.
async fn options(
    hub: &Cluster,
    access: &Access,
    resource: &Resource,
    namespace: &str,
) -> anyhow::Result<(Option<Options>, Vec<String>)> {
    let mut notes = Vec::new();
    let kind = KindFlag(resource.kind.clone());
    let found = match deployed(hub, namespace).await {
        Ok(found) => found,
        Err(Trouble::NotServed(_)) => Vec::new(),
        Err(trouble) => {
            notes.push(format!("the broker's Deployment cannot be read, so its flags are not known: {trouble}"));
            Vec::new()
        }
    };
    let own = found.iter().map(Deployed::own_namespace).next().unwrap_or(namespace).to_owned();
    let read: Vec<Options> = found.into_iter().filter_map(|broker| broker.options.ok()).collect();
    let brokering = read.iter().find(|options| options.watch_kind.contains(&kind));
    let mut options = match (brokering, read.is_empty()) {
        (Some(options), _) => options.clone(),
        (None, false) => return Ok((None, notes)),
        (None, true) => {
            notes.push(format!(
                "no broker was found in namespace {namespace}: its flags are taken to be the usual ones"
            ));
            let Resource { kind, .. } = resource;
            let group = if kind.group.is_empty() { "core" } else { &kind.group };
            let flag = format!("--watch-kind={}.{}.{group}", kind.kind, kind.version);
            CommandLine::parse_with_env([flag], &BTreeMap::new())?.options
        }
    };
    if options.max_objects_per_consumer.is_none() {
        // Other kinds have no say in this one.
        options.watch_kind = vec![kind];
    }
    // Files of the Pod are not here.
    let files = options.consumer_kubeconfig.len()
        + options.provider_kubeconfig.len()
        + options.consumer_kubeconfig_dir.len()
        + options.provider_kubeconfig_dir.len();
    let given = access.consumer_kubeconfig.len() + access.provider_kubeconfig.len();
    if files > 0 && given == 0 {
        notes.push("the broker has clusters from files, which are not known here: give them with --consumer-kubeconfig and --provider-kubeconfig".into());
    }
    options.consumer_kubeconfig.clone_from(&access.consumer_kubeconfig);
    options.provider_kubeconfig.clone_from(&access.provider_kubeconfig);
    options.consumer_kubeconfig_dir.clear();
    options.provider_kubeconfig_dir.clear();
    options.compute_kubeconfig = None;
    options.allow_local_credentials = true;
    options.namespace = Some(own);
    if options.cluster_secrets_namespace.is_empty() {
        for namespace in &access.cluster_secrets_namespace {
            options.cluster_secrets_namespace.push(namespace.parse().map_err(anyhow::Error::msg)?);
        }
    }
    Ok((Some(options), notes))
}

async fn explain(
    options: Options,
    access: &Access,
    found: &Found,
    notes: &mut Vec<String>,
) -> anyhow::Result<Explanation> {
    let hub = (ClusterName::new(Role::Coordination, "coordination"), hub_kubeconfig(access)?);
    let own = Own { hub, compute: None };
    let onlooker = look_on(options, own, Decisions::start(METERS.slow)?, Evaluator::new(), Arc::new(Sockets));
    let broker = &onlooker.broker;
    let until = Instant::now() + PATIENCE;
    while !broker.is_synced() && Instant::now() < until {
        sleep(LOOK).await;
    }
    let key = origin_key(&found.cluster.name, &found.resource, &found.object);
    let explained = broker.explain(&key);
    notes.extend(unknown(broker));
    broker.engine.stop.cancel();
    explained.with_context(|| {
        let what = if broker.ring.load().is_none() {
            format!(
                "the signing key is not known, without which no assignment can be believed: this takes get, list and watch of Secret {} in namespace {}",
                keys::SIGNING_KEY_SECRET, broker.namespace
            )
        } else {
            format!("{} is not engaged", key.cluster)
        };
        notes.iter().fold(what, |all, note| format!("{all}\n{note}"))
    })
}

/// Clusters of which not all is known.
fn unknown(broker: &Broker) -> Vec<String> {
    let clusters = broker.fleet().clusters();
    let told = clusters.iter().filter_map(|cluster| match cluster.state() {
        ClusterState::Ready | ClusterState::Leaving => None,
        ClusterState::Connecting => Some(format!("{} has not answered yet", cluster.name())),
        ClusterState::Unreachable { why, .. } => Some(format!("{} is unreachable: {why}", cluster.name())),
    });
    told.collect()
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
    let asked = asked.iter().map(|Asked { id, priority, score, answer }| {
        let (word, reasons) = match answer {
            Answer::Accepts => ("Accepts", Vec::new()),
            Answer::Refuses(reasons) => {
                // Where they are in a list of all, each names its AcceptAPI.
                let own = format!("{id}: ");
                ("Refuses", reasons.iter().map(|why| why.strip_prefix(&own).unwrap_or(why).to_owned()).collect())
            }
            Answer::CannotTake(why) => ("CannotTake", vec![why.clone()]),
            Answer::Unknown(why) => ("Unknown", vec![why.clone()]),
        };
        json!({ "acceptAPI": id.to_string(), "provider": id.provider.name(), "answer": word, "reasons": reasons, "priority": priority, "score": score })
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
fn meaning(state: State) -> &'static str {
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
        let (rank, word) = match &*field(one, "answer") {
            "Accepts" => (format!("{}.", index + 1), "accepts"),
            "Refuses" => ("-".into(), "refuses"),
            "CannotTake" => ("-".into(), "cannot take it"),
            _ => ("?".into(), "unknown"),
        };
        let score = one["score"].as_f64().unwrap_or_default();
        out.push_str(&format!(
            "  {rank:<3}{}  {word}  (priority {}, score {score:.2})\n",
            field(one, "acceptAPI"),
            one["priority"]
        ));
        for reason in one["reasons"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            out.push_str(&format!("       {}\n", harmless(reason)));
        }
    }
    let writes = list("wouldWrite");
    if !writes.is_empty() {
        out.push_str("\nThe broker is about to write:\n");
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
    use broker_core::{acceptance::AcceptId, decision::Decision};
    use runtime_effect::note::Note;

    use super::*;

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
