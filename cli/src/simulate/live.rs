//! What the broker would decide on an object that is new, in the clusters as they are now.

use anyhow::{Context as _, bail};
use broker_api::{ClusterName, Role};

use super::{defaults::fill, object::Object, outlook::Outlook, schemas::published_of};
use crate::{
    access::Access,
    cluster::{Cluster, Place},
    clusters::Clusters,
    onlooker::{self, flag},
};

/// The consumer that is named; the only one, where none is.
fn consumer<'a>(clusters: &'a Clusters, named: Option<&str>) -> anyhow::Result<&'a Cluster> {
    let all: Vec<&Cluster> = clusters.in_role(Role::Consumer).collect();
    let there_are = || all.iter().map(|cluster| cluster.name.name()).collect::<Vec<_>>().join(", ");
    let Some(named) = named else {
        return match &all[..] {
            [only] => Ok(*only),
            _ => bail!("say in which consumer it would be with --in; there are: {}", there_are()),
        };
    };
    let name = ClusterName::written(Role::Consumer, named);
    let found = all.iter().find(|cluster| cluster.name == name).copied();
    found.with_context(|| format!("there is no consumer {}; there are: {}", name.name(), there_are()))
}

/// Lets the broker look on, and asks it.
pub(crate) async fn explain_new(
    access: &Access,
    object: &Object,
    named: Option<&str>,
    namespace: &str,
) -> anyhow::Result<Outlook> {
    let clusters = Clusters::connect(access).await?;
    let consumer = consumer(&clusters, named)?;
    let kind = &object.kind;
    let served = consumer.resources().await?.of_kind(kind);
    let served =
        served.with_context(|| format!("{} serves no {} of {}", consumer.name, kind.kind, kind.api_version()))?;
    let (options, mut notes) = onlooker::options(&clusters.hub, access, std::slice::from_ref(kind), namespace).await?;
    let options =
        options.with_context(|| format!("the broker is not told to broker {} ({})", kind.kind, flag(kind)))?;
    let key = object.key(&consumer.name);
    let place = Place { namespace: &key.namespace, name: &key.name };
    match consumer.get(served, place).await {
        Ok(None) => {}
        Ok(Some(_)) => notes.push(
            "one of this name is there already, and this is about another one in its place: `kubectl broker why` tells of the one that is there"
                .to_owned(),
        ),
        Err(trouble) => notes.push(format!("whether one of this name is there: {trouble}")),
    }
    let mut value = object.value.clone();
    match published_of(consumer, served).await {
        Ok(schema) => fill(&schema, &mut value),
        Err(why) => notes.push(format!("the defaults that the API server fills in: {why}")),
    }
    let explained =
        onlooker::ask(options, access, &key.cluster, &mut notes, |broker| broker.explain_new(&key, value)).await?;
    Ok(Outlook::of(&key, &explained, &notes))
}
