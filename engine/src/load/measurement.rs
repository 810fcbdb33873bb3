//! What a run hands over at its end.

use std::sync::Arc;

use crate::core::config::Config;
use crate::core::record::Record;
use crate::load::event::SecondRow;

pub const STAMPS_NOT_ASKED: &str = "`kernel_timestamps` was not asked for";

/// Everything that was counted, of all threads together.
pub struct Measurement {
    pub config: Arc<Config>,
    pub record: Record,
    /// Those of the window.
    pub seconds: Vec<SecondRow>,
    /// Why the kernel does not say when it received bytes, although it was asked.
    pub no_stamps: Option<String>,
    /// `None`: the run ended before its window began.
    pub window: Option<Window>,
    pub connected: bool,
    pub interrupted: bool,
}

impl Measurement {
    /// `None`: there is one.
    pub fn why_no_receive_lag(&self) -> Option<String> {
        if !self.record.receive_lag.is_empty() {
            return None;
        }
        let reason = match &self.no_stamps {
            Some(reason) => reason.as_str(),
            None if self.config.load.kernel_timestamps => {
                "the kernel stamped nothing that arrived inside the window"
            }
            None => STAMPS_NOT_ASKED,
        };
        Some(reason.to_string())
    }
}

#[derive(Debug, Clone)]
pub struct Window {
    pub start_unix_us: u64,
    /// The same moment in the machine's monotonic time.
    pub start_ns: u64,
    /// Active time: the time that the load stood still between turns is left out.
    pub duration_us: u64,
    /// The drains of turns: how far the schedule was from the window's start, and how long the drain lasted. Where there are steps.
    pub drains_us: Vec<(u64, u64)>,
    pub cpu_user_us: u64,
    pub cpu_system_us: u64,
    /// CPU time of the thread that used most, and the time that it waited for a core.
    pub busiest_cpu_us: u64,
    pub busiest_waited_us: Option<u64>,
}

impl Window {
    /// How much of the window had passed when its schedule was `schedule_us` old. Each drain of a turn adds to what came before its
    /// place.
    pub fn active_us(&self, schedule_us: u64) -> u64 {
        let before = self
            .drains_us
            .iter()
            .filter(|(at_us, _)| *at_us < schedule_us);
        let drained_us: u64 = before.map(|(_, drain_us)| drain_us).sum();
        (schedule_us + drained_us).min(self.duration_us)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Drains make the step longer that they fall into, and all later ones begin later; nothing outlasts the window.
    #[test]
    fn drains_move_the_end_of_a_step() {
        let window = Window {
            start_unix_us: 0,
            start_ns: 0,
            duration_us: 1000,
            drains_us: vec![(100, 7), (300, 20), (500, 50)],
            cpu_user_us: 0,
            cpu_system_us: 0,
            busiest_cpu_us: 0,
            busiest_waited_us: None,
        };
        let ends = [100, 101, 300, 400, 600, 990].map(|at_us| window.active_us(at_us));
        assert_eq!(ends, [100, 108, 307, 427, 677, 1000]);
    }
}
