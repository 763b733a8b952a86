//! CPU time and memory of processes, from `/proc`.

use std::collections::BTreeMap;
use std::fs;
use std::ops::Sub;
use std::process;

use anyhow::Context as _;

/// A tick of `/proc/<pid>/stat`: Linux reports in 1/100 s to programs, whatever the kernel's own tick is (`USER_HZ`).
const MILLISECONDS_PER_TICK: f64 = 10.0;

/// CPU time used so far, in milliseconds; the difference of two is what was used between.
#[derive(Clone, Debug)]
pub(crate) struct CpuTime {
    /// Of this process and the children that it waits for, by program name.
    pub(crate) programs: BTreeMap<String, f64>,
    /// Of the whole machine, what the hypervisor took away included.
    machine: f64,
}

impl CpuTime {
    /// What was used until now.
    pub(crate) fn now() -> anyhow::Result<Self> {
        let own = process::id();
        let mut programs = BTreeMap::new();
        for entry in fs::read_dir("/proc")? {
            let name = entry?.file_name();
            let Some(pid) = name.to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
            // A process may end between the listing and the look.
            let Ok(stat) = fs::read_to_string(format!("/proc/{pid}/stat")) else { continue };
            let stat = Stat::parse(&stat)?;
            if pid == own || stat.parent == own {
                *programs.entry(stat.program).or_default() += stat.cpu;
            }
        }
        Ok(Self { programs, machine: machine()? })
    }

    /// What programs used that are not part of the bench: noise.
    pub(crate) fn others(&self) -> f64 {
        (self.machine - self.ours()).max(0.0)
    }

    /// What the programs of the bench used, this one included.
    pub(crate) fn ours(&self) -> f64 {
        self.programs.values().sum()
    }
}

impl Sub<&Self> for CpuTime {
    type Output = Self;

    fn sub(mut self, earlier: &Self) -> Self {
        for (program, cpu) in &mut self.programs {
            *cpu -= earlier.programs.get(program).copied().unwrap_or_default();
        }
        self.machine -= earlier.machine;
        self
    }
}

struct Stat {
    program: String,
    parent: u32,
    cpu: f64,
}

impl Stat {
    /// `pid (program) state ppid …`, with utime and stime as fields 14 and 15 (proc_pid_stat(5)). The program's name may
    /// hold spaces and parentheses, so the last one ends it.
    fn parse(text: &str) -> anyhow::Result<Self> {
        let wrong = || format!("not a line of /proc/<pid>/stat: {text}");
        let (head, tail) = text.rsplit_once(')').with_context(wrong)?;
        let (_, program) = head.split_once('(').with_context(wrong)?;
        // The first of these is field 3.
        let fields: Vec<&str> = tail.split_whitespace().collect();
        let field = |number: usize| fields.get(number - 3).with_context(wrong);
        let ticks: u32 = field(14)?.parse::<u32>()? + field(15)?.parse::<u32>()?;
        Ok(Self {
            program: program.to_owned(),
            parent: field(4)?.parse()?,
            cpu: f64::from(ticks) * MILLISECONDS_PER_TICK,
        })
    }
}

/// Busy time of all cores: user, nice, system, irq, softirq and steal (proc_stat(5)).
fn machine() -> anyhow::Result<f64> {
    let text = fs::read_to_string("/proc/stat")?;
    let line = text.lines().next().context("/proc/stat is empty")?;
    let fields: Vec<f64> = line.split_whitespace().skip(1).map(str::parse).collect::<Result<_, _>>()?;
    let busy = [0, 1, 2, 5, 6, 7].iter().filter_map(|field| fields.get(*field)).sum::<f64>();
    Ok(busy * MILLISECONDS_PER_TICK)
}

/// CPU time of one process so far, in milliseconds.
pub(crate) fn cpu_of(pid: u32) -> anyhow::Result<f64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).context("the process is gone")?;
    Ok(Stat::parse(&stat)?.cpu)
}

/// Resident memory of one process (`VmRSS`), in KiB.
pub(crate) fn resident_kib(pid: u32) -> anyhow::Result<f64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).context("the process is gone")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("no VmRSS")?;
    let number = line.split_whitespace().next().context("VmRSS without a number")?;
    Ok(number.parse()?)
}

/// How many files and sockets one process has open.
pub(crate) fn open_files(pid: u32) -> anyhow::Result<usize> {
    Ok(fs::read_dir(format!("/proc/{pid}/fd")).context("the process is gone")?.count())
}

/// The machine's load average over the last minute.
pub(crate) fn load_average() -> anyhow::Result<f64> {
    let text = fs::read_to_string("/proc/loadavg")?;
    Ok(text.split_whitespace().next().context("/proc/loadavg is empty")?.parse()?)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::float_cmp)]

    use super::*;

    #[test]
    fn a_program_name_may_hold_anything() {
        let stat = Stat::parse("7 (a) b (c) S 3 7 7 0 -1 4 1 1 1 1 120 30 0 0 20 0 1 0 5").unwrap();
        assert_eq!((stat.program.as_str(), stat.parent, stat.cpu), ("a) b (c", 3, 1_500.0));
    }

    #[test]
    fn this_process_is_seen() {
        assert!(resident_kib(process::id()).unwrap() > 100.0);
        assert!(open_files(process::id()).unwrap() > 2);
        assert!(!CpuTime::now().unwrap().programs.is_empty());
        assert!(load_average().unwrap() >= 0.0);
    }
}
