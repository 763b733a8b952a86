//! The arguments of a container, made to fit on a machine that all pods share. Pure.
//!
//! In a pod `:8081` is the pod's own port. Here two replicas would fight for it, so each gets addresses that are free.

/// Flag of the address of probes.
const HEALTH: &str = "health-probe-bind-address";
/// Flag of the address of metrics.
const METRICS: &str = "metrics-bind-address";

/// What a program is started with here.
#[derive(Debug, PartialEq, Eq)]
pub struct Arguments {
    /// All arguments.
    pub args: Vec<String>,
    /// Where it answers probes, if it does.
    pub health: Option<String>,
}

/// Replaces the addresses that `args` say the program should listen on by free ones, for each of which `free` is called
/// once. `0`, which is off, stays. With `probed` a program that does not say where it answers probes is told.
pub fn localise<E>(
    args: Vec<String>,
    probed: bool,
    mut free: impl FnMut() -> Result<String, E>,
) -> Result<Arguments, E> {
    let mut health = None;
    let mut seen = false;
    let mut localised = Vec::with_capacity(args.len());
    let mut args = args.into_iter();
    while let Some(arg) = args.next() {
        let Some(flag) = [HEALTH, METRICS].into_iter().find(|flag| is(&arg, flag)) else {
            localised.push(arg);
            continue;
        };
        let given = match arg.split_once('=') {
            Some((_, value)) => value.to_owned(),
            None => args.next().unwrap_or_default(),
        };
        let off = given == "0" || given.is_empty();
        let address = if off { "0".to_owned() } else { free()? };
        localised.push(format!("--{flag}={address}"));
        if flag == HEALTH {
            seen = true;
            health = (!off).then_some(address);
        }
    }
    if probed && !seen {
        let address = free()?;
        localised.push(format!("--{HEALTH}={address}"));
        health = Some(address);
    }
    Ok(Arguments { args: localised, health })
}

/// Whether an argument is this flag, with one dash or two, with `=` or with its value as the next argument.
fn is(arg: &str, flag: &str) -> bool {
    let Some(name) = arg.strip_prefix("--").or_else(|| arg.strip_prefix('-')) else {
        return false;
    };
    name.split('=').next() == Some(flag)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::convert::Infallible;

    use super::*;

    fn localised(args: &[&str], probed: bool) -> Arguments {
        let mut port = 0;
        let free = || {
            port += 1;
            Ok::<_, Infallible>(format!("127.0.0.1:{port}"))
        };
        localise(args.iter().map(ToString::to_string).collect(), probed, free).unwrap()
    }

    #[test]
    fn addresses_are_replaced_in_all_spellings() {
        let arguments = localised(&["-health-probe-bind-address=:8081", "--metrics-bind-address", ":8080", "x"], true);
        let wanted = ["--health-probe-bind-address=127.0.0.1:1", "--metrics-bind-address=127.0.0.1:2", "x"];
        assert_eq!(arguments.args, wanted);
        assert_eq!(arguments.health.unwrap(), "127.0.0.1:1");
    }

    #[test]
    fn what_is_off_stays_off() {
        let arguments = localised(&["--metrics-bind-address=0", "--health-probe-bind-address=0"], true);
        assert_eq!(arguments.args, ["--metrics-bind-address=0", "--health-probe-bind-address=0"]);
        assert_eq!(arguments.health, None);
    }

    #[test]
    fn only_a_probed_program_is_told_where_to_answer() {
        assert_eq!(localised(&["copy"], false), Arguments { args: vec!["copy".to_owned()], health: None });
        let arguments = localised(&["--watch-kind=A.v1.b"], true);
        assert_eq!(arguments.args, ["--watch-kind=A.v1.b", "--health-probe-bind-address=127.0.0.1:1"]);
        assert_eq!(arguments.health.unwrap(), "127.0.0.1:1");
    }

    #[test]
    fn other_flags_that_look_alike_stay() {
        let args = ["--lease-name=metrics-bind-address", "--health-probe-bind-address-x=:1", "metrics-bind-address"];
        assert_eq!(localised(&args, false).args, args);
    }
}
