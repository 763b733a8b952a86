//! Cuts a world that goes wrong down to what it takes.

use std::collections::BTreeSet;

use crate::panics::survived;

/// A story of which parts can be left out.
pub(crate) trait Cut: Sized {
    /// What can be left out, each by its name.
    fn parts(&self) -> Vec<String>;

    /// The story without one of its [`parts`](Self::parts).
    fn without(&self, part: &str) -> Self;

    /// Tells it. `Some`: it goes wrong.
    fn try_out(&self) -> Option<Failure>;

    /// How to tell it once more.
    fn command(&self) -> String;
}

/// How a story goes wrong.
pub(crate) struct Failure {
    /// What happens.
    pub(crate) text: String,
    pub(crate) why: String,
}

/// What was left out of a story, for its command line.
pub(crate) fn without(parts: &BTreeSet<String>) -> String {
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    if parts.is_empty() { String::new() } else { format!(" WITHOUT='{}'", parts.join(" ")) }
}

/// What a story that goes wrong takes, for people: what happens, why that is wrong, and how to see it once more. It has fewer
/// acts and faults, as far as one by one can be left out and it still goes wrong. `None`: it does not.
pub(crate) fn shrink<C: Cut>(mut story: C) -> Option<String> {
    // A world that panics has gone wrong, too.
    let tried = |story: &C| {
        let panics = |why| Some(Failure { text: "it panics, and tells no more".to_owned(), why });
        survived(|| story.try_out()).unwrap_or_else(panics)
    };
    let mut failure = tried(&story)?;
    let smaller = |story: &C| {
        story.parts().into_iter().find_map(|part| {
            let smaller = story.without(&part);
            tried(&smaller).map(|failure| (smaller, failure))
        })
    };
    while let Some(less) = smaller(&story) {
        (story, failure) = less;
    }
    let Failure { text, why } = failure;
    Some(format!("{text}\n\n{why}\nthe story of it: {}", story.command()))
}
