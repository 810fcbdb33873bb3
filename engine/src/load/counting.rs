//! What one thread counts and knows: its record, the bodies that it has found right, what it keeps of them, its clocks at the window's ends.

use crate::core::config::Config;
use crate::core::expect::Known;
use crate::core::ledger::Ledger;
use crate::core::record::{Phase, Record};
use crate::core::rings::Rings;
use crate::load::control::{Mark, Report};

pub struct Counting {
    pub(crate) record: Record,
    /// Right bodies so far, by kind.
    pub(crate) known: Vec<Known>,
    pub(crate) rings: Rings,
    window_start: Option<Mark>,
    window_end: Option<Mark>,
    attempted_before: bool,
    connected_before: bool,
}

impl Counting {
    pub fn new(config: &Config) -> Counting {
        let ledger = Ledger::new(&config.requests).doubting(config.load.fault);
        let (kinds, steps) = (config.requests.len(), config.steps().len());
        Counting {
            record: Record::new(kinds, ledger, config.offered.is_some(), steps),
            known: config.requests.iter().map(|_| Known::default()).collect(),
            rings: Rings::new(config),
            window_start: None,
            window_end: None,
            attempted_before: false,
            connected_before: false,
        }
    }

    /// A phase begins, with these clocks.
    pub fn enter(&mut self, phase: Phase, mark: Mark) {
        match phase {
            Phase::Window => self.window_start = Some(mark),
            Phase::Drain if self.window_start.is_some() => self.window_end = Some(mark),
            _ => {}
        }
        self.record.enter(phase);
        match phase {
            Phase::Window => self
                .record
                .silences
                .begin(mark.at_ns, self.record.in_flight()),
            _ => self.record.silences.end(mark.at_ns),
        }
    }

    /// True once: at the first attempt to connect.
    pub fn is_first_attempt(&mut self) -> bool {
        !std::mem::replace(&mut self.attempted_before, true)
    }

    /// True once: at the first connection.
    pub fn is_first_connection(&mut self) -> bool {
        !std::mem::replace(&mut self.connected_before, true)
    }

    pub fn report(self) -> Report {
        Report {
            record: self.record,
            window_start: self.window_start,
            window_end: self.window_end,
        }
    }
}
