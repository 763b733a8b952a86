//! Flags that are on or off as Go's programs have them: `--flag`, `--flag=true`, `--flag=false`.

use clap::{Arg, ArgAction};

/// Makes such a flag of one that can only be given or not, and leaves all others as they are: for
/// [`clap::Command::mut_args`].
pub fn switch(arg: Arg) -> Arg {
    if !matches!(arg.get_action(), ArgAction::SetTrue) {
        return arg;
    }
    let arg = arg.action(ArgAction::Set).num_args(0..=1).require_equals(true).value_name("BOOL");
    arg.default_value("false").default_missing_value("true")
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    #[command(args_override_self = true, mut_args(switch))]
    struct Flags {
        #[arg(long)]
        on: bool,
        #[arg(long)]
        text: Option<String>,
        rest: Vec<String>,
    }

    #[test]
    fn a_switch_may_have_a_value() {
        let read = |args: &[&str]| Flags::try_parse_from([&["program"], args].concat()).map(|flags| flags.on);
        assert!(!read(&[]).unwrap() && read(&["--on"]).unwrap() && read(&["--on=true"]).unwrap());
        assert!(!read(&["--on=false"]).unwrap() && !read(&["--on", "--on=false"]).unwrap());
        assert!(read(&["--on=perhaps"]).is_err());
        let flags = Flags::try_parse_from(["program", "--on", "false", "--text", "x"]).unwrap();
        assert_eq!((flags.on, flags.rest, flags.text.as_deref()), (true, vec!["false".to_owned()], Some("x")));
    }
}
