//! `Trouble`: something amiss, as the condition Degraded tells it.

/// Reason: the Broker's spec cannot be deployed.
pub const INVALID_SPEC: &str = "InvalidSpec";
/// Reason: the namespace of the cluster Secrets holds none.
pub const NO_CLUSTER_SECRETS: &str = "NoClusterSecrets";
/// Reason: the broker is told of no cluster at all.
pub const NO_CLUSTERS: &str = "NoClusters";
/// Reason: an object that is not the Broker's has a name that is needed.
pub const NAME_CONFLICT: &str = "NameConflict";
/// Reason: the API server refused an object.
pub const APPLY_FAILED: &str = "ApplyFailed";

/// Reason: what a pass has to go by could not be read.
pub const READ_FAILED: &str = "ReadFailed";
/// Reason: what a Broker leaves could not be deleted.
pub const CLEANUP_FAILED: &str = "CleanupFailed";
/// Reason: somebody changes an object back again and again.
pub const FIGHTING: &str = "Fighting";

/// Longest message of one trouble, in characters. A condition takes 32768 bytes; people read fewer.
const LONGEST: usize = 1024;

/// What is amiss, for programs and for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trouble {
    /// CamelCase word.
    pub reason: String,
    /// What, where, and what to do.
    pub message: String,
}

impl Trouble {
    /// Of a reason that conditions can hold, and a message that is cut and made one line where it has to be.
    pub fn new(reason: &str, message: &str) -> Self {
        Self { reason: word(reason), message: line(message, LONGEST) }
    }
}

/// What is left of a reason that somebody else chose: conditions take letters, digits, and `_,:` in the middle.
fn word(reason: &str) -> String {
    let kept: String = reason.chars().filter(char::is_ascii_alphanumeric).collect();
    let kept = kept.trim_start_matches(|c: char| c.is_ascii_digit());
    if kept.is_empty() { "Unknown".to_owned() } else { kept.to_owned() }
}

/// One line of at most so many characters. Where it is too long its end stays: that is where the last words are.
pub fn line(text: &str, longest: usize) -> String {
    let words: Vec<&str> =
        text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|w| !w.is_empty()).collect();
    let text = words.join(" ");
    let length = text.chars().count();
    if length <= longest {
        return text;
    }
    std::iter::once('…').chain(text.chars().skip(length - longest + 1)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_is_told_fits_into_a_condition() {
        let trouble = Trouble::new("2 bad-words!", &format!("a\n\tb {}z", "x".repeat(2000)));
        assert_eq!(trouble.reason, "badwords");
        assert_eq!(trouble.message.chars().count(), LONGEST);
        assert!(trouble.message.starts_with('…') && trouble.message.ends_with("xz"), "{}", trouble.message);
        assert_eq!(Trouble::new("", "a \n b"), Trouble { reason: "Unknown".into(), message: "a b".into() });
    }
}
