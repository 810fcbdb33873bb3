//! What one thread counts. Pure: no clock, no socket; every moment comes in as a number.

use hdrhistogram::Histogram;

use crate::core::answers::Answers;
use crate::core::error::EngineError;
use crate::core::handshakes::Handshakes;
use crate::core::histogram::{add, histogram, record};
use crate::core::kind::KindRecord;
use crate::core::ledger::Ledger;
use crate::core::outcome::{Outcome, Outcomes};
use crate::core::sample;
pub use crate::core::sample::Sample;
pub use crate::core::second::Second;
use crate::core::{settled::Settling, silence::Silences, tenths::Tenths};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    Warmup,
    Window,
    Drain,
    /// The drain has lasted long enough: what is unanswered stays so.
    Abandon,
}

/// The requests that were due in one step of the window; `completed`: the answers that arrived during it.
#[derive(Debug, Clone)]
pub struct StepRecord {
    pub sent: u64,
    pub outcomes: Outcomes,
    pub completed: u64,
    pub completed_ok: u64,
    pub latency_ok: Histogram<u64>,
    pub latency_not_ok: Histogram<u64>,
    pub service: Histogram<u64>,
    pub send_lag: Histogram<u64>,
}

impl StepRecord {
    fn new() -> StepRecord {
        StepRecord {
            sent: 0,
            outcomes: Outcomes::default(),
            completed: 0,
            completed_ok: 0,
            latency_ok: histogram(),
            latency_not_ok: histogram(),
            service: histogram(),
            send_lag: histogram(),
        }
    }

    fn ended(&mut self, ended: Ended) {
        self.outcomes.add(ended.outcome);
        match ended.outcome {
            Outcome::InFlight => {}
            Outcome::Ok => {
                record(&mut self.latency_ok, ended.latency_us);
                record(&mut self.service, ended.service_us);
            }
            _ => record(&mut self.latency_not_ok, ended.latency_us),
        }
    }

    fn merge(&mut self, other: &StepRecord) {
        self.sent += other.sent;
        self.outcomes.merge(&other.outcomes);
        self.completed += other.completed;
        self.completed_ok += other.completed_ok;
        add(&mut self.latency_ok, &other.latency_ok);
        add(&mut self.latency_not_ok, &other.latency_not_ok);
        add(&mut self.service, &other.service);
        add(&mut self.send_lag, &other.send_lag);
    }
}

/// A request that has ended, as the record needs it.
#[derive(Debug, Clone, Copy)]
pub struct Ended {
    pub at_ns: u64,
    pub kind: usize,
    pub outcome: Outcome,
    /// It was sent inside the window.
    pub in_window: bool,
    /// From the moment it could be sent (closed loop) or was due (open loop).
    pub latency_us: u64,
    /// From the moment it was sent.
    pub service_us: u64,
    pub body_checked: bool,
    /// The step of the window that it was due in, and the one that it ended in. 0 where there are none.
    pub step: usize,
    pub ended_in_step: usize,
}

#[derive(Debug)]
pub struct Record {
    phase: Phase,
    pub life_sent: u64,
    pub life: Outcomes,
    pub life_bodies_checked: u64,
    /// Kept connections that the server closed, and those of them that no answer announced.
    pub closed: u64,
    pub dropped: u64,
    pub window_sent: u64,
    pub kinds: Vec<KindRecord>,
    /// Empty where the load has no steps.
    pub steps: Vec<StepRecord>,
    pub latency_not_ok: Histogram<u64>,
    pub service: Option<Histogram<u64>>,
    pub send_lag: Option<Histogram<u64>>,
    pub connect: Histogram<u64>,
    /// `None` without TLS.
    pub handshakes: Option<Box<Handshakes>>,
    /// From the kernel's receipt of bytes to their handling, where the kernel was asked.
    pub receive_lag: Histogram<u64>,
    pub completed: u64,
    pub completed_ok: u64,
    in_flight: u64,
    pub in_flight_start: u64,
    pub in_flight_end: u64,
    pub bytes_sent: u64,
    pub bytes_received: u64,
    pub bodies_checked: u64,
    pub connections_opened: u64,
    pub second: Second,
    pub settling: Settling,
    pub silences: Silences,
    pub tenths: Tenths,
    pub samples: Vec<Sample>,
    pub ledger: Ledger,
    pub answers: Answers,
}

