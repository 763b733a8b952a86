//! Queries of requests, as stubs of an API server read them.

/// The value of a parameter, as it was sent.
pub(crate) fn parameter<'q>(query: &'q str, name: &str) -> Option<&'q str> {
    query.split('&').find_map(|part| part.strip_prefix(name)?.strip_prefix('='))
}

/// Whether a watch is asked for.
pub(crate) fn is_watch(query: &str) -> bool {
    matches!(parameter(query, "watch"), Some("1" | "true"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_found_by_their_whole_names() {
        let query = "watch=1&timeoutSeconds=250&limit=";
        assert!(is_watch(query) && !is_watch("watches=1") && !is_watch(""));
        assert_eq!((parameter(query, "timeoutSeconds"), parameter(query, "timeout")), (Some("250"), None));
        assert_eq!(parameter(query, "limit"), Some(""));
    }
}
