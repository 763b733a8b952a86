//! The task that looks after the two Secrets of the signing keys.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use broker_api::{Role, keys};
use broker_core::{assignment::KeyRing, naming::leading_hash};
use runtime_effect::{merge, note::Note};
use runtime_engine::recorder::Regarding;
use runtime_fleet::{
    blocking::blocking,
    call::Caller,
    cluster::Cluster,
    error::CallError,
    index::Lookup,
    kind::KindState,
    object::{Object, ObjectKey},
    watch::WatchSpec,
    write::Writer,
};
use serde_json::{Value, json};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};

use super::plan::{self, Consumer, Found, Keys, Known, Marks, Plan, Provider, plan};
use crate::{
    broker::Broker,
    metrics::METRICS,
    watches::{Brokered, secret},
};

/// Bytes of a new key: as long as the hash, which is what HMAC asks for (RFC 2104).
const KEY_BYTES: usize = 32;

/// How often it is looked whether anything is to be done while there are no keys, while a person is waited for, and else.
const SOON: Duration = Duration::from_millis(200);
const REFUSED: Duration = Duration::from_secs(2);
const RARELY: Duration = Duration::from_secs(30);

/// After this long a wait is one for a person, too.
const LONG: Duration = Duration::from_secs(15);

/// A Secret that a person deletes and creates in a row (`kubectl replace --force`) is left to them.
const GRACE: Duration = Duration::from_secs(3);

fn data(object: &Object) -> Option<Keys> {
    let value = object.value().ok()?;
    let entries = value.get("data")?.as_object()?;
    let decode = |text: &Value| STANDARD.decode(text.as_str()?).ok();
    entries.iter().map(|(name, text)| Some((name.clone(), decode(text)?))).collect()
}

fn encoded(keys: &Keys) -> Value {
    keys.iter().map(|(id, key)| (id.clone(), json!(STANDARD.encode(key)))).collect::<serde_json::Map<_, _>>().into()
}

fn found(cluster: &Cluster, spec: &WatchSpec, key: &ObjectKey) -> Found {
    let Some(index) = cluster.index(spec) else { return Found::Unknown };
    match index.get(key) {
        Lookup::Unknown => index.trouble().map_or(Found::Unknown, Found::Denied),
        Lookup::Absent => Found::Absent,
        Lookup::Found(object) => {
            let keys = data(&object).unwrap_or_default();
            match KeyRing::from_secret_data(&keys) {
                Ok(_) => Found::Keys(keys),
                Err(error) => Found::Broken(error.to_string()),
            }
        }
    }
}

/// Whether an annotation has the form of a signature of ours.
fn is_signed(object: &Object, annotation: &str) -> bool {
    object.marks().annotations.get(annotation).is_some_and(|text| text.starts_with("v1."))
}

/// Looks after the two Secrets until `stop`.
pub async fn run(broker: Arc<Broker>, stop: CancellationToken) {
    let keeper = Arc::new(Keeper { broker: Arc::clone(&broker) });
    let mut missing: Option<Instant> = None;
    let mut wait = SOON;
    let started = Instant::now();
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            () = broker.signing.changed.notified() => {}
            () = tokio::time::sleep(wait) => {}
        }
        let Some(hub) = broker.fleet().the(Role::Coordination) else { continue };
        let (first, backup) =
            (keeper.key_secret(keys::SIGNING_KEY_SECRET), keeper.key_secret(keys::SIGNING_KEY_BACKUP));
        let first_found = found(&hub, &broker.watches.signing_key, &first);
        let backup_found = found(&hub, &broker.watches.signing_backup, &backup);
        if first_found == Found::Absent {
            missing.get_or_insert_with(Instant::now);
        } else {
            missing = None;
        }
        let held = broker.signing.lock().held.clone();
        let looking = Arc::clone(&keeper);
        let planning = {
            let (first, backup, held) = (first_found.clone(), backup_found, held.clone());
            let new = broker.options.new_signing_key;
            move || plan(&first, &backup, held.as_ref(), new, || looking.marks())
        };
        // Marks may be looked for in every object that there is.
        let Ok(plan) = blocking(planning).await else { continue };
        keeper.note_trouble(&plan, held.is_some());
        wait = match &plan {
            Plan::Rest => RARELY,
            Plan::Refuse(_) => REFUSED,
            // What this process has in use is put back when nobody else does it.
            Plan::Restore(_) if held.is_some() && missing.is_none_or(|since| since.elapsed() < GRACE) => SOON,
            Plan::Wait(_) if started.elapsed() > LONG => REFUSED,
            Plan::Wait(_) => SOON,
            Plan::Make | Plan::Restore(_) | Plan::Keep(_) if !broker.leads() => SOON,
            Plan::Make => after(keeper.make_keys(&hub, &first).await),
            Plan::Restore(keys) => after(keeper.restore_keys(&hub, &first, keys, held.is_some()).await),
            Plan::Keep(keys) => after(keeper.keep_keys(&hub, &backup, keys).await),
        };
    }
}

