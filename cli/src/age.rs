//! How long ago something was, as kubectl says it.

use k8s_openapi::jiff::Timestamp;

/// Seconds since a time as objects have it; `None` where it is none.
pub(crate) fn seconds(time: &str, now: Timestamp) -> Option<i64> {
    Some(now.as_second() - time.parse::<Timestamp>().ok()?.as_second())
}

/// `45s`, `12m`, `5h`, `3d`.
pub(crate) fn told(seconds: i64) -> String {
    match seconds {
        ..120 => format!("{}s", seconds.max(0)),
        120..7200 => format!("{}m", seconds / 60),
        7200..172_800 => format!("{}h", seconds / 3600),
        _ => format!("{}d", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_short() {
        let told = [-5, 0, 119, 120, 7200, 172_800].map(told);
        assert_eq!(told, ["0s", "0s", "119s", "2m", "2h", "2d"]);
        let now = "2026-01-02T00:00:00Z".parse().unwrap_or_default();
        assert_eq!((seconds("2026-01-01T23:59:00Z", now), seconds("soon", now)), (Some(60), None));
    }
}
