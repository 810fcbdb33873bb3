//! What is told while a measurement runs: one JSON object a line, the first half of what a run hands over.

use std::io::Write as _;

use serde::Serialize;

use crate::core::error::EngineError;
use crate::core::histogram::{encode, quantile};
use crate::core::record::{Phase, Second};
use crate::core::settled::Settled;

#[derive(Debug, Clone, Serialize)]
#[serde(tag = "event", rename_all = "lowercase")]
pub enum Event {
    Start { unix_us: u64 },
    Second(SecondEvent),
    Window { unix_us: u64 },
    Drain { unix_us: u64 },
    Held(HeldEvent),
    Answers(AnswersEvent),
    End { unix_us: u64 },
    Listening { port: u16 },
    Awake { processors: usize },
    Warning { message: String },
    Error { code: &'static str, message: String },
}

/// All answers are there and nothing is sent; the counts are of the whole run.
#[derive(Debug, Clone, Serialize)]
pub struct HeldEvent {
    pub ok: u64,
    pub not_ok: u64,
    /// Time in which requests were sent or waited for.
    pub active_us: u64,
    /// Of the turn that has just ended.
    pub settled: Settled,
}

/// When good answers of one kind came: several of these events come at the end, where the plan asks for a log.
#[derive(Debug, Clone, Serialize)]
pub struct AnswersEvent {
    pub kind: String,
    /// One in so many answers is kept.
    pub one_in: u64,
    /// How far the wall clock was set while the load ran.
    pub clock_moved_us: i64,
    /// The moment in wall-clock microseconds, and what the logged slots held.
    pub rows: Vec<Vec<i64>>,
}

#[derive(Debug, Clone, Serialize)]
pub struct SecondEvent {
    pub phase: &'static str,
    #[serde(flatten)]
    pub numbers: SecondNumbers,
}

#[derive(Debug, Clone, Serialize)]
pub struct SecondNumbers {
    pub second: u64,
    pub ok: u64,
    pub not_ok: u64,
    pub p50_us: Option<u64>,
    pub p99_us: Option<u64>,
    pub max_us: Option<u64>,
    pub in_flight: u64,
}

impl Event {
    pub fn error(error: &EngineError) -> Event {
        Event::Error {
            code: error.code(),
            message: error.to_string(),
        }
    }

    pub fn second(phase: Phase, index: u64, second: &Second) -> Event {
        let phase = if phase == Phase::Warmup {
            "warmup"
        } else {
            "window"
        };
        Event::Second(SecondEvent {
            phase,
            numbers: SecondNumbers::new(index, second),
        })
    }

    /// Prints it on standard error. Whoever closed the pipe does not want it.
    pub fn print(&self) {
        let line = serde_json::to_string(self).expect("an event is plain data") + "\n";
        let _ = std::io::stderr().write_all(line.as_bytes());
    }
}

impl SecondNumbers {
    pub fn new(index: u64, second: &Second) -> SecondNumbers {
        let latency = &second.latency_ok;
        SecondNumbers {
            second: index,
            ok: second.ok,
            not_ok: second.not_ok,
            p50_us: quantile(latency, 0.5),
            p99_us: quantile(latency, 0.99),
            max_us: (!latency.is_empty()).then(|| latency.max()),
            in_flight: second.in_flight,
        }
    }
}

/// One second of the window, as it stands in the result.
#[derive(Debug, Clone, Serialize)]
pub struct SecondRow {
    #[serde(flatten)]
    pub numbers: SecondNumbers,
    pub histogram: String,
}

impl SecondRow {
    pub fn new(index: u64, second: &Second) -> SecondRow {
        SecondRow {
            numbers: SecondNumbers::new(index, second),
            histogram: encode(&second.latency_ok),
        }
    }
}