/// What was written comes back by the watch.
fn after(written: Result<(), CallError>) -> Duration {
    match written {
        Ok(()) => SOON,
        Err(CallError::Throttled { retry_after, .. }) => retry_after.unwrap_or_default().clamp(SOON, RARELY),
        Err(error) => {
            error!(%error, "a Secret of the signing keys cannot be written; it is tried again");
            REFUSED
        }
    }
}

/// The Secret has changed. Without it, or with a broken one, the keys at hand stay in use.
pub(crate) fn read(broker: &Broker, secret: Option<&Object>) {
    broker.signing.wake();
    let Some(secret) = secret else {
        warn!(
            secret = keys::SIGNING_KEY_SECRET,
            "the signing keys' Secret is gone; the keys at hand stay in use, and the leader puts the Secret back"
        );
        return;
    };
    let keys = data(secret).unwrap_or_default();
    match KeyRing::from_secret_data(&keys) {
        Ok(ring) => {
            info!(secret = keys::SIGNING_KEY_SECRET, signs_with = ring.signs_with(), "signing keys read");
            broker.signing.lock().held = Some(keys);
            broker.set_ring(ring);
            broker.signing.set_known();
            // Everything that was decided with others is decided again.
            broker.origins.enqueue_each(broker.origins.records.all());
            broker.intake.tell();
        }
        Err(error) => error!(secret = keys::SIGNING_KEY_SECRET, %error, "the signing keys cannot be used"),
    }
}

/// Whoever looks after the two Secrets.
struct Keeper {
    broker: Arc<Broker>,
}

impl Keeper {
    fn key_secret(&self, name: &str) -> ObjectKey {
        ObjectKey::new(self.broker.namespace.as_str(), name)
    }

    fn note_trouble(&self, plan: &Plan, held: bool) {
        let trouble = match plan {
            _ if held => None,
            Plan::Wait(why) | Plan::Refuse(why) => Some(why.clone()),
            Plan::Make | Plan::Restore(_) => Some("the signing keys are to be made by the leader".to_owned()),
            Plan::Rest | Plan::Keep(_) => None,
        };
        METRICS.signing_keys_lost.set(i64::from(!held && matches!(plan, Plan::Refuse(_))));
        let mut inner = self.broker.signing.lock();
        if let (Plan::Refuse(why), true) = (plan, inner.trouble != trouble) {
            error!("{why}");
        }
        inner.trouble = trouble;
    }

    /// Whether anything is lost with the keys. Looks at every object: only asked for where all keys are lost.
    fn marks(&self) -> Marks {
        if !self.broker.clusters.departures.are_known() {
            return Marks::Unknown("all that is configured to be read".to_owned());
        }
        let clusters = self.broker.fleet().clusters();
        let of = |role: Role| clusters.iter().filter(move |cluster| cluster.name().role() == role);
        let consumers: Vec<Consumer> = of(Role::Consumer).map(|cluster| self.assigned_in(cluster)).collect();
        let providers: Vec<Provider> = of(Role::Provider).map(|cluster| self.copies_at(cluster)).collect();
        plan::marks(&consumers, &providers)
    }

