//! When requests are due in the open loop. Pure: the n-th due time follows from the seed and n alone.

use crate::plan::Arrivals;
use crate::random;

#[derive(Debug, Clone)]
pub struct Schedule {
    seed: u64,
    arrivals: Arrivals,
    gap_ns: f64,
    /// Number of the next request, and its due time from the start.
    number: u64,
    due_ns: f64,
}

impl Schedule {
    pub fn new(seed: u64, arrivals: Arrivals, rate_per_s: f64) -> Schedule {
        let mut schedule = Schedule {
            seed,
            arrivals,
            gap_ns: 1e9 / rate_per_s,
            number: 0,
            due_ns: 0.0,
        };
        schedule.due_ns = schedule.gap();
        schedule
    }

    /// The next request's number and its due time in ns from the start.
    pub fn next(&self) -> (u64, u64) {
        (self.number, self.due_ns as u64)
    }

    /// Goes `steps` requests further. Every thread walks the whole schedule and takes its own part of it.
    pub fn advance(&mut self, steps: u64) {
        for _ in 0..steps {
            self.number += 1;
            self.due_ns = match self.arrivals {
                Arrivals::Constant => (self.number + 1) as f64 * self.gap_ns,
                Arrivals::Poisson => self.due_ns + self.gap(),
            };
        }
    }

    fn gap(&self) -> f64 {
        match self.arrivals {
            Arrivals::Constant => self.gap_ns,
            Arrivals::Poisson => {
                -random::unit(random::bits(self.seed, self.number, random::ARRIVAL)).ln()
                    * self.gap_ns
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dues(mut schedule: Schedule, step: u64, count: usize) -> Vec<(u64, u64)> {
        let mut dues = Vec::new();
        for _ in 0..count {
            dues.push(schedule.next());
            schedule.advance(step);
        }
        dues
    }

    /// Constant arrivals stand at equal distances, without drift.
    #[test]
    fn constant() {
        let schedule = Schedule::new(1, Arrivals::Constant, 1000.0);
        assert_eq!(
            dues(schedule.clone(), 1, 3),
            [(0, 1_000_000), (1, 2_000_000), (2, 3_000_000)]
        );
        assert_eq!(dues(schedule, 999_999, 2)[1], (999_999, 1_000_000_000_000));
    }

    /// Poisson gaps have the rate's mean, and a standard deviation as large as the mean.
    #[test]
    fn poisson() {
        let all = dues(Schedule::new(1, Arrivals::Poisson, 1000.0), 1, 100_001);
        let gaps: Vec<f64> = all
            .windows(2)
            .map(|pair| (pair[1].1 - pair[0].1) as f64 / 1e6)
            .collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        assert!(
            (0.99..1.01).contains(&mean) && (0.97..1.03).contains(&variance.sqrt()),
            "{mean} {variance}"
        );
    }

    /// Threads that take every second request make the same schedule together as one thread alone.
    #[test]
    fn threads_share_one_schedule() {
        let schedule = Schedule::new(5, Arrivals::Poisson, 500.0);
        let alone = dues(schedule.clone(), 1, 10);
        let mut second = schedule.clone();
        second.advance(1);
        let mut together = [dues(schedule, 2, 5), dues(second, 2, 5)].concat();
        together.sort_unstable();
        assert_eq!(together, alone);
    }
}
