//! This program's own command line, in the forms that the Go operator's Deployments have: `-leader-elect=true`.

use resource_broker::command_line::WITHOUT_EFFECT;

/// The broker makes of it the log's format; here that is a flag of its own.
const ENCODER: (&str, bool) = ("zap-encoder", true);

/// Arguments with two dashes, without those that have no effect; and a line about each of these.
pub fn normalize(args: impl IntoIterator<Item = String>) -> (Vec<String>, Vec<String>) {
    let mut args = args.into_iter();
    let (mut kept, mut notes) = (Vec::new(), Vec::new());
    while let Some(arg) = args.next() {
        let long = arg.strip_prefix("--").or_else(|| arg.strip_prefix('-').filter(|rest| rest.len() > 1));
        let Some(long) = long else {
            kept.push(arg);
            continue;
        };
        let (flag, value) = long.split_once('=').map_or((long, None), |(flag, value)| (flag, Some(value)));
        match WITHOUT_EFFECT.iter().chain([&ENCODER]).find(|(name, _)| *name == flag) {
            Some((_, takes_value)) => {
                notes.push(format!("--{flag} has no effect in this operator; you may remove it"));
                if *takes_value && value.is_none() {
                    args.next();
                }
            }
            None => kept.push(format!("--{long}")),
        }
    }
    (kept, notes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_dash_is_as_good_as_two() {
        let args = ["-leader-elect=true", "-zap-log-level", "debug", "--metrics-bind-address", ":1", "-h"];
        let (kept, notes) = normalize(args.map(str::to_owned));
        assert_eq!(kept, ["--leader-elect=true", "--metrics-bind-address", ":1", "-h"]);
        assert!(matches!(&notes[..], [note] if note.contains("--zap-log-level")), "{notes:?}");
    }
}
