//! `kubectl broker simulate`: which provider would take an object, and which children an instance of a graph would have; and
//! whether a ResourceGraphDefinition can be served. Nothing is written.

mod accept_apis;
mod children;
mod defaults;
mod definition;
mod document;
mod instance;
mod live;
mod mistake;
mod object;
mod offline;
mod outlook;
mod place;
mod problem;
pub(crate) mod schemas;
mod shape;

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::bail;
use broker_api::{ClusterName, Gvk, Role};
use broker_core::{decision::State, snapshot::OriginKey};
use clap::Args;
use graphs_core::{limits, plural};
use runtime_cel::expression;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use self::{
    accept_apis::{AcceptApis, Given},
    definition::{Checked, Definition},
    instance::Instance,
    object::Object,
    outlook::Outlook,
    problem::Problem,
};
use crate::{
    access::Access,
    cluster::Cluster,
    clusters::hub,
    output::Output,
    paint::{Paint, harmless},
    programs::{json, yaml},
};

/// Name of a consumer without clusters.
const CONSUMER: &str = "consumer";

/// What is simulated, and with what.
#[derive(Debug, Clone, Args)]
pub(crate) struct Simulate {
    /// File with one object, YAML or JSON; - for standard input
    #[arg(short = 'f', long = "filename", value_name = "FILE", required_unless_present = "rgd")]
    filename: Option<PathBuf>,
    /// The consumer that it would be made in, or the spoke; the only consumer, unless it is given
    #[arg(long = "in", value_name = "CLUSTER")]
    consumer: Option<String>,
    /// Its namespace, where it names none; `default` unless it is given
    #[arg(short, long)]
    namespace: Option<String>,
    /// File with AcceptAPIs of a provider, which is named by the file's stem unless it is given: then no cluster is asked;
    /// repeatable
    #[arg(long = "acceptapi", value_name = "[PROVIDER=]FILE", requires = "filename")]
    accept_apis: Vec<Given>,
    /// Plural of the object's kind, where no cluster is asked and it is not the usual one
    #[arg(long, requires = "accept_apis")]
    plural: Option<String>,
    /// File with ResourceGraphDefinitions: with -f, the one of the object's kind says which children it would have; alone,
    /// all of them are checked. With --context or --kubeconfig by that cluster's schemas. Without it, where no AcceptAPIs are
    /// given, the one that serves that kind in its cluster counts
    #[arg(long, value_name = "FILE")]
    rgd: Option<PathBuf>,
    /// How it is printed; wide: with the children's objects
    #[arg(short, long, value_enum, default_value = "text")]
    output: Output,
    /// Namespace of the broker's own objects
    #[arg(long, value_name = "NAMESPACE", default_value = "resource-broker-system")]
    broker_namespace: String,
}

/// Answers `simulate`: 1 where nobody would take the object, or something is wrong with a definition or an instance.
pub(crate) async fn simulate(access: &Access, asked: &Simulate) -> anyhow::Result<ExitCode> {
    let told = Box::pin(answer(access, asked)).await?;
    crate::print(&match asked.output {
        Output::Text => told.text,
        Output::Wide => told.wide.unwrap_or(told.text),
        Output::Json => json(&told.value)?,
        Output::Yaml => yaml(&told.value)?,
    });
    Ok(ExitCode::from(told.code))
}

async fn answer(access: &Access, asked: &Simulate) -> anyhow::Result<Told> {
    let file = match (&asked.filename, &asked.rgd) {
        (Some(file), _) => file,
        (None, Some(rgd)) => return check(access, rgd).await,
        (None, None) => bail!("name a file with -f or --rgd"),
    };
    let object = Object::read(file, asked.namespace.as_deref())?;
    let evaluator = expression::Evaluator::new();
    let apis = AcceptApis::read(&asked.accept_apis, &evaluator)?;
    let offline = Offline { asked, apis, evaluator };
    if let Some(rgd) = &asked.rgd {
        return instance::by_files(access, &offline, rgd, &object).await;
    }
    if offline.apis.is_empty() {
        return live::explain_new(access, &object, asked.consumer.as_deref(), &asked.broker_namespace).await;
    }
    Ok(Told::outlook(offline.of(&object)?))
}

