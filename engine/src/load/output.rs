//! The result as it is printed: the last part of `docs/engine-protocol.md`.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;
use serde::Serialize;

use crate::core::config::Config;
use crate::core::handshakes::Handshakes;
use crate::core::histogram::{Summary, add, histogram};
use crate::core::kind::KindRecord;
use crate::core::ledger;
use crate::core::outcome::Outcomes;
use crate::core::record::{Record, Sample as KeptSample, StepRecord};
use crate::core::request::Request;
use crate::core::schedule;
use crate::core::silence::{Gap as Kept, LEAST_NS};
use crate::load::event::SecondRow;
use crate::load::measurement::{Measurement, Window as Measured};

pub const ENGINE: &str = concat!("fairload ", env!("CARGO_PKG_VERSION"));
/// A thread that is busy for more than this share of the window may have been the bottleneck.
const LIMITED_FROM_SHARE: f64 = 0.9;

#[derive(Debug, Clone, Serialize)]
pub struct Document {
    pub protocol: u32,
    pub engine: &'static str,
    pub seed: u64,
    pub life: Life,
    pub window: Window,
    pub tls: Option<Tls>,
    pub seconds: Vec<SecondRow>,
    pub ledger: BTreeMap<String, Ledger>,
    pub samples: Vec<Sample>,
    #[serde(rename = "self")]
    pub own: Own,
}

#[derive(Debug, Clone, Serialize)]
pub struct Life {
    pub sent: u64,
    pub outcomes: Outcomes,
    /// Good answers that had to be errors.
    pub refused: u64,
    pub bodies_checked: u64,
    pub kinds: Vec<LifeKind>,
    /// Kept connections that the server closed, and those of them that no answer announced.
    pub closed: u64,
    pub dropped: u64,
}

#[derive(Debug, Clone, Serialize)]
pub struct LifeKind {
    pub kind: String,
    pub outcomes: Outcomes,
    pub refused: u64,
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
    pub service: Option<Summary>,
    pub send_lag: Option<Summary>,
    pub connect: Option<Summary>,
    pub handshake: Option<Summary>,
    pub kinds: Vec<Kind>,
    pub steps: Option<Vec<Step>>,
    pub gaps: Option<Gaps>,
    pub tenths: Option<Tenths>,
}

/// The handshakes of the whole life; `version` and `cipher` are `null` where none has ended well.
#[derive(Debug, Clone, Serialize)]
pub struct Tls {
    pub version: Option<String>,
    pub cipher: Option<String>,
    pub handshake: Summary,
    pub failed: u64,
}

/// Answers in each tenth of a second, where something is made to go wrong.
#[derive(Debug, Clone, Serialize)]
pub struct Tenths {
    pub ok: Vec<u64>,
    pub not_ok: Vec<u64>,
}

/// Stretches without an answer while requests were open.
#[derive(Debug, Clone, Serialize)]
pub struct Gaps {
    pub least_us: u64,
    pub count: usize,
    pub longest: Vec<Gap>,
}

/// `start_us`: since the window's start. `own_us`: while the engine itself did not look out for answers.
#[derive(Debug, Clone, Serialize)]
pub struct Gap {
    pub start_us: u64,
    pub duration_us: u64,
    pub own_us: u64,
}

#[derive(Debug, Clone, Serialize)]
pub struct Latency {
    pub ok: Summary,
    pub all: Summary,
}

#[derive(Debug, Clone, Serialize)]
pub struct Kind {
    pub kind: String,
    pub outcomes: Outcomes,
    pub latency_ok: Summary,
}

/// The requests that were due in one step; `completed`: what arrived during it.
#[derive(Debug, Clone, Serialize)]
pub struct Step {
    pub step: usize,
    pub rate_per_s: f64,
    pub start_us: u64,
    pub duration_us: u64,
    pub due: u64,
    pub sent: u64,
    pub offered_per_s: Option<f64>,
    pub achieved_per_s: Option<f64>,
    pub outcomes: Outcomes,
    pub completed: u64,
    pub completed_ok: u64,
    pub latency: Latency,
    pub service: Summary,
    pub send_lag: Summary,
}

#[derive(Debug, Clone, Default, Serialize)]
pub struct Ledger {
    pub acknowledged: BTreeMap<String, Sums>,
    pub unknown: BTreeMap<String, Sums>,
}

#[derive(Debug, Clone, Serialize)]
pub struct Sums {
    pub count: u64,
    pub sum: i128,
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
    /// From the kernel's receipt of an answer's bytes to their handling; `null` with the reason where it was not measured.
    pub receive_lag: Option<Summary>,
    pub receive_lag_missing: Option<String>,
}

impl Document {
    pub fn new(measurement: &Measurement) -> Document {
        let Measurement { config, record, .. } = measurement;
        let names: Vec<&str> = config
            .requests
            .iter()
            .map(|request| request.kind.as_str())
            .collect();
        Document {
            protocol: 1,
            engine: ENGINE,
            seed: config.seed,
            life: Life::new(config, record),
            window: Window::new(measurement.window.as_ref(), record, &names, config.steps()),
            tls: record.handshakes.as_deref().map(Tls::new),
            seconds: measurement.seconds.clone(),
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
            own: Own::new(measurement),
        }
    }
}

impl Life {
    fn new(config: &Config, record: &Record) -> Life {
        let of_kind = |(request, kind): (&Request, &KindRecord)| LifeKind {
            kind: request.kind.clone(),
            outcomes: kind.life.clone(),
            refused: kind.life.ok * u64::from(request.expect.refuses()),
        };
        let kinds = config.requests.iter().zip(&record.kinds).map(of_kind);
        let kinds: Vec<LifeKind> = kinds.collect();
        Life {
            sent: record.life_sent,
            outcomes: record.life.clone(),
            refused: kinds.iter().map(|kind| kind.refused).sum(),
            bodies_checked: record.life_bodies_checked,
            kinds,
            closed: record.closed,
            dropped: record.dropped,
        }
    }
}

