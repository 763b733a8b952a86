//! Which clusters are engaged: from files, directories and Secrets to whoever engages them.

use std::{collections::BTreeSet, future::Future, sync::Arc, time::Duration};

use broker_api::Role;
use k8s_openapi::api::core::v1::Secret;
use runtime_fleet::{
    fleet::Fleet,
    index::{Change, Index, Lookup},
    listener::{ClusterSelector, Listener},
    object::{Object, ObjectKey},
    source::{Claims, Given, SecretSource, SourceEvent, directory, file},
    subscription::Subscription,
    watch::WatchSpec,
};
use tokio::{sync::mpsc, time::Instant};
use tokio_util::sync::CancellationToken;
use tracing::error;

/// After so long is looked again for Secrets of which nobody could tell.
const AGAIN: Duration = Duration::from_secs(1);

/// What happened to Secrets.
#[derive(Debug)]
pub enum News {
    /// This one came, changed or went.
    Changed(ObjectKey),
    /// All that this watch saw at first were told of: its place among those that are listened to.
    Listed(usize),
}

/// Who engages clusters.
pub trait Engages: Send {
    /// A Secret, by whichever watch sees it.
    fn secret(&self, key: &ObjectKey) -> Lookup;

    /// The roles that Secrets of a namespace may give.
    fn roles(&self, namespace: &str) -> Vec<Role>;

    /// The first list of a watch of Secrets was taken in to its end.
    fn listed(&mut self, watch: usize);

    /// A cluster came, changed or went, or cannot be used.
    fn take(&mut self, event: SourceEvent) -> impl Future<Output = ()> + Send;
}

/// Kubeconfigs in files.
#[derive(Debug, Default)]
pub struct Files {
    /// Where they are.
    pub given: Vec<Given>,
    /// Whether they may name other files, and programs that give credentials.
    pub allow_local_credentials: bool,
}

/// Secrets that watches see.
struct Secrets {
    news: mpsc::UnboundedSender<News>,
    watch: usize,
}

impl Listener for Secrets {
    fn changed(&self, _index: &Index, change: &Change) {
        let _ = self.news.send(News::Changed(change.key.clone()));
    }

    fn completed(&self, _index: &Index) {
        let _ = self.news.send(News::Listed(self.watch));
    }
}

/// Listens to Secrets that may hold kubeconfigs.
pub fn listen(
    fleet: &Arc<Fleet>,
    hub: &ClusterSelector,
    watches: &[Arc<WatchSpec>],
    news: &mpsc::UnboundedSender<News>,
) -> Vec<Subscription> {
    let listener = |watch| Arc::new(Secrets { news: news.clone(), watch });
    watches.iter().enumerate().map(|(watch, spec)| fleet.listen(hub, spec, &listener(watch))).collect()
}

/// Follows files and Secrets until `stop`, or until nobody listens to Secrets any more.
pub async fn run<E: Engages>(
    mut engages: E,
    files: Files,
    mut secrets: SecretSource,
    mut news: mpsc::UnboundedReceiver<News>,
    stop: CancellationToken,
) {
    let (sender, mut events) = mpsc::channel(64);
    let mut claims = Claims::new(files.given.len());
    for Given { role, path, directory: is_directory } in files.given {
        let watch = if is_directory { directory::watch } else { file::watch };
        watch(role, path, files.allow_local_credentials, sender.clone(), stop.clone());
    }
    let mut doubtful = Doubtful::default();
    loop {
        let news = tokio::select! {
            () = stop.cancelled() => return,
            Some(event) = events.recv() => {
                take(&mut engages, &mut claims, vec![event]).await;
                continue;
            }
            news = news.recv() => match news {
                Some(news) => Some(news),
                // Nobody listens any more.
                None => return,
            },
            () = doubtful.again() => None,
        };
        let keys = match news {
            Some(News::Changed(key)) => vec![key],
            // Whoever is told that all were listed is told of all first.
            Some(News::Listed(watch)) => {
                doubtful.listed.push(watch);
                doubtful.take()
            }
            None => doubtful.take(),
        };
        for key in keys {
            doubtful.unknown.remove(&key);
            let arrived = match engages.secret(&key) {
                Lookup::Found(object) => match read(&object) {
                    Ok(secret) => secrets.apply(&secret, &engages.roles(&key.namespace)),
                    Err(why) => {
                        error!(secret = %key, %why, "it cannot be read; what it said before stays");
                        continue;
                    }
                },
                Lookup::Absent => secrets.remove(&key.namespace, &key.name),
                // Its cluster is not to be left because nobody can tell.
                Lookup::Unknown => {
                    doubtful.add(key);
                    continue;
                }
            };
            take(&mut engages, &mut claims, arrived).await;
        }
        if doubtful.unknown.is_empty() {
            doubtful.listed.drain(..).for_each(|watch| engages.listed(watch));
        }
    }
}

