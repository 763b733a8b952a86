//! What is said is kept in `said/`.

use std::{fs, path::PathBuf};

use crate::installation::Installation;

/// Without what is another in each run: ports, versions, ages, and who holds a lease.
fn alike(at: &Installation, text: &str) -> String {
    let mut text = text.to_owned();
    for place in at.places() {
        let url = format!("https://127.0.0.1:{}", place.name().to_uppercase());
        let own = place.cluster.server_url();
        text = text.replace(&own, &url).replace(own.trim_start_matches("https://"), url.trim_start_matches("https://"));
    }
    let lines = text.lines().map(|line| line.split(' ').map(word_alike).collect::<Vec<_>>().join(" ") + "\n");
    lines.collect::<Vec<_>>().concat()
}

fn word_alike(word: &str) -> String {
    let bare = word.trim_end_matches([')', ',', ':', ';', '.']);
    let end = &word[bare.len()..];
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if bare.strip_suffix(['s', 'm', 'h', 'd']).is_some_and(is_number) {
        return format!("AGE{end}");
    }
    if bare.strip_prefix('v').and_then(|rest| rest.split_once('.')).is_some_and(|(major, _)| is_number(major)) {
        return format!("VERSION{end}");
    }
    let is_drawn = |text: &str| text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if bare.rsplit_once('_').is_some_and(|(_, drawn)| is_drawn(drawn)) {
        return format!("HOLDER{end}");
    }
    word.to_owned()
}

/// Compares with what is kept. `UPDATE_SAID=1` keeps what is said now.
pub(crate) fn is_said(at: &Installation, name: &str, said: &str) {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/doctor/said").join(name);
    let now = alike(at, said);
    if std::env::var_os("UPDATE_SAID").is_some() {
        fs::write(&file, &now).unwrap();
    }
    let kept = fs::read_to_string(&file).unwrap_or_default();
    assert_eq!(now, kept, "{name} in tests/doctor/said: UPDATE_SAID=1 keeps what is said now");
}

#[test]
fn what_is_another_in_each_run_is_alike() {
    let words = ["12m", "5s:", "v1.36.2", "(NoProvider)", "v1alpha1", "host_0123456789abcdef", "spec.gvr", "1"];
    let alike = ["AGE", "AGE:", "VERSION", "(NoProvider)", "v1alpha1", "HOLDER", "spec.gvr", "1"];
    assert_eq!(words.map(word_alike), alike);
}
