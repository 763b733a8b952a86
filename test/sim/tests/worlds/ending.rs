//! `Ending`: what is there when all is quiet, without what may differ from run to run.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, LazyLock},
};

use broker_api::keys;
use serde_json::{Value, json};

use crate::{
    furnished::Furnished,
    provider::base64,
    stage::{CERTIFICATE, DEFINITIONS, FOREIGN, HUB, MIGRATIONS, PRIVATE, PROVIDERS, SHOP, Stage},
};

/// Who moved what how often is chance, and so are Events: of what went wrong some tell more.
const CHANCE: [&str; 3] = ["events.events.k8s.io", "leases.coordination.k8s.io", MIGRATIONS];

/// What providers are called here: which of them serves what follows from who could be reached when, and who was asked.
const PROVIDER: &str = "a provider";

/// Nobody changes CRDs here.
static FURNISHED: LazyLock<Furnished> = LazyLock::new(|| Furnished::of(&DEFINITIONS, |crd| plain(crd, &PROVIDERS)));

/// What all servers hold.
pub(crate) struct Ending {
    /// Of hub and consumers as they are, of providers all together: by server, resource, namespace and name.
    objects: BTreeMap<[String; 4], Arc<Value>>,
    /// Who serves what, as both sides have it, and what else is wrong.
    wrong: Vec<String>,
    left: Vec<String>,
}

/// All that these servers hold.
pub(crate) fn ending(stage: &Stage) -> Ending {
    let mut ending = Ending { objects: BTreeMap::new(), wrong: Vec::new(), left: Vec::new() };
    for server in stage.servers() {
        let mut contents = server.contents();
        let is_provider = stage.providers.contains(&server.name());
        if is_provider {
            let left = |name| stage.has_left(name);
            let left = left(server.name()) || stage.tenants.iter().copied().any(left);
            let unmarked = if left { take_out_unmarked(&mut contents) } else { 0 };
            ending.look_at_provider(stage, server.name(), &contents, unmarked);
        }
        if stage.tenants.contains(&server.name()) {
            ending.look_at_tenant(stage, server.name(), &contents);
        }
        if server.name() == HUB {
            ending.look_at_migrations(&contents);
        }
        for ((resource, namespace, name), object) in contents {
            let of_provider = is_provider && resource == "namespaces" && name == SHOP;
            if CHANCE.contains(&&*resource) || name.starts_with("forged") || of_provider {
                continue;
            }
            let part = if is_provider { PROVIDER } else { server.name() };
            if let Some(crd) = FURNISHED.plain(&object) {
                ending.objects.insert([part.to_owned(), resource, namespace, name], crd);
                continue;
            }
            let mut object = Arc::unwrap_or_clone(object);
            if part == HUB {
                plain(&mut object, &[]);
            } else {
                plain(&mut object, stage.providers);
            }
            if resource == "secrets" && namespace == "broker" {
                // Drawn when it is made, which may be later than in another run.
                object["data"] = json!("keys");
            }
            if resource == "acceptapis.broker.platform-mesh.io" {
                object["status"]["placed"] = Value::Null;
            }
            ending.objects.insert([part.to_owned(), resource, namespace, name], Arc::new(object));
        }
    }
    ending
}

type Contents = BTreeMap<(String, String, String), Arc<Value>>;

/// A provider that has left may have taken the marks off a copy before anybody could put them back, and when it comes again the
/// object is served elsewhere: nobody can tell any more that this is a copy, and it is the provider's, whose room it takes. Likewise
/// where the consumer had left, and the object is not there any more when that comes again.
fn take_out_unmarked(contents: &mut Contents) -> u64 {
    let is_unmarked = |object: &Value| {
        let metadata = &object["metadata"];
        let unlabelled = || metadata["labels"][keys::MANAGED_BY].is_null();
        // Without a signature nobody believes the other marks.
        metadata["annotations"][keys::ORIGIN].is_null()
            || metadata["annotations"][keys::CONSUMER_UID].is_null() && unlabelled()
    };
    let unmarked: Vec<String> = contents
        .iter()
        .filter(|((kind, _, name), object)| kind == CERTIFICATE && !name.starts_with("forged") && is_unmarked(object))
        .map(|((_, _, name), _)| name.clone())
        .collect();
    for copy in &unmarked {
        contents.retain(|(_, _, name), _| name != copy && *name != format!("{copy}-tls"));
    }
    if !unmarked.is_empty() {
        contents.retain(|(kind, _, name), _| kind != "namespaces" || name != SHOP);
    }
    unmarked.len() as u64
}

impl Ending {
    /// Whatever moved has come to an end.
    fn look_at_migrations(&mut self, contents: &Contents) {
        let all = contents.iter().filter(|((kind, _, _), _)| kind == MIGRATIONS);
        let open = all.filter(|(_, migration)| {
            let state = &migration["status"]["state"];
            *state != "CutoverCompleted" && *state != "Failed"
        });
        self.wrong.extend(
            open.map(|((_, _, name), migration)| format!("Migration {name} is still {}", migration["status"]["state"])),
        );
    }

