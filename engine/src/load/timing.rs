//! When one thread does what: its next request, the end of its pauses, its seconds, its look for late requests.

use crate::core::config::Config;
use crate::core::pace::Pace;
use crate::core::pauses::Pauses;

pub(crate) const SECOND_NS: u64 = 1_000_000_000;

pub struct Timing {
    pub(crate) pace: Pace,
    /// On the active clock.
    pub(crate) pauses: Pauses,
    pub(crate) timeout_ns: u64,
    pub(crate) next_scan_ns: u64,
    /// On the active clock.
    pub(crate) next_second_ns: u64,
    pub(crate) second_index: u64,
    next_number: u64,
    stride: u64,
}

impl Timing {
    pub fn new(config: &Config, thread: usize, start_ns: u64) -> Timing {
        Timing {
            pace: Pace::new(config, thread, start_ns),
            pauses: Pauses::new(config.load.think_ms),
            timeout_ns: config.load.timeout_ms * 1_000_000,
            next_scan_ns: start_ns,
            next_second_ns: start_ns + SECOND_NS,
            second_index: 0,
            next_number: thread as u64,
            stride: config.load.threads as u64,
        }
    }

    /// The number of a closed loop's next request.
    pub fn take_number(&mut self) -> u64 {
        let number = self.next_number;
        self.next_number += self.stride;
        number
    }

    /// A phase's seconds begin; `active_ns`: on the active clock.
    pub fn begin_seconds(&mut self, active_ns: u64) {
        self.second_index = 0;
        self.next_second_ns = active_ns + SECOND_NS;
    }

    /// A second is over: its index in its phase.
    pub fn take_second(&mut self) -> u64 {
        self.next_second_ns += SECOND_NS;
        self.second_index += 1;
        self.second_index - 1
    }

    /// The next look for late requests; a hundredth of the timeout from now, within bounds.
    pub fn set_scan(&mut self, now_ns: u64) {
        self.next_scan_ns = now_ns + (self.timeout_ns / 100).clamp(1_000_000, 100_000_000);
    }
}
