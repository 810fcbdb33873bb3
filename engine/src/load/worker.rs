//! One thread's loop: wait, handle each answer by sending the next request, keep time.

use std::sync::Arc;
use std::sync::mpsc::Sender;

use crate::core::config::Config;
use crate::core::outcome::Outcome;
use crate::core::record::Phase;
use crate::core::silence;
use crate::load::conn::{self, State};
use crate::load::connections::Connections;
use crate::load::control::{Control, Input, Mark, TurnState};
use crate::load::counting::Counting;
use crate::load::stream::Stream;
use crate::load::timing::{SECOND_NS, Timing};
use crate::sys::socket;
use crate::sys::{self, Event};

const EVENTS_PER_BATCH: usize = 128;
/// An answer larger than this is put together in its connection's own memory.
const SCRATCH_BYTES: usize = 64 * 1024;
const WAKE: u64 = u64::MAX;
/// A thread that stands still waits for orders alone.
const STANDING_NS: u64 = 3600 * SECOND_NS;

pub struct Worker<S: Stream> {
    pub(crate) thread: usize,
    pub(crate) config: Arc<Config>,
    pub(crate) control: Arc<Control>,
    pub(crate) inputs: Sender<Input>,
    /// Answers are read into it, and bodies of requests are written in `body`.
    pub(crate) scratch: Vec<u8>,
    pub(crate) body: Vec<u8>,
    pub(crate) now_ns: u64,
    pub(crate) connections: Connections<S>,
    pub(crate) timing: Timing,
    pub(crate) counting: Counting,
    pub(crate) turn: TurnState,
}

/// What every worker of a load is given.
#[derive(Clone)]
pub struct Shared<C> {
    /// What all connections have in common.
    pub client: C,
    pub config: Arc<Config>,
    pub control: Arc<Control>,
    pub inputs: Sender<Input>,
}

