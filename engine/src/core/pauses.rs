//! Think time: each connection of a closed loop pauses between an answer and its next request. Pure.
//!
//! Pauses run on the clock of active time. One that a hold interrupts goes on with the next turn, so that a turn begins as the last one ended.

use std::collections::VecDeque;

/// Connections that pause, each with the end of its pause. All pauses are of one length, so they end in the order in which they began.
#[derive(Debug)]
pub struct Pauses {
    length_ns: u64,
    ends: VecDeque<(u64, usize)>,
}

impl Pauses {
    pub fn new(think_ms: f64) -> Pauses {
        Pauses {
            length_ns: (think_ms * 1e6) as u64,
            ends: VecDeque::new(),
        }
    }

    /// Whether the load has any.
    pub fn exist(&self) -> bool {
        self.length_ns > 0
    }

    /// Connection `index` pauses from now on.
    pub fn begin(&mut self, index: usize, now_ns: u64) {
        self.ends.push_back((now_ns + self.length_ns, index));
    }

    /// When the next one ends.
    pub fn next_end_ns(&self) -> Option<u64> {
        self.ends.front().map(|(end_ns, _)| *end_ns)
    }

    /// The connection whose pause is over, and when it ended.
    pub fn take(&mut self, now_ns: u64) -> Option<(u64, usize)> {
        let (end_ns, _) = *self.ends.front()?;
        if end_ns > now_ns {
            return None;
        }
        self.ends.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each pause lasts as long as the others and ends once, in the order in which they began.
    #[test]
    fn pauses_end_in_order() {
        let mut pauses = Pauses::new(1.5);
        assert!(pauses.exist() && pauses.next_end_ns().is_none());
        pauses.begin(7, 100);
        pauses.begin(3, 200);
        assert_eq!(pauses.next_end_ns(), Some(1_500_100));
        assert_eq!(pauses.take(1_500_099), None);
        assert_eq!(pauses.take(1_500_200), Some((1_500_100, 7)));
        assert_eq!(pauses.take(1_500_200), Some((1_500_200, 3)));
        assert_eq!(pauses.take(u64::MAX), None);
        assert!(!Pauses::new(0.0).exist());
    }
}