/// What came of it.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Simulated {
    /// Of an object.
    Object(Outlook),
    /// Of an instance of a graph.
    Instance(Box<Instance>),
    /// Of ResourceGraphDefinitions alone.
    Definitions(Definitions),
    /// Of an instance whose ResourceGraphDefinition cannot be served.
    Problems(Problems),
}

/// ResourceGraphDefinitions, and whether they can be served.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Definitions {
    /// Each of the file.
    items: Vec<Judged>,
}

/// Whether a ResourceGraphDefinition can be served.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Judged {
    /// The file, as it was named.
    file: String,
    /// Its name.
    name: String,
    /// What is wrong; empty where it can be served.
    problems: Vec<Problem>,
    /// Which checks were left out, and why.
    not_checked: Option<String>,
    /// The ids of its resources, each behind those it uses; null where it cannot be served.
    order: Option<Vec<String>>,
    /// Name of the CRD that it makes; null where it cannot be served.
    crd: Option<String>,
}

/// What is wrong in files.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Problems {
    /// Each of them.
    problems: Vec<Problem>,
}

/// What is printed, and the exit code.
struct Told {
    text: String,
    /// The same with more.
    wide: Option<String>,
    value: Simulated,
    code: u8,
}

impl Told {
    fn outlook(outlook: Outlook) -> Self {
        let (text, code) = (outlook.draw(Paint::of_output()), code(&outlook));
        Self { text, wide: None, value: Simulated::Object(outlook), code }
    }

    /// What is wrong, a line each.
    fn problems(problems: Vec<Problem>) -> Self {
        Self { text: lines(&problems), wide: None, value: Simulated::Problems(Problems { problems }), code: 1 }
    }
}

fn lines(problems: &[Problem]) -> String {
    problems.iter().map(|problem| harmless(&problem.to_string()) + "\n").collect()
}

fn code(outlook: &Outlook) -> u8 {
    if outlook.state == State::Unknown { 2 } else { u8::from(!outlook.is_taken()) }
}

/// What is known from files.
struct Offline<'a> {
    asked: &'a Simulate,
    apis: AcceptApis,
    evaluator: expression::Evaluator,
}

impl Offline<'_> {
    fn consumer(&self) -> ClusterName {
        ClusterName::written(Role::Consumer, self.asked.consumer.as_deref().unwrap_or(CONSUMER))
    }

    fn plural(&self, object: &Object) -> String {
        self.asked.plural.clone().unwrap_or_else(|| plural::of(&object.kind.kind))
    }

    /// What would become of the object.
    fn of(&self, object: &Object) -> anyhow::Result<Outlook> {
        let plural = self.plural(object);
        let mut notes = vec![offline::NOT_KNOWN.to_owned()];
        notes.extend(self.apis.doubts(&object.kind, &plural));
        self.outlook(&object.key(&self.consumer()), object.value.clone(), &plural, &notes)
    }

    fn outlook(&self, key: &OriginKey, object: Value, plural: &str, notes: &[String]) -> anyhow::Result<Outlook> {
        let speaking = self.apis.speaking(&key.gvk, plural);
        let explained = offline::explain_new(key, object, &speaking, plural, &self.evaluator)?;
        Ok(Outlook::of(key, &explained, notes))
    }

    /// The same of a child of an instance; `None`: no AcceptAPI speaks of its kind.
    fn of_child(&self, object: &Value) -> anyhow::Result<Option<Outlook>> {
        let kind = object::kind_of(object);
        let plural = plural::of(&kind.kind);
        if self.apis.speaking(&kind, &plural).is_empty() {
            return Ok(None);
        }
        self.outlook(&object::key(&self.consumer(), &kind, object), object.clone(), &plural, &[]).map(Some)
    }
}

