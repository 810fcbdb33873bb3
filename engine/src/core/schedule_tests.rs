use super::*;

fn flat(seed: u64, arrivals: Arrivals, rate_per_s: f64) -> Schedule {
    Schedule::new(seed, arrivals, Curve::flat(rate_per_s))
}

fn steps(rates: &[(f64, u64)]) -> Curve {
    let steps = rates.iter().map(|&(rate_per_s, ms)| Step {
        rate_per_s,
        duration_ns: ms * 1_000_000,
    });
    Curve::new(steps.collect())
}

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
    let schedule = flat(1, Arrivals::Constant, 1000.0);
    assert_eq!(
        dues(schedule.clone(), 1, 3),
        [(0, 1_000_000), (1, 2_000_000), (2, 3_000_000)]
    );
    assert_eq!(dues(schedule, 999_999, 2)[1], (999_999, 1_000_000_000_000));
}

/// Poisson gaps have the rate's mean, and a standard deviation as large as the mean.
#[test]
fn poisson() {
    let all = dues(flat(1, Arrivals::Poisson, 1000.0), 1, 100_001);
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

/// Threads that take every second request make the same schedule together as one thread alone, steps or none.
#[test]
fn threads_share_one_schedule() {
    for curve in [
        Curve::flat(500.0),
        steps(&[(500.0, 4), (5000.0, 1), (100.0, 1)]),
    ] {
        let mut schedule = Schedule::new(5, Arrivals::Poisson, curve);
        schedule.begin_window(0);
        let alone = dues(schedule.clone(), 1, 30);
        let mut second = schedule.clone();
        second.advance(1);
        let mut together = [dues(schedule, 2, 15), dues(second, 2, 15)].concat();
        together.sort_unstable();
        assert_eq!(together, alone);
    }
}

/// The first rate holds until the window begins and for its own time after that; then each step has its own distances.
#[test]
fn steps_begin_with_the_window() {
    let curve = steps(&[(1000.0, 3), (2000.0, 2), (500.0, 4)]);
    let mut schedule = Schedule::new(1, Arrivals::Constant, curve);
    schedule.advance(9);
    assert_eq!(schedule.next(), (9, 10_000_000));
    schedule.begin_window(10_000_000);
    let ms: Vec<f64> = dues(schedule, 1, 11)
        .iter()
        .map(|(_, due_ns)| *due_ns as f64 / 1e6)
        .collect();
    let expected = [
        10.0, 11.0, 12.0, 13.0, 13.5, 14.0, 14.5, 15.0, 17.0, 19.0, 21.0,
    ];
    assert_eq!(ms, expected);
}

/// A change of rate between two requests splits their distance: half a unit at either rate.
#[test]
fn a_step_may_end_between_two_requests() {
    let mut schedule = Schedule::new(
        1,
        Arrivals::Constant,
        steps(&[(1000.0, 1), (250.0, 100), (1000.0, 1)]),
    );
    schedule.begin_window(500_000);
    let ms: Vec<u64> = dues(schedule, 1, 3)
        .iter()
        .map(|(_, due_ns)| due_ns / 1000)
        .collect();
    assert_eq!(ms, [1000, 3500, 7500]);
}

/// Poisson arrivals of each step come as often as its rate says.
#[test]
fn poisson_steps_have_their_rates() {
    let curve = steps(&[(1000.0, 20_000), (9000.0, 5_000), (100.0, 100_000)]);
    let mut schedule = Schedule::new(3, Arrivals::Poisson, curve.clone());
    schedule.begin_window(0);
    let mut counts = [0.0; 3];
    loop {
        let (_, due_ns) = schedule.next();
        if due_ns >= 125_000_000_000 {
            break;
        }
        counts[curve.step_at(due_ns)] += 1.0;
        schedule.advance(1);
    }
    for (count, expected) in counts.iter().zip([20_000.0, 45_000.0, 10_000.0]) {
        let sigmas = (count - expected) / f64::sqrt(expected);
        assert!(sigmas.abs() < 4.0, "{counts:?}");
    }
}

/// A moment belongs to the step that has begun and not ended; what lies after all steps belongs to the last.
#[test]
fn steps_by_time() {
    let curve = steps(&[(1.0, 10), (2.0, 10)]);
    let at = [0, 9_999_999, 10_000_000, 19_999_999, 20_000_000, u64::MAX];
    assert_eq!(at.map(|ns| curve.step_at(ns)), [0, 0, 1, 1, 1, 1]);
    assert_eq!((curve.highest_per_s(), curve.steps().len()), (2.0, 2));
    assert_eq!(Curve::flat(5.0).step_at(u64::MAX - 1), 0);
}
