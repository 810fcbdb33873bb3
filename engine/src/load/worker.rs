//! One thread's loop: wait, handle each answer by sending the next request, keep time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;
use std::sync::mpsc::Sender;

use crate::core::clock::Reading;
use crate::core::config::Config;
use crate::core::expect::Known;
use crate::core::http1::most_body_bytes;
use crate::core::ledger::Ledger;
use crate::core::outcome::Outcome;
use crate::core::pace::Pace;
use crate::core::pauses::Pauses;
use crate::core::record::{Phase, Record};
use crate::core::silence;
use crate::load::conn::{self, Conn, State};
use crate::load::control::{Control, Input, Mark, Orders, Report};
use crate::load::stream::Stream;
use crate::sys::socket;
use crate::sys::{self, Epoll, Event};

pub(crate) const SECOND_NS: u64 = 1_000_000_000;
const EVENTS_PER_BATCH: usize = 128;
/// An answer larger than this is put together in its connection's own memory.
const SCRATCH_BYTES: usize = 64 * 1024;
const WAKE: u64 = u64::MAX;
/// Closed-loop connections are opened one after the other, so that no listen queue overflows.
pub(crate) const OPENING_GAP_NS: u64 = 20_000;
/// A thread that stands still waits for orders alone.
const STANDING_NS: u64 = 3600 * SECOND_NS;

pub struct Worker<S: Stream> {
    thread: usize,
    pub(crate) config: Arc<Config>,
    pub(crate) control: Arc<Control>,
    pub(crate) inputs: Sender<Input>,
    pub(crate) epoll: Epoll,
    pub(crate) client: S::Client,
    pub(crate) conns: Vec<Conn<S>>,
    pub(crate) scratch: Vec<u8>,
    pub(crate) body: Vec<u8>,
    pub(crate) record: Record,
    /// Right bodies so far, by kind.
    pub(crate) known: Vec<Known>,
    pub(crate) now_ns: u64,
    /// When which connection may be used again.
    retry: BinaryHeap<Reverse<(u64, usize)>>,
    /// On the active clock.
    pub(crate) pauses: Pauses,
    pub(crate) pace: Pace,
    /// Connections without a request; open loop only.
    idle: Vec<usize>,
    /// The controller's orders as this worker last saw them.
    pub(crate) orders: Orders,
    pub(crate) version: u64,
    /// No further request is sent, and the controller has been told that the last answer is there.
    pub(crate) holds: bool,
    pub(crate) stands: bool,
    /// The load's clocks when this turn began.
    pub(crate) turn_start: Reading,
    /// Connections whose next request is held back.
    pub(crate) parked: Vec<usize>,
    next_number: u64,
    pub(crate) timeout_ns: u64,
    next_scan_ns: u64,
    /// On the active clock.
    next_second_ns: u64,
    second_index: u64,
    connected_before: bool,
    window_start: Option<Mark>,
    window_end: Option<Mark>,
}

impl<S: Stream> Worker<S> {
    pub fn new(
        thread: usize,
        client: S::Client,
        config: Arc<Config>,
        control: Arc<Control>,
        inputs: Sender<Input>,
    ) -> std::io::Result<Worker<S>> {
        let epoll = Epoll::new()?;
        epoll.add(control.waker(thread).fd(), sys::READ_EDGES, WAKE)?;
        let (version, orders) = (control.version(), control.orders());
        let start_ns = orders.phase_start.active_ns;
        let record = Record::new(
            config.requests.len(),
            Ledger::new(&config.requests).doubting(config.load.fault),
            config.offered.is_some(),
            config.steps().len(),
        );
        Ok(Worker {
            thread,
            client,
            conns: (0..config.connections_of(thread))
                .map(|_| Conn::new(most_body_bytes(config.load.connections)))
                .collect(),
            epoll,
            scratch: vec![0; SCRATCH_BYTES],
            body: Vec::new(),
            record,
            known: config.requests.iter().map(|_| Known::default()).collect(),
            now_ns: start_ns,
            retry: BinaryHeap::new(),
            pauses: Pauses::new(config.load.think_ms),
            pace: Pace::new(&config, thread, start_ns),
            idle: Vec::new(),
            orders,
            version,
            holds: orders.held,
            stands: false,
            turn_start: orders.phase_start,
            parked: Vec::new(),
            next_number: thread as u64,
            timeout_ns: config.load.timeout_ms * 1_000_000,
            next_scan_ns: start_ns,
            next_second_ns: start_ns + SECOND_NS,
            second_index: 0,
            connected_before: false,
            window_start: None,
            window_end: None,
            config,
            control,
            inputs,
        })
    }

