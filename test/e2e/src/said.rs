//! `Said`: what a command of `kubectl broker` said, and what of it is kept beside the tests in `said/`.

use std::{fs, path::PathBuf, process::Stdio};

use serde_json::{Value, json};
use tokio::process::Command;

use crate::schema;

/// Fields whose numbers are others in each run.
const DRAWN: [&str; 3] = ["ageSeconds", "score", "looksAgainInSeconds"];

/// What a command said.
#[derive(Debug, Clone)]
pub struct Said {
    args: String,
    /// How it ended.
    pub code: Option<i32>,
    /// On standard output.
    pub out: String,
    /// On standard error.
    pub err: String,
}

/// Runs `kubectl broker` with these arguments, and whatever else `prepare` gives it, which is not told.
pub async fn run(args: &[&str], prepare: impl FnOnce(&mut Command)) -> Said {
    let program = harness::binary("kubectl-broker").unwrap_or_else(|error| panic!("{error:#}"));
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::null()).kill_on_drop(true);
    prepare(&mut command);
    let output = command.output().await.unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Said { args: args.join(" "), code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
}

impl Said {
    /// As a person sees it.
    pub fn shown(&self) -> String {
        let Self { args, code, out, err } = self;
        let end = match code {
            Some(0) => String::new(),
            Some(code) => format!("(exit code {code})\n"),
            None => "(killed)\n".to_owned(),
        };
        format!("$ kubectl broker {args}\n{err}{out}{end}")
    }

    /// Its JSON, which is as the command's schema says.
    pub fn json(&self) -> Value {
        let told = serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {}", self.shown()));
        schema::fits(self.args.split(' ').next().unwrap_or_default(), &told);
        told
    }
}

/// JSON without what is another in each run.
pub fn json_alike(mut value: Value) -> Value {
    match &mut value {
        Value::Object(fields) => {
            for (name, field) in fields {
                let drawn = DRAWN.contains(&name.as_str()) && field.is_number();
                *field = if drawn { json!(0) } else { json_alike(field.take()) };
            }
        }
        Value::Array(all) => all.iter_mut().for_each(|one| *one = json_alike(one.take())),
        Value::String(text) => *text = line_alike(text),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
    value
}

/// A line without what is another in each run: ages, times, scores, versions, and who holds a lease.
pub fn line_alike(line: &str) -> String {
    line.split(' ').map(word_alike).collect::<Vec<_>>().join(" ")
}

/// The same of a text, whose columns are as wide as what is in them: two spaces are between any two.
pub fn text_alike(text: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let indented = line.len() - line.trim_start().len();
        out.push_str(&line[..indented]);
        let columns = line.split("  ").map(str::trim).filter(|column| !column.is_empty());
        out.push_str(&columns.map(line_alike).collect::<Vec<_>>().join("  "));
        out.push('\n');
    }
    out
}

fn word_alike(word: &str) -> String {
    let bare = word.trim_end_matches([')', ',', ':', ';', '.']);
    let end = &word[bare.len()..];
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if bare.strip_suffix(['s', 'm', 'h', 'd']).is_some_and(is_number) {
        return format!("AGE{end}");
    }
    if bare.len() >= 20
        && bare.is_ascii()
        && bare.ends_with('Z')
        && bare.as_bytes()[10] == b'T'
        && is_number(&bare[..4])
    {
        return format!("TIME{end}");
    }
    if bare.parse::<f64>().is_ok() && bare.contains('.') {
        return format!("N{end}");
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

/// Compares with what a suite keeps. `UPDATE_SAID=1` keeps what is said now.
pub fn is_kept(suite: &str, name: &str, now: &str) {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests").join(suite).join("said");
    let file = folder.join(name);
    if std::env::var_os("UPDATE_SAID").is_some() {
        fs::create_dir_all(&folder).unwrap();
        fs::write(&file, now).unwrap();
    }
    let kept = fs::read_to_string(&file).unwrap_or_default();
    assert_eq!(now, kept, "{name} in tests/{suite}/said: UPDATE_SAID=1 keeps what is said now");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_another_in_each_run_is_alike() {
        let words =
            "12m 5s: v1.36.2 (NoProvider) v1alpha1 host_0123456789abcdef spec.gvr 1 0.71) 2026-01-01T00:00:00Z, 5)";
        let alike = "AGE AGE: VERSION (NoProvider) v1alpha1 HOLDER spec.gvr 1 N) TIME, 5)";
        assert_eq!(line_alike(words), alike);
        assert_eq!(text_alike("  NAME     AGE\n  a b      7s\n"), "  NAME  AGE\n  a b  AGE\n");
        let told = json!({"items": [{"ageSeconds": 7, "placed": 7, "why": "for 3h"}], "score": null});
        let alike = json!({"items": [{"ageSeconds": 0, "placed": 7, "why": "for AGE"}], "score": null});
        assert_eq!(json_alike(told), alike);
    }
}