impl Record {
    /// `open_loop`: service times and send lags are kept too. `steps`: of the window, 0 where it has one rate or none.
    pub fn new(kinds: usize, ledger: Ledger, open_loop: bool, steps: usize) -> Record {
        Record {
            phase: Phase::Warmup,
            life_sent: 0,
            life: Outcomes::default(),
            life_bodies_checked: 0,
            closed: 0,
            dropped: 0,
            window_sent: 0,
            kinds: vec![KindRecord::new(); kinds],
            steps: (0..steps).map(|_| StepRecord::new()).collect(),
            latency_not_ok: histogram(),
            service: open_loop.then(histogram),
            send_lag: open_loop.then(histogram),
            connect: histogram(),
            handshakes: None,
            receive_lag: histogram(),
            completed: 0,
            completed_ok: 0,
            in_flight: 0,
            in_flight_start: 0,
            in_flight_end: 0,
            bytes_sent: 0,
            bytes_received: 0,
            bodies_checked: 0,
            connections_opened: 0,
            second: Second::new(),
            settling: Settling::new(0, 0),
            silences: Silences::default(),
            tenths: Tenths::default(),
            samples: Vec::new(),
            ledger,
            answers: Answers::default(),
        }
    }

    pub fn phase(&self) -> Phase {
        self.phase
    }

    pub fn in_flight(&self) -> u64 {
        self.in_flight
    }

    /// The next phase begins: in-flight requests are counted at both ends of the window, and a new second starts.
    pub fn enter(&mut self, phase: Phase) {
        assert!(phase > self.phase, "phases follow each other");
        match phase {
            Phase::Window => self.in_flight_start = self.in_flight,
            Phase::Drain if self.phase == Phase::Window => self.in_flight_end = self.in_flight,
            _ => {}
        }
        self.phase = phase;
        self.second = Second::new();
    }

    /// A request is sent that was due in `step`; the answer is what `Ended::in_window` must be.
    pub fn sent(&mut self, lag_us: u64, step: usize) -> bool {
        self.life_sent += 1;
        self.in_flight += 1;
        let in_window = self.phase == Phase::Window;
        if in_window {
            self.window_sent += 1;
            if let Some(send_lag) = &mut self.send_lag {
                record(send_lag, lag_us);
            }
            if let Some(step) = self.steps.get_mut(step) {
                step.sent += 1;
                record(&mut step.send_lag, lag_us);
            }
        }
        in_window
    }

    /// A request that was due in `step` could not be sent.
    pub fn unsent(&mut self, kind: usize, step: usize) {
        self.life.unsent += 1;
        self.kinds[kind].life.unsent += 1;
        if self.phase == Phase::Window {
            self.kinds[kind].outcomes.unsent += 1;
            if let Some(step) = self.steps.get_mut(step) {
                step.outcomes.unsent += 1;
            }
        }
    }

    pub fn ended(&mut self, ended: Ended) {
        let ok = ended.outcome == Outcome::Ok;
        self.in_flight -= 1;
        self.life.add(ended.outcome);
        self.kinds[ended.kind].life.add(ended.outcome);
        self.life_bodies_checked += u64::from(ended.body_checked);
        self.settling.ended(ok, ended.at_ns);
        if self.phase == Phase::Window {
            self.completed += 1;
            self.completed_ok += u64::from(ok);
            if let Some(step) = self.steps.get_mut(ended.ended_in_step) {
                step.completed += 1;
                step.completed_ok += u64::from(ok);
            }
        }
        if ok {
            self.second.ok += 1;
            record(&mut self.second.latency_ok, ended.latency_us);
        } else {
            self.second.not_ok += 1;
        }
        if ended.in_window {
            self.ended_in_window(ended, ok);
        }
    }

    fn ended_in_window(&mut self, ended: Ended, ok: bool) {
        let kind = &mut self.kinds[ended.kind];
        kind.outcomes.add(ended.outcome);
        if let Some(step) = self.steps.get_mut(ended.step) {
            step.ended(ended);
        }
        self.bodies_checked += u64::from(ended.body_checked);
        if ended.outcome == Outcome::InFlight {
            return;
        }
        record(
            if ok {
                &mut kind.latency_ok
            } else {
                &mut self.latency_not_ok
            },
            ended.latency_us,
        );
        if let (true, Some(service)) = (ok, &mut self.service) {
            record(service, ended.service_us);
        }
    }

    pub fn connected(&mut self, connect_us: u64) {
        if self.phase == Phase::Window {
            self.connections_opened += 1;
            record(&mut self.connect, connect_us);
        }
    }

    /// The server closed a connection that was to be kept. `announced`: its last answer said so.
    pub fn closed(&mut self, announced: bool) {
        self.closed += 1;
        self.dropped += u64::from(!announced);
    }

    /// A TLS handshake has ended well. `agreed`: version and cipher, asked of the first one.
    pub fn shook_hands(&mut self, took_us: u64, agreed: impl FnOnce() -> Option<(String, String)>) {
        let in_window = self.phase == Phase::Window;
        let handshakes = self.handshakes.get_or_insert_default();
        handshakes.done(took_us, in_window);
        if handshakes.agreed.is_none() {
            handshakes.agreed = agreed();
        }
    }

