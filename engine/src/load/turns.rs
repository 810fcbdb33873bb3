//! How one thread takes turns: it stands still when told to, tells so, and goes on.

use crate::core::settled::Settling;
use crate::load::connections::OPENING_GAP_NS;
use crate::load::control::{Held, Input};
use crate::load::stream::Stream;
use crate::load::worker::Worker;
use crate::sys;

impl<S: Stream> Worker<S> {
    /// Does what the controller has ordered since the last look.
    pub(crate) fn follow_orders(&mut self) {
        let version = self.control.version();
        if version == self.turn.version {
            return;
        }
        self.turn.version = version;
        let seen = std::mem::replace(&mut self.turn.orders, self.control.orders());
        if self.turn.orders.held && !self.turn.holds {
            // What was due before the hold and has a free connection is not late by the hold.
            self.now_ns = sys::now_ns();
            self.dispatch();
            self.turn.holds = true;
            self.counting.record.settling.hold(self.now_ns);
        }
        self.follow_phase();
        // A turn that began and ended between two looks: nothing was sent in it, and that is told too.
        if self.turn.orders.turn != seen.turn {
            self.now_ns = sys::now_ns();
            self.turn.stands = false;
        }
        if self.turn.holds && !self.turn.orders.held {
            self.go();
        }
    }

    /// The turn begins: every connection goes on.
    fn go(&mut self) {
        (self.turn.holds, self.turn.stands) = (false, false);
        self.now_ns = sys::now_ns();
        self.turn.start_clocks = self.turn.orders.turn_start;
        self.begin_turn();
        self.turn.begin(self.thread, self.config.load.threads);
        self.tell_spent();
        let mut opening_ns = 0;
        for index in std::mem::take(&mut self.connections.parked) {
            if !self.connections.all[index].is_open() {
                self.again_after(index, opening_ns);
                opening_ns += OPENING_GAP_NS;
                continue;
            }
            self.now_ns = sys::now_ns();
            self.proceed(index, self.now_ns);
        }
    }

    /// Counts what a connection sends now. False: the turn has no request left.
    pub(crate) fn take_share(&mut self) -> bool {
        if self.turn.left == 0 {
            return false;
        }
        self.turn.left = self
            .turn
            .left
            .saturating_sub(self.config.load.pipeline as u64);
        self.tell_spent();
        true
    }

    /// Tells that all of its share of the turn's requests is sent.
    fn tell_spent(&self) {
        if self.turn.left == 0 {
            let _ = self.inputs.send(Input::Spent);
        }
    }

    /// From here on the turn is counted.
    pub(crate) fn begin_turn(&mut self) {
        let connections = if self.timing.pace.is_open() {
            0
        } else {
            self.connections.all.len() * self.config.load.pipeline
        };
        self.counting.record.settling = Settling::new(connections as u64, self.now_ns);
    }

    /// While held: tells, once, that the last answer is there, and what was counted.
    pub(crate) fn tell_standing(&mut self) {
        if !self.turn.holds || self.turn.stands || self.counting.record.in_flight() > 0 {
            return;
        }
        self.turn.stands = true;
        let ok = self.counting.record.life.ok;
        let _ = self.inputs.send(Input::Held(Box::new(Held {
            at_ns: self.now_ns,
            ok,
            not_ok: self.counting.record.life.total() - ok,
            settled: self.counting.record.settling.take(),
        })));
    }
}