/// The cluster whose schemas count; `None`: none is named.
async fn cluster(access: &Access) -> anyhow::Result<Option<Cluster>> {
    if access.context.is_none() && access.kubeconfig.is_none() {
        return Ok(None);
    }
    hub(access).await.map(Some)
}

/// Which checks were left out, and why; `None`: none was.
fn left_out(cluster: Option<&Cluster>, unknown: &[String]) -> Option<String> {
    if unknown.is_empty() {
        return None;
    }
    let why = match cluster {
        Some(cluster) => format!("{} does not say it", cluster.name),
        None => "no cluster was asked; --context or --kubeconfig names one".to_owned(),
    };
    Some(format!(
        "whether these are served and in which scope, which fields they have, and the types of what is said of them ({why}): {}",
        unknown.join(", ")
    ))
}

/// Checks the ResourceGraphDefinitions of a file.
async fn check(access: &Access, file: &Path) -> anyhow::Result<Told> {
    let cluster = cluster(access).await?;
    let evaluator = limits::evaluator();
    let (mut text, mut items, mut code) = (String::new(), Vec::new(), 0);
    for document in definition::documents(file)? {
        let (file, name) = (document.file.clone(), document.text("/metadata/name").to_owned());
        let checked = match Definition::of(document) {
            Ok(definition) => definition.check(cluster.as_ref(), &evaluator).await?,
            Err(problems) => Checked { graph: Err(problems), unknown: Vec::new() },
        };
        let not_checked = left_out(cluster.as_ref(), &checked.unknown);
        let mut judged = Judged { file, name, problems: Vec::new(), not_checked, order: None, crd: None };
        match checked.graph {
            Ok(graph) => {
                let order: Vec<String> = graph.topological_order().map(str::to_owned).collect();
                let Judged { file, name, .. } = &judged;
                text.push_str(&harmless(&format!(
                    "{file}: ResourceGraphDefinition {name} can be served: {} resources, in this order: {}",
                    order.len(),
                    order.join(", ")
                )));
                text.push('\n');
                judged.crd = Some(graph.crd_name());
                judged.order = Some(order);
            }
            Err(problems) => {
                code = 1;
                text.push_str(&lines(&problems));
                judged.problems = problems;
            }
        }
        if let Some(not_checked) = &judged.not_checked {
            text.push_str(&format!("{}\n", harmless(&format!("not checked: {not_checked}"))));
        }
        items.push(judged);
    }
    Ok(Told { text, wide: None, value: Simulated::Definitions(Definitions { items }), code })
}

