//! A known slowdown: uses up a fixed share of what a server uses.
//!
//! In the server's own cgroup it looks to whoever reads the group's CPU as if each answer cost that much more. In another's it looks
//! as if that one spent more while the server is at work. It spins as `awake` does, with the
//! processor's pause instruction and no memory, so that beside the time that it takes it slows nobody down.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;
use std::{env, fs, hint, thread};

use clap::Args;

use crate::core::error::EngineError;
use crate::sys;

/// Between two looks at what the server has used, at first …
const SHORT: Duration = Duration::from_millis(4);
/// … and at the most. A look costs 10 to 100 µs itself, which can be more than a small share of a little work allows.
const LONG: Duration = Duration::from_millis(64);
/// What a look still counts for at the next one: half of it after about seventy.
const LASTING: f64 = 0.99;

pub const BURN_EXAMPLES: &str = "\
Example, half as much again as a group's own use:
  fairload burn --share 0.5 --usage /sys/fs/cgroup/web/cpu.stat --join /sys/fs/cgroup/web/cgroup.procs

It ends on a signal, or when the group is gone.";

#[derive(Args)]
pub struct BurnArgs {
    /// CPU time to use, as a share of what all others in the group use
    #[arg(long, value_parser = share)]
    share: f64,
    /// The file that tells the group's CPU time: `cpuacct.usage` (cgroup version 1) or `cpu.stat` (version 2)
    #[arg(long, value_name = "FILE")]
    usage: PathBuf,
    /// A file that this process enters a group by (`cgroup.procs`): the same group, or another; may be given several times
    #[arg(long, value_name = "FILE")]
    join: Vec<PathBuf>,
    /// Processes that share it out among them, each in a session of its own; more than one only outside the group that is looked at
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..))]
    processes: u16,
}

/// Burns until it is ended from outside. The error is a sentence for a person.
pub fn burn_command(args: &BurnArgs) -> Result<u8, EngineError> {
    if args.processes > 1 && inside(args) {
        return Err(EngineError::Arguments("one process burns in a group that is looked at: leave out `--processes`, or join another one".to_string()));
    }
    for file in &args.join {
        fs::write(file, "0").map_err(|error| {
            EngineError::Machine(format!("`{}` cannot be entered: {error}", file.display()))
        })?;
    }
    let part = args.share / f64::from(args.processes);
    for _ in 1..args.processes {
        help(args, part).map_err(|error| {
            EngineError::Machine(format!("no further process can be started: {error}"))
        })?;
    }
    burn(args, part)
}

/// Starts another process that burns a part, in the groups that this one is in. It ends with this one.
///
/// Linux can share processors out among sessions (`sched_autogroup_enabled`): beside a database, whose backends are a session
/// each, several threads of one process would get no more than one.
fn help(args: &BurnArgs, part: f64) -> std::io::Result<()> {
    let mut command = Command::new(env::current_exe()?);
    command.arg("burn").arg("--usage").arg(&args.usage);
    sys::in_own_session(command.args(["--share", &part.to_string()]))
        .spawn()
        .map(drop)
}

/// Whether the group that is joined is the one that is looked at, so that what is burned counts there.
fn inside(args: &BurnArgs) -> bool {
    args.join
        .iter()
        .any(|file| file.parent() == args.usage.parent())
}

/// One process's part, until the group is gone.
fn burn(args: &BurnArgs, part: f64) -> Result<u8, EngineError> {
    let group_ns = || {
        let text = fs::read_to_string(&args.usage).map_err(|error| {
            EngineError::File(format!(
                "`{}` cannot be read: {error}",
                args.usage.display()
            ))
        })?;
        usage_ns(&text).ok_or(EngineError::File(format!(
            "`{}` tells no CPU time",
            args.usage.display()
        )))
    };
    let inside = inside(args);
    let own_ns = sys::thread_cpu_ns;
    let (group_start_ns, own_start_ns) = (group_ns()?, own_ns());
    let mut pause = SHORT;
    let mut spent = Spent::default();
    loop {
        thread::sleep(pause);
        let looked_ns = own_ns();
        let mine_ns = if inside { own_ns() - own_start_ns } else { 0 };
        let others_ns = (group_ns()? - group_start_ns).saturating_sub(mine_ns);
        let due_ns = (part * others_ns as f64) as u64;
        let found_ns = own_ns();
        while own_ns() - own_start_ns < due_ns {
            hint::spin_loop();
        }
        spent.add(found_ns - looked_ns, own_ns() - found_ns);
        pause = spent.next_pause(pause);
    }
}

