//! What may have been made is waited for, until its watch shows it or its API server says, late enough, that there is none.

use std::{fmt::Display, sync::Arc, time::Duration};

use broker_api::ClusterName;
use runtime_effect::{
    kind::Kind,
    write::{Op, Write},
};
use runtime_fleet::{
    crash::spawn,
    object::{Object, ObjectKey},
    write::Writer,
};
use tokio::time::{Instant, sleep, sleep_until};
use tracing::debug;

use crate::{
    engine::{Engine, Reachable},
    hidden::HiddenObject,
    machine::Machine,
};

/// API servers give up what they have begun after 34 s: that something is not there says nothing before.
const SURE: Duration = Duration::from_secs(40);

/// Wait before an API server that did not answer is asked again: the first, which doubles, and the longest.
const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(30);

impl Engine {
    /// Where there may be something that was to be made for a key, and of which kind it is, although no watch shows it: no answer
    /// came to the write.
    pub fn hidden(&self, key: &impl Display) -> Vec<(ClusterName, Kind)> {
        self.hidden.of(|| key.to_string(), self.fleet())
    }

    /// Waits until an object is seen, or its API server says that there is none.
    async fn settle(&self, key: &str, one: &HiddenObject) {
        let (mut wait, mut failures) = (FIRST, 0);
        while let Some(since) = self.hidden.since(key, one, self.fleet()) {
            if since.elapsed() < SURE {
                sleep_until(since + SURE).await;
                continue;
            }
            match self.is_there(one, failures).await {
                // Unless it was sent again meanwhile.
                Some(false) if self.hidden.since(key, one, self.fleet()) == Some(since) => break,
                Some(false) => continue,
                // The watch will tell.
                Some(true) => {}
                None => failures += 1,
            }
            sleep(wait).await;
            wait = (wait * 2).min(LONGEST);
        }
        self.hidden.remove(key, one);
    }

    /// Whether its API server says that there is such an object; `None`: it does not answer.
    async fn is_there(&self, one: &HiddenObject, failures: u32) -> Option<bool> {
        let Reachable { cluster, caller, kind } = self.reachable(one.cluster.name(), &Kind::from(&one.spec.gvk))?;
        match Writer::new(&caller.after(failures)).get(&kind, &one.object).await {
            Ok(found) => Some(found.is_some_and(|found| is_shown(one, &found))),
            Err(error) => {
                debug!(cluster = %cluster.name(), object = %one.object, %error, "nobody knows whether it was made");
                None
            }
        }
    }
}

/// Whether the watch shows an object: somebody else's, which has taken the name, it may not.
fn is_shown(one: &HiddenObject, found: &Object) -> bool {
    let labels = found.marks().labels;
    one.spec.label_selector.iter().flat_map(|all| all.split(',')).all(|label| match label.split_once('=') {
        Some((name, value)) => labels.get(name).is_some_and(|held| held == value),
        None => labels.contains_key(label),
    })
}

/// A write was given up without an answer: nobody knows whether it has made its object. The key is looked at again once
/// somebody does.
pub(crate) fn wait_for<M: Machine>(machine: &M, key: &M::Key, write: &Write<M::Subject>) {
    let Op::Create(_) = &write.op else { return };
    let engine = Arc::clone(machine.engine());
    let (Some(cluster), Some(spec)) = (engine.fleet().cluster(&write.cluster), machine.sees(key, write)) else {
        return;
    };
    let object = ObjectKey::new(write.namespace.as_str(), write.name.as_str());
    let one = HiddenObject { cluster, spec, object, since: Instant::now() };
    if engine.hidden.add(key.to_string(), one.clone()) {
        let (queue, key) = (Arc::clone(machine.queue()), key.clone());
        spawn(async move {
            engine.settle(&key.to_string(), &one).await;
            queue.add(key);
        });
    }
}

#[cfg(test)]
mod tests {
    use runtime_fleet::{
        GroupVersionKind,
        index::{Change, Index, Source},
        listener::{ClusterSelector, Listener},
        subscription::Subscription,
        watch::WatchSpec,
    };

    use super::*;
    use crate::stub;

    struct Deaf;

    impl Listener for Deaf {
        fn changed(&self, _: &Index, _: &Change) {}
    }

    fn watch(engine: &Engine, of: &HiddenObject) -> Subscription {
        engine.fleet().listen(&ClusterSelector::Name(stub::name()), &of.spec, &Arc::new(Deaf))
    }

    fn object(labels: &str) -> Object {
        let raw = format!(r#"{{"metadata":{{"name":"a","uid":"u","resourceVersion":"5","labels":{labels}}}}}"#);
        Object::parse(raw.as_bytes(), None, &stub::CONVENTIONS).unwrap().1
    }

    fn of(engine: &Engine, spec: WatchSpec) -> HiddenObject {
        let object = ObjectKey::new("n", "a");
        HiddenObject { cluster: stub::cluster(engine), spec: Arc::new(spec), object, since: Instant::now() }
    }

    fn maps() -> WatchSpec {
        WatchSpec::all(GroupVersionKind::gvk("", "v1", "ConfigMap"))
    }

    fn note(engine: &Engine, of: &HiddenObject) -> bool {
        engine.hidden.add("web".to_owned(), of.clone())
    }

    #[tokio::test(start_paused = true)]
    async fn what_may_have_been_made_is_hidden_until_it_is_seen() {
        let engine = stub::engine(1);
        let one = of(&engine, maps());
        let _watch = watch(&engine, &one);
        let index = one.cluster.index(&one.spec).unwrap();
        assert!(note(&engine, &one) && !note(&engine, &one), "it is waited for once");
        assert_eq!(engine.hidden(&"web"), [(stub::name(), Kind::core("ConfigMap"))]);
        assert!(engine.hidden(&"mail").is_empty());
        index.upsert(one.object.clone(), object("{}"), Source::Watch);
        assert!(engine.hidden(&"web").is_empty());
        engine.settle("web", &one).await;
        assert!(engine.hidden.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn of_a_cluster_that_has_left_nothing_is_waited_for() {
        let engine = stub::engine(1);
        let one = of(&engine, maps());
        let _watch = watch(&engine, &one);
        note(&engine, &one);
        engine.fleet().disengage(&stub::name()).await;
        assert!(engine.hidden(&"web").is_empty());
        engine.settle("web", &one).await;
        assert!(engine.hidden.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn an_api_server_that_does_not_answer_is_waited_for() {
        let engine = stub::engine(1);
        let one = of(&engine, maps());
        let _watch = watch(&engine, &one);
        note(&engine, &one);
        let waits = tokio::time::timeout(Duration::from_hours(1), engine.settle("web", &one)).await;
        assert!(waits.is_err() && !engine.hidden(&"web").is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn what_its_watch_does_not_show_is_not_waited_for() {
        let engine = stub::engine(1);
        let shows = |selector: &str, labels: &str| is_shown(&of(&engine, maps().labelled(selector)), &object(labels));
        assert!(is_shown(&of(&engine, maps()), &object("{}")));
        assert!(shows("a", r#"{"a":"1"}"#) && !shows("a", r#"{"b":"1"}"#));
        assert!(shows("a=1,b", r#"{"a":"1","b":"2"}"#) && !shows("a=1,b", r#"{"a":"2","b":"2"}"#));
    }
}
