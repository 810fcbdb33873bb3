//! The controller: starts the workers, moves them through the phases, gathers what they counted.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

use crate::config::Config;
use crate::control::{Control, Held, Input, Mark, Report};
use crate::event::{Event, HeldEvent, SecondRow};
use crate::record::{Phase, Record, Second};
use crate::socket;
use crate::sys;
use crate::worker::{SECOND_NS, Worker};

/// Who never got a connection by then is told so, instead of waiting for ever.
const FIRST_CONNECTION_WITHIN_NS: u64 = 5 * SECOND_NS;
/// After Ctrl-C nobody wants to wait for slow answers.
const INTERRUPTED_DRAIN_NS: u64 = SECOND_NS;
/// Workers scan for late requests now and then, so a drain may last a little longer than the timeout.
const DRAIN_SLACK_NS: u64 = 500_000_000;
const FOREVER_NS: u64 = u64::MAX;
pub const STAMPS_NOT_ASKED: &str = "`kernel_timestamps` was not asked for";

/// Everything that was counted, of all threads together.
pub struct Measurement {
    pub config: Arc<Config>,
    pub record: Record,
    /// Those of the window.
    pub seconds: Vec<SecondRow>,
    /// Why the kernel does not say when it received bytes, although it was asked.
    pub no_stamps: Option<String>,
    /// `None`: the run ended before its window began.
    pub window: Option<Window>,
    pub connected: bool,
    pub interrupted: bool,
}

impl Measurement {
    /// `None`: there is one.
    pub fn why_no_receive_lag(&self) -> Option<String> {
        if !self.record.receive_lag.is_empty() {
            return None;
        }
        let reason = match &self.no_stamps {
            Some(reason) => reason.as_str(),
            None if self.config.load.kernel_timestamps => {
                "the kernel stamped nothing that arrived inside the window"
            }
            None => STAMPS_NOT_ASKED,
        };
        Some(reason.to_string())
    }
}

#[derive(Debug, Clone, Copy)]
pub struct Window {
    pub start_unix_us: u64,
    pub duration_us: u64,
    /// So much of the first step had passed when counting began: a thread enters the window a little after it is told to.
    pub late_us: u64,
    pub cpu_user_us: u64,
    pub cpu_system_us: u64,
    /// CPU time of the thread that used most, and the time that it waited for a core.
    pub busiest_cpu_us: u64,
    pub busiest_waited_us: Option<u64>,
}

struct Controller<'a> {
    config: Arc<Config>,
    control: Arc<Control>,
    on_event: &'a mut dyn FnMut(&Event),
    phase: Phase,
    start_ns: u64,
    window_ns: u64,
    deadline_ns: u64,
    unix_offset_us: u64,
    connected: bool,
    interrupted: bool,
    entered: BTreeMap<Phase, usize>,
    /// Odd: requests are held back.
    turn: u64,
    /// Those workers that stand still in this turn.
    held: Vec<Held>,
    turn_ns: u64,
    active_ns: u64,
    /// Seconds that some threads have told and others not yet. Whole ones become rows at once: a histogram is large.
    seconds: BTreeMap<(Phase, u64), (usize, Second)>,
    rows: BTreeMap<u64, SecondRow>,
    no_stamps: Option<String>,
    reports: Vec<Report>,
    cpu_start_us: (u64, u64),
    cpu_end_us: (u64, u64),
}

/// Runs a plan to its end. `sender` and `receiver`: one channel, on which commands come in from outside too.
pub fn run(
    config: Config,
    sender: &Sender<Input>,
    receiver: &Receiver<Input>,
    on_event: &mut dyn FnMut(&Event),
) -> Result<Measurement, String> {
    let files = config.load.connections as u64 + 64;
    let limit = sys::raise_open_files(files);
    if limit < files {
        let connections = config.load.connections;
        return Err(format!(
            "{connections} connections need {files} open files, the limit is {limit}; raise it with `ulimit -n`"
        ));
    }
    let mut config = config;
    let no_stamps = match config.load.kernel_timestamps {
        true => socket::try_stamps().err(),
        false => None,
    };
    config.load.kernel_timestamps &= no_stamps.is_none();
    let config = Arc::new(config);
    let start_ns = sys::now_ns();
    let failed = |error: std::io::Error| format!("the engine cannot start: {error}");
    let control = Arc::new(Control::new(config.load.threads, start_ns).map_err(failed)?);
    for thread in 0..config.load.threads {
        let worker =
            Worker::new(thread, config.clone(), control.clone(), sender.clone()).map_err(failed)?;
        std::thread::Builder::new()
            .name(format!("worker-{thread}"))
            .spawn(move || worker.run())
            .map_err(failed)?;
    }
    let controller = Controller {
        deadline_ns: config
            .load
            .warmup_s
            .map_or(FOREVER_NS, |seconds| start_ns + seconds_ns(seconds)),
        config,
        control,
        on_event,
        phase: Phase::Warmup,
        start_ns,
        window_ns: start_ns,
        unix_offset_us: sys::unix_us() - sys::now_ns() / 1000,
        connected: false,
        interrupted: false,
        entered: BTreeMap::new(),
        turn: 0,
        held: Vec::new(),
        turn_ns: start_ns,
        active_ns: 0,
        seconds: BTreeMap::new(),
        rows: BTreeMap::new(),
        no_stamps,
        reports: Vec::new(),
        cpu_start_us: (0, 0),
        cpu_end_us: (0, 0),
    };
    Ok(controller.run(receiver))
}

