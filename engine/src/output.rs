//! Events and the result as they are printed: the second half of `docs/engine-protocol.md`.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use hdrhistogram::Histogram as Hdr;
use hdrhistogram::serialization::{Serializer, V2DeflateSerializer};
use serde::Serialize;

use crate::ledger;
use crate::outcome::Outcomes as Counts;
use crate::record::{Phase, Record, Sample as KeptSample, Second as Counted, histogram};
use crate::run::{Measurement, Window as Measured};

pub const ENGINE: &str = concat!("fairload ", env!("CARGO_PKG_VERSION"));
/// A thread that is busy for more than this share of the window may have been the bottleneck.
const LIMITED_FROM_SHARE: f64 = 0.9;

#[derive(Debug, Clone, Serialize)]
#[serde(tag = "event", rename_all = "lowercase")]
pub enum Event {
    Start { unix_us: u64 },
    Second(SecondEvent),
    Window { unix_us: u64 },
    Drain { unix_us: u64 },
    End { unix_us: u64 },
    Listening { port: u16 },
    Warning { message: String },
    Error { message: String },
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

#[derive(Debug, Clone, Serialize)]
pub struct Document {
    pub protocol: u32,
    pub engine: &'static str,
    pub seed: u64,
    pub life: Life,
    pub window: Window,
    pub seconds: Vec<Second>,
    pub ledger: BTreeMap<String, Ledger>,
    pub samples: Vec<Sample>,
    #[serde(rename = "self")]
    pub own: Own,
}

#[derive(Debug, Clone, Serialize)]
pub struct Life {
    pub sent: u64,
    pub outcomes: Outcomes,
}

#[derive(Debug, Clone, Serialize)]
pub struct Window {
    pub start_unix_us: Option<u64>,
    pub duration_us: u64,
    pub sent: u64,
    pub outcomes: Outcomes,
    pub completed: u64,
    pub completed_ok: u64,
    pub in_flight_start: u64,
    pub in_flight_end: u64,
    pub bytes_sent: u64,
    pub bytes_received: u64,
    pub bodies_checked: u64,
    pub connections_opened: u64,
    pub latency: Latency,
    pub service: Option<Histogram>,
    pub send_lag: Option<Histogram>,
    pub connect: Option<Histogram>,
    pub kinds: Vec<Kind>,
}

#[derive(Debug, Clone, Serialize)]
pub struct Latency {
    pub ok: Histogram,
    pub all: Histogram,
}

#[derive(Debug, Clone, Serialize)]
pub struct Kind {
    pub kind: String,
    pub outcomes: Outcomes,
    pub latency_ok: Histogram,
}

#[derive(Debug, Clone, Serialize)]
pub struct Outcomes {
    pub ok: u64,
    pub shed: u64,
    pub status: BTreeMap<u16, u64>,
    pub wrong_body: u64,
    pub timeout: u64,
    pub connect: u64,
    pub reset: u64,
    pub malformed: u64,
    pub unsent: u64,
    pub in_flight: u64,
}

#[derive(Debug, Clone, Serialize)]
pub struct Histogram {
    pub count: u64,
    pub min_us: Option<u64>,
    pub mean_us: Option<f64>,
    pub max_us: Option<u64>,
    pub p50_us: Option<u64>,
    pub p90_us: Option<u64>,
    pub p99_us: Option<u64>,
    pub p999_us: Option<u64>,
    pub v2: String,
}

#[derive(Debug, Clone, Serialize)]
pub struct Second {
    #[serde(flatten)]
    pub numbers: SecondNumbers,
    pub histogram: String,
}

#[derive(Debug, Clone, Default, Serialize)]
pub struct Ledger {
    pub acknowledged: BTreeMap<String, Sums>,
    pub unknown: BTreeMap<String, Sums>,
}

#[derive(Debug, Clone, Serialize)]
pub struct Sums {
    pub count: u64,
    pub sum: i64,
}

#[derive(Debug, Clone, Serialize)]
pub struct Sample {
    pub outcome: &'static str,
    pub kind: String,
    pub status: Option<u16>,
    pub reason: String,
    pub request: String,
    pub body: Option<String>,
}

/// What the engine knows of itself.
#[derive(Debug, Clone, Serialize)]
pub struct Own {
    pub cpu_user_us: Option<u64>,
    pub cpu_system_us: Option<u64>,
    pub threads: usize,
    pub busiest_thread_busy_share: Option<f64>,
    pub generator_limited: bool,
    pub evidence: String,
}

impl Event {
    pub fn second(phase: Phase, index: u64, second: &Counted) -> Event {
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
}

impl SecondNumbers {
    fn new(index: u64, second: &Counted) -> SecondNumbers {
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

impl Document {
    pub fn new(measurement: &Measurement) -> Document {
        let Measurement { config, record, .. } = measurement;
        let seconds = measurement
            .seconds
            .iter()
            .enumerate()
            .map(|(index, second)| Second {
                numbers: SecondNumbers::new(index as u64, second),
                histogram: encode(&second.latency_ok),
            });
        let names: Vec<&str> = config
            .requests
            .iter()
            .map(|request| request.kind.as_str())
            .collect();
        Document {
            protocol: 1,
            engine: ENGINE,
            seed: config.seed,
            life: Life {
                sent: record.life_sent,
                outcomes: Outcomes::from(&record.life),
            },
            window: Window::new(measurement.window.as_ref(), record, &names),
            seconds: seconds.collect(),
            ledger: record
                .ledger
                .by_name(&config.requests)
                .into_iter()
                .map(|(name, rows)| (name, Ledger::from(rows)))
                .collect(),
            samples: record
                .samples
                .iter()
                .map(|sample| Sample::new(sample, &names))
                .collect(),
            own: Own::new(measurement.window.as_ref(), config.load.threads),
        }
    }
}

impl Window {
    fn new(window: Option<&Measured>, record: &Record, names: &[&str]) -> Window {
        let mut ok = histogram();
        for kind in &record.kinds {
            ok.add(&kind.latency_ok)
                .expect("all histograms have the same bounds");
        }
        let mut all = ok.clone();
        all.add(&record.latency_not_ok)
            .expect("all histograms have the same bounds");
        let kinds = names.iter().zip(&record.kinds).map(|(name, kind)| Kind {
            kind: name.to_string(),
            outcomes: Outcomes::from(&kind.outcomes),
            latency_ok: Histogram::from(&kind.latency_ok),
        });
        Window {
            start_unix_us: window.map(|window| window.start_unix_us),
            duration_us: window.map_or(0, |window| window.duration_us),
            sent: record.window_sent,
            outcomes: Outcomes::from(&record.window_outcomes()),
            completed: record.completed,
            completed_ok: record.completed_ok,
            in_flight_start: record.in_flight_start,
            in_flight_end: record.in_flight_end,
            bytes_sent: record.bytes_sent,
            bytes_received: record.bytes_received,
            bodies_checked: record.bodies_checked,
            connections_opened: record.connections_opened,
            latency: Latency {
                ok: Histogram::from(&ok),
                all: Histogram::from(&all),
            },
            service: record.service.as_ref().map(Histogram::from),
            send_lag: record.send_lag.as_ref().map(Histogram::from),
            connect: (!record.connect.is_empty()).then(|| Histogram::from(&record.connect)),
            kinds: kinds.collect(),
        }
    }
}

impl From<&Counts> for Outcomes {
    fn from(counts: &Counts) -> Outcomes {
        Outcomes {
            ok: counts.ok,
            shed: counts.shed,
            status: counts.status.clone(),
            wrong_body: counts.wrong_body,
            timeout: counts.timeout,
            connect: counts.connect,
            reset: counts.reset,
            malformed: counts.malformed,
            unsent: counts.unsent,
            in_flight: counts.in_flight,
        }
    }
}

impl From<&Hdr<u64>> for Histogram {
    fn from(histogram: &Hdr<u64>) -> Histogram {
        let some = !histogram.is_empty();
        Histogram {
            count: histogram.len(),
            min_us: some.then(|| histogram.min()),
            mean_us: some.then(|| histogram.mean()),
            max_us: some.then(|| histogram.max()),
            p50_us: quantile(histogram, 0.5),
            p90_us: quantile(histogram, 0.9),
            p99_us: quantile(histogram, 0.99),
            p999_us: quantile(histogram, 0.999),
            v2: encode(histogram),
        }
    }
}

impl From<BTreeMap<String, ledger::Row>> for Ledger {
    fn from(rows: BTreeMap<String, ledger::Row>) -> Ledger {
        let mut ledger = Ledger::default();
        for (account, row) in rows {
            let parts = [
                (row.acknowledged, &mut ledger.acknowledged),
                (row.unknown, &mut ledger.unknown),
            ];
            for (ledger::Sums { count, sum }, side) in parts {
                if count > 0 {
                    side.insert(account.clone(), Sums { count, sum });
                }
            }
        }
        ledger
    }
}

impl Sample {
    fn new(sample: &KeptSample, names: &[&str]) -> Sample {
        Sample {
            outcome: sample.outcome.name(),
            kind: names[sample.kind].to_string(),
            status: sample.status,
            reason: sample.reason.clone(),
            request: sample.request.clone(),
            body: sample
                .body
                .as_ref()
                .map(|body| String::from_utf8_lossy(body).into_owned()),
        }
    }
}

impl Own {
    fn new(window: Option<&Measured>, threads: usize) -> Own {
        let share =
            window.map(|window| window.busiest_cpu_us as f64 / window.duration_us.max(1) as f64);
        let waited = window.and_then(|window| {
            Some(window.busiest_waited_us? as f64 / window.duration_us.max(1) as f64)
        });
        let evidence = match (share, waited) {
            (Some(share), Some(waited)) => {
                format!(
                    "busiest thread {:.0} % busy, {:.0} % waiting for a core",
                    share * 100.0,
                    waited * 100.0
                )
            }
            (Some(share), None) => format!("busiest thread {:.0} % busy", share * 100.0),
            (None, _) => "the window never began".to_string(),
        };
        Own {
            cpu_user_us: window.map(|window| window.cpu_user_us),
            cpu_system_us: window.map(|window| window.cpu_system_us),
            threads,
            busiest_thread_busy_share: share,
            generator_limited: share.is_some_and(|share| share >= LIMITED_FROM_SHARE),
            evidence,
        }
    }
}

fn quantile(histogram: &Hdr<u64>, quantile: f64) -> Option<u64> {
    (!histogram.is_empty()).then(|| histogram.value_at_quantile(quantile))
}

/// HdrHistogram V2, deflated, in base64.
fn encode(histogram: &Hdr<u64>) -> String {
    let mut bytes = Vec::new();
    V2DeflateSerializer::new()
        .serialize(histogram, &mut bytes)
        .expect("writing to memory does not fail");
    BASE64.encode(bytes)
}