    pub fn run(mut self) {
        self.start();
        let mut events = vec![Event { events: 0, u64: 0 }; EVENTS_PER_BATCH];
        while !self.is_over() {
            let asked_ns = sys::now_ns();
            let wait_ns = self.until_next_ns(asked_ns);
            let ready = self.epoll.wait(&mut events, wait_ns);
            self.now_ns = sys::now_ns();
            // Whatever came later than asked for, the thread would not have seen an answer then.
            let slept_ns = self.now_ns - asked_ns;
            self.record.silences.watched(slept_ns.min(wait_ns));
            for event in &events[..ready] {
                let Event { events, u64: token } = *event;
                if token != WAKE {
                    self.on_event(events, token);
                }
            }
            self.follow_orders();
            self.keep_time();
            self.tell_standing();
        }
        let report = Report {
            record: self.record,
            window_start: self.window_start,
            window_end: self.window_end,
        };
        // The controller outlives its workers; if it is gone, nobody is left to tell.
        let _ = self.inputs.send(Input::Finished(Box::new(report)));
    }

    fn start(&mut self) {
        if self.pace.is_open() || self.pauses.exist() {
            sys::precise_timers();
        }
        if self.pace.is_open() {
            self.idle = (0..self.conns.len()).rev().collect();
        } else if self.holds {
            self.parked = (0..self.conns.len()).collect();
        } else {
            let start_ns = self.now_ns;
            self.retry = (0..self.conns.len())
                .map(|index| Reverse((start_ns + index as u64 * OPENING_GAP_NS, index)))
                .collect();
            self.begin_turn();
        }
    }

    fn is_over(&self) -> bool {
        match self.record.phase() {
            Phase::Warmup | Phase::Window => false,
            Phase::Drain => self.record.in_flight() == 0,
            Phase::Abandon => true,
        }
    }

    fn on_event(&mut self, flags: u32, token: u64) {
        let (index, generation) = sys::from_token(token);
        let conn = &mut self.conns[index];
        if conn.generation != generation {
            return;
        }
        match conn.state {
            State::Closed => return,
            // Nothing was asked, so whatever this is, it ends the connection.
            State::Idle => {
                let is_gone = flags & sys::GONE != 0;
                if is_gone || flags & sys::READABLE != 0 && !conn.is_quiet() {
                    conn.close();
                }
                return;
            }
            State::Connecting if flags & sys::BROKEN != 0 => {
                let error = conn.connect_error();
                self.now_ns = sys::now_ns();
                return self.connect_failed(index, error);
            }
            State::Connecting if flags & sys::WRITABLE == 0 => return,
            State::Connecting => {
                self.now_ns = sys::now_ns();
                self.reached(index);
            }
            State::Handshaking => self.shake_hands(index),
            State::Busy if flags & sys::WRITABLE != 0 && !conn.is_all_sent() => self.send(index),
            State::Busy => {}
        }
        if flags & (sys::READABLE | sys::GONE) != 0 && self.conns[index].state == State::Busy {
            self.receive(index, flags & sys::GONE != 0);
        }
    }

    /// The next request for a connection that is free. `could_ns`: since when it could be sent (closed loop).
    pub(crate) fn proceed(&mut self, index: usize, could_ns: u64) {
        if self.record.phase() >= Phase::Drain {
            return;
        }
        if self.pace.is_open() {
            self.idle.push(index);
            return self.dispatch();
        }
        if self.holds {
            return self.parked.push(index);
        }
        let number = self.next_number;
        self.next_number += self.config.load.threads as u64;
        self.issue(index, number, could_ns);
    }

    pub(crate) fn again_after(&mut self, index: usize, wait_ns: u64) {
        self.retry.push(Reverse((self.now_ns + wait_ns, index)));
    }

    /// Sends what is due, as far as connections are free. What waited for a whole timeout is given up and counted.
    pub(crate) fn dispatch(&mut self) {
        if self.holds {
            return;
        }
        loop {
            let schedule_ns = self.orders.clocks.schedule.at(self.now_ns);
            let Some((number, due_ns)) = self.pace.due(schedule_ns) else {
                return;
            };
            let late_ns = schedule_ns - due_ns;
            if late_ns > self.timeout_ns {
                self.give_up(number, due_ns);
                continue;
            }
            let Some(index) = self.idle.pop() else { return };
            self.pace.advance();
            self.issue(index, number, self.now_ns - late_ns);
            self.now_ns = sys::now_ns();
        }
    }

    /// What was due inside the window and never sent.
    fn give_up_backlog(&mut self) {
        let schedule_ns = self.orders.clocks.schedule.at(self.now_ns);
        while let Some((number, due_ns)) = self.pace.due(schedule_ns) {
            self.give_up(number, due_ns);
        }
    }

    /// `due_ns`: on the schedule's clock.
    fn give_up(&mut self, number: u64, due_ns: u64) {
        self.pace.advance();
        self.record
            .unsent(self.config.kind_of(number), self.pace.step_at(due_ns));
    }

