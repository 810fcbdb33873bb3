//! What can become of a request, and how often each of it happened.

use std::collections::BTreeMap;

use serde::Serialize;

/// What became of one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    Ok,
    Shed,
    Status(u16),
    WrongBody,
    Timeout,
    Connect,
    Reset,
    Malformed,
    Unsent,
    InFlight,
}

impl Outcome {
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Ok => "ok",
            Outcome::Shed => "shed",
            Outcome::Status(_) => "status",
            Outcome::WrongBody => "wrong_body",
            Outcome::Timeout => "timeout",
            Outcome::Connect => "connect",
            Outcome::Reset => "reset",
            Outcome::Malformed => "malformed",
            Outcome::Unsent => "unsent",
            Outcome::InFlight => "in_flight",
        }
    }
}

/// OUTCOMES of `docs/engine-protocol.md`, where the fields stand in this order.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Outcomes {
    pub ok: u64,
    pub shed: u64,
    pub status: BTreeMap<u16, u64>,
    pub wrong_body: u64,
    pub timeout: u64,
    pub connect: u64,
    pub reset: u64,
    pub malformed: u64,
    pub unsent: u64,
    pub in_flight: u64,
}

impl Outcomes {
    pub fn add(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::Ok => self.ok += 1,
            Outcome::Shed => self.shed += 1,
            Outcome::Status(code) => *self.status.entry(code).or_default() += 1,
            Outcome::WrongBody => self.wrong_body += 1,
            Outcome::Timeout => self.timeout += 1,
            Outcome::Connect => self.connect += 1,
            Outcome::Reset => self.reset += 1,
            Outcome::Malformed => self.malformed += 1,
            Outcome::Unsent => self.unsent += 1,
            Outcome::InFlight => self.in_flight += 1,
        }
    }

    pub fn total(&self) -> u64 {
        let named = [
            self.ok,
            self.shed,
            self.wrong_body,
            self.timeout,
            self.connect,
        ];
        let others = [self.reset, self.malformed, self.unsent, self.in_flight];
        named.iter().chain(&others).sum::<u64>() + self.status.values().sum::<u64>()
    }

    pub fn merge(&mut self, other: &Outcomes) {
        self.ok += other.ok;
        self.shed += other.shed;
        self.wrong_body += other.wrong_body;
        self.timeout += other.timeout;
        self.connect += other.connect;
        self.reset += other.reset;
        self.malformed += other.malformed;
        self.unsent += other.unsent;
        self.in_flight += other.in_flight;
        for (code, count) in &other.status {
            *self.status.entry(*code).or_default() += count;
        }
    }
}
