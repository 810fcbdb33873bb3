//! What is counted of one kind of request.

use hdrhistogram::Histogram;

use crate::core::histogram::{add, histogram};
use crate::core::outcome::Outcomes;

/// Outcomes and latencies are those of requests that were sent inside the window.
#[derive(Debug, Clone)]
pub struct KindRecord {
    /// Of the whole life, the one exception.
    pub life: Outcomes,
    pub outcomes: Outcomes,
    pub latency_ok: Histogram<u64>,
}

impl KindRecord {
    pub fn new() -> KindRecord {
        KindRecord {
            life: Outcomes::default(),
            outcomes: Outcomes::default(),
            latency_ok: histogram(),
        }
    }

    pub fn merge(&mut self, other: &KindRecord) {
        self.life.merge(&other.life);
        self.outcomes.merge(&other.outcomes);
        add(&mut self.latency_ok, &other.latency_ok);
    }
}

impl Default for KindRecord {
    fn default() -> Self {
        Self::new()
    }
}
