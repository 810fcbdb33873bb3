//! Bad answers that are kept as evidence.

use crate::core::outcome::Outcome;

/// One of the first answers of a bad outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sample {
    pub outcome: Outcome,
    pub kind: usize,
    pub status: Option<u16>,
    pub reason: String,
    pub request: String,
    pub body: Option<Vec<u8>>,
}

pub const SAMPLES_PER_OUTCOME: usize = 3;
/// In all, whatever their reasons.
pub const CONNECT_SAMPLES: usize = 8 * SAMPLES_PER_OUTCOME;

/// True while one more of this outcome is wanted. Of connections that failed each reason is an outcome of its own: where the server
/// refuses some, the engine may lack ports for others.
pub fn is_wanted(samples: &[Sample], outcome: Outcome, reason: &str) -> bool {
    let of_it = || samples.iter().filter(|sample| sample.outcome == outcome);
    match outcome {
        Outcome::Ok => false,
        Outcome::Connect => {
            let alike = of_it().filter(|sample| sample.reason == reason).count();
            alike < SAMPLES_PER_OUTCOME && of_it().count() < CONNECT_SAMPLES
        }
        _ => of_it().count() < SAMPLES_PER_OUTCOME,
    }
}
