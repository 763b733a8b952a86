//! One pass over one Bucket. It writes only what differs: a restart writes nothing.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use kube::{
    Api, Client, ResourceExt as _,
    runtime::{
        controller::Action,
        finalizer::{Error as FinalizerError, Event, finalizer},
        reflector::ObjectRef,
    },
};
use tokio::time::timeout;

use crate::{
    bucket::Bucket,
    secret,
    status::{self, Outcome},
    store::Store,
};

/// Keeps a Bucket until what was made for it is removed. EDIT: a domain of yours, and your provider's name.
const FINALIZER: &str = "storage.example.org/bucket-provider";

/// An API that does not answer within this time holds up nothing but its own object.
const DEADLINE: Duration = Duration::from_secs(30);

/// When it is looked again how far something is.
const SOON: Duration = Duration::from_secs(1);

/// What stands in the way may leave without an event.
const LATER: Duration = Duration::from_mins(5);

/// Why a pass failed. The object is tried again, see [`retry`].
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An API server did not answer as hoped.
    #[error("{0}")]
    Pass(Box<FinalizerError<kube::Error>>),
    /// It did not answer.
    #[error("no answer within {} s", DEADLINE.as_secs())]
    Deadline,
}

/// What every pass needs.
pub struct Context {
    client: Client,
    store: Store,
    /// Failures in a row, by object.
    failures: Mutex<HashMap<ObjectRef<Bucket>, u32>>,
}

impl Context {
    /// For the cluster of the client.
    pub fn new(client: Client) -> Self {
        Self { store: Store::new(client.clone()), client, failures: Mutex::default() }
    }

    /// Counts a failure. How long to wait: a second, doubled each time, two minutes at the most.
    fn failed(&self, object: ObjectRef<Bucket>) -> Duration {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        let count = failures.entry(object).or_default();
        *count = count.saturating_add(1);
        Duration::from_secs(1 << (*count - 1).min(7))
    }

    fn succeeded(&self, object: &ObjectRef<Bucket>) {
        self.failures.lock().unwrap_or_else(PoisonError::into_inner).remove(object);
    }
}

/// Brings one Bucket to where it should be, or fails and is tried again.
pub async fn reconcile(bucket: Arc<Bucket>, context: Arc<Context>) -> Result<Action, Error> {
    let object = ObjectRef::from(&*bucket);
    let buckets = Api::<Bucket>::namespaced(context.client.clone(), &bucket.namespace().unwrap_or_default());
    let pass = finalizer(&buckets, FINALIZER, bucket, |event| act(event, &context));
    let passed = timeout(DEADLINE, pass).await.map_err(|_| Error::Deadline)?;
    let action = passed.map_err(|error| Error::Pass(Box::new(error)))?;
    context.succeeded(&object);
    Ok(action)
}

/// When a Bucket whose pass failed is tried again.
pub fn retry(bucket: Arc<Bucket>, error: &Error, context: Arc<Context>) -> Action {
    let object = ObjectRef::from(&*bucket);
    let wait = context.failed(object.clone());
    tracing::warn!(%object, %error, "tried again in {} s", wait.as_secs());
    Action::requeue(wait)
}

async fn act(event: Event<Bucket>, context: &Context) -> Result<Action, kube::Error> {
    match event {
        Event::Apply(bucket) => serve(&bucket, context).await,
        Event::Cleanup(bucket) => {
            // The Secret follows its owner by itself.
            context.store.remove(&bucket).await?;
            Ok(Action::await_change())
        }
    }
}

/// The thing first, then what its user gets, then the status, which speaks only of what is there.
async fn serve(bucket: &Bucket, context: &Context) -> Result<Action, kube::Error> {
    let mut outcome = context.store.make(bucket).await?;
    if outcome == Outcome::Made {
        outcome = secret::keep(&context.client, bucket).await?;
    }
    status::report(&context.client, bucket, &outcome).await?;
    Ok(match outcome {
        Outcome::Making => Action::requeue(SOON),
        Outcome::Made => Action::await_change(),
        Outcome::Refused(..) => Action::requeue(LATER),
    })
}