/// What looking and burning took of late. One look says little: a server that takes turns with others uses nothing between its own, and
/// whoever then looked seldom would burn in the turns of the others.
#[derive(Default)]
struct Spent {
    looking_ns: f64,
    spinning_ns: f64,
}

impl Spent {
    /// What earlier looks found counts for less with each further one.
    fn add(&mut self, looking_ns: u64, spinning_ns: u64) {
        self.looking_ns = self.looking_ns * LASTING + looking_ns as f64;
        self.spinning_ns = self.spinning_ns * LASTING + spinning_ns as f64;
    }

    /// Longer where looking takes more than a quarter of what is burned, so that looks fit into the share; shorter where it takes little.
    fn next_pause(&self, pause: Duration) -> Duration {
        if self.looking_ns * 4.0 > self.spinning_ns {
            LONG.min(pause * 2)
        } else if self.looking_ns * 16.0 < self.spinning_ns {
            SHORT.max(pause / 2)
        } else {
            pause
        }
    }
}

/// CPU time in ns: a lone number of ns, or the field `usage_usec` among others.
fn usage_ns(text: &str) -> Option<u64> {
    match text.trim().parse() {
        Ok(ns) => Some(ns),
        Err(_) => text
            .lines()
            .find_map(|line| line.strip_prefix("usage_usec "))
            .and_then(|us| us.trim().parse::<u64>().ok())
            .map(|us| us * 1000),
    }
}

fn share(text: &str) -> Result<f64, EngineError> {
    match text.parse() {
        Ok(share) if share > 0.0 && share <= 100.0 => Ok(share),
        _ => Err(EngineError::Arguments(
            "write a share above 0, such as 0.05".to_string(),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both versions' files are read; anything else tells nothing.
    #[test]
    fn usage() {
        let version_2 = "usage_usec 1500\nuser_usec 1000\nsystem_usec 500\n";
        assert_eq!(usage_ns("1234567\n"), Some(1_234_567));
        assert_eq!(usage_ns(version_2), Some(1_500_000));
        assert_eq!(usage_ns("user_usec 1000\n"), None);
    }

    /// Looks become rarer where they cost too much of the share, and more frequent where they cost little, within bounds.
    #[test]
    fn pauses() {
        let middle = Duration::from_millis(16);
        let next = |pause, looking_ns, spinning_ns| {
            let mut spent = Spent::default();
            spent.add(looking_ns, spinning_ns);
            spent.next_pause(pause)
        };
        assert_eq!(next(middle, 90_000, 0), middle * 2);
        assert_eq!(next(middle, 90_000, 300_000), middle * 2);
        assert_eq!(next(middle, 90_000, 500_000), middle);
        assert_eq!(next(middle, 20_000, 500_000), middle / 2);
        assert_eq!(next(LONG, 90_000, 0), LONG);
        assert_eq!(next(SHORT, 1_000, 500_000), SHORT);
    }

    /// A server that is loaded in turns is looked at as often while it waits: its next turn is slowed from the beginning.
    #[test]
    fn turns() {
        let (mut spent, mut pause) = (Spent::default(), SHORT);
        for look in 0..400 {
            let burned_ns = if look / 8 % 2 == 0 { 1_000_000 } else { 0 };
            spent.add(30_000, burned_ns);
            pause = spent.next_pause(pause);
            assert_eq!(pause, SHORT, "after look {look}");
        }
    }

    /// What is burned in the group that is looked at counts there: by one process, which knows its own part. Elsewhere by several.
    #[test]
    fn groups() {
        let asked = |join: &str, processes| BurnArgs {
            share: 0.5,
            usage: PathBuf::from("/group/web/cpu.stat"),
            join: vec![PathBuf::from("/none/cgroup.procs"), PathBuf::from(join)],
            processes,
        };
        assert!(inside(&asked("/group/web/cgroup.procs", 1)));
        assert!(!inside(&asked("/group/database/cgroup.procs", 1)));
        let refused = |asked: &BurnArgs| burn_command(asked).unwrap_err().to_string();
        assert!(refused(&asked("/group/web/cgroup.procs", 2)).contains("leave out `--processes`"));
        assert!(refused(&asked("/group/database/cgroup.procs", 2)).contains("cannot be entered"));
    }

    /// A share is a number above zero.
    #[test]
    fn shares() {
        assert_eq!(share("0.05"), Ok(0.05));
        for wrong in ["0", "-1", "5%", "nan", "1000"] {
            assert!(share(wrong).is_err(), "{wrong}");
        }
    }
}
