//! What the controller and the worker threads say to each other.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::core::clock::{Clocks, Reading};
use crate::core::config::{MAX_SECONDS, is_window};
use crate::core::record::{Phase, Record, Second};
use crate::core::settled::Settled;
use crate::sys::Waker;

/// Everything that reaches the controller, from workers and from outside.
#[derive(Debug)]
pub enum Input {
    /// The window begins. It lasts as long as the plan says unless the command gives its seconds.
    Measure {
        window_s: Option<f64>,
    },
    Stop,
    /// No further requests until `Go`.
    Hold,
    /// The next turn begins. It ends by itself once so many requests were sent; None: with the next `Hold`.
    Go {
        requests: Option<u64>,
    },
    /// A worker has sent its share of the turn's requests.
    Spent,
    Interrupt,
    BadCommand(String),
    /// A worker opens its first connection.
    Attempted,
    /// A worker's first connection stands.
    Connected,
    Entered(Phase),
    /// A worker has all its answers and sends no further requests.
    Held(Box<Held>),
    Second {
        phase: Phase,
        index: u64,
        second: Box<Second>,
    },
    Finished(Box<Report>),
}

impl Input {
    /// A line of commands; what is none becomes `BadCommand`, with a sentence for a person.
    pub fn parse(line: &str) -> Input {
        let found = serde_json::from_str::<serde_json::Value>(line).unwrap_or_default();
        let (window_s, requests) = (&found["window_s"], &found["requests"]);
        match found["command"].as_str() {
            Some("measure") if window_s.is_null() || window_s.as_f64().is_some_and(is_window) => {
                Input::Measure {
                    window_s: window_s.as_f64(),
                }
            }
            Some("measure") => Input::BadCommand(format!(
                "`window_s` of the command `measure` is {window_s}; write seconds above 0, up to {MAX_SECONDS}"
            )),
            Some("stop") => Input::Stop,
            Some("hold") => Input::Hold,
            Some("go")
                if requests.is_null() || requests.as_u64().is_some_and(|count| count > 0) =>
            {
                Input::Go {
                    requests: requests.as_u64(),
                }
            }
            Some("go") => Input::BadCommand(format!(
                "`requests` of the command `go` is {requests}; write a whole number above 0"
            )),
            _ => Input::BadCommand(format!(
                "`{line}` is not a command; write {{\"command\": …}} with \"measure\", \"hold\", \"go\" or \"stop\""
            )),
        }
    }
}

/// What one worker hands over at its end.
#[derive(Debug)]
pub struct Report {
    pub record: Record,
    pub window_start: Option<Mark>,
    pub window_end: Option<Mark>,
}

/// What a worker has counted when it stands still: of the whole run, and of this turn's settled part.
#[derive(Debug)]
pub struct Held {
    pub at_ns: u64,
    pub ok: u64,
    pub not_ok: u64,
    pub settled: Settled,
}

/// A worker's clocks at one end of the window.
#[derive(Debug, Clone, Copy)]
pub struct Mark {
    pub at_ns: u64,
    /// On the load's active clock.
    pub active_ns: u64,
    pub cpu_us: u64,
    pub run_queue_us: Option<u64>,
}

/// What all workers shall do. They look between two batches of events.
#[derive(Debug, Clone, Copy)]
pub struct Orders {
    pub phase: Phase,
    pub phase_start: Reading,
    pub window_begun: bool,
    /// How long the window lasts.
    pub window_s: f64,
    /// Requests are held back.
    pub held: bool,
    /// The number of the turn; the first is 1.
    pub turn: u64,
    pub turn_start: Reading,
    /// The turn ends by itself once all threads have sent so many.
    pub turn_requests: Option<u64>,
    pub clocks: Clocks,
}

impl Orders {
    /// `held`: nothing is sent before the first `go`, and no clock runs.
    pub fn new(start_ns: u64, window_s: f64, held: bool) -> Orders {
        let mut clocks = Clocks::default();
        if held {
            clocks.schedule.pause(start_ns);
            clocks.active.pause(start_ns);
        }
        Orders {
            phase: Phase::Warmup,
            phase_start: clocks.read(start_ns),
            window_begun: false,
            window_s,
            held,
            turn: u64::from(!held),
            turn_start: clocks.read(start_ns),
            turn_requests: None,
            clocks,
        }
    }

    pub fn hold(&mut self, now_ns: u64) {
        self.clocks.schedule.pause(now_ns);
        self.held = true;
    }

    pub fn go(&mut self, now_ns: u64, requests: Option<u64>) {
        self.turn_requests = requests;
        self.clocks.resume(now_ns);
        self.turn_start = self.clocks.read(now_ns);
        self.turn += 1;
        self.held = false;
    }

    pub fn enter(&mut self, phase: Phase, now_ns: u64) {
        self.phase = phase;
        self.phase_start = self.clocks.read(now_ns);
        self.window_begun |= phase == Phase::Window;
    }
}

/// How far a worker has followed the orders, and where it is in its turn.
pub struct TurnState {
    /// As it last saw them.
    pub orders: Orders,
    pub version: u64,
    /// No further request is sent …
    pub holds: bool,
    /// … and the controller has been told that the last answer is there.
    pub stands: bool,
    /// The requests that it may still send in this turn.
    pub left: u64,
    /// The load's clocks when this turn began.
    pub start_clocks: Reading,
}

impl TurnState {
    pub fn new(control: &Control) -> TurnState {
        let (version, orders) = (control.version(), control.orders());
        TurnState {
            orders,
            version,
            holds: orders.held,
            stands: false,
            left: u64::MAX,
            start_clocks: orders.phase_start,
        }
    }

    /// What one of so many threads may send in the turn that begins: shares differ by one at most.
    pub fn begin(&mut self, thread: usize, threads: usize) {
        self.left = self.orders.turn_requests.map_or(u64::MAX, |all| {
            let (thread, threads) = (thread as u64, threads as u64);
            all / threads + u64::from(thread < all % threads)
        });
    }

    /// A moment of the machine's on the clock of active time.
    pub fn active_ns(&self, at_ns: u64) -> u64 {
        self.orders.clocks.active.at(at_ns)
    }

    /// A moment of the machine's on the schedule's clock.
    pub fn schedule_ns(&self, at_ns: u64) -> u64 {
        self.orders.clocks.schedule.at(at_ns)
    }
}

/// Hands the controller's orders to the workers.
pub struct Control {
    orders: Mutex<Orders>,
    /// Grows with each order, so that a worker sees at a glance whether there is a new one.
    version: AtomicU64,
    wakers: Vec<Waker>,
}

impl Control {
    pub fn new(threads: usize, orders: Orders) -> std::io::Result<Control> {
        let wakers = (0..threads)
            .map(|_| Waker::new())
            .collect::<Result<_, _>>()?;
        Ok(Control {
            orders: Mutex::new(orders),
            version: AtomicU64::new(0),
            wakers,
        })
    }

    /// All workers follow these orders from their next look on.
    pub fn give(&self, orders: Orders) {
        *self.lock() = orders;
        self.version.fetch_add(1, Ordering::Release);
    }

    /// Makes all workers look at once.
    pub fn wake(&self) {
        self.wakers.iter().for_each(Waker::wake);
    }

    pub fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    pub fn orders(&self) -> Orders {
        *self.lock()
    }

    pub fn waker(&self, thread: usize) -> &Waker {
        &self.wakers[thread]
    }

    fn lock(&self) -> MutexGuard<'_, Orders> {
        // Orders are plain data: whoever panicked while holding them left them whole.
        self.orders.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
