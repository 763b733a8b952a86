//! What is said is kept in `said/`.

use e2e::said::{is_kept, line_alike};

use crate::installation::Installation;

/// Without what is another in each run, or release: ports, versions, ages, and who holds a lease.
fn alike(at: &Installation, text: &str) -> String {
    let mut text = text.replace(&format!("of {}", env!("CARGO_PKG_VERSION")), "of RELEASE");
    for place in at.places() {
        let url = format!("https://127.0.0.1:{}", place.name().to_uppercase());
        let own = place.cluster.server_url();
        text = text.replace(&own, &url).replace(own.trim_start_matches("https://"), url.trim_start_matches("https://"));
    }
    text.lines().map(|line| line_alike(line) + "\n").collect()
}

/// Compares with what is kept.
pub(crate) fn is_said(at: &Installation, name: &str, said: &str) {
    is_kept("doctor", name, &alike(at, said));
}
