//! What one thread counts in one turn, from `go` to the last answer after `hold`. Pure.

use hdrhistogram::Histogram;

use crate::core::histogram::{add, growing, histogram, record_growing};
use crate::core::outcome::{Outcome, Outcomes};
use crate::core::settled::{Settled, Settling};

/// Which part of its turn a request belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    Steady,
    /// Sent because the turn began: the first request of each connection (closed loop), or what was due already (open loop).
    Burst,
    /// Any other whose answer came after the hold had been noticed.
    Drain,
}

pub const PARTS: usize = 3;

#[derive(Debug)]
pub struct TurnRecord {
    outcomes: Outcomes,
    counts: [u64; PARTS],
    latency_ok: [Histogram<u64>; PARTS],
    settling: Settling,
}

/// One turn as it is handed over, of one thread or of all.
#[derive(Debug, Clone, Default)]
pub struct Turn {
    pub outcomes: Outcomes,
    /// Requests that ended, by part, whatever their outcome.
    pub counts: [u64; PARTS],
    /// Of the good answers, by part; `None`: nobody asked.
    pub latency_ok: Option<[Histogram<u64>; PARTS]>,
    pub settled: Settled,
}

impl TurnRecord {
    pub fn new() -> TurnRecord {
        TurnRecord {
            outcomes: Outcomes::default(),
            counts: [0; PARTS],
            latency_ok: std::array::from_fn(|_| growing()),
            settling: Settling::new(0, 0),
        }
    }

    /// A turn begins; `connections` as for `Settling::new`.
    pub fn begin(&mut self, connections: u64, now_ns: u64) {
        self.settling = Settling::new(connections, now_ns);
    }

    /// No request is sent in it from now on.
    pub fn hold(&mut self, now_ns: u64) {
        self.settling.hold(now_ns);
    }

    pub fn ended(&mut self, part: Part, outcome: Outcome, latency_us: u64, at_ns: u64) {
        self.settling.ended(outcome, at_ns);
        self.outcomes.add(outcome);
        self.counts[part as usize] += 1;
        if outcome == Outcome::Ok {
            record_growing(&mut self.latency_ok[part as usize], latency_us);
        }
    }

    /// A request that was due could not be sent.
    pub fn unsent(&mut self) {
        self.outcomes.add(Outcome::Unsent);
    }

    /// Hands over what was counted, and begins the next turn. `latency`: the histograms too.
    pub fn take(&mut self, latency: bool) -> Turn {
        let mut turn = Turn {
            outcomes: std::mem::take(&mut self.outcomes),
            counts: std::mem::take(&mut self.counts),
            latency_ok: None,
            settled: self.settling.settled(),
        };
        if latency {
            let fresh = std::array::from_fn(|_| growing());
            turn.latency_ok = Some(std::mem::replace(&mut self.latency_ok, fresh));
            return turn;
        }
        for one in &mut self.latency_ok {
            if !one.is_empty() {
                one.reset();
            }
        }
        turn
    }
}

impl Default for TurnRecord {
    fn default() -> Self {
        Self::new()
    }
}

impl Turn {
    /// One thread's turn or several threads' as one. Histograms get the bounds of all others.
    pub fn sum(turns: impl IntoIterator<Item = Turn>) -> Turn {
        let (mut sum, mut settled) = (Turn::default(), Vec::new());
        for turn in turns {
            settled.push(turn.settled);
            sum.outcomes.merge(&turn.outcomes);
            for (mine, others) in sum.counts.iter_mut().zip(turn.counts) {
                *mine += others;
            }
            if let Some(latency_ok) = &turn.latency_ok {
                let all = sum
                    .latency_ok
                    .get_or_insert_with(|| std::array::from_fn(|_| histogram()));
                all.iter_mut()
                    .zip(latency_ok)
                    .for_each(|(mine, others)| add(mine, others));
            }
        }
        sum.settled = Settled::sum(&settled);
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each request is in one part and under one outcome; good ones alone have latencies.
    #[test]
    fn parts() {
        let mut record = TurnRecord::new();
        record.ended(Part::Steady, Outcome::Ok, 100, 0);
        record.ended(Part::Steady, Outcome::Timeout, 5000, 0);
        record.ended(Part::Burst, Outcome::Ok, 120_000_000, 0);
        record.ended(Part::Drain, Outcome::Ok, u64::MAX, 0);
        record.unsent();
        let turn = record.take(true);
        assert_eq!(turn.counts, [2, 1, 1]);
        assert_eq!(
            (
                turn.outcomes.ok,
                turn.outcomes.timeout,
                turn.outcomes.unsent
            ),
            (3, 1, 1)
        );
        let counts = turn
            .latency_ok
            .as_ref()
            .unwrap()
            .each_ref()
            .map(Histogram::len);
        assert_eq!(counts, [1, 1, 1]);
        let sum = Turn::sum([turn]);
        let highest = sum.latency_ok.unwrap().each_ref().map(Histogram::max);
        let same = |left, right| histogram().equivalent(left, right);
        assert!(
            highest[0] == 100 && same(highest[1], 120_000_000) && same(highest[2], 120_000_000)
        );
    }

    /// The next turn begins with nothing, whether or not histograms were asked for.
    #[test]
    fn a_turn_is_handed_over_once() {
        let mut record = TurnRecord::new();
        for latency in [true, false, true] {
            record.ended(Part::Steady, Outcome::Ok, 100, 0);
            let turn = record.take(latency);
            assert_eq!((turn.counts, turn.outcomes.ok), ([1, 0, 0], 1));
            assert_eq!(turn.latency_ok.is_some(), latency);
        }
        let last = record.take(true);
        assert_eq!(
            (last.counts, last.outcomes),
            ([0; PARTS], Outcomes::default())
        );
        assert!(last.latency_ok.unwrap().iter().all(Histogram::is_empty));
    }

    /// Threads are added up; without histograms there are none in the sum.
    #[test]
    fn threads() {
        let turn = |latency| {
            let mut record = TurnRecord::new();
            record.ended(Part::Burst, Outcome::Ok, 300, 0);
            record.take(latency)
        };
        let sum = Turn::sum([turn(true), turn(true)]);
        assert_eq!((sum.counts, sum.outcomes.ok), ([0, 2, 0], 2));
        assert_eq!(sum.latency_ok.unwrap()[Part::Burst as usize].len(), 2);
        assert!(Turn::sum([turn(false), turn(false)]).latency_ok.is_none());
    }
}