/// Secrets of which nobody could tell whether they are there.
#[derive(Default)]
struct Doubtful {
    unknown: BTreeSet<ObjectKey>,
    /// When they are looked for again.
    again: Option<Instant>,
    /// Watches whose first list is complete, and of which is told when nothing is unknown any more.
    listed: Vec<usize>,
}

impl Doubtful {
    fn add(&mut self, key: ObjectKey) {
        self.unknown.insert(key);
        self.again.get_or_insert_with(|| Instant::now() + AGAIN);
    }

    /// All of them, to be looked for now.
    fn take(&mut self) -> Vec<ObjectKey> {
        self.again = None;
        std::mem::take(&mut self.unknown).into_iter().collect()
    }

    /// Waits until they are to be looked for again.
    async fn again(&self) {
        match self.again {
            Some(at) => tokio::time::sleep_until(at).await,
            None => std::future::pending().await,
        }
    }
}

async fn take<E: Engages>(engages: &mut E, claims: &mut Claims, arrived: Vec<SourceEvent>) {
    for event in arrived {
        for event in claims.apply(event) {
            engages.take(event).await;
        }
    }
}

/// The parsers' own words could quote what they read: they are not told.
fn read(object: &Object) -> Result<Secret, &'static str> {
    let value = object.value().map_err(|_| "it is too much, or nests too deep")?;
    serde_json::from_value(value).map_err(|_| "it is not what a Secret looks like")
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use runtime_fleet::{conventions::Conventions, source::secret::KEY};
    use serde_json::json;
    use tokio::sync::oneshot;

    use super::*;
    use crate::stub::{CONVENTIONS, KUBECONFIG};

    /// Answers from a list, one after the other, and notes what it is told.
    struct Told {
        answers: std::sync::Mutex<VecDeque<Lookup>>,
        listed: Arc<std::sync::Mutex<Vec<usize>>>,
        events: Vec<String>,
        done: Option<oneshot::Sender<Vec<String>>>,
    }

    impl Engages for Told {
        fn secret(&self, _key: &ObjectKey) -> Lookup {
            self.answers.lock().unwrap().pop_front().unwrap()
        }

        fn roles(&self, _namespace: &str) -> Vec<Role> {
            vec![Role::Provider]
        }

        fn listed(&mut self, watch: usize) {
            self.listed.lock().unwrap().push(watch);
        }

        async fn take(&mut self, event: SourceEvent) {
            let told = match event {
                SourceEvent::Upsert { name, .. } => format!("+{name}"),
                SourceEvent::Removed { name, .. } => format!("-{name}"),
                other => format!("{other:?}"),
            };
            let is_last = told.starts_with('-');
            self.events.push(told);
            if let Some(done) = self.done.take_if(|_| is_last) {
                done.send(std::mem::take(&mut self.events)).unwrap();
            }
        }
    }

    fn secret(conventions: &'static Conventions, data: &serde_json::Value) -> Lookup {
        let labels = json!({conventions.role: "provider"});
        let value = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "east", "namespace": "n", "uid": "u", "resourceVersion": "7", "labels": labels}, "data": data});
        Lookup::Found(Arc::new(Object::parse(value.to_string().as_bytes(), None, conventions).unwrap().1))
    }

    /// Unknown is never absent, and what cannot be read is not absent either.
    #[tokio::test(start_paused = true)]
    async fn a_cluster_is_left_when_its_secret_is_gone_and_not_when_nobody_can_tell() {
        let data = k8s_openapi::ByteString(KUBECONFIG.as_bytes().to_vec());
        let sound = secret(&CONVENTIONS, &json!({KEY: data}));
        let broken = secret(&CONVENTIONS, &json!("no map"));
        let answers =
            VecDeque::from([Lookup::Unknown, Lookup::Unknown, sound, Lookup::Unknown, broken, Lookup::Absent]);
        let (done, told) = oneshot::channel();
        let listed = Arc::default();
        let all = Arc::clone(&listed);
        let engages =
            Told { answers: std::sync::Mutex::new(answers), listed: all, events: Vec::new(), done: Some(done) };
        let (sender, news) = mpsc::unbounded_channel();
        let stop = CancellationToken::new();
        let running = tokio::spawn(run(engages, Files::default(), SecretSource::new(&CONVENTIONS), news, stop.clone()));
        let changed = || sender.send(News::Changed(ObjectKey::new("n", "east"))).unwrap();
        // Unknown, and found when it is looked for again; until then not all is known that was listed.
        changed();
        sender.send(News::Listed(3)).unwrap();
        tokio::time::sleep(AGAIN / 2).await;
        assert!(listed.lock().unwrap().is_empty());
        tokio::time::sleep(AGAIN * 2).await;
        assert_eq!(*listed.lock().unwrap(), [3]);
        // Unknown, and cannot be read when it is looked for again.
        changed();
        tokio::time::sleep(AGAIN * 2).await;
        changed();
        assert_eq!(told.await.unwrap(), ["+provider#east", "-provider#east"]);
        stop.cancel();
        running.await.unwrap();
    }
}