impl Window {
    fn new(
        window: Option<&Measured>,
        record: &Record,
        names: &[&str],
        steps: &[schedule::Step],
    ) -> Window {
        let ok = record.latency_ok();
        let duration_us = window.map_or(0, |window| window.duration_us);
        let kinds = names.iter().zip(&record.kinds).map(|(name, kind)| Kind {
            kind: name.to_string(),
            outcomes: kind.outcomes.clone(),
            latency_ok: Summary::from(&kind.latency_ok),
        });
        Window {
            start_unix_us: window.map(|window| window.start_unix_us),
            duration_us,
            sent: record.window_sent,
            outcomes: record.window_outcomes(),
            completed: record.completed,
            completed_ok: record.completed_ok,
            in_flight_start: record.in_flight_start,
            in_flight_end: record.in_flight_end,
            bytes_sent: record.bytes_sent,
            bytes_received: record.bytes_received,
            bodies_checked: record.bodies_checked,
            connections_opened: record.connections_opened,
            latency: Latency::new(&ok, &record.latency_not_ok),
            service: record.service.as_ref().map(Summary::from),
            send_lag: record.send_lag.as_ref().map(Summary::from),
            connect: (!record.connect.is_empty()).then(|| Summary::from(&record.connect)),
            handshake: record
                .handshakes
                .as_ref()
                .filter(|handshakes| !handshakes.window.is_empty())
                .map(|handshakes| Summary::from(&handshakes.window)),
            kinds: kinds.collect(),
            steps: (!steps.is_empty()).then(|| Step::rows(&record.steps, steps, window)),
            gaps: window.map(|window| Gaps::new(record, window.start_ns)),
            tenths: Tenths::of(record),
        }
    }
}

impl Tls {
    fn new(handshakes: &Handshakes) -> Tls {
        let (version, cipher) = handshakes.agreed.clone().unzip();
        Tls {
            version,
            cipher,
            handshake: Summary::from(&handshakes.life),
            failed: handshakes.failed,
        }
    }
}

impl Tenths {
    /// `None`: nobody asked for them.
    fn of(record: &Record) -> Option<Tenths> {
        let rows = record.tenths.rows();
        (!rows.is_empty()).then(|| Tenths {
            ok: rows.iter().map(|row| row.ok).collect(),
            not_ok: rows.iter().map(|row| row.not_ok).collect(),
        })
    }
}

impl Gaps {
    fn new(record: &Record, start_ns: u64) -> Gaps {
        let (longest, count) = record.silences.gaps();
        let row = |gap: Kept| Gap {
            start_us: gap.start_ns.saturating_sub(start_ns) / 1000,
            duration_us: gap.duration_ns / 1000,
            own_us: gap.own_ns / 1000,
        };
        Gaps {
            least_us: LEAST_NS / 1000,
            count,
            longest: longest.into_iter().map(row).collect(),
        }
    }
}

impl Latency {
    fn new(ok: &Histogram<u64>, not_ok: &Histogram<u64>) -> Latency {
        let mut all = histogram();
        add(&mut all, ok);
        add(&mut all, not_ok);
        Latency {
            ok: Summary::from(ok),
            all: Summary::from(&all),
        }
    }
}

impl Step {
    /// A step that was not reached has no time.
    fn rows(
        records: &[StepRecord],
        steps: &[schedule::Step],
        window: Option<&Measured>,
    ) -> Vec<Step> {
        let (mut curve_us, mut start_us) = (0, 0);
        let rows = records.iter().zip(steps).enumerate();
        rows.map(|(index, (record, step))| {
            curve_us += step.duration_ns / 1000;
            let end_us = match window {
                Some(window) if index + 1 == steps.len() => window.duration_us,
                Some(window) => window.active_us(curve_us),
                None => 0,
            };
            let duration_us = end_us - start_us;
            let row = Step::new(index, record, step.rate_per_s, start_us, duration_us);
            start_us = end_us;
            row
        })
        .collect()
    }

    fn new(
        step: usize,
        record: &StepRecord,
        rate_per_s: f64,
        start_us: u64,
        duration_us: u64,
    ) -> Step {
        let due = record.sent + record.outcomes.unsent;
        let per_s = |count: u64| (duration_us > 0).then(|| count as f64 * 1e6 / duration_us as f64);
        Step {
            step,
            rate_per_s,
            start_us,
            duration_us,
            due,
            sent: record.sent,
            offered_per_s: per_s(due),
            achieved_per_s: per_s(record.completed_ok),
            outcomes: record.outcomes.clone(),
            completed: record.completed,
            completed_ok: record.completed_ok,
            latency: Latency::new(&record.latency_ok, &record.latency_not_ok),
            service: Summary::from(&record.service),
            send_lag: Summary::from(&record.send_lag),
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
    fn new(measurement: &Measurement) -> Own {
        let window = measurement.window.as_ref();
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
        let lag = &measurement.record.receive_lag;
        Own {
            cpu_user_us: window.map(|window| window.cpu_user_us),
            cpu_system_us: window.map(|window| window.cpu_system_us),
            threads: measurement.config.load.threads,
            busiest_thread_busy_share: share,
            generator_limited: share.is_some_and(|share| share >= LIMITED_FROM_SHARE),
            evidence,
            receive_lag: (!lag.is_empty()).then(|| Summary::from(lag)),
            receive_lag_missing: measurement.why_no_receive_lag(),
        }
    }
}
