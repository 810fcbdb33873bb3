//! The files in `tests/golden/` are the wire format: both sides read them, so that they cannot drift apart.
//!
//! `UPDATE_GOLDEN=1 cargo test golden` writes them anew.

use std::path::PathBuf;
use std::sync::Arc;

use fairload::core::config::Config;
use fairload::core::error::EngineError;
use fairload::core::handshakes::Handshakes;
use fairload::core::outcome::Outcome;
use fairload::core::record::{Phase, Record, Sample, Second};
use fairload::core::settled::Settled;
use fairload::load::event::{Event, HeldEvent, SecondRow};
use fairload::load::measurement::{Measurement, Window};
use fairload::load::output::Document;

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(name)
}

pub fn read(name: &str) -> String {
    std::fs::read_to_string(path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn compare(name: &str, text: &str) {
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(path(name), text).unwrap();
    }
    assert_eq!(
        text,
        read(name),
        "{name} differs; if that is meant, run with UPDATE_GOLDEN=1 and change both sides"
    );
}

pub fn config(name: &str) -> Config {
    fairload::load::outside::config(&read(name)).unwrap()
}

/// Records values from `first` on, so that every histogram of the result has other numbers.
fn fill(histogram: &mut hdrhistogram::Histogram<u64>, first: u64, count: u64) {
    (0..count).for_each(|step| histogram.record(first + step * 10).unwrap());
}

fn second(first: u64) -> Second {
    let mut second = Second::new();
    (second.ok, second.not_ok, second.in_flight) = (first, first + 1, first + 2);
    fill(&mut second.latency_ok, first * 10, first);
    second
}

fn handshakes() -> Handshakes {
    let mut handshakes = Handshakes::new();
    fill(&mut handshakes.life, 90, 23);
    fill(&mut handshakes.window, 95, 22);
    handshakes.failed = 2010;
    handshakes.agreed = Some(("TLS 1.3".to_string(), "TLS_AES_128_GCM_SHA256".to_string()));
    handshakes
}

/// A record in which no two numbers are equal: a crossed wire cannot hide.
fn record(config: &Config) -> Record {
    let mut record = Record::new(
        4,
        fairload::core::ledger::Ledger::new(&config.requests),
        true,
        0,
    );
    record.life_sent = 1001;
    (record.kinds[2].life.ok, record.kinds[3].life.ok) = (112, 113);
    record.kinds[3].life.status.insert(500, 114);
    let life = &mut record.life;
    (
        life.ok,
        life.shed,
        life.wrong_body,
        life.timeout,
        life.connect,
    ) = (101, 102, 103, 104, 105);
    (life.reset, life.malformed, life.unsent, life.in_flight) = (106, 107, 108, 109);
    life.status.extend([(404, 110), (500, 111)]);
    record.window_sent = 2001;
    for (kind, base) in [(0, 200), (1, 300)] {
        let outcomes = &mut record.kinds[kind].outcomes;
        (outcomes.ok, outcomes.shed, outcomes.wrong_body) = (base + 1, base + 2, base + 3);
        (outcomes.timeout, outcomes.connect, outcomes.reset) = (base + 4, base + 5, base + 6);
        (outcomes.malformed, outcomes.unsent, outcomes.in_flight) = (base + 7, base + 8, base + 9);
        outcomes.status.insert(500, base + 10);
        fill(&mut record.kinds[kind].latency_ok, base * 7, base);
    }
    fill(&mut record.latency_not_ok, 5000, 17);
    fill(record.service.as_mut().unwrap(), 600, 18);
    fill(record.send_lag.as_mut().unwrap(), 40, 19);
    fill(&mut record.connect, 80, 20);
    record.handshakes = Some(Box::new(handshakes()));
    (record.completed, record.completed_ok) = (2002, 2003);
    (record.in_flight_start, record.in_flight_end) = (2004, 2005);
    (record.bytes_sent, record.bytes_received) = (2006, 2007);
    (record.bodies_checked, record.connections_opened) = (2008, 2009);
    (record.closed, record.dropped) = (971, 967);
    record.silences.begin(7_000_000, 1);
    record.silences.watched(61_000_000);
    record.silences.ended(70_000_000, Outcome::Ok, 1);
    record.silences.ended(71_000_000, Outcome::Ok, 1);
    record.silences.watched(223_000_000);
    record.silences.end(301_000_000);
    record.tenths.edge(7_000_000, true);
    for (at_ns, ok) in [(8_000_000, true), (9_000_000, true), (120_000_000, false)] {
        record.tenths.ended(at_ns, ok);
    }
    record.tenths.edge(301_000_000, false);
    let request = &config.requests[0];
    record.ledger.book(0, request, &[11, 12, 5], Outcome::Ok);
    record
        .ledger
        .book(0, request, &[12, 11, 3], Outcome::Timeout);
    record.samples.push(Sample {
        outcome: Outcome::Status(500),
        kind: 1,
        status: Some(500),
        reason: "status 500 instead of 200".to_string(),
        request: "GET /time".to_string(),
        body: Some(b"a \xff \"b\"\n".to_vec()),
    });
    record.samples.push(Sample {
        outcome: Outcome::Timeout,
        kind: 0,
        status: None,
        reason: "no whole answer within 9000 ms".to_string(),
        request: "POST /transfer?from=12&to=11&amount=3".to_string(),
        body: None,
    });
    record
}

/// The result document, with every field filled, is the golden one.
#[test]
fn golden_result() {
    let config = config("plan.json");
    let measurement = Measurement {
        record: record(&config),
        config: Arc::new(config),
        seconds: vec![
            SecondRow::new(0, &second(31)),
            SecondRow::new(1, &second(41)),
        ],
        window: Some(Window {
            start_unix_us: 1_789_000_003_000_000,
            start_ns: 7_000_000,
            duration_us: 2_000_123,
            drains_us: Vec::new(),
            cpu_user_us: 3001,
            cpu_system_us: 3002,
            busiest_cpu_us: 820_050,
            busiest_waited_us: Some(140_009),
        }),
        no_stamps: None,
        connected: true,
        interrupted: false,
    };
    compare(
        "result.json",
        &(serde_json::to_string_pretty(&Document::new(&measurement)).unwrap() + "\n"),
    );
}

/// Two steps of three that began; the third was never reached. No two numbers are equal here either.
fn step_record(config: &Config) -> Record {
    let mut record = Record::new(
        1,
        fairload::core::ledger::Ledger::new(&config.requests),
        true,
        3,
    );
    for (index, base) in [(0, 1000), (1, 2000)] {
        let step = &mut record.steps[index];
        (step.sent, step.completed, step.completed_ok) = (base + 1, base + 2, base + 3);
        let outcomes = &mut step.outcomes;
        (outcomes.ok, outcomes.shed, outcomes.wrong_body) = (base + 4, base + 5, base + 6);
        (outcomes.timeout, outcomes.connect, outcomes.reset) = (base + 7, base + 8, base + 9);
        (outcomes.malformed, outcomes.unsent, outcomes.in_flight) =
            (base + 10, base + 11, base + 12);
        outcomes.status.insert(404, base + 13);
        fill(&mut step.latency_ok, base, 21 + index as u64);
        fill(&mut step.latency_not_ok, base * 3, 31 + index as u64);
        fill(&mut step.service, base / 10, 41 + index as u64);
        fill(&mut step.send_lag, base / 100, 51 + index as u64);
    }
    fill(&mut record.receive_lag, 60, 61);
    record
}

/// The steps of a window that was stopped in its second one, and the receive lag.
#[test]
fn golden_result_with_steps() {
    let config = config("plan-steps.json");
    let measurement = Measurement {
        record: step_record(&config),
        config: Arc::new(config),
        seconds: Vec::new(),
        window: Some(Window {
            start_unix_us: 1_789_000_003_000_000,
            start_ns: 7_000_000,
            duration_us: 3_250_000,
            drains_us: Vec::new(),
            cpu_user_us: 3003,
            cpu_system_us: 3004,
            busiest_cpu_us: 3_100_000,
            busiest_waited_us: None,
        }),
        no_stamps: None,
        connected: true,
        interrupted: false,
    };
    compare(
        "result-steps.json",
        &(serde_json::to_string_pretty(&Document::new(&measurement)).unwrap() + "\n"),
    );
}

/// An open loop in turns: each step is as long as its schedule and the drains in it.
#[test]
fn golden_result_of_turns() {
    let config = config("plan-held.json");
    let mut record = step_record(&config);
    record.steps.truncate(2);
    let measurement = Measurement {
        record,
        config: Arc::new(config),
        seconds: vec![
            SecondRow::new(0, &second(71)),
            SecondRow::new(3, &second(81)),
        ],
        window: Some(Window {
            start_unix_us: 1_789_000_003_000_000,
            start_ns: 7_000_000,
            duration_us: 3_420_011,
            drains_us: vec![
                (500_000, 150_001),
                (1_900_000, 60_002),
                (2_500_000, 210_008),
            ],
            cpu_user_us: 3005,
            cpu_system_us: 3006,
            busiest_cpu_us: 1_710_000,
            busiest_waited_us: Some(342_001),
        }),
        no_stamps: None,
        connected: true,
        interrupted: false,
    };
    compare(
        "result-turns.json",
        &(serde_json::to_string_pretty(&Document::new(&measurement)).unwrap() + "\n"),
    );
}

/// The result of a run that ended before its window: what was not measured is null.
#[test]
fn golden_result_without_window() {
    let config = config("plan-minimal.json");
    let record = Record::new(
        1,
        fairload::core::ledger::Ledger::new(&config.requests),
        false,
        0,
    );
    let measurement = Measurement {
        record,
        config: Arc::new(config),
        seconds: Vec::new(),
        window: None,
        no_stamps: None,
        connected: true,
        interrupted: true,
    };
    compare(
        "result-minimal.json",
        &(serde_json::to_string_pretty(&Document::new(&measurement)).unwrap() + "\n"),
    );
}

/// Every kind of event, one a line.
#[test]
fn golden_events() {
    let events = [
        Event::Start {
            unix_us: 1_789_000_000_000_001,
        },
        Event::second(Phase::Warmup, 0, &second(51)),
        Event::Window {
            unix_us: 1_789_000_003_000_002,
        },
        Event::second(Phase::Window, 1, &second(61)),
        Event::second(Phase::Window, 2, &Second::new()),
        Event::Drain {
            unix_us: 1_789_000_013_000_003,
        },
        Event::End {
            unix_us: 1_789_000_013_040_004,
        },
        Event::Held(HeldEvent {
            ok: 401,
            not_ok: 411,
            active_us: 1_200_000,
            settled: Settled {
                ok: 331,
                active_us: 27_000,
            },
        }),
        Event::Listening { port: 41234 },
        Event::Warning {
            message: "a warning".to_string(),
        },
        Event::error(&EngineError::Plan("an error".to_string())),
    ];
    let lines: String = events
        .iter()
        .map(|event| serde_json::to_string(event).unwrap() + "\n")
        .collect();
    compare("events.json", &lines);
}
