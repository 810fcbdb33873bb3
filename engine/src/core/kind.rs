//! What is counted of one kind of request.

use hdrhistogram::Histogram;

use crate::core::histogram::{add, histogram};
use crate::core::outcome::Outcomes;

/// Outcomes and latencies are those of requests that were sent inside the window.
#[derive(Debug, Clone)]
pub struct KindRecord {
    /// Good answers of the whole life.
    pub life_ok: u64,
    pub outcomes: Outcomes,
    pub latency_ok: Histogram<u64>,
}

impl KindRecord {
    pub fn new() -> KindRecord {
        KindRecord {
            life_ok: 0,
            outcomes: Outcomes::default(),
            latency_ok: histogram(),
        }
    }

    pub fn merge(&mut self, other: &KindRecord) {
        self.life_ok += other.life_ok;
        self.outcomes.merge(&other.outcomes);
        add(&mut self.latency_ok, &other.latency_ok);
    }
}

impl Default for KindRecord {
    fn default() -> Self {
        Self::new()
    }
}