/// The ResourceGraphDefinition of a file that defines the object's kind, or what is wrong with it.
fn defining(file: &Path, object: &Object) -> anyhow::Result<Result<Definition, Vec<Problem>>> {
    let (mut problems, mut kinds) = (Vec::new(), Vec::new());
    for document in definition::documents(file)? {
        match Definition::of(document) {
            Ok(definition) => {
                let Gvk { group, version, kind } = definition.kind();
                if (&group, &version, &kind) == (&object.kind.group, &object.kind.version, &object.kind.kind) {
                    return Ok(Ok(definition));
                }
                kinds.push(format!("{kind} of {group}/{version}"));
            }
            Err(found) => problems.extend(found),
        }
    }
    if !problems.is_empty() {
        return Ok(Err(problems));
    }
    bail!(
        "{} is a {} of {}, and {} defines {}",
        object.document.file,
        object.kind.kind,
        object.kind.api_version(),
        file.display(),
        kinds.join(", ")
    )
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use clap::Parser as _;
    use serde_json::json;

    use super::*;
    use crate::arguments::{Arguments, Command};

    /// A file of the repository.
    fn file(name: &str) -> String {
        format!("{}/../{name}", env!("CARGO_MANIFEST_DIR"))
    }

    fn parse(words: &[&str]) -> Result<Arguments, clap::Error> {
        Arguments::try_parse_from([&["kubectl-broker", "simulate"][..], words].concat())
    }

    /// What is told, as JSON, and the exit code.
    async fn told(words: &[&str]) -> anyhow::Result<(Value, u8)> {
        let Arguments { access, command } = parse(words)?;
        let Command::Simulate(asked) = command else { bail!("another command") };
        let told = answer(&access, &asked).await?;
        Ok((serde_json::to_value(&told.value)?, told.code))
    }

    #[tokio::test]
    async fn an_object_is_judged_by_files() {
        let object = file("config/samples/certificate.yaml");
        let api = format!("theseus={}", file("config/samples/acceptapi-certificates.yaml"));
        let (value, code) = told(&["-f", &object, "--acceptapi", &api, "--in", "homer"]).await.unwrap();
        assert_eq!((&value["asked"][0]["provider"], code), (&json!("theseus"), 0));
        assert_eq!(value["cluster"], "consumer#homer");
        let vms = file("config/samples/acceptapi-vms.yaml");
        let (value, code) = told(&["-f", &object, "--acceptapi", &vms]).await.unwrap();
        assert_eq!((&value["asked"], code), (&json!([]), 1));
        assert!(value["notKnown"][1].as_str().unwrap().contains("--plural"), "{value}");
        let (value, _) = told(&["-f", &object, "--acceptapi", &vms, "--plural", "vms"]).await.unwrap();
        assert_eq!(value["asked"][0]["acceptAPI"], "acceptapi-vms/default/vms");
        assert!(told(&["-f", &object, "--acceptapi", &object]).await.is_err(), "there is no AcceptAPI in it");
    }

    #[tokio::test]
    async fn an_instance_has_children_and_some_of_them_are_brokered() {
        let (bakery, site) =
            (file("examples/graphs/consumer/bakery.yaml"), file("examples/graphs/consumer/securesite.yaml"));
        let api = file("examples/graphs/internal-corp/acceptapi.yaml");
        let (value, code) = told(&["-f", &bakery, "--rgd", &site, "--acceptapi", &api]).await.unwrap();
        assert_eq!(code, 0, "{value:#}");
        let certificate = &value["children"]["nodes"][0];
        assert_eq!((&certificate["id"], &certificate["standing"]), (&json!("certificate"), &json!("Made")));
        assert_eq!(certificate["placement"][0]["state"], "Placing");
        assert!(
            value["object"].is_null() && value["notChecked"].as_str().unwrap().contains("Secret of v1"),
            "{value:#}"
        );
        let other = told(&["-f", &bakery, "--rgd", &file("examples/graphs/consumer/webapplication.yaml")]).await;
        assert!(other.unwrap_err().to_string().contains("is a SecureSite of platform.example.org/v1alpha1, and "));
    }

    #[tokio::test]
    async fn a_definition_is_checked() {
        let (value, code) = told(&["--rgd", &file("examples/graphs/consumer/webapplication.yaml")]).await.unwrap();
        let item = &value["items"][0];
        assert_eq!((code, &item["crd"]), (0, &json!("webapplications.platform.example.org")));
        assert_eq!(item["order"].as_array().unwrap().len(), 5);
        let (value, code) = told(&["--rgd", &file("examples/graphs/consumer/misspelt.yaml")]).await.unwrap();
        let problem = &value["items"][0]["problems"][0];
        assert_eq!((code, &problem["line"], &problem["column"]), (1, &json!(21), &json!(11)), "{problem}");
        assert!(told(&["--rgd", &file("config/samples/vm.yaml")]).await.is_err(), "there is no definition in it");
    }

    #[test]
    fn something_is_named() {
        assert!(parse(&[]).is_err() && parse(&["--acceptapi", "a.yaml", "--rgd", "b.yaml"]).is_err());
        assert!(parse(&["-f", "a.yaml"]).is_ok() && parse(&["--rgd", "a.yaml"]).is_ok());
        assert!(parse(&["-f", "a.yaml", "--plural", "things"]).is_err(), "clusters know it");
    }
}
