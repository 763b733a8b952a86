//! The user of the store: an application that reads its Secret, writes, and remembers what was confirmed to it.

use std::time::Duration;

use crate::{access::Access, content::Entries, remote::Remote};
use k8s_openapi::api::core::v1::Secret;
use kube::Api;

/// Name of the Secret in the consumer cluster.
pub(crate) const SECRET: &str = "cart-access";
/// A pause between two writes: it is an application, not a load test.
const PAUSE: Duration = Duration::from_millis(5);
/// How many different keys it uses.
const KEYS: usize = 200;

/// What the user did and saw.
#[derive(Default)]
pub(crate) struct Diary {
    /// What was confirmed to it: exactly this has to be in the store.
    pub(crate) written: Entries,
    /// How many writes were confirmed.
    pub(crate) writes: usize,
    /// How many were refused because the store was being migrated, and done again later.
    pub(crate) held: usize,
    /// How often its Secret was not there.
    pub(crate) missing: usize,
    /// Addresses that its Secret named, in their order.
    pub(crate) urls: Vec<String>,
}

/// Writes one entry after another while `work` is done.
pub(crate) async fn beside<T>(
    secrets: &Api<Secret>,
    diary: &mut Diary,
    work: impl Future<Output = anyhow::Result<T>>,
) -> anyhow::Result<T> {
    let mut tick = tokio::time::interval(PAUSE);
    tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut work = Box::pin(work);
    loop {
        tokio::select! {
            done = &mut work => return done,
            _ = tick.tick() => write(secrets, diary).await?,
        }
    }
}

/// One write, with the Secret as it is now. One that is held off is done again at the next turn.
pub(crate) async fn write(secrets: &Api<Secret>, diary: &mut Diary) -> anyhow::Result<()> {
    let Some(access) = secrets.get_opt(SECRET).await?.as_ref().and_then(Access::from_secret) else {
        diary.missing += 1;
        return Ok(());
    };
    let remote = Remote::new(access)?;
    if diary.urls.last().is_none_or(|last| last != remote.url()) {
        diary.urls.push(remote.url().to_owned());
    }
    let (key, value) = (format!("item-{}", diary.writes % KEYS), format!("write {}", diary.writes));
    match remote.put(&key, &value).await {
        Ok(()) => {
            diary.writes += 1;
            diary.written.insert(key, value);
        }
        Err(error) if error.is_held() => diary.held += 1,
        Err(error) => return Err(error.into()),
    }
    Ok(())
}

/// What the store holds that the user has now.
pub(crate) async fn entries(secrets: &Api<Secret>) -> anyhow::Result<Entries> {
    let access = Access::from_secret(&secrets.get(SECRET).await?);
    let access = access.ok_or_else(|| anyhow::anyhow!("Secret {SECRET} lacks url or token"))?;
    Ok(Remote::new(access)?.entries().await?)
}
