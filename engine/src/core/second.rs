//! One second of a load.

use hdrhistogram::Histogram;

use crate::core::histogram::{add, histogram};

/// The answers that arrived inside one second.
#[derive(Debug, Clone)]
pub struct Second {
    pub ok: u64,
    pub not_ok: u64,
    pub in_flight: u64,
    pub latency_ok: Histogram<u64>,
}

impl Second {
    pub fn new() -> Second {
        Second {
            ok: 0,
            not_ok: 0,
            in_flight: 0,
            latency_ok: histogram(),
        }
    }

    pub fn merge(&mut self, other: &Second) {
        self.ok += other.ok;
        self.not_ok += other.not_ok;
        self.in_flight += other.in_flight;
        add(&mut self.latency_ok, &other.latency_ok);
    }
}

impl Default for Second {
    fn default() -> Self {
        Self::new()
    }
}
