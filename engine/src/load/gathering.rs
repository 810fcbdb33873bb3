//! What the controller puts together of all threads: their seconds, and the window's two ends.

use std::collections::BTreeMap;

use crate::core::clock::Reading;
use crate::core::record::{Phase, Second};
use crate::load::control::{Mark, Report};
use crate::load::event::SecondRow;
use crate::load::measurement::Window;

/// The seconds of all threads. Whole ones become rows at once: a histogram is large.
#[derive(Default)]
pub struct Seconds {
    /// Those that some threads have told and others not yet, and by how many.
    parts: BTreeMap<(Phase, u64), (usize, Second)>,
    rows: BTreeMap<u64, SecondRow>,
}

impl Seconds {
    /// Adds one thread's second; the second of all `threads` once it is whole.
    pub fn add(
        &mut self,
        phase: Phase,
        index: u64,
        part: &Second,
        threads: usize,
    ) -> Option<Second> {
        let (told, second) = self.parts.entry((phase, index)).or_default();
        *told += 1;
        second.merge(part);
        if *told < threads {
            return None;
        }
        let (_, second) = self.parts.remove(&(phase, index))?;
        self.keep(phase, index, &second);
        Some(second)
    }

    /// Those of the window, unfinished ones too.
    pub fn rows(mut self) -> Vec<SecondRow> {
        for ((phase, index), (_, second)) in std::mem::take(&mut self.parts) {
            self.keep(phase, index, &second);
        }
        self.rows.into_values().collect()
    }

    fn keep(&mut self, phase: Phase, index: u64, second: &Second) {
        if phase == Phase::Window {
            self.rows.insert(index, SecondRow::new(index, second));
        }
    }
}

/// When the window began and what it cost, as the controller saw it.
#[derive(Default)]
pub struct WindowTimes {
    pub start: Reading,
    /// Where a schedule says what is due: the machine's time at the start. It counts from there, however late a thread looks.
    pub scheduled_at_ns: Option<u64>,
    /// It was begun while the load stood still: it begins with the next `go`.
    pub waits: bool,
    pub go_ns: Option<u64>,
    /// How far the schedule was at each drain of a turn, and how long the drain lasted.
    pub drains_us: Vec<(u64, u64)>,
    /// Of the process: user, system.
    pub cpu_start_us: (u64, u64),
    pub cpu_end_us: (u64, u64),
}

impl WindowTimes {
    /// `None`: some thread was not in the window at both of its ends.
    pub fn window(&self, reports: &[Report], unix_us: impl Fn(u64) -> u64) -> Option<Window> {
        let marks: Option<Vec<(Mark, Mark)>> = reports
            .iter()
            .map(|report| report.window_start.zip(report.window_end))
            .collect();
        let marks = marks?;
        let seen = marks
            .iter()
            .map(|(start, _)| (start.at_ns, start.active_ns));
        let (start_ns, first_ns) = match self.scheduled_at_ns {
            Some(at_ns) => (at_ns, self.start.active_ns),
            None => seen.min()?,
        };
        let began_ns = self.go_ns.unwrap_or(start_ns);
        let last_ns = marks.iter().map(|(_, end)| end.active_ns).max()?;
        let (start, end) = marks
            .iter()
            .max_by_key(|(start, end)| end.cpu_us - start.cpu_us)?;
        let waited = start.run_queue_us.zip(end.run_queue_us);
        Some(Window {
            start_unix_us: unix_us(began_ns),
            start_ns: began_ns,
            duration_us: last_ns.saturating_sub(first_ns) / 1000,
            drains_us: self.drains_us.clone(),
            cpu_user_us: self.cpu_end_us.0 - self.cpu_start_us.0,
            cpu_system_us: self.cpu_end_us.1 - self.cpu_start_us.1,
            busiest_cpu_us: end.cpu_us - start.cpu_us,
            busiest_waited_us: waited.map(|(start, end)| end - start),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A second is told once all threads have told it; the window's last one is a row even where some have not.
    #[test]
    fn whole_seconds() {
        let part = |ok| {
            let mut second = Second::new();
            second.ok = ok;
            second
        };
        let mut seconds = Seconds::default();
        assert!(seconds.add(Phase::Window, 0, &part(3), 2).is_none());
        assert!(seconds.add(Phase::Window, 1, &part(7), 2).is_none());
        let whole = seconds.add(Phase::Window, 0, &part(4), 2).unwrap();
        assert_eq!(whole.ok, 7);
        assert_eq!(seconds.add(Phase::Warmup, 0, &part(9), 1).unwrap().ok, 9);
        let rows: Vec<(u64, u64)> = seconds
            .rows()
            .iter()
            .map(|row| (row.numbers.second, row.numbers.ok))
            .collect();
        assert_eq!(rows, [(0, 7), (1, 7)]);
    }
}
