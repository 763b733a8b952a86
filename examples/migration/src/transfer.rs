//! What the Jobs of a migration do. Each may run again after it failed or was killed half way: the result is the same.

use crate::{
    content::Entries,
    remote::{Remote, RemoteError},
};

/// How many keys a message names.
const NAMED: usize = 5;

/// Why a Job failed.
#[derive(Debug, thiserror::Error)]
pub enum TransferError {
    /// One of the stores could not be used.
    #[error(transparent)]
    Store(#[from] RemoteError),
    /// The stores do not hold the same.
    #[error("{count} entries differ, among them {keys:?}")]
    Different {
        /// How many.
        count: usize,
        /// The first of their keys.
        keys: Vec<String>,
    },
}

/// Holds writers of the old store off for `seconds`, and puts all its entries into the new one. Returns how many.
///
/// First the hold, then the export: what was written before is in the export, what comes later is refused, so that
/// nothing is written that nobody will find. When this fails, writers are let in again at once; when it is killed, the
/// hold ends by itself.
pub async fn copy(old: &Remote, new: &Remote, seconds: u32) -> Result<usize, TransferError> {
    old.hold(seconds).await?;
    let copied = async {
        let entries = old.entries().await?;
        new.replace(&entries).await?;
        Ok(entries.len())
    };
    released_on_failure(old, copied.await).await
}

/// Compares both stores. Returns how many entries they have.
pub async fn verify(old: &Remote, new: &Remote) -> Result<usize, TransferError> {
    let compared = async { compare(&old.entries().await?, &new.entries().await?) };
    released_on_failure(old, compared.await).await
}

/// Holds writers of the old store off once more, for those that still have its address: it is about to go.
pub async fn seal(old: &Remote, seconds: u32) -> Result<(), TransferError> {
    Ok(old.hold(seconds).await?)
}

/// After a failure the old store stays in use. Should this fail too, the hold ends by itself.
async fn released_on_failure<T>(old: &Remote, result: Result<T, TransferError>) -> Result<T, TransferError> {
    if result.is_err() {
        let _ = old.hold(0).await;
    }
    result
}

fn compare(old: &Entries, new: &Entries) -> Result<usize, TransferError> {
    let changed = old.iter().filter(|&(key, value)| new.get(key) != Some(value)).map(|(key, _)| key);
    let added = new.keys().filter(|key| !old.contains_key(*key));
    let keys: Vec<&String> = changed.chain(added).collect();
    if keys.is_empty() {
        return Ok(old.len());
    }
    Err(TransferError::Different { count: keys.len(), keys: keys.into_iter().take(NAMED).cloned().collect() })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn entries(pairs: &[(&str, &str)]) -> Entries {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn every_difference_is_found() {
        let old = entries(&[("a", "1"), ("b", "2")]);
        assert_eq!(compare(&old, &old).unwrap(), 2);
        for (new, key) in [
            (entries(&[("a", "1")]), "b"),
            (entries(&[("a", "1"), ("b", "3")]), "b"),
            (entries(&[("a", "1"), ("b", "2"), ("c", "3")]), "c"),
        ] {
            let error = compare(&old, &new).unwrap_err();
            assert!(matches!(&error, TransferError::Different { count: 1, keys } if keys == &[key]), "{error}");
        }
    }
}
