//! The end of everything a lab started, whatever happens to the process that started it.
//!
//! A dead process cannot clean up, so a shell outside it does. The shell reads from a pipe whose only writing end this
//! process holds; when this process ends, by a return, a panic or SIGKILL, the kernel closes that end, and the shell
//! kills the lab's process group and removes its directory. Dropping a lab goes the same way: there is one path.
//!
//! Children enter the group between `fork` and `exec`, so there is no moment in which one runs outside of it. The group
//! must exist before its first member and outlive its last, which is what the *anchor* is for: a `cat` that leads the
//! group and waits for the shell. (`PR_SET_PDEATHSIG` would need unsafe code, and fires when the starting *thread*
//! ends.) The lab's groups are not the terminal's, so Ctrl-C reaches only the program, which then ends in its own order.

use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};

use anyhow::Context as _;

/// `$1`: the directory to remove, or empty. First line of stdin: the group. The loop is for files that a process
/// writes in the moment in which it is killed.
const SCRIPT: &str = r#"
trap '' HUP INT TERM
read -r group || exit 0
read -r _
kill -9 "-$group" 2>/dev/null
[ -n "$1" ] || exit 0
tries=0
until rm -rf -- "$1" 2>/dev/null || [ "$tries" -ge 100 ]; do
    tries=$((tries + 1))
    sleep 0.05
done
"#;

/// Holds the process group of one lab; see the module.
#[derive(Debug)]
pub(crate) struct Reaper {
    group: i32,
    /// The shell and the anchor, until [`Reaper::end`].
    guards: Mutex<Option<(Child, Child)>>,
}

impl Reaper {
    /// Starts the shell and the anchor. `remove` is deleted at the end, with everything in it.
    pub(crate) fn start(remove: Option<&Path>) -> anyhow::Result<Self> {
        let mut shell = Command::new("sh")
            .args(["-c", SCRIPT, "harness-reaper"])
            .arg(remove.unwrap_or_else(|| Path::new("")))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .context("cannot start sh, which cleans up after the lab")?;
        let shell_output = shell.stdout.take().context("the reaper has no stdout")?;
        let anchor = Command::new("cat")
            .stdin(shell_output)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .context("cannot start cat, which holds the lab's process group")?;
        let group = i32::try_from(anchor.id()).context("a process id beyond 31 bits")?;
        let shell_input = shell.stdin.as_mut().context("the reaper has no stdin")?;
        writeln!(shell_input, "{group}").context("the reaper does not read")?;
        Ok(Self { group, guards: Mutex::new(Some((shell, anchor))) })
    }

    /// Makes a command that is not started yet start as a member of the group.
    pub(crate) fn adopt(&self, command: &mut Command) {
        command.process_group(self.group);
    }

    /// Kills every member, removes the directory, and returns once both is done. Again: nothing.
    pub(crate) fn end(&self) {
        let guards = self.guards.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some((mut shell, mut anchor)) = guards {
            // Closing the pipe is the order. A failed wait means that the guard is gone already.
            drop(shell.stdin.take());
            let _gone = shell.wait();
            let _gone = anchor.wait();
        }
    }
}

impl Drop for Reaper {
    fn drop(&mut self) {
        self.end();
    }
}
