//! Silences: stretches of the window in which a thread got no answer. Pure: every moment comes in as a number.
//!
//! A thread that does not run gets no answer either. So each silence knows for how much of it the thread looked out for one:
//! the rest is the engine's own, and nobody else's.

use crate::core::outcome::Outcome;

/// Shorter ones are not kept.
pub const LEAST_NS: u64 = 20_000_000;
/// So many of the longest are told.
pub const TOLD: usize = 500;
/// While a request is open the thread wakes up so often, to find out whether it can.
pub const LOOK_NS: u64 = 5_000_000;

/// No answer came from `start_ns` to `end_ns`, and requests were open without a break since `open_ns`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Silence {
    pub start_ns: u64,
    pub open_ns: u64,
    pub end_ns: u64,
    /// So much of it the thread was busy with something else, or had no processor.
    pub own_ns: u64,
}

/// A silence while requests were open, as it is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gap {
    pub start_ns: u64,
    pub duration_ns: u64,
    pub own_ns: u64,
}

#[derive(Debug, Clone, Copy)]
struct Current {
    start_ns: u64,
    open_ns: Option<u64>,
    watched_ns: u64,
}

/// The silences of one thread, or of several together.
#[derive(Debug, Clone, Default)]
pub struct Silences {
    /// `None`: outside of the window.
    current: Option<Current>,
    kept: Vec<Silence>,
}

impl Silences {
    /// The window begins, with so many requests under way.
    pub fn begin(&mut self, at_ns: u64, in_flight: u64) {
        self.current = Some(Current::new(at_ns, in_flight));
    }

    /// The window has ended.
    pub fn end(&mut self, at_ns: u64) {
        if let Some(current) = self.current.take() {
            self.keep(current, at_ns);
        }
    }

    pub fn sent(&mut self, at_ns: u64) {
        if let Some(current) = &mut self.current {
            current.open_ns.get_or_insert(at_ns);
        }
    }

    /// A request has ended, and `in_flight` others are open. One that was given up is no answer.
    pub fn ended(&mut self, at_ns: u64, outcome: Outcome, in_flight: u64) {
        let Some(current) = self.current else { return };
        if is_answer(outcome) || in_flight == 0 {
            self.keep(current, at_ns);
            self.current = Some(Current::new(at_ns, in_flight));
        }
    }

    /// For so long the thread waited for an answer, and would have had it at once.
    pub fn watched(&mut self, for_ns: u64) {
        if let Some(current) = &mut self.current {
            current.watched_ns += for_ns;
        }
    }

    fn keep(&mut self, current: Current, end_ns: u64) {
        let length_ns = end_ns.saturating_sub(current.start_ns);
        if length_ns >= LEAST_NS {
            self.kept.push(Silence {
                start_ns: current.start_ns,
                open_ns: current.open_ns.unwrap_or(end_ns),
                end_ns,
                own_ns: length_ns.saturating_sub(current.watched_ns),
            });
        }
    }

    /// Both threads' silences at once: an answer to either of them ends one.
    pub fn merge(&mut self, other: &Silences) {
        let (mut mine, mut others) = (0, 0);
        let mut both = Vec::new();
        while let (Some(one), Some(two)) = (self.kept.get(mine), other.kept.get(others)) {
            let shared = Silence {
                start_ns: one.start_ns.max(two.start_ns),
                open_ns: one.open_ns.min(two.open_ns),
                end_ns: one.end_ns.min(two.end_ns),
                own_ns: one.own_ns.max(two.own_ns),
            };
            if shared.end_ns >= shared.start_ns + LEAST_NS {
                both.push(shared);
            }
            match one.end_ns <= two.end_ns {
                true => mine += 1,
                false => others += 1,
            }
        }
        self.kept = both;
    }

    /// The gaps in their order, and how many there were; the longest where they are too many to tell.
    pub fn gaps(&self) -> (Vec<Gap>, usize) {
        let gaps = self.kept.iter().map(Silence::gap);
        let mut found: Vec<Gap> = gaps.filter(|gap| gap.duration_ns >= LEAST_NS).collect();
        let count = found.len();
        found.sort_by_key(|gap| std::cmp::Reverse(gap.duration_ns));
        found.truncate(TOLD);
        found.sort_by_key(|gap| gap.start_ns);
        (found, count)
    }
}

impl Current {
    fn new(at_ns: u64, in_flight: u64) -> Current {
        Current {
            start_ns: at_ns,
            open_ns: (in_flight > 0).then_some(at_ns),
            watched_ns: 0,
        }
    }
}

impl Silence {
    /// The part of it in which requests were open.
    fn gap(&self) -> Gap {
        let start_ns = self.start_ns.max(self.open_ns);
        let duration_ns = self.end_ns.saturating_sub(start_ns);
        Gap {
            start_ns,
            duration_ns,
            own_ns: self.own_ns.min(duration_ns),
        }
    }
}

/// Whether an outcome is a sign of life: the server sent something, or hung up.
fn is_answer(outcome: Outcome) -> bool {
    !matches!(
        outcome,
        Outcome::Timeout | Outcome::Connect | Outcome::Unsent | Outcome::InFlight
    )
}

#[cfg(test)]
#[path = "silence_tests.rs"]
mod tests;
