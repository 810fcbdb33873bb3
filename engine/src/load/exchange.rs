//! One request and its answer on one connection: sent, received, judged, booked.

use std::io;

use crate::core::expect::Judgement;
use crate::core::outcome::Outcome;
use crate::core::record::{Ended, Sample};
use crate::core::sample::is_wanted;
use crate::load::conn::{Exchange, Received, State};
use crate::load::judging::judge;
use crate::load::stream::Stream;
use crate::load::worker::Worker;
use crate::sys;

/// After a send that failed at once, so that the loop cannot spin on it.
const BROKEN_SEND_WAIT_NS: u64 = 1_000_000;
const SAMPLE_BYTES: usize = 300;
const CLOSED_BEFORE: &str = "the connection was closed after an earlier answer of the batch";

/// What a connection does once an answer, or a part of one, has been taken.
enum After {
    /// It waits for the rest.
    Waits,
    /// Another request of its batch is answered next.
    Others,
    Free,
}

impl<S: Stream> Worker<S> {
    /// Renders request `number`, and those that are sent with it, and sends them, on a new connection if need be. Never ends in
    /// another `issue`: a failure at once is taken up again by the clock.
    pub(crate) fn issue(&mut self, index: usize, number: u64, due_ns: u64) {
        self.connections.all[index].begin();
        self.prepare(index, 0, number, due_ns);
        for place in 1..self.config.load.pipeline {
            let number = self.timing.take_number();
            self.prepare(index, place, number, due_ns);
        }
        let conn = &mut self.connections.all[index];
        if conn.is_open() {
            conn.state = State::Busy;
            self.send(index);
        } else {
            self.open(index);
        }
    }

    /// Renders request `number` behind the earlier ones of its batch.
    fn prepare(&mut self, index: usize, place: usize, number: u64, due_ns: u64) {
        let (kind, kept) = self.counting.rings.choose(&self.config, number);
        let request = &self.config.requests[kind];
        let (held, out) = self.connections.all[index].place(place);
        request
            .slots
            .draw(self.config.seed, number, &mut held.values);
        if let Some(kept) = &kept {
            request.slots.follow(kept, &mut held.values);
        }
        request.render(&held.values, kept.as_deref(), &mut self.body, out);
        held.kept = kept;
        let step = self.timing.pace.step_at(self.turn.schedule_ns(due_ns));
        let in_window = self
            .counting
            .record
            .sent((self.now_ns - due_ns) / 1000, step);
        self.counting.record.silences.sent(self.now_ns);
        held.exchange = Exchange {
            number,
            kind,
            to_head: request.is_head(),
            in_window,
            due_ns,
            sent_ns: self.now_ns,
            step,
        };
    }

    fn open(&mut self, index: usize) {
        self.note_attempt();
        let dial = self.dial(index);
        match self.connections.open(index, &dial) {
            Ok(true) => {
                self.now_ns = sys::now_ns();
                self.reached(index);
            }
            Ok(false) => {}
            Err(error) => self.connect_failed(index, Some(error)),
        }
    }

    /// The TCP connection stands.
    pub(crate) fn reached(&mut self, index: usize) {
        let conn = &mut self.connections.all[index];
        self.counting
            .record
            .connected((self.now_ns - conn.held().exchange.sent_ns) / 1000);
        if S::IS_TLS {
            conn.state = State::Handshaking;
            conn.reached_ns = self.now_ns;
            return self.shake_hands(index);
        }
        self.established(index);
    }

    /// A kept connection's handshake is no part of its first request's service; one that each request needs is.
    pub(crate) fn shake_hands(&mut self, index: usize) {
        let conn = &mut self.connections.all[index];
        let done = conn.shake_hands();
        self.now_ns = sys::now_ns();
        match done {
            Ok(true) => {}
            Ok(false) => return,
            Err(error) => return self.connect_failed(index, Some(error)),
        }
        let took_ns = self.now_ns - conn.reached_ns;
        self.counting
            .record
            .shook_hands(took_ns / 1000, || conn.agreed());
        if self.config.load.keep_alive {
            conn.delay(took_ns);
        }
        self.established(index);
    }