    fn until_next_ns(&self, now_ns: u64) -> u64 {
        if self.stands {
            return STANDING_NS;
        }
        let clocks = &self.orders.clocks;
        let mut next_ns = self.next_scan_ns;
        if self.record.phase() < Phase::Drain {
            next_ns = next_ns.min(clocks.active.when(self.next_second_ns));
            if let Some(Reverse((due_ns, _))) = self.retry.peek() {
                next_ns = next_ns.min(*due_ns);
            }
            if let Some(end_ns) = self.pauses.next_end_ns() {
                next_ns = next_ns.min(clocks.active.when(end_ns));
            }
            if !self.idle.is_empty() && !self.holds {
                let schedule_ns = clocks.schedule.at(self.now_ns);
                next_ns = next_ns.min(clocks.schedule.when(self.pace.wake_ns(schedule_ns)));
            }
        }
        if self.record.phase() == Phase::Window && self.record.in_flight() > 0 {
            next_ns = next_ns.min(now_ns + silence::LOOK_NS);
        }
        next_ns.saturating_sub(now_ns)
    }

    fn keep_time(&mut self) {
        if self.stands {
            return;
        }
        if self.record.phase() < Phase::Drain {
            let active_ns = self.orders.clocks.active.at(self.now_ns);
            while active_ns >= self.next_second_ns && self.second_index < self.last_second() {
                self.end_second();
            }
            while let Some(Reverse((due_ns, index))) = self.retry.peek().copied()
                && due_ns <= self.now_ns
            {
                self.retry.pop();
                self.proceed(index, self.now_ns);
            }
            self.end_pauses();
            self.dispatch();
        }
        if self.now_ns >= self.next_scan_ns {
            self.end_late_requests();
            self.next_scan_ns = self.now_ns + (self.timeout_ns / 100).clamp(1_000_000, 100_000_000);
        }
    }

    /// The window's last second ends with the window, however late that is seen. The drains of its turns make it longer where
    /// a schedule decides on its end.
    fn last_second(&self) -> u64 {
        if self.record.phase() < Phase::Window {
            return u64::MAX;
        }
        let mut window_s = self.orders.window_s;
        if self.pace.is_open() {
            let reading = self.orders.clocks.read(self.now_ns);
            window_s += reading.drained_since(&self.orders.phase_start) as f64 / 1e9;
        }
        (window_s.ceil() as u64).saturating_sub(1)
    }

    fn end_second(&mut self) {
        let phase = self.record.phase();
        self.record.second.in_flight = self.record.in_flight();
        let second = Box::new(std::mem::take(&mut self.record.second));
        let _ = self.inputs.send(Input::Second {
            phase,
            index: self.second_index,
            second,
        });
        self.second_index += 1;
        self.next_second_ns += SECOND_NS;
    }

    /// Goes through the phases up to the controller's, leaving none out.
    pub(crate) fn follow_phase(&mut self) {
        while self.record.phase() < self.orders.phase {
            let next = match self.record.phase() {
                Phase::Warmup if self.orders.window_begun => Phase::Window,
                Phase::Warmup | Phase::Window => Phase::Drain,
                Phase::Drain | Phase::Abandon => Phase::Abandon,
            };
            self.enter(next);
        }
    }

    fn enter(&mut self, phase: Phase) {
        if phase == Phase::Drain {
            // What is due and has a free connection still belongs into the window; the rest is counted as unsent.
            self.now_ns = sys::now_ns();
            self.dispatch();
            self.give_up_backlog();
            if self.record.phase() == Phase::Window {
                self.end_second();
            }
        }
        let at_ns = sys::now_ns();
        let mark = Mark {
            at_ns,
            // A thread that stands still counts nothing before the `go`, however late it looks.
            active_ns: match self.stands {
                true => self.orders.phase_start.active_ns,
                false => self.orders.clocks.active.at(at_ns),
            },
            cpu_us: sys::thread_cpu_us(),
            run_queue_us: sys::thread_run_queue_us(),
        };
        match phase {
            Phase::Window => {
                self.window_start = Some(mark);
                self.pace.begin_window(self.orders.phase_start.schedule_ns);
            }
            Phase::Drain if self.window_start.is_some() => self.window_end = Some(mark),
            _ => {}
        }
        self.record.enter(phase);
        match phase {
            Phase::Window => self.record.silences.begin(at_ns, self.record.in_flight()),
            _ => self.record.silences.end(at_ns),
        }
        let tells_tenths = phase == Phase::Window && self.config.load.fault;
        self.record.tenths.edge(at_ns, tells_tenths);
        self.second_index = 0;
        self.next_second_ns = self.orders.phase_start.active_ns + SECOND_NS;
        if phase == Phase::Abandon {
            self.abandon();
        }
        let _ = self.inputs.send(Input::Entered(phase));
    }

    fn abandon(&mut self) {
        for index in 0..self.conns.len() {
            if !matches!(self.conns[index].state, State::Closed | State::Idle) {
                self.end(index, Outcome::InFlight, "unanswered when the drain ended");
                self.conns[index].close();
            }
        }
    }

    /// Tells the controller, once, that the server can be reached.
    pub(crate) fn note_connection(&mut self) {
        if !self.connected_before {
            self.connected_before = true;
            let _ = self.inputs.send(Input::Connected);
        }
    }

    pub(crate) fn dial(&self, index: usize) -> socket::Dial {
        let number = index * self.config.load.threads + self.thread;
        let load = &self.config.load;
        conn::dial(
            self.config.address,
            number,
            load.keep_alive,
            load.kernel_timestamps,
        )
    }
}
