//! The controller: starts the workers, moves them through the phases, gathers what they counted.

use std::collections::{BTreeMap, VecDeque};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

use crate::core::config::Config;
use crate::core::error::EngineError;
use crate::core::plan::Begin;
use crate::core::record::{Phase, Second};
use crate::core::settled::Settled;
use crate::load::control::{Control, Held, Input, Orders, Report};
use crate::load::event::{Event, HeldEvent};
use crate::load::gathering::{Seconds, WindowTimes};
use crate::load::logging;
use crate::load::measurement::Measurement;
use crate::load::stream::Stream;
use crate::load::timing::SECOND_NS;
use crate::load::tls::{Client, TlsStream};
use crate::load::worker::{Shared, Worker};
use crate::sys;
use crate::sys::socket;

/// Who has no connection so long after the first attempt is told so, instead of waiting for ever.
const FIRST_CONNECTION_WITHIN_NS: u64 = 5 * SECOND_NS;
/// After Ctrl-C nobody wants to wait for slow answers.
const INTERRUPTED_DRAIN_NS: u64 = SECOND_NS;
/// Workers scan for late requests now and then, so a drain may last a little longer than the timeout.
const DRAIN_SLACK_NS: u64 = 500_000_000;
const FOREVER_NS: u64 = u64::MAX;

struct Controller<'a> {
    config: Arc<Config>,
    control: Arc<Control>,
    on_event: &'a mut dyn FnMut(&Event),
    orders: Orders,
    start_ns: u64,
    /// On the clock that decides on the end of warm-up and window; later on the machine's.
    deadline_ns: u64,
    unix_offset_us: u64,
    /// As `sys::unix_ahead_ns` said when the load began.
    unix_ahead_ns: u64,
    /// When the first connection was asked for, on the clock of active time.
    attempted_ns: Option<u64>,
    connected: bool,
    interrupted: bool,
    entered: BTreeMap<Phase, usize>,
    window: WindowTimes,
    standing: Standing,
    seconds: Seconds,
    no_stamps: Option<String>,
    reports: Vec<Report>,
}

/// How far the workers are in standing still.
#[derive(Default)]
struct Standing {
    /// Those that do, in this turn.
    held: Vec<Held>,
    /// Whether all of them do.
    all: bool,
    /// How many of them have sent their share of the turn's requests.
    spent: usize,
    /// Commands that came before.
    later: VecDeque<Input>,
}

/// Runs a plan to its end. `sender` and `receiver`: one channel, on which commands come in from outside too.
pub fn run(
    mut config: Config,
    sender: &Sender<Input>,
    receiver: &Receiver<Input>,
    on_event: &mut dyn FnMut(&Event),
) -> Result<Measurement, EngineError> {
    let connections = config.load.connections;
    let files = connections as u64 + 64;
    let limit = sys::raise_open_files(files);
    if limit < files {
        return Err(EngineError::Machine(format!(
            "{connections} connections need {files} open files, the limit is {limit}; raise it with `ulimit -n`"
        )));
    }
    let held_stamps = config
        .load
        .kernel_timestamps
        .then(socket::hold_stamps)
        .transpose();
    let no_stamps = held_stamps.as_ref().err().map(ToString::to_string);
    config.load.kernel_timestamps &= no_stamps.is_none();
    let client = Client::of(&config)?;
    let config = Arc::new(config);
    let failed =
        |error: std::io::Error| EngineError::Machine(format!("the engine cannot start: {error}"));
    let held = config.load.begin == Begin::Held;
    let orders = Orders::new(sys::now_ns(), config.window_s, held);
    let control = Arc::new(Control::new(config.load.threads, orders).map_err(failed)?);
    match client {
        None => start::<OwnedFd>(&Shared {
            client: (),
            config: config.clone(),
            control: control.clone(),
            inputs: sender.clone(),
        }),
        Some(client) => start::<TlsStream>(&Shared {
            client,
            config: config.clone(),
            control: control.clone(),
            inputs: sender.clone(),
        }),
    }
    .map_err(failed)?;
    let mut controller = Controller::new(config, control, on_event);
    controller.no_stamps = no_stamps;
    Ok(controller.run(receiver))
}