    fn established(&mut self, index: usize) {
        self.connections.all[index].connected();
        self.note_connection();
        self.send(index);
    }

    pub(crate) fn connect_failed(&mut self, index: usize, error: Option<io::Error>) {
        let reason = match error {
            Some(error) if error.kind() == io::ErrorKind::AddrNotAvailable => {
                "no local port is free; keep connections alive or widen net.ipv4.ip_local_port_range".to_string()
            }
            Some(error) => error.to_string(),
            None if self.connections.all[index].state == State::Handshaking => {
                "the TLS handshake had no answer in time; does the server speak TLS?".to_string()
            }
            None => "no connection in time".to_string(),
        };
        if self.connections.all[index].state == State::Handshaking {
            self.counting.record.handshake_failed();
        }
        self.end(index, Outcome::Connect, &reason);
        self.connections.all[index].close();
        let wait_ns = self.connections.all[index].backoff_ns();
        self.again_after(index, wait_ns);
    }

    pub(crate) fn send(&mut self, index: usize) {
        match self.connections.all[index].flush() {
            Ok(bytes) => self.counting.record.bytes(bytes, 0),
            Err(error) => {
                // A server that would not read all of the request may have answered before it hung up.
                if !self.take_rest(index, true) {
                    let reason = format!("the request could not be sent: {error}");
                    self.end(index, Outcome::Reset, &reason);
                    self.connections.all[index].close();
                }
                self.again_after(index, BROKEN_SEND_WAIT_NS);
            }
        }
    }

    /// `gone`: the server will send no more than what is already here.
    #[inline(always)]
    pub(crate) fn receive(&mut self, index: usize, gone: bool) {
        if self.take_all(index, gone) {
            self.again(index);
        }
    }

    /// As `take_all`, where no event told of answers: apart from the path of every request, which is compiled into one piece.
    #[cold]
    #[inline(never)]
    fn take_rest(&mut self, index: usize, gone: bool) -> bool {
        self.take_all(index, gone)
    }

    /// Ends the requests whose answers are here. True: the connection can have its next request.
    #[inline(always)]
    fn take_all(&mut self, index: usize, gone: bool) -> bool {
        let mut received = self.read(index, gone);
        loop {
            match self.take(index, received, gone) {
                After::Waits => return false,
                After::Free => return true,
                After::Others => {}
            }
            received = self.connections.all[index].follow(&self.scratch);
            if received == Received::More {
                received = self.read(index, gone);
            }
        }
    }

    fn read(&mut self, index: usize, gone: bool) -> Received {
        let conn = &mut self.connections.all[index];
        let received = conn.receive(&mut self.scratch, gone);
        self.counting.record.bytes(0, conn.bytes_in);
        if let Some(stamp_ns) = conn.stamp_ns.take() {
            self.counting
                .record
                .received_late(sys::unix_ns().saturating_sub(stamp_ns) / 1000);
        }
        self.now_ns = sys::now_ns();
        received
    }

    /// Ends the request that is answered next by what came of it.
    #[inline(always)]
    fn take(&mut self, index: usize, received: Received, gone: bool) -> After {
        match received {
            Received::More => After::Waits,
            Received::Whole => self.answered(index, gone),
            Received::Bad(reason) => self.failed(index, Outcome::Malformed, reason),
            Received::Ended { by_reset } => self.broken(index, by_reset),
        }
    }

