//! What the controller and the worker threads say to each other.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};

use crate::record::{Phase, Record, Second};
use crate::sys::Waker;

/// Everything that reaches the controller, from workers and from outside.
#[derive(Debug)]
pub enum Input {
    Measure,
    Stop,
    Interrupt,
    BadCommand(String),
    /// A worker's first connection stands.
    Connected,
    Entered(Phase),
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
