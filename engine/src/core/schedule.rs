//! When requests are due in the open loop. Pure: the n-th due time follows from the seed, the curve and n alone.

use crate::core::plan::Arrivals;
use crate::core::random;

/// One stretch of the window at one rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    pub rate_per_s: f64,
    pub duration_ns: u64,
}

/// The rates of a window, one after the other. The first one holds before the window too, the last one after it.
#[derive(Debug, Clone, PartialEq)]
pub struct Curve {
    steps: Vec<Step>,
    /// From the window's start, step by step.
    ends_ns: Vec<u64>,
}

impl Curve {
    /// `steps`: at least one, each with a rate above 0.
    pub fn new(steps: Vec<Step>) -> Curve {
        let mut end_ns = 0;
        let ends_ns = steps
            .iter()
            .map(|step| {
                end_ns += step.duration_ns;
                end_ns
            })
            .collect();
        Curve { steps, ends_ns }
    }

    /// One rate for ever.
    pub fn flat(rate_per_s: f64) -> Curve {
        Curve::new(vec![Step {
            rate_per_s,
            duration_ns: u64::MAX,
        }])
    }

    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Which step lies `offset_ns` after the window's start.
    pub fn step_at(&self, offset_ns: u64) -> usize {
        let ended = self.ends_ns.partition_point(|end_ns| *end_ns <= offset_ns);
        ended.min(self.steps.len() - 1)
    }

    pub fn highest_per_s(&self) -> f64 {
        self.steps
            .iter()
            .map(|step| step.rate_per_s)
            .fold(0.0, f64::max)
    }
}

/// Arrivals of a process with one request per unit of time, whose units pass as fast as the curve says: so a change of rate
/// falls exactly where it belongs, also between two requests.
#[derive(Debug, Clone)]
pub struct Schedule {
    seed: u64,
    arrivals: Arrivals,
    curve: Curve,
    /// The window's start, once it has begun.
    window_ns: Option<u64>,
    /// The step that the next request falls into, and where it begins.
    step: usize,
    step_units: f64,
    step_ns: f64,
    /// The next request: its number, its place in units, its due time from the start.
    number: u64,
    units: f64,
    due_ns: f64,
}

impl Schedule {
    pub fn new(seed: u64, arrivals: Arrivals, curve: Curve) -> Schedule {
        let mut schedule = Schedule {
            seed,
            arrivals,
            curve,
            window_ns: None,
            step: 0,
            step_units: 0.0,
            step_ns: 0.0,
            number: 0,
            units: 0.0,
            due_ns: 0.0,
        };
        schedule.units = schedule.gap();
        schedule.place();
        schedule
    }

    /// The next request's number and its due time in ns from the start.
    pub fn next(&self) -> (u64, u64) {
        (self.number, self.due_ns as u64)
    }

    /// The window begins at `start_ns` from the start: from now on its curve counts.
    pub fn begin_window(&mut self, start_ns: u64) {
        self.window_ns = Some(start_ns);
        self.place();
    }

    /// Goes `steps` requests further. Every thread walks the whole schedule and takes its own part of it.
    pub fn advance(&mut self, steps: u64) {
        for _ in 0..steps {
            self.number += 1;
            self.units = match self.arrivals {
                Arrivals::Constant => (self.number + 1) as f64,
                Arrivals::Poisson => self.units + self.gap(),
            };
        }
        self.place();
    }

    /// In units of the mean gap.
    fn gap(&self) -> f64 {
        match self.arrivals {
            Arrivals::Constant => 1.0,
            Arrivals::Poisson => {
                -random::unit(random::bits(self.seed, self.number, random::ARRIVAL)).ln()
            }
        }
    }

    fn place(&mut self) {
        loop {
            let gap_ns = 1e9 / self.curve.steps[self.step].rate_per_s;
            if let Some(end_ns) = self.step_end_ns() {
                let end_units = self.step_units + (end_ns - self.step_ns) / gap_ns;
                if self.units > end_units {
                    self.step += 1;
                    (self.step_units, self.step_ns) = (end_units, end_ns);
                    continue;
                }
            }
            self.due_ns = self.step_ns + (self.units - self.step_units) * gap_ns;
            return;
        }
    }

    /// `None`: nothing ends this step (yet).
    fn step_end_ns(&self) -> Option<f64> {
        let is_last = self.step + 1 == self.curve.steps.len();
        match self.window_ns {
            Some(window_ns) if !is_last => {
                Some(window_ns as f64 + self.curve.ends_ns[self.step] as f64)
            }
            _ => None,
        }
    }
}

#[cfg(test)]
#[path = "schedule_tests.rs"]
mod tests;