    fn assigned_in(&self, cluster: &Cluster) -> Consumer {
        let mut assigned = None;
        let known = self.known(cluster, |brokered, key, object| {
            if assigned.is_none() && is_signed(object, keys::ASSIGNMENT) {
                assigned = Some(format!("{} {key} in {}", brokered.kind.kind, cluster.name()));
            }
            // Too large to be held, it may be signed.
            object.has_body()
        });
        Consumer { name: cluster.name().clone(), known, assigned }
    }

    fn copies_at(&self, cluster: &Cluster) -> Provider {
        let mut copies_of = BTreeSet::new();
        let known = self.known(cluster, |_, key, object| {
            // What another broker has placed here is not ours.
            let consumer = leading_hash(&key.name).and_then(|(hash, _)| self.broker.clusters.consumer_by_hash(hash));
            // Of one that came before its consumer was known only the name is held. It says enough: whether anything is
            // signed with a lost key, the consumer's object has to say, too.
            copies_of.extend(consumer.filter(|_| !object.has_body() || is_signed(object, keys::ORIGIN)));
            true
        });
        Provider { name: cluster.name().clone(), known, copies_of }
    }

    /// Looks at every brokered object of a cluster. `look`: whether it could be told what the object says.
    fn known(&self, cluster: &Cluster, mut look: impl FnMut(&Brokered, &ObjectKey, &Object) -> bool) -> Known {
        let mut all = true;
        for brokered in &self.broker.watches.brokered {
            let missing = cluster.is_ready() && cluster.kind(&brokered.gvk) == KindState::Missing;
            let Some(index) = cluster.index(&brokered.spec) else {
                all = false;
                continue;
            };
            // Before it is looked: of a list that comes meanwhile nothing is seen.
            all &= index.is_complete() || missing;
            for (key, object) in index.snapshot() {
                all &= look(brokered, &key, &object);
            }
        }
        if all {
            Known::All
        } else if cluster.is_coming() {
            Known::Coming
        } else {
            Known::Away
        }
    }

    async fn make_keys(&self, hub: &Cluster, key: &ObjectKey) -> Result<(), CallError> {
        let bytes: [u8; KEY_BYTES] = runtime_fleet::random::bytes();
        let id = format!("k{}", runtime_fleet::wall::now().as_second());
        if self.broker.options.new_signing_key {
            warn!(secret = %key, "a new signing key is made, as --new-signing-key says; take the flag away again");
        }
        self.create_keys(hub, key, &BTreeMap::from([(id, bytes.to_vec())])).await.map(drop)
    }

    async fn restore_keys(&self, hub: &Cluster, key: &ObjectKey, keys: &Keys, held: bool) -> Result<(), CallError> {
        let Some(secret) = self.create_keys(hub, key, keys).await? else { return Ok(()) };
        let from = if held { "the broker's memory".to_owned() } else { format!("Secret {}", keys::SIGNING_KEY_BACKUP) };
        let message = format!("the signing keys' Secret was gone and has been made again from {from}");
        warn!(secret = %key, "{message}");
        self.broker
            .engine
            .tell(Regarding::secret(hub.name(), key, &secret.uid), Note::warning("SigningKeyRestored", message));
        Ok(())
    }

    /// Creates a Secret of keys. `None`: somebody else has, which the watch brings, or leads now and will.
    async fn create_keys(&self, hub: &Cluster, key: &ObjectKey, keys: &Keys) -> Result<Option<Object>, CallError> {
        let (caller, kind) = secrets(hub)?;
        let body = json!({
            "apiVersion": "v1",
            "kind": "Secret",
            "type": "Opaque",
            "metadata": {"name": &*key.name, "namespace": &*key.namespace, "labels": {keys::MANAGED_BY: keys::MANAGER}},
            "data": encoded(keys),
        });
        let writer = Writer::new(&caller);
        match self.broker.engine.write_alone(hub, writer.create(&kind, key, &body)).await {
            Some(Ok(written)) => Ok(Some(written.object)),
            Some(Err(CallError::AlreadyExists(_))) | None => Ok(None),
            Some(Err(error)) => Err(error),
        }
    }