impl Controller<'_> {
    fn run(mut self, receiver: &Receiver<Input>) -> Measurement {
        let unix_us = self.unix_us(self.start_ns);
        (self.on_event)(&Event::Start { unix_us });
        while self.reports.len() < self.config.load.threads {
            let first_connection_ns = if self.connected {
                FOREVER_NS
            } else {
                self.start_ns + FIRST_CONNECTION_WITHIN_NS
            };
            let now_ns = sys::now_ns();
            if now_ns >= self.deadline_ns {
                self.next_phase();
                continue;
            }
            if now_ns >= first_connection_ns && self.phase < Phase::Drain {
                self.enter(Phase::Drain);
                continue;
            }
            let until_ns = if self.phase < Phase::Drain {
                self.deadline_ns.min(first_connection_ns)
            } else {
                self.deadline_ns
            };
            let wait = Duration::from_nanos(until_ns.saturating_sub(now_ns).min(3600 * SECOND_NS));
            match receiver.recv_timeout(wait) {
                Ok(input) => self.on_input(input),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => unreachable!("`run` holds a sender"),
            }
        }
        (self.on_event)(&Event::End {
            unix_us: sys::unix_us(),
        });
        self.measurement()
    }

    fn on_input(&mut self, input: Input) {
        match input {
            Input::Measure if self.phase == Phase::Warmup => self.enter(Phase::Window),
            Input::Measure => self.warn(
                "the command `measure` came after the warm-up and changes nothing".to_string(),
            ),
            Input::Stop if self.phase < Phase::Drain => self.enter(Phase::Drain),
            Input::Stop => {}
            Input::Hold | Input::Go => self.take_turn(matches!(input, Input::Hold)),
            Input::Held(held) => self.on_held(held),
            Input::Interrupt => self.interrupt(),
            Input::BadCommand(message) => self.warn(message),
            Input::Connected => self.connected = true,
            Input::Entered(phase) => self.on_entered(phase),
            Input::Second {
                phase,
                index,
                second,
            } => self.on_second(phase, index, &second),
            Input::Finished(report) => self.reports.push(*report),
        }
    }

    fn warn(&mut self, message: String) {
        (self.on_event)(&Event::Warning { message });
    }

    fn interrupt(&mut self) {
        let again = self.interrupted;
        self.interrupted = true;
        if self.phase < Phase::Drain {
            self.enter(Phase::Drain);
        }
        self.deadline_ns = self
            .deadline_ns
            .min(sys::now_ns() + if again { 0 } else { INTERRUPTED_DRAIN_NS });
    }

    fn next_phase(&mut self) {
        match self.phase {
            Phase::Warmup => self.enter(Phase::Window),
            Phase::Window => self.enter(Phase::Drain),
            Phase::Drain => self.enter(Phase::Abandon),
            Phase::Abandon => self.deadline_ns = FOREVER_NS,
        }
    }

    fn enter(&mut self, phase: Phase) {
        let now_ns = sys::now_ns();
        match phase {
            Phase::Window => {
                self.window_ns = now_ns;
                self.cpu_start_us = sys::process_cpu_us();
            }
            Phase::Drain => self.cpu_end_us = sys::process_cpu_us(),
            _ => {}
        }
        self.phase = phase;
        self.deadline_ns = match phase {
            Phase::Window => now_ns + seconds_ns(self.config.window_s),
            Phase::Drain => now_ns + self.config.load.timeout_ms * 1_000_000 + DRAIN_SLACK_NS,
            _ => FOREVER_NS,
        };
        self.control.enter(phase, now_ns);
    }

    /// Once all threads are in a phase, those who read other counters may do so.
    fn on_entered(&mut self, phase: Phase) {
        let count = self.entered.entry(phase).or_default();
        *count += 1;
        if *count < self.config.load.threads {
            return;
        }
        let unix_us = sys::unix_us();
        match phase {
            Phase::Window => (self.on_event)(&Event::Window { unix_us }),
            Phase::Drain => (self.on_event)(&Event::Drain { unix_us }),
            _ => {}
        }
    }

    fn take_turn(&mut self, hold: bool) {
        let held = self.turn % 2 == 1;
        let refused = match hold {
            _ if self.phase >= Phase::Drain => return,
            true if self.config.offered.is_some() => "`hold` is for closed loops: a rate stands",
            true if held => "`hold` came twice",
            false if !held => "`go` came without `hold`",
            _ => "",
        };
        if !refused.is_empty() {
            return self.warn(format!("the command {refused}; it changes nothing"));
        }
        if !hold {
            self.turn_ns = sys::now_ns();
        }
        self.held.clear();
        self.turn = self.control.next_turn();
    }

    /// Once all workers stand still, whose work it was can be told.
    fn on_held(&mut self, held: Held) {
        if held.turn != self.turn {
            return;
        }
        self.held.push(held);
        if self.held.len() < self.config.load.threads {
            return;
        }
        let last_ns = self.held.iter().map(|one| one.at_ns).max().unwrap_or(0);
        self.active_ns += last_ns.saturating_sub(self.turn_ns);
        (self.on_event)(&Event::Held(HeldEvent {
            ok: self.held.iter().map(|one| one.ok).sum(),
            not_ok: self.held.iter().map(|one| one.not_ok).sum(),
            active_us: self.active_ns / 1000,
        }));
    }

    fn on_second(&mut self, phase: Phase, index: u64, part: &Second) {
        let (threads, second) = self.seconds.entry((phase, index)).or_default();
        *threads += 1;
        second.merge(part);
        if *threads == self.config.load.threads {
            (self.on_event)(&Event::second(phase, index, second));
            if phase == Phase::Window {
                self.rows.insert(index, SecondRow::new(index, second));
            }
            self.seconds.remove(&(phase, index));
        }
    }

    fn unix_us(&self, at_ns: u64) -> u64 {
        at_ns / 1000 + self.unix_offset_us
    }

    fn measurement(mut self) -> Measurement {
        let window = self.window();
        let mut records = self.reports.into_iter().map(|report| report.record);
        let mut record = records.next().expect("a run has at least one thread");
        records.for_each(|other| record.merge(&other));
        for ((phase, index), (_, second)) in &self.seconds {
            if *phase == Phase::Window {
                self.rows.insert(*index, SecondRow::new(*index, second));
            }
        }
        Measurement {
            config: self.config,
            record,
            seconds: self.rows.into_values().collect(),
            no_stamps: self.no_stamps,
            window,
            connected: self.connected,
            interrupted: self.interrupted,
        }
    }

    fn window(&self) -> Option<Window> {
        let marks: Option<Vec<(Mark, Mark)>> = self
            .reports
            .iter()
            .map(|report| report.window_start.zip(report.window_end))
            .collect();
        let marks = marks?;
        let start_ns = marks.iter().map(|(start, _)| start.at_ns).min()?;
        let end_ns = marks.iter().map(|(_, end)| end.at_ns).max()?;
        let (start, end) = marks
            .iter()
            .max_by_key(|(start, end)| end.cpu_us - start.cpu_us)?;
        let waited = start.run_queue_us.zip(end.run_queue_us);
        Some(Window {
            start_unix_us: self.unix_us(start_ns),
            duration_us: (end_ns - start_ns) / 1000,
            late_us: start_ns.saturating_sub(self.window_ns) / 1000,
            cpu_user_us: self.cpu_end_us.0 - self.cpu_start_us.0,
            cpu_system_us: self.cpu_end_us.1 - self.cpu_start_us.1,
            busiest_cpu_us: end.cpu_us - start.cpu_us,
            busiest_waited_us: waited.map(|(start, end)| end - start),
        })
    }
}

fn seconds_ns(seconds: f64) -> u64 {
    (seconds * 1e9) as u64
}
