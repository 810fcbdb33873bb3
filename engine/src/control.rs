//! What the controller and the worker threads say to each other.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};

use crate::record::{Phase, Record, Second};
use crate::sys::Waker;

/// Everything that reaches the controller, from workers and from outside.
#[derive(Debug)]
pub enum Input {
    Measure,
    Stop,
    /// No further requests until `Go`.
    Hold,
    Go,
    Interrupt,
    BadCommand(String),
    /// A worker's first connection stands.
    Connected,
    Entered(Phase),
    /// A worker has all its answers and sends no further requests.
    Held(Held),
    Second {
        phase: Phase,
        index: u64,
        second: Box<Second>,
    },
    Finished(Box<Report>),
}

/// What one worker hands over at its end.
#[derive(Debug)]
pub struct Report {
    pub record: Record,
    pub window_start: Option<Mark>,
    pub window_end: Option<Mark>,
}

/// What a worker has counted when it stands still in turn `turn`, of the whole run.
#[derive(Debug, Clone, Copy)]
pub struct Held {
    pub turn: u64,
    pub at_ns: u64,
    pub ok: u64,
    pub not_ok: u64,
}

/// A worker's clocks at one end of the window.
#[derive(Debug, Clone, Copy)]
pub struct Mark {
    pub at_ns: u64,
    pub cpu_us: u64,
    pub run_queue_us: Option<u64>,
}

/// The phase that all workers shall be in. They look between two batches of events; `wakers` make them look at once.
pub struct Control {
    phase: AtomicU8,
    phase_start_ns: AtomicU64,
    window_begun: AtomicBool,
    /// Odd: requests are held back.
    turn: AtomicU64,
    wakers: Vec<Waker>,
}

const PHASES: [Phase; 4] = [Phase::Warmup, Phase::Window, Phase::Drain, Phase::Abandon];

impl Control {
    pub fn new(threads: usize, start_ns: u64) -> std::io::Result<Control> {
        let wakers = (0..threads)
            .map(|_| Waker::new())
            .collect::<Result<_, _>>()?;
        Ok(Control {
            phase: AtomicU8::new(0),
            phase_start_ns: AtomicU64::new(start_ns),
            window_begun: AtomicBool::new(false),
            turn: AtomicU64::new(0),
            wakers,
        })
    }

    pub fn enter(&self, phase: Phase, now_ns: u64) {
        self.phase_start_ns.store(now_ns, Ordering::Relaxed);
        if phase == Phase::Window {
            self.window_begun.store(true, Ordering::Relaxed);
        }
        self.phase.store(phase as u8, Ordering::Release);
        self.wakers.iter().for_each(Waker::wake);
    }

    /// Requests are held back from now on, or are sent again; the answer is the new turn.
    pub fn next_turn(&self) -> u64 {
        let turn = self.turn.fetch_add(1, Ordering::AcqRel) + 1;
        self.wakers.iter().for_each(Waker::wake);
        turn
    }

    pub fn turn(&self) -> u64 {
        self.turn.load(Ordering::Acquire)
    }

    pub fn phase(&self) -> Phase {
        PHASES[usize::from(self.phase.load(Ordering::Acquire))]
    }

    pub fn phase_start_ns(&self) -> u64 {
        self.phase_start_ns.load(Ordering::Relaxed)
    }

    pub fn window_begun(&self) -> bool {
        self.window_begun.load(Ordering::Relaxed)
    }

    pub fn waker(&self, thread: usize) -> &Waker {
        &self.wakers[thread]
    }
}