    pub fn handshake_failed(&mut self) {
        self.handshakes.get_or_insert_default().failed += 1;
    }

    /// Bytes were handled `lag_us` after the kernel had received them.
    pub fn received_late(&mut self, lag_us: u64) {
        if self.phase == Phase::Window {
            record(&mut self.receive_lag, lag_us);
        }
    }

    pub fn bytes(&mut self, sent: usize, received: usize) {
        if self.phase == Phase::Window {
            self.bytes_sent += sent as u64;
            self.bytes_received += received as u64;
        }
    }

    /// All outcomes of requests sent inside the window.
    pub fn window_outcomes(&self) -> Outcomes {
        let mut all = Outcomes::default();
        self.kinds.iter().for_each(|kind| all.merge(&kind.outcomes));
        all
    }

    /// The good answers of all kinds.
    pub fn latency_ok(&self) -> Histogram<u64> {
        let mut all = histogram();
        self.kinds
            .iter()
            .for_each(|kind| add(&mut all, &kind.latency_ok));
        all
    }

    /// Adds another thread's record. Both must be finished.
    pub fn merge(&mut self, other: &Record) {
        self.life_sent += other.life_sent;
        self.life.merge(&other.life);
        self.life_bodies_checked += other.life_bodies_checked;
        self.closed += other.closed;
        self.dropped += other.dropped;
        self.window_sent += other.window_sent;
        for (mine, others) in self.kinds.iter_mut().zip(&other.kinds) {
            mine.merge(others);
        }
        for (mine, others) in self.steps.iter_mut().zip(&other.steps) {
            mine.merge(others);
        }
        add(&mut self.latency_not_ok, &other.latency_not_ok);
        add(&mut self.connect, &other.connect);
        add(&mut self.receive_lag, &other.receive_lag);
        if let Some(others) = &other.handshakes {
            self.handshakes.get_or_insert_default().merge(others);
        }
        for (mine, others) in [
            (&mut self.service, &other.service),
            (&mut self.send_lag, &other.send_lag),
        ] {
            if let (Some(mine), Some(others)) = (mine, others) {
                add(mine, others);
            }
        }
        self.completed += other.completed;
        self.completed_ok += other.completed_ok;
        self.in_flight_start += other.in_flight_start;
        self.in_flight_end += other.in_flight_end;
        self.bytes_sent += other.bytes_sent;
        self.bytes_received += other.bytes_received;
        self.bodies_checked += other.bodies_checked;
        self.connections_opened += other.connections_opened;
        for sample in &other.samples {
            if sample::is_wanted(&self.samples, sample.outcome, &sample.reason) {
                self.samples.push(sample.clone());
            }
        }
        self.silences.merge(&other.silences);
        self.tenths.merge(&other.tenths);
        self.ledger.merge(&other.ledger);
        self.answers.merge(&other.answers);
    }

    /// Every request must have exactly one outcome; a sum that is off is a fault of the engine.
    pub fn check_identities(&self) -> Result<(), EngineError> {
        let window = self.window_outcomes();
        let (mut kinds, mut steps) = (Outcomes::default(), Outcomes::default());
        self.kinds.iter().for_each(|kind| kinds.merge(&kind.life));
        self.steps
            .iter()
            .for_each(|step| steps.merge(&step.outcomes));
        let has_steps = u64::from(!self.steps.is_empty());
        let rows = [
            (
                "life: outcomes = sent + unsent",
                self.life.total(),
                self.life_sent + self.life.unsent,
            ),
            (
                "life: the outcomes of all kinds are its own",
                kinds.total(),
                self.life.total(),
            ),
            (
                "window: outcomes = sent + unsent",
                window.total(),
                self.window_sent + window.unsent,
            ),
            (
                "window: sent + in flight at its start = completed + in flight at its end",
                self.window_sent + self.in_flight_start,
                self.completed + self.in_flight_end,
            ),
            ("nothing is in flight after the end", self.in_flight, 0),
            (
                "steps: their outcomes are the window's",
                steps.total(),
                has_steps * window.total(),
            ),
            (
                "steps: completed is the window's",
                self.steps.iter().map(|step| step.completed).sum(),
                has_steps * self.completed,
            ),
        ];
        match rows.iter().find(|(_, left, right)| left != right) {
            Some((identity, left, right)) => Err(EngineError::Count(format!(
                "{identity} does not hold: {left} against {right}"
            ))),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
#[path = "record_tests.rs"]
mod tests;
