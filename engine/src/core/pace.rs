//! When one thread's requests are due, on the engine's clock. Pure: every moment comes in as a number.

use crate::core::config::Config;
use crate::core::schedule::{Curve, Schedule};

/// From this rate on, sends are gathered on ticks: a wake-up for each costs more than the send.
const TICK_FROM_RATE_PER_S: f64 = 20_000.0;
const TICK_NS: u64 = 200_000;

/// Closed loop: it never says that anything is due.
pub struct Pace {
    schedule: Option<Schedule>,
    stride: u64,
    start_ns: u64,
    gathers: bool,
    /// Where the load has steps: their curve, and the window's start once it is known.
    curve: Option<Curve>,
    window_ns: u64,
}

impl Pace {
    pub fn new(config: &Config, thread: usize, start_ns: u64) -> Pace {
        let offered = config.offered.as_ref();
        let schedule = offered.map(|offered| {
            let mut schedule = Schedule::new(config.seed, offered.arrivals, offered.curve.clone());
            schedule.advance(thread as u64);
            schedule
        });
        let has_steps = !config.steps().is_empty();
        Pace {
            schedule,
            stride: config.load.threads as u64,
            start_ns,
            gathers: offered
                .is_some_and(|offered| offered.curve.highest_per_s() >= TICK_FROM_RATE_PER_S),
            curve: offered
                .filter(|_| has_steps)
                .map(|offered| offered.curve.clone()),
            window_ns: u64::MAX,
        }
    }

    pub fn is_open(&self) -> bool {
        self.schedule.is_some()
    }

    pub fn begin_window(&mut self, now_ns: u64) {
        self.window_ns = now_ns;
        if let Some(schedule) = &mut self.schedule {
            schedule.begin_window(now_ns - self.start_ns);
        }
    }

    /// The next request and when it was due, if that has come.
    pub fn due(&self, now_ns: u64) -> Option<(u64, u64)> {
        let (number, offset_ns) = self.schedule.as_ref()?.next();
        let due_ns = self.start_ns + offset_ns;
        (due_ns <= now_ns).then_some((number, due_ns))
    }

    /// On to this thread's next request.
    pub fn advance(&mut self) {
        if let Some(schedule) = &mut self.schedule {
            schedule.advance(self.stride);
        }
    }

    /// When to look again.
    pub fn wake_ns(&self, now_ns: u64) -> u64 {
        let Some(schedule) = &self.schedule else {
            return u64::MAX;
        };
        let due_ns = self.start_ns + schedule.next().1;
        if self.gathers {
            due_ns.max(now_ns + TICK_NS)
        } else {
            due_ns
        }
    }

    /// The step of the window that a moment belongs to: the first one before it, the last one after it. 0 where there are none.
    pub fn step_at(&self, at_ns: u64) -> usize {
        match &self.curve {
            Some(curve) => curve.step_at(at_ns.saturating_sub(self.window_ns)),
            None => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::config::NOWHERE;

    fn pace(load: &str) -> Pace {
        let plan = format!(
            r#"{{"protocol":1,"seed":1,"target":{{"host":"127.0.0.1","port":9}},"load":{{"connections":4,{load}}},
            "requests":[{{"kind":"a","method":"GET","path":"/","expect":{{"status":200}}}}]}}"#
        );
        Pace::new(&Config::parse(&plan, &NOWHERE).unwrap(), 0, 1_000)
    }

    /// Nothing is ever due in the closed loop.
    #[test]
    fn closed() {
        let mut pace = pace(r#""model":"closed","window_s":1"#);
        pace.advance();
        pace.begin_window(5_000);
        assert_eq!((pace.due(u64::MAX), pace.wake_ns(0)), (None, u64::MAX));
        assert!(!pace.is_open() && pace.step_at(u64::MAX) == 0);
    }

    /// A thread takes every other request of two; each is due from its moment on.
    #[test]
    fn open() {
        let mut pace = pace(
            r#""model":"open","arrivals":"constant","rate_per_s":1000,"window_s":1,"threads":2"#,
        );
        assert_eq!(pace.due(1_000_999), None);
        assert_eq!(pace.due(1_001_000), Some((0, 1_001_000)));
        pace.advance();
        assert_eq!(pace.due(9_000_000), Some((2, 3_001_000)));
        assert_eq!(pace.wake_ns(2_000_000), 3_001_000);
    }

    /// From some rate on, anywhere in the curve, wake-ups are a tick apart.
    #[test]
    fn ticks() {
        let steps =
            r#""steps":[{"rate_per_s":10,"duration_s":1},{"rate_per_s":20000,"duration_s":1}]"#;
        let pace = pace(&format!(r#""model":"open","arrivals":"constant",{steps}"#));
        assert_eq!(pace.wake_ns(200_000_000), 200_200_000);
        assert_eq!(pace.wake_ns(0), 100_001_000);
    }

    /// Steps count from the window's start; before it, the first one holds.
    #[test]
    fn steps() {
        let steps =
            r#""steps":[{"rate_per_s":10,"duration_s":1},{"rate_per_s":20,"duration_s":1}]"#;
        let mut pace = pace(&format!(r#""model":"open",{steps}"#));
        assert_eq!(pace.step_at(5_000_000_000), 0);
        pace.begin_window(7_000_000_000);
        let at = [0, 7_999_999_999, 8_000_000_000, 99_000_000_000];
        assert_eq!(at.map(|ns| pace.step_at(ns)), [0, 0, 1, 1]);
    }
}