/// Starts the threads. `S` is what their connections are, chosen here once for the whole load.
fn start<S: Stream>(shared: &Shared<S::Client>) -> std::io::Result<()> {
    for thread in 0..shared.config.load.threads {
        let worker = Worker::<S>::new(thread, shared.clone())?;
        std::thread::Builder::new()
            .name(format!("worker-{thread}"))
            .spawn(move || worker.run())?;
    }
    Ok(())
}

impl<'a> Controller<'a> {
    fn new(
        config: Arc<Config>,
        control: Arc<Control>,
        on_event: &'a mut dyn FnMut(&Event),
    ) -> Controller<'a> {
        let orders = control.orders();
        let start_ns = orders.phase_start.active_ns;
        Controller {
            deadline_ns: config
                .load
                .warmup_s
                .map_or(FOREVER_NS, |seconds| start_ns + seconds_ns(seconds)),
            config,
            control,
            on_event,
            orders,
            start_ns,
            unix_offset_us: sys::unix_us() - sys::now_ns() / 1000,
            unix_ahead_ns: sys::unix_ahead_ns(),
            attempted_ns: None,
            connected: false,
            interrupted: false,
            entered: BTreeMap::new(),
            window: WindowTimes::default(),
            standing: Standing::default(),
            seconds: Seconds::default(),
            no_stamps: None,
            reports: Vec::new(),
        }
    }

    fn run(mut self, receiver: &Receiver<Input>) -> Measurement {
        let unix_us = self.unix_us(self.start_ns);
        (self.on_event)(&Event::Start { unix_us });
        while self.reports.len() < self.config.load.threads {
            let first_connection_ns = self.first_connection_ns();
            let (now_ns, deadline_ns) = (sys::now_ns(), self.deadline_ns());
            if now_ns >= deadline_ns {
                self.next_phase();
                continue;
            }
            if now_ns >= first_connection_ns && self.orders.phase < Phase::Drain {
                self.enter(Phase::Drain);
                continue;
            }
            let until_ns = if self.orders.phase < Phase::Drain {
                deadline_ns.min(first_connection_ns)
            } else {
                deadline_ns
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

    /// When somebody has waited long enough for a first connection, in the machine's time.
    fn first_connection_ns(&self) -> u64 {
        match self.attempted_ns {
            Some(at_ns) if !self.connected => {
                let clock = &self.orders.clocks.active;
                clock.when(at_ns + FIRST_CONNECTION_WITHIN_NS)
            }
            _ => FOREVER_NS,
        }
    }

    /// When the phase ends by itself, in the machine's time: never while the clock that decides on it stands still.
    fn deadline_ns(&self) -> u64 {
        let clocks = &self.orders.clocks;
        match (self.orders.phase < Phase::Drain, &self.config.offered) {
            (true, Some(_)) => clocks.schedule.when(self.deadline_ns),
            (true, None) => clocks.active.when(self.deadline_ns),
            (false, _) => self.deadline_ns,
        }
    }

    fn on_input(&mut self, input: Input) {
        match input {
            Input::Measure { .. } | Input::Hold | Input::Go { .. } if self.drains_turn() => {
                self.standing.later.push_back(input);
            }
            Input::Measure { window_s } if self.orders.phase == Phase::Warmup => {
                self.size_window(window_s);
                self.enter(Phase::Window);
            }
            Input::Measure { .. } => self.warn(
                "the command `measure` came after the warm-up and changes nothing".to_string(),
            ),
            Input::Stop if self.orders.phase < Phase::Drain => self.enter(Phase::Drain),
            Input::Stop => {}
            Input::Hold => self.hold(),
            Input::Go { requests } => self.go(requests),
            Input::Spent => self.on_spent(),
            Input::Held(held) => self.on_held(*held),
            Input::Interrupt => self.interrupt(),
            Input::BadCommand(message) => self.warn(message),
            Input::Attempted => {
                let now_ns = self.orders.clocks.active.at(sys::now_ns());
                self.attempted_ns.get_or_insert(now_ns);
            }
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

    /// The window shall last so many seconds; None: as the plan says, and so where the steps of a load curve say it.
    fn size_window(&mut self, window_s: Option<f64>) {
        match window_s {
            Some(_) if self.config.load.steps.is_some() => self.warn(
                "`window_s` of the command `measure` changes nothing: the window is as long as all steps".to_string(),
            ),
            Some(seconds) => self.orders.window_s = seconds,
            None => {}
        }
    }

    fn warn(&mut self, message: String) {
        (self.on_event)(&Event::Warning { message });
    }

    fn interrupt(&mut self) {
        let again = self.interrupted;
        self.interrupted = true;
        if self.orders.phase < Phase::Drain {
            self.enter(Phase::Drain);
        }
        self.deadline_ns = self
            .deadline_ns
            .min(sys::now_ns() + if again { 0 } else { INTERRUPTED_DRAIN_NS });
    }

    fn next_phase(&mut self) {
        match self.orders.phase {
            Phase::Warmup => self.enter(Phase::Window),
            Phase::Window => self.enter(Phase::Drain),
            Phase::Drain => self.enter(Phase::Abandon),
            Phase::Abandon => self.deadline_ns = FOREVER_NS,
        }
    }

    fn enter(&mut self, phase: Phase) {
        let now_ns = sys::now_ns();
        self.orders.enter(phase, now_ns);
        match phase {
            Phase::Window => {
                self.window.start = self.orders.phase_start;
                self.window.scheduled_at_ns = self.config.offered.is_some().then_some(now_ns);
                self.window.waits = self.standing.all;
                self.window.cpu_start_us = sys::process_cpu_us();
            }
            Phase::Drain => self.window.cpu_end_us = sys::process_cpu_us(),
            _ => {}
        }
        let window_ns = seconds_ns(self.orders.window_s);
        self.deadline_ns = match (phase, &self.config.offered) {
            (Phase::Window, Some(_)) => self.window.start.schedule_ns + window_ns,
            // Where no schedule decides, the window lasts as long as asked from when all threads count: `on_entered` says when.
            (Phase::Drain, _) => now_ns + self.longest_ns() + DRAIN_SLACK_NS,
            _ => FOREVER_NS,
        };
        self.control.give(self.orders);
        self.control.wake();
    }

    /// The longest that a request can be under way. One that waits for a handshake has its timeout behind that, where it counts
    /// apart.
    fn longest_ns(&self) -> u64 {
        let counts_apart = self.config.tls.is_some() && self.config.load.keep_alive;
        self.config.load.timeout_ms * 1_000_000 * (1 + u64::from(counts_apart))
    }

    /// Once all threads are in a phase, those who read other counters may do so.
    fn on_entered(&mut self, phase: Phase) {
        let count = self.entered.entry(phase).or_default();
        *count += 1;
        if *count < self.config.load.threads {
            return;
        }
        if phase == Phase::Window && self.orders.phase == phase && self.config.offered.is_none() {
            let now_ns = self.orders.clocks.active.at(sys::now_ns());
            self.deadline_ns = now_ns + seconds_ns(self.orders.window_s);
        }
        let unix_us = sys::unix_us();
        match phase {
            Phase::Window => (self.on_event)(&Event::Window { unix_us }),
            Phase::Drain => (self.on_event)(&Event::Drain { unix_us }),
            _ => {}
        }
    }

    /// A hold was asked for, and some answers are not there yet.
    fn drains_turn(&self) -> bool {
        self.orders.held && !self.standing.all && self.orders.phase < Phase::Drain
    }

    fn hold(&mut self) {
        if self.orders.phase >= Phase::Drain {
            return;
        }
        if self.orders.held {
            return self.warn("the command `hold` came twice; it changes nothing".to_string());
        }
        self.orders.hold(sys::now_ns());
        self.control.give(self.orders);
        self.control.wake();
    }

    fn go(&mut self, requests: Option<u64>) {
        if self.orders.phase >= Phase::Drain {
            return;
        }
        if !self.orders.held {
            return self
                .warn("the command `go` came without `hold`; it changes nothing".to_string());
        }
        let open = self.config.offered.is_some();
        if requests.is_some() && open {
            self.warn(
                "`requests` of the command `go` changes nothing: a rate says what is sent"
                    .to_string(),
            );
        }
        (self.standing.all, self.standing.spent) = (false, 0);
        let now_ns = sys::now_ns();
        if std::mem::take(&mut self.window.waits) {
            self.window.go_ns = Some(now_ns);
        }
        self.orders.go(now_ns, requests.filter(|_| !open));
        self.control.give(self.orders);
        self.control.wake();
    }

    /// Once all threads have sent what the turn was to send, it ends.
    fn on_spent(&mut self) {
        self.standing.spent += 1;
        if self.standing.spent == self.config.load.threads && !self.orders.held {
            self.hold();
        }
    }

    /// Once all workers stand still, whose work it was can be told.
    fn on_held(&mut self, held: Held) {
        self.standing.held.push(held);
        if self.standing.held.len() < self.config.load.threads {
            return;
        }
        let held = std::mem::take(&mut self.standing.held);
        let last_ns = held.iter().map(|one| one.at_ns).max().unwrap_or_default();
        self.standing.all = true;
        self.orders.clocks.active.pause(last_ns);
        self.control.give(self.orders);
        let now = self.orders.clocks.read(last_ns);
        if self.orders.phase == Phase::Window && !self.config.steps().is_empty() {
            let at_ns = now.schedule_ns - self.window.start.schedule_ns;
            let drain_ns = now.drained_since(&self.orders.turn_start);
            self.window.drains_us.push((at_ns / 1000, drain_ns / 1000));
        }
        let settled: Vec<Settled> = held.iter().map(|one| one.settled).collect();
        (self.on_event)(&Event::Held(HeldEvent {
            ok: held.iter().map(|one| one.ok).sum(),
            not_ok: held.iter().map(|one| one.not_ok).sum(),
            active_us: (now.active_ns - self.start_ns) / 1000,
            settled: Settled::sum(&settled),
        }));
        for input in std::mem::take(&mut self.standing.later) {
            self.on_input(input);
        }
    }

    fn on_second(&mut self, phase: Phase, index: u64, part: &Second) {
        let threads = self.config.load.threads;
        if let Some(second) = self.seconds.add(phase, index, part, threads) {
            (self.on_event)(&Event::second(phase, index, &second));
        }
    }

    fn unix_us(&self, at_ns: u64) -> u64 {
        at_ns / 1000 + self.unix_offset_us
    }

    fn measurement(self) -> Measurement {
        let window = self
            .window
            .window(&self.reports, |at_ns| self.unix_us(at_ns));
        let mut records = self.reports.into_iter().map(|report| report.record);
        let mut record = records.next().expect("a run has at least one thread");
        records.for_each(|other| record.merge(&other));
        let clock = logging::WallClock::between(self.unix_ahead_ns, sys::unix_ahead_ns());
        logging::tell(&self.config, &record.answers, clock, self.on_event);
        Measurement {
            config: self.config,
            record,
            seconds: self.seconds.rows(),
            no_stamps: self.no_stamps,
            window,
            connected: self.connected,
            interrupted: self.interrupted,
        }
    }
}

fn seconds_ns(seconds: f64) -> u64 {
    (seconds * 1e9) as u64
}
