//! TLS handshakes of one thread: how many, how long, and what they ended with.

use hdrhistogram::Histogram;

use crate::core::histogram::{add, histogram, record};

#[derive(Debug, Clone)]
pub struct Handshakes {
    /// Kept connections are made in the warm-up, so that the window alone tells little.
    pub life: Histogram<u64>,
    pub window: Histogram<u64>,
    pub failed: u64,
    /// Version and cipher of the first one.
    pub agreed: Option<(String, String)>,
}

impl Handshakes {
    pub fn new() -> Handshakes {
        Handshakes {
            life: histogram(),
            window: histogram(),
            failed: 0,
            agreed: None,
        }
    }

    pub fn done(&mut self, took_us: u64, in_window: bool) {
        record(&mut self.life, took_us);
        if in_window {
            record(&mut self.window, took_us);
        }
    }

    pub fn merge(&mut self, other: &Handshakes) {
        add(&mut self.life, &other.life);
        add(&mut self.window, &other.window);
        self.failed += other.failed;
        if self.agreed.is_none() {
            self.agreed.clone_from(&other.agreed);
        }
    }
}

impl Default for Handshakes {
    fn default() -> Self {
        Self::new()
    }
}