    fn look_at_provider(&mut self, stage: &Stage, name: &str, contents: &Contents, unmarked: u64) {
        let copies = contents.iter().filter(|((kind, namespace, copy), _)| {
            kind == CERTIFICATE && namespace != PRIVATE && !copy.starts_with("forged")
        });
        let mut count = 0;
        for ((_, _, copy), object) in copies {
            count += 1;
            let annotation = |key: &str| object["metadata"]["annotations"][key].as_str().unwrap_or_default().to_owned();
            let (tenant, origin) = (annotation(keys::CONSUMER_CLUSTER), annotation(keys::CONSUMER_NAME));
            let held = stage.server(&tenant).objects(CERTIFICATE).remove(&(SHOP.to_owned(), origin));
            let is_of = held.is_some_and(|held| {
                held["metadata"]["uid"] == annotation(keys::CONSUMER_UID)
                    && held["metadata"]["annotations"][keys::PROVIDER_CLUSTER] == name
            });
            if !is_of {
                self.wrong.push(format!("{name} has {copy}, which nobody has asked it for"));
            }
        }
        let accepts = contents.iter().find(|((kind, _, _), _)| kind == "acceptapis.broker.platform-mesh.io");
        let placed = accepts.map_or(0, |(_, accepts)| accepts["status"]["placed"].as_u64().unwrap_or_default());
        if !(count..=count + unmarked).contains(&placed) {
            self.wrong.push(format!("the AcceptAPI of {name} says that it holds {placed}, which is {count}"));
        }
        let forged = contents.keys().any(|(_, _, name)| name.starts_with("forged"));
        let has_namespace = contents.keys().any(|(kind, _, space)| kind == "namespaces" && space == SHOP);
        if has_namespace && count == 0 && !forged {
            self.left.push(format!("namespace {SHOP} of {name}"));
        }
    }

    fn look_at_tenant(&mut self, stage: &Stage, name: &str, contents: &Contents) {
        let mut secrets: BTreeSet<String> = contents
            .keys()
            .filter(|(kind, namespace, _)| kind == "secrets" && namespace == SHOP)
            .map(|(_, _, secret)| secret.clone())
            .collect();
        let asked = contents.iter().filter(|((kind, namespace, _), _)| kind == CERTIFICATE && namespace == SHOP);
        for ((_, _, asked), object) in asked {
            let provider = object["metadata"]["annotations"][keys::PROVIDER_CLUSTER].as_str().unwrap_or_default();
            let serves = stage.providers.contains(&provider);
            let uid = &object["metadata"]["uid"];
            let is_its = |copy: &Value| copy["metadata"]["annotations"][keys::CONSUMER_UID] == *uid;
            let has = serves && stage.server(provider).objects(CERTIFICATE).values().any(|copy| is_its(copy));
            if !has || object["status"]["status"] != "Available" {
                self.wrong.push(format!("{name} is not served {asked}"));
            }
            let secret = contents.get(&("secrets".to_owned(), SHOP.to_owned(), format!("{asked}-tls")));
            let fqdn = base64(object["spec"]["fqdn"].as_str().unwrap_or_default());
            if secret.is_none_or(|secret| secret["data"]["tls.crt"] != fqdn) {
                self.wrong.push(format!("{name} has not the Secret of {asked}"));
            }
            secrets.remove(&format!("{asked}-tls"));
        }
        self.wrong.extend(secrets.into_iter().map(|secret| format!("{name} has {secret}, which belongs to nothing")));
    }

    /// Whatever was asked for is served, once.
    pub(crate) fn check_served(&self) -> Result<(), String> {
        match self.wrong.iter().chain(&self.left).next() {
            Some(wrong) => Err(wrong.clone()),
            None => Ok(()),
        }
    }

    /// Nothing is left of what was given back.
    pub(crate) fn check_gone(&self) -> Result<(), String> {
        self.check_served()?;
        let kept = |[_, kind, namespace, name]: &&[String; 4]| {
            namespace == SHOP && !(kind == "configmaps" && name == "kube-root-ca.crt")
        };
        match self.objects.keys().find(kept) {
            Some(key) => Err(format!("something is left: {}", key.join(" "))),
            None => Ok(()),
        }
    }

    /// Whether it is the same as it should be.
    pub(crate) fn same(&self, when: &str, expected: &Self) -> Result<(), String> {
        for key in self.objects.keys().chain(expected.objects.keys()) {
            let (found, expected) = (self.objects.get(key), expected.objects.get(key));
            if found != expected {
                let show = |object: Option<&Arc<Value>>| object.map_or("nothing".to_owned(), ToString::to_string);
                let (key, found, expected) = (key.join(" "), show(found), show(expected));
                return Err(format!("{when}, {key} is\n  {found}\nand should be\n  {expected}"));
            }
        }
        Ok(())
    }
}

/// Takes out identities, versions, moments, what is signed over them, and which provider it is.
fn plain(value: &mut Value, providers: &[&str]) {
    match value {
        Value::Object(fields) => {
            for name in [
                "uid",
                "resourceVersion",
                "creationTimestamp",
                "lastTransitionTime",
                "managedFields",
                "generation",
                "observedGeneration",
            ] {
                fields.remove(name);
            }
            fields.values_mut().for_each(|field| plain(field, providers));
        }
        Value::Array(items) => {
            // That it once moved.
            items.retain(|item| !(item["type"] == "Moving" && item["status"] == "False"));
            // Whoever holds it lets go when he likes.
            items.retain(|item| *item != FOREIGN);
            for item in items.iter_mut() {
                plain(item, providers);
            }
            // Conditions are told apart by their type, whichever came first.
            items.sort_by_key(|item| item["type"].as_str().map(str::to_owned));
        }
        Value::String(text) if text.starts_with("v1.k") => "signed".clone_into(text),
        Value::String(text) if is_uid(text) => "uid".clone_into(text),
        Value::String(text) => {
            for name in providers {
                *text = text.replace(name, PROVIDER);
            }
        }
        _ => {}
    }
}

fn is_uid(text: &str) -> bool {
    text.len() == 36 && text.bytes().filter(|byte| *byte == b'-').count() == 4
}
