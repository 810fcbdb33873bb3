//! Clocks that can stand still. Pure: every moment comes in as a number.

/// A clock that stands still while it is paused. It counts nanoseconds from the machine's own origin: before its first pause
/// it shows the machine's monotonic time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Clock {
    /// Length of all pauses that are over.
    stood_ns: u64,
    paused_at_ns: Option<u64>,
}

impl Clock {
    /// What this clock shows at a moment of the machine's time, which must not lie before the end of its last pause.
    pub fn at(&self, machine_ns: u64) -> u64 {
        let moved_ns = self.paused_at_ns.unwrap_or(u64::MAX).min(machine_ns);
        moved_ns.saturating_sub(self.stood_ns)
    }

    /// When this clock will show `at_ns`, in the machine's time; never (the largest number) while it is paused.
    pub fn when(&self, at_ns: u64) -> u64 {
        match self.paused_at_ns {
            Some(_) => u64::MAX,
            None => at_ns.saturating_add(self.stood_ns),
        }
    }

    /// Stands still from `machine_ns` on; a clock that is paused already stays where it is.
    pub fn pause(&mut self, machine_ns: u64) {
        self.paused_at_ns.get_or_insert(machine_ns);
    }

    /// Goes on at `machine_ns` with what it showed in the pause.
    pub fn resume(&mut self, machine_ns: u64) {
        if let Some(paused_at_ns) = self.paused_at_ns.take() {
            self.stood_ns += machine_ns.saturating_sub(paused_at_ns);
        }
    }
}

/// What both clocks of the load show at one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Reading {
    pub schedule_ns: u64,
    pub active_ns: u64,
}

impl Reading {
    /// How much longer than its schedule the load was active, from `start` on: the drains between the two.
    pub fn drained_since(&self, start: &Reading) -> u64 {
        let active_ns = self.active_ns.saturating_sub(start.active_ns);
        active_ns.saturating_sub(self.schedule_ns.saturating_sub(start.schedule_ns))
    }
}

/// The load's two clocks. A hold pauses the first at once, and the second when the last answer is there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Clocks {
    /// Of the open loop's due times.
    pub schedule: Clock,
    /// Of the time in which requests are sent or waited for.
    pub active: Clock,
}

impl Clocks {
    pub fn read(&self, machine_ns: u64) -> Reading {
        Reading {
            schedule_ns: self.schedule.at(machine_ns),
            active_ns: self.active.at(machine_ns),
        }
    }

    pub fn resume(&mut self, machine_ns: u64) {
        self.schedule.resume(machine_ns);
        self.active.resume(machine_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pauses are left out, however many; a moment that a paused clock has not reached never comes.
    #[test]
    fn a_clock_leaves_out_its_pauses() {
        let mut clock = Clock::default();
        assert_eq!((clock.at(7), clock.when(7)), (7, 7));
        clock.pause(100);
        clock.pause(150);
        assert_eq!((clock.at(90), clock.at(100), clock.at(900)), (90, 100, 100));
        assert_eq!(clock.when(200), u64::MAX);
        clock.resume(1000);
        clock.resume(2000);
        assert_eq!((clock.at(1000), clock.at(1005)), (100, 105));
        assert_eq!((clock.when(105), clock.when(u64::MAX)), (1005, u64::MAX));
        clock.pause(1010);
        clock.resume(1020);
        assert_eq!((clock.at(1020), clock.when(111)), (110, 1021));
    }

    /// A drain passes on the active clock alone; the time after it passes on none.
    #[test]
    fn a_drain_is_active_time_without_schedule() {
        let mut clocks = Clocks::default();
        let start = clocks.read(10);
        clocks.schedule.pause(100);
        assert_eq!(clocks.read(130).drained_since(&start), 30);
        clocks.active.pause(140);
        assert_eq!(clocks.read(900).drained_since(&start), 40);
        clocks.resume(1000);
        let later = clocks.read(1025);
        assert_eq!((later.schedule_ns, later.active_ns), (125, 165));
        assert_eq!(later.drained_since(&start), 40);
        assert_eq!(later.drained_since(&later), 0);
    }
}
