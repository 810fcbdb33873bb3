//! What an exact instrument must see, by calculation. Pure.

use crate::core::plan::Arrivals;
use crate::core::schedule::{Curve, Schedule};
use crate::core::script::{Queue, Stall};

/// Requests that are due evenly over whole periods of a server that stands still for part of each, and takes no time otherwise.
///
/// One that is due `x` before the end of a stall waits for `x`, so the share that waits longer than `x` is `(stall - x) / period`.
pub fn late_share(stall: Stall, longer_than_ms: f64) -> f64 {
    ((stall.for_ms - longer_than_ms) / (stall.every_s * 1000.0)).max(0.0)
}

/// The quantile of the same waits, in ms.
pub fn stall_quantile_ms(stall: Stall, quantile: f64) -> f64 {
    (stall.for_ms - (1.0 - quantile) * stall.every_s * 1000.0).max(0.0)
}

/// The quantile of the time in an M/M/1 queue in its steady state, in µs: exponential with the rate that is left over.
pub fn mm1_quantile_us(rate_per_s: f64, mean_us: f64, quantile: f64) -> f64 {
    -(1.0 - quantile).ln() * 1e6 / (1e6 / mean_us - rate_per_s)
}

/// The times in the queue of this very schedule and these very services, sorted, in µs (Lindley's recursion): what is left of the
/// difference to the steady state is chance, and this takes it out.
pub fn queue_times_us(seed: u64, rate_per_s: f64, seconds: f64, queue: Queue) -> Vec<f64> {
    let mut schedule = Schedule::new(seed, Arrivals::Poisson, Curve::flat(rate_per_s));
    let (mut free_ns, mut times) = (0, Vec::new());
    loop {
        let (number, due_ns) = schedule.next();
        if due_ns as f64 > seconds * 1e9 {
            break;
        }
        free_ns = due_ns.max(free_ns) + queue.service_ns(number);
        times.push((free_ns - due_ns) as f64 / 1000.0);
        schedule.advance(1);
    }
    times.sort_by(f64::total_cmp);
    times
}

/// The value below or at which a share `quantile` of sorted values lies; 0 of none.
pub fn quantile(sorted: &[f64], quantile: f64) -> f64 {
    let rank = (quantile * sorted.len() as f64).ceil().max(1.0) as usize;
    sorted.get(rank - 1).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Half a second in five: every hundredth request waits longer than 450 ms, every tenth waits at all.
    #[test]
    fn stalls() {
        let stall = Stall {
            every_s: 5.0,
            for_ms: 500.0,
        };
        assert_eq!(late_share(stall, 0.0), 0.1);
        assert!((late_share(stall, 100.0) - 0.08).abs() < 1e-12 && late_share(stall, 600.0) == 0.0);
        assert!((stall_quantile_ms(stall, 0.99) - 450.0).abs() < 1e-9);
        assert_eq!(stall_quantile_ms(stall, 0.5), 0.0);
    }

    /// A long enough run of the recursion is the steady state's distribution.
    #[test]
    fn queues() {
        let queue = Queue {
            mean_us: 1000.0,
            seed: 5,
        };
        let times = queue_times_us(1, 500.0, 2000.0, queue);
        for (share, tolerance) in [(0.5, 0.02), (0.9, 0.03), (0.99, 0.06)] {
            let (found, expected) = (
                quantile(&times, share),
                mm1_quantile_us(500.0, 1000.0, share),
            );
            assert!(
                (found / expected - 1.0).abs() < tolerance,
                "{share}: {found} {expected}"
            );
        }
    }

    /// Quantiles are values that occur.
    #[test]
    fn quantiles() {
        let sorted = [1.0, 2.0, 3.0, 4.0];
        assert_eq!(
            [0.0, 0.5, 0.51, 1.0].map(|share| quantile(&sorted, share)),
            [1.0, 2.0, 3.0, 4.0]
        );
        assert_eq!(quantile(&[], 0.5), 0.0);
    }
}