impl<S: Stream> Worker<S> {
    pub fn new(thread: usize, shared: Shared<S::Client>) -> std::io::Result<Worker<S>> {
        let Shared {
            client,
            config,
            control,
            inputs,
        } = shared;
        let connections = Connections::new(&config, thread, client)?;
        connections
            .epoll
            .add(control.waker(thread).fd(), sys::READ_EDGES, WAKE)?;
        let turn = TurnState::new(&control);
        let start_ns = turn.orders.phase_start.active_ns;
        Ok(Worker {
            thread,
            scratch: vec![0; SCRATCH_BYTES],
            body: Vec::new(),
            now_ns: start_ns,
            connections,
            timing: Timing::new(&config, thread, start_ns),
            counting: Counting::new(&config),
            turn,
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
            let ready = self.connections.epoll.wait(&mut events, wait_ns);
            self.now_ns = sys::now_ns();
            // Whatever came later than asked for, the thread would not have seen an answer then.
            let slept_ns = self.now_ns - asked_ns;
            self.counting.record.silences.watched(slept_ns.min(wait_ns));
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
        // The controller outlives its workers; if it is gone, nobody is left to tell.
        let _ = self
            .inputs
            .send(Input::Finished(Box::new(self.counting.report())));
    }

    fn start(&mut self) {
        if self.timing.pace.is_open() || self.timing.pauses.exist() {
            sys::precise_timers();
        }
        if self.timing.pace.is_open() {
            self.connections.idle = (0..self.connections.all.len()).rev().collect();
        } else if self.turn.holds {
            self.connections.parked = (0..self.connections.all.len()).collect();
        } else {
            self.connections.use_in_order(self.now_ns);
            self.begin_turn();
        }
    }

    fn is_over(&self) -> bool {
        match self.counting.record.phase() {
            Phase::Warmup | Phase::Window => false,
            Phase::Drain => self.counting.record.in_flight() == 0,
            Phase::Abandon => true,
        }
    }

    fn on_event(&mut self, flags: u32, token: u64) {
        let (index, generation) = sys::from_token(token);
        let conn = &mut self.connections.all[index];
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
                    self.counting.record.closed(false);
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
        if flags & (sys::READABLE | sys::GONE) != 0
            && self.connections.all[index].state == State::Busy
        {
            self.receive(index, flags & sys::GONE != 0);
        }
    }

    /// The next request for a connection that is free. `could_ns`: since when it could be sent (closed loop).
    pub(crate) fn proceed(&mut self, index: usize, could_ns: u64) {
        if self.counting.record.phase() >= Phase::Drain {
            return;
        }
        if self.timing.pace.is_open() {
            self.connections.idle.push(index);
            return self.dispatch();
        }
        if self.turn.holds || !self.take_share() {
            return self.connections.parked.push(index);
        }
        let number = self.timing.take_number();
        self.issue(index, number, could_ns);
    }

    pub(crate) fn again_after(&mut self, index: usize, wait_ns: u64) {
        self.connections.use_at(self.now_ns + wait_ns, index);
    }

    /// Sends what is due, as far as connections are free. What waited for a whole timeout is given up and counted.
    pub(crate) fn dispatch(&mut self) {
        if self.turn.holds {
            return;
        }
        loop {
            let schedule_ns = self.turn.schedule_ns(self.now_ns);
            let Some((number, due_ns)) = self.timing.pace.due(schedule_ns) else {
                return;
            };
            let late_ns = schedule_ns - due_ns;
            if late_ns > self.timing.timeout_ns {
                self.give_up(number, due_ns);
                continue;
            }
            let Some(index) = self.connections.idle.pop() else {
                return;
            };
            self.timing.pace.advance();
            self.issue(index, number, self.now_ns - late_ns);
            self.now_ns = sys::now_ns();
        }
    }

    /// What was due inside the window and never sent.
    fn give_up_backlog(&mut self) {
        let schedule_ns = self.turn.schedule_ns(self.now_ns);
        while let Some((number, due_ns)) = self.timing.pace.due(schedule_ns) {
            self.give_up(number, due_ns);
        }
    }

    /// `due_ns`: on the schedule's clock.
    fn give_up(&mut self, number: u64, due_ns: u64) {
        self.timing.pace.advance();
        self.counting.record.unsent(
            self.config.kind_of(number),
            self.timing.pace.step_at(due_ns),
        );
    }

    fn until_next_ns(&self, now_ns: u64) -> u64 {
        if self.turn.stands {
            return STANDING_NS;
        }
        let clocks = &self.turn.orders.clocks;
        let mut next_ns = self.timing.next_scan_ns;
        if self.counting.record.phase() < Phase::Drain {
            next_ns = next_ns.min(clocks.active.when(self.timing.next_second_ns));
            if let Some(due_ns) = self.connections.next_use_ns() {
                next_ns = next_ns.min(due_ns);
            }
            if let Some(end_ns) = self.timing.pauses.next_end_ns() {
                next_ns = next_ns.min(clocks.active.when(end_ns));
            }
            if !self.connections.idle.is_empty() && !self.turn.holds {
                let schedule_ns = clocks.schedule.at(self.now_ns);
                next_ns = next_ns.min(clocks.schedule.when(self.timing.pace.wake_ns(schedule_ns)));
            }
        }
        if self.counting.record.phase() == Phase::Window && self.counting.record.in_flight() > 0 {
            next_ns = next_ns.min(now_ns + silence::LOOK_NS);
        }
        next_ns.saturating_sub(now_ns)
    }

    fn keep_time(&mut self) {
        if self.turn.stands {
            return;
        }
        if self.counting.record.phase() < Phase::Drain {
            let active_ns = self.turn.active_ns(self.now_ns);
            while active_ns >= self.timing.next_second_ns
                && self.timing.second_index < self.last_second()
            {
                self.end_second();
            }
            while let Some(index) = self.connections.take_due(self.now_ns) {
                self.proceed(index, self.now_ns);
            }
            self.end_pauses();
            self.dispatch();
        }
        if self.now_ns >= self.timing.next_scan_ns {
            self.end_late_requests();
            self.timing.set_scan(self.now_ns);
        }
    }

    /// The window's last second ends with the window, however late that is seen. The drains of its turns make it longer where
    /// a schedule decides on its end.
    fn last_second(&self) -> u64 {
        if self.counting.record.phase() < Phase::Window {
            return u64::MAX;
        }
        let mut window_s = self.turn.orders.window_s;
        if self.timing.pace.is_open() {
            let reading = self.turn.orders.clocks.read(self.now_ns);
            window_s += reading.drained_since(&self.turn.orders.phase_start) as f64 / 1e9;
        }
        (window_s.ceil() as u64).saturating_sub(1)
    }

    fn end_second(&mut self) {
        let phase = self.counting.record.phase();
        self.counting.record.second.in_flight = self.counting.record.in_flight();
        let second = Box::new(std::mem::take(&mut self.counting.record.second));
        let _ = self.inputs.send(Input::Second {
            phase,
            index: self.timing.take_second(),
            second,
        });
    }

    /// Goes through the phases up to the controller's, leaving none out.
    pub(crate) fn follow_phase(&mut self) {
        while self.counting.record.phase() < self.turn.orders.phase {
            let next = match self.counting.record.phase() {
                Phase::Warmup if self.turn.orders.window_begun => Phase::Window,
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
            if self.counting.record.phase() == Phase::Window {
                self.end_second();
            }
        }
        let at_ns = sys::now_ns();
        let mark = Mark {
            at_ns,
            // A thread that stands still counts nothing before the `go`, however late it looks.
            active_ns: match self.turn.stands {
                true => self.turn.orders.phase_start.active_ns,
                false => self.turn.active_ns(at_ns),
            },
            cpu_us: sys::thread_cpu_us(),
            run_queue_us: sys::thread_run_queue_us(),
        };
        if phase == Phase::Window {
            let start_ns = self.turn.orders.phase_start.schedule_ns;
            self.timing.pace.begin_window(start_ns);
        }
        self.counting.enter(phase, mark);
        let tells_tenths = phase == Phase::Window && self.config.load.fault;
        self.counting.record.tenths.edge(at_ns, tells_tenths);
        self.timing
            .begin_seconds(self.turn.orders.phase_start.active_ns);
        if phase == Phase::Abandon {
            self.abandon();
        }
        let _ = self.inputs.send(Input::Entered(phase));
    }

    fn abandon(&mut self) {
        for index in 0..self.connections.all.len() {
            if !matches!(
                self.connections.all[index].state,
                State::Closed | State::Idle
            ) {
                self.end(index, Outcome::InFlight, "unanswered when the drain ended");
                self.connections.all[index].close();
            }
        }
    }

    /// Tells the controller, once, that somebody waits for the server.
    pub(crate) fn note_attempt(&mut self) {
        if self.counting.is_first_attempt() {
            let _ = self.inputs.send(Input::Attempted);
        }
    }

    /// Tells the controller, once, that the server can be reached.
    pub(crate) fn note_connection(&mut self) {
        if self.counting.is_first_connection() {
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