    #[cold]
    #[inline(never)]
    fn broken(&mut self, index: usize, by_reset: bool) -> After {
        let conn = &mut self.connections.all[index];
        let how = if by_reset { "was reset" } else { "was closed" };
        let when = if conn.answers > 0 {
            self.counting.record.closed(false);
            "a kept connection"
        } else {
            "the connection"
        };
        let mut reason = format!("{when} {how} before the whole answer");
        if let Some(why) = conn.broken.take() {
            reason += &format!(": {why}");
        }
        self.failed(index, Outcome::Reset, &reason)
    }

    fn failed(&mut self, index: usize, outcome: Outcome, reason: &str) -> After {
        self.end(index, outcome, reason);
        self.connections.all[index].close();
        After::Free
    }

    #[inline(always)]
    fn answered(&mut self, index: usize, gone: bool) -> After {
        let conn = &self.connections.all[index];
        let (held, has_others) = (conn.held(), conn.has_others());
        let answer = conn.answer(&self.scratch);
        let extra_bytes = match has_others {
            true => 0,
            false => answer.extra_bytes,
        };
        let (judgement, checks_body) =
            judge(&self.config, &mut self.counting, held, &answer, extra_bytes);
        // What follows the answer is the next one of the batch, and the end of the stream comes after all of them.
        let is_clean =
            has_others || !gone && extra_bytes == 0 && conn.is_all_sent() && !conn.has_ended();
        let keeps = self.config.load.keep_alive && !answer.close && is_clean;
        let announced = answer.close;
        // Where the answer came before all of the request was sent, it is the engine that gives the connection up.
        let closes = self.config.load.keep_alive
            && extra_bytes == 0
            && !keeps
            && (announced || conn.is_all_sent());
        let samples = &self.counting.record.samples;
        if is_wanted(samples, judgement.outcome, &judgement.reason) {
            let (status, body) = (Some(answer.status), Some(first_bytes(answer.body)));
            self.keep_sample(index, &judgement, status, body);
        }
        let is_wrong = judgement.outcome == Outcome::WrongBody;
        self.book(index, judgement.outcome, checks_body || is_wrong);
        if closes {
            self.counting.record.closed(announced);
        }
        let conn = &mut self.connections.all[index];
        conn.answers += u64::from(keeps);
        if keeps && conn.go_on() {
            return After::Others;
        }
        if keeps {
            conn.state = State::Idle;
        } else {
            self.end_others(index, Outcome::Reset, CLOSED_BEFORE);
            self.connections.all[index].close();
        }
        After::Free
    }

    /// Ends an exchange that got no whole answer, and those behind it.
    pub(crate) fn end(&mut self, index: usize, outcome: Outcome, reason: &str) {
        self.end_one(index, outcome, reason);
        match outcome {
            // What follows cannot be told apart, and the connection is given up.
            Outcome::Malformed => self.end_others(index, Outcome::Reset, CLOSED_BEFORE),
            _ => self.end_others(index, outcome, reason),
        }
    }

    /// Ends those behind the exchange that has ended.
    fn end_others(&mut self, index: usize, outcome: Outcome, reason: &str) {
        while self.connections.all[index].go_on() {
            self.connections.all[index].forget();
            self.end_one(index, outcome, reason);
        }
    }

    fn end_one(&mut self, index: usize, outcome: Outcome, reason: &str) {
        if is_wanted(&self.counting.record.samples, outcome, reason) {
            let (status, bytes) = self.connections.all[index].partial(&self.scratch);
            let body = (!bytes.is_empty()).then(|| first_bytes(bytes));
            let judgement = Judgement {
                outcome,
                reason: reason.to_string(),
            };
            self.keep_sample(index, &judgement, status, body);
        }
        self.book(index, outcome, false);
    }

