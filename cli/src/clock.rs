//! How far an API server's clock is from ours, by the Date header of an answer.

use k8s_openapi::jiff::{Timestamp, fmt::rfc2822::DateTimeParser};

use crate::age;

/// Seconds that two clocks may differ before it is worth a word.
const APART: i64 = 5;

/// Seconds that it is ahead of ours, or behind where negative; 0 as far as can be told. `before` and `after`: when the
/// request was sent and when the answer was there, by our clock. `None`: the header is no time.
pub(crate) fn ahead(date: &str, before: Timestamp, after: Timestamp) -> Option<i64> {
    let theirs = DateTimeParser::new().parse_timestamp(date).ok()?.as_millisecond();
    // The header has whole seconds: it was written somewhere in the one that begins then.
    let (least, most) = (theirs - after.as_millisecond(), theirs + 999 - before.as_millisecond());
    Some(if least > 0 {
        least / 1000
    } else if most < 0 {
        most / 1000
    } else {
        0
    })
}

/// What is said of a clock that is so far ahead of ours, or behind; `None`: they are together.
pub(crate) fn apart(ahead: i64) -> Option<String> {
    let word = if ahead > 0 { "ahead of" } else { "behind" };
    (ahead.abs() > APART).then(|| format!("its clock is {} {word} the one here", age::told(ahead.abs())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_cannot_be_the_way_of_the_answer_counts() {
        let at = |text: &str| text.parse::<Timestamp>().unwrap_or_default();
        let (before, after) = (at("2026-01-01T00:00:10.2Z"), at("2026-01-01T00:00:10.9Z"));
        let told = |date: &str| ahead(date, before, after);
        assert_eq!(told("Thu, 01 Jan 2026 00:00:10 GMT"), Some(0));
        assert_eq!(told("Thu, 01 Jan 2026 00:00:09 GMT"), Some(0), "a part of a second");
        assert_eq!(told("Thu, 01 Jan 2026 00:00:31 GMT"), Some(20));
        assert_eq!(told("Wed, 31 Dec 2025 23:59:09 GMT"), Some(-60));
        assert_eq!(told("yesterday"), None);
    }

    #[test]
    fn it_is_told_which_of_both_is_ahead() {
        assert_eq!([-APART, 0, APART].map(apart), [None, None, None]);
        assert_eq!(apart(APART + 1).as_deref(), Some("its clock is 6s ahead of the one here"));
        assert_eq!(apart(-APART - 1).as_deref(), Some("its clock is 6s behind the one here"));
    }
}