    /// Brings the second Secret up to date.
    async fn keep_keys(&self, hub: &Cluster, key: &ObjectKey, keys: &Keys) -> Result<(), CallError> {
        let held = hub.index(&self.broker.watches.signing_backup).and_then(|index| index.get(key).found());
        let Some(held) = held else { return self.create_keys(hub, key, keys).await.map(drop) };
        let before = held.value().ok().and_then(|value| value.get("data").cloned()).unwrap_or_else(|| json!({}));
        let Some(diff) = merge::diff(&before, &encoded(keys)) else { return Ok(()) };
        let (caller, kind) = secrets(hub)?;
        let patch = held.version().guard(json!({"data": diff}));
        let writer = Writer::new(&caller);
        if let Some(written) = self.broker.engine.write_alone(hub, writer.merge(&kind, key, &patch, false)).await {
            hub.learn(&self.broker.watches.signing_backup, key.clone(), written?.object);
        }
        Ok(())
    }
}

type Reached = (Caller, runtime_fleet::kind::KindInfo);

fn secrets(hub: &Cluster) -> Result<Reached, CallError> {
    let missing = || CallError::Unreachable(format!("{} is not ready", hub.name()));
    let kind = runtime_fleet::well_known(&secret()).ok_or_else(missing)?;
    Ok((hub.connection().ok_or_else(missing)?.caller.clone().patient(), kind))
}

#[cfg(test)]
mod tests {
    use broker_api::ClusterName;
    use broker_core::copy;

    use super::*;
    use crate::{conventions, listen, origins::key::origin_key};

    /// All that a cluster holds of the kind.
    fn list(broker: &Broker, cluster: &ClusterName, objects: Vec<(ObjectKey, Object)>) {
        broker.fleet().cluster(cluster).unwrap().index(&broker.watches.brokered[0].spec).unwrap().replace(objects, 1);
    }

    fn marked(name: &str, annotation: &str) -> (ObjectKey, Object) {
        conventions::object(&json!({"metadata": {
            "namespace": "n", "name": name, "uid": name, "resourceVersion": "1", "annotations": {annotation: "v1.k1.x"},
        }}))
    }

    /// As its listener keeps those of consumers that are not known.
    fn unread(name: &str) -> (ObjectKey, Object) {
        let (key, mut object) = marked(name, keys::ORIGIN);
        object.forget_body();
        (key, object)
    }

    #[tokio::test]
    async fn copies_that_came_before_their_consumer_was_known_are_found_by_their_names() {
        let broker = Broker::of_one_kind().0;
        let keeper = Keeper { broker: Arc::clone(&broker) };
        let _listens = listen::listen(&broker, broker.fleet());
        broker.clusters.departures.files_read();
        broker.clusters.departures.secrets_read();
        let (homer, east) = (ClusterName::consumer("homer"), ClusterName::provider("east"));
        let key = origin_key(&homer, &broker.watches.brokered[0].kind, &ObjectKey::new("n", "a"));
        let copy = copy::name(&key);
        broker.engage_unreachable(&east);
        list(&broker, &east, vec![unread(&copy), unread("foreign")]);
        broker.engage_unreachable(&homer);
        assert_eq!(keeper.marks(), Marks::Unknown(homer.to_string()));
        list(&broker, &homer, vec![marked("a", keys::ASSIGNMENT)]);
        assert!(matches!(keeper.marks(), Marks::Found(told) if told.contains("n/a in consumer#homer")));
        // What nobody keeps of others' objects keeps nobody waiting.
        list(&broker, &east, vec![unread("foreign")]);
        assert_eq!(keeper.marks(), Marks::None);
        list(&broker, &homer, vec![unread("b")]);
        list(&broker, &east, vec![marked(&copy, keys::ORIGIN)]);
        assert_eq!(keeper.marks(), Marks::Unknown(homer.to_string()), "the consumer's is too large to be held");
    }
}