    /// A scan now and then is cheaper than a timer for each request.
    pub(crate) fn end_late_requests(&mut self) {
        for index in 0..self.connections.all.len() {
            if self.is_late(index) && self.connections.all[index].state == State::Busy {
                // Where the engine itself stood still, its answer may lie in the socket.
                if self.take_rest(index, false) {
                    self.again(index);
                }
            }
            if !self.is_late(index) {
                continue;
            }
            if self.connections.all[index].state != State::Busy {
                self.connect_failed(index, None);
            } else {
                let timeout_ms = self.config.load.timeout_ms;
                self.end(
                    index,
                    Outcome::Timeout,
                    &format!("no whole answer within {timeout_ms} ms"),
                );
                self.connections.all[index].close();
                self.again(index);
            }
        }
    }

    /// Whether a connection's request has waited for its timeout.
    fn is_late(&self, index: usize) -> bool {
        let conn = &self.connections.all[index];
        let waits = !matches!(conn.state, State::Closed | State::Idle);
        let sent_ns = conn.held().exchange.sent_ns;
        waits && self.now_ns.saturating_sub(sent_ns) >= self.timing.timeout_ns
    }

    fn book(&mut self, index: usize, outcome: Outcome, body_checked: bool) {
        let held = self.connections.all[index].held_mut();
        held.kept = None;
        let exchange = held.exchange;
        let request = &self.config.requests[exchange.kind];
        self.counting.record.ended(Ended {
            at_ns: self.now_ns,
            kind: exchange.kind,
            outcome,
            in_window: exchange.in_window,
            latency_us: (self.now_ns - exchange.due_ns) / 1000,
            service_us: (self.now_ns - exchange.sent_ns) / 1000,
            body_checked,
            step: exchange.step,
            ended_in_step: self.timing.pace.step_at(self.turn.schedule_ns(self.now_ns)),
        });
        let in_flight = self.counting.record.in_flight();
        self.counting
            .record
            .silences
            .ended(self.now_ns, outcome, in_flight);
        self.counting
            .record
            .tenths
            .ended(self.now_ns, outcome == Outcome::Ok);
        self.counting
            .record
            .ledger
            .book(exchange.kind, request, &held.values, outcome);
        if outcome == Outcome::Ok && request.log.is_some() {
            self.counting
                .record
                .answers
                .came(exchange.number, exchange.kind, self.now_ns);
        }
    }

    /// What a connection does after an answer: it pauses, where the load has think time, and sends its next request.
    pub(crate) fn again(&mut self, index: usize) {
        if self.timing.pauses.exist() {
            let active_ns = self.turn.active_ns(self.now_ns);
            return self.timing.pauses.begin(index, active_ns);
        }
        self.proceed(index, self.now_ns);
    }

    /// Sends the next request of each connection whose pause is over. How late the engine is with it is in the latency.
    pub(crate) fn end_pauses(&mut self) {
        loop {
            let active_ns = self.turn.active_ns(self.now_ns);
            let Some((end_ns, index)) = self.timing.pauses.take(active_ns) else {
                return;
            };
            // A pause that ended while the load drained could be followed by no request before this turn.
            let could_ns = end_ns.max(self.turn.start_clocks.active_ns);
            let late_ns = active_ns.saturating_sub(could_ns);
            self.proceed(index, self.now_ns - late_ns);
            self.now_ns = sys::now_ns();
        }
    }

    fn keep_sample(
        &mut self,
        index: usize,
        judgement: &Judgement,
        status: Option<u16>,
        body: Option<Vec<u8>>,
    ) {
        let conn = &self.connections.all[index];
        let sent = &conn.out[conn.held().start..];
        let line_end = sent
            .windows(11)
            .position(|bytes| bytes == b" HTTP/1.1\r\n")
            .unwrap_or(sent.len());
        self.counting.record.samples.push(Sample {
            outcome: judgement.outcome,
            kind: conn.held().exchange.kind,
            status,
            reason: judgement.reason.clone(),
            request: String::from_utf8_lossy(&first_bytes(&sent[..line_end])).into_owned(),
            body,
        });
    }
}

fn first_bytes(bytes: &[u8]) -> Vec<u8> {
    bytes[..bytes.len().min(SAMPLE_BYTES)].to_vec()
}
