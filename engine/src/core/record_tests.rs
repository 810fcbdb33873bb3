use std::collections::BTreeMap;

use super::*;
use crate::core::random;
use crate::core::sample::{CONNECT_SAMPLES, SAMPLES_PER_OUTCOME};

const ALL: [Outcome; 9] = [
    Outcome::Ok,
    Outcome::Shed,
    Outcome::Status(500),
    Outcome::Status(404),
    Outcome::WrongBody,
    Outcome::Timeout,
    Outcome::Connect,
    Outcome::Reset,
    Outcome::Malformed,
];

fn end(outcome: Outcome, in_window: bool, latency_us: u64) -> Ended {
    Ended {
        at_ns: 0,
        kind: 0,
        outcome,
        in_window,
        latency_us,
        service_us: latency_us / 2,
        body_checked: outcome == Outcome::Ok,
        step: 0,
        ended_in_step: 1,
    }
}

fn new() -> Record {
    Record::new(1, Ledger::default(), true, 2)
}

/// Whatever is sent, answered and left over in whatever order, the sums hold.
#[test]
fn identities_hold_for_any_history() {
    for seed in 0..200 {
        let mut record = new();
        let mut open: Vec<bool> = Vec::new();
        for step in 0..500 {
            let bits = random::bits(seed, step, 0);
            match (step, bits % 3) {
                (150, _) => record.enter(Phase::Window),
                (400, _) => record.enter(Phase::Drain),
                (_, 0) if step < 400 => open.push(record.sent(bits % 1000, bits as usize % 2)),
                (_, 1) if bits.is_multiple_of(7) => record.unsent(0, 1),
                _ if !open.is_empty() => {
                    let in_window = open.swap_remove((bits >> 8) as usize % open.len());
                    record.ended(end(
                        ALL[(bits >> 32) as usize % ALL.len()],
                        in_window,
                        bits % 5000,
                    ));
                }
                _ => {}
            }
        }
        record.enter(Phase::Abandon);
        open.into_iter()
            .for_each(|in_window| record.ended(end(Outcome::InFlight, in_window, 0)));
        assert_eq!(record.check_identities(), Ok(()), "seed {seed}");
        assert!(record.window_sent > 0 && record.completed > 0);
    }
}

/// A request that is counted twice, or never, breaks an identity and is named.
#[test]
fn broken_identities_are_found() {
    let mut record = new();
    record.sent(0, 0);
    assert_eq!(
        record.check_identities().unwrap_err().to_string(),
        "life: outcomes = sent + unsent does not hold: 0 against 1"
    );
    record.ended(end(Outcome::Ok, true, 5));
    assert_eq!(
        record.check_identities().unwrap_err().to_string(),
        "window: outcomes = sent + unsent does not hold: 1 against 0"
    );
    let mut record = new();
    record.enter(Phase::Window);
    record.in_flight_end = 1;
    let sentence = record.check_identities().unwrap_err().to_string();
    assert!(
        sentence.ends_with("completed + in flight at its end does not hold: 0 against 1"),
        "{sentence}"
    );
}

/// The window's outcomes follow the requests sent inside it, `completed` the answers that arrive inside it.
#[test]
fn window_edges() {
    let mut record = new();
    let before = record.sent(0, 0);
    let also_before = record.sent(0, 0);
    record.enter(Phase::Window);
    record.ended(end(Outcome::Ok, before, 10));
    let inside = record.sent(7, 0);
    record.enter(Phase::Drain);
    record.ended(end(Outcome::Ok, inside, 20));
    record.ended(end(Outcome::Timeout, also_before, 30));
    assert_eq!(record.check_identities(), Ok(()));
    assert_eq!(
        (
            record.window_sent,
            record.window_outcomes().ok,
            record.window_outcomes().timeout
        ),
        (1, 1, 0)
    );
    assert_eq!((record.completed, record.completed_ok), (1, 1));
    assert_eq!((record.in_flight_start, record.in_flight_end), (2, 2));
    assert_eq!(
        (record.life_sent, record.life.ok, record.life.timeout),
        (3, 2, 1)
    );
    let latency = &record.kinds[0].latency_ok;
    assert_eq!((latency.len(), latency.max()), (1, 20));
    assert_eq!(record.service.as_ref().unwrap().max(), 10);
    assert_eq!(record.send_lag.as_ref().unwrap().max(), 7);
}

/// A step has the requests that were due in it, wherever they ended, and the answers that arrived during it.
#[test]
fn steps() {
    let mut record = new();
    record.enter(Phase::Window);
    let in_window = [record.sent(3, 0), record.sent(4, 0)];
    record.unsent(0, 1);
    let answer = |outcome, step, ended_in_step, latency_us| Ended {
        step,
        ended_in_step,
        ..end(outcome, true, latency_us)
    };
    assert_eq!(in_window, [true, true]);
    record.ended(answer(Outcome::Ok, 0, 1, 50));
    record.ended(answer(Outcome::Shed, 0, 0, 90));
    record.enter(Phase::Drain);
    assert_eq!(record.check_identities(), Ok(()));
    let other = record.steps.clone();
    for (mine, others) in record.steps.iter_mut().zip(&other) {
        mine.merge(others);
    }
    let [first, second] = &record.steps[..] else {
        panic!("two steps")
    };
    assert_eq!(
        (
            first.sent,
            first.outcomes.ok,
            first.outcomes.shed,
            first.completed,
            first.completed_ok
        ),
        (4, 2, 2, 2, 0)
    );
    assert_eq!(
        (
            second.sent,
            second.outcomes.unsent,
            second.completed,
            second.completed_ok
        ),
        (0, 2, 2, 2)
    );
    assert_eq!(
        (first.latency_ok.max(), first.latency_not_ok.max()),
        (50, 90)
    );
    assert_eq!(
        (
            first.service.max(),
            first.send_lag.min(),
            first.send_lag.max()
        ),
        (25, 3, 4)
    );
    assert!(second.latency_ok.is_empty());
}

/// A step that lost a request breaks an identity of its own.
#[test]
fn broken_steps_are_found() {
    let mut record = new();
    record.enter(Phase::Window);
    let sent = record.sent(0, 0);
    record.ended(end(Outcome::Ok, sent, 5));
    record.enter(Phase::Drain);
    record.steps[1].completed -= 1;
    assert_eq!(
        record.check_identities().unwrap_err().to_string(),
        "steps: completed is the window's does not hold: 0 against 1"
    );
    record.steps[0].outcomes.ok -= 1;
    assert_eq!(
        record.check_identities().unwrap_err().to_string(),
        "steps: their outcomes are the window's does not hold: 0 against 1"
    );
}

/// How late the kernel's bytes were taken counts inside the window only.
#[test]
fn receive_lag() {
    let mut record = new();
    record.received_late(5);
    record.enter(Phase::Window);
    record.received_late(7);
    record.enter(Phase::Drain);
    record.received_late(9);
    assert_eq!((record.receive_lag.len(), record.receive_lag.max()), (1, 7));
}

/// Two threads' records add up field by field, and keep three samples of each outcome.
#[test]
fn records_merge() {
    let one = |latency_us| {
        let mut record = new();
        record.enter(Phase::Window);
        record.bytes(100, 200);
        record.connected(9);
        for outcome in ALL {
            let in_window = record.sent(1, 0);
            record.ended(end(outcome, in_window, latency_us));
            for _ in 0..2 {
                let sample = Sample {
                    outcome,
                    kind: 0,
                    status: None,
                    reason: String::new(),
                    request: String::new(),
                    body: None,
                };
                if sample::is_wanted(&record.samples, outcome, &sample.reason) {
                    record.samples.push(sample);
                }
            }
        }
        record.enter(Phase::Drain);
        record
    };
    let (mut left, right) = (one(10), one(30));
    left.merge(&right);
    assert_eq!(left.check_identities(), Ok(()));
    assert_eq!(
        (
            left.window_sent,
            left.life_sent,
            left.completed,
            left.completed_ok
        ),
        (18, 18, 18, 2)
    );
    assert_eq!(
        (
            left.bytes_sent,
            left.bytes_received,
            left.connections_opened,
            left.bodies_checked
        ),
        (200, 400, 2, 2)
    );
    assert_eq!(left.life.status, BTreeMap::from([(404, 2), (500, 2)]));
    assert_eq!(
        (
            left.kinds[0].latency_ok.min(),
            left.kinds[0].latency_ok.max()
        ),
        (10, 30)
    );
    assert_eq!(left.latency_not_ok.len(), 16);
    assert_eq!(left.samples.len(), 8 * SAMPLES_PER_OUTCOME);
}

/// Connections that fail for one reason hide no other reason, in one thread or of two, and samples have an end.
#[test]
fn samples_of_each_reason_to_connect() {
    let sampled = |reasons: &[String]| {
        let mut record = new();
        for reason in reasons {
            let one = Sample {
                outcome: Outcome::Connect,
                kind: 0,
                status: None,
                reason: reason.clone(),
                request: String::new(),
                body: None,
            };
            if sample::is_wanted(&record.samples, one.outcome, reason) {
                record.samples.push(one);
            }
        }
        record
    };
    let (refused, no_port) = ("refused".to_string(), "no local port".to_string());
    let refusals = vec![refused; 9];
    let (mut left, right) = (
        sampled(&refusals),
        sampled(&[&refusals[..], &[no_port]].concat()),
    );
    left.merge(&right);
    let told: Vec<&str> = left
        .samples
        .iter()
        .map(|sample| sample.reason.as_str())
        .collect();
    assert_eq!(told, ["refused", "refused", "refused", "no local port"]);
    let many: Vec<String> = (0..100).map(|number| number.to_string()).collect();
    assert_eq!(sampled(&many).samples.len(), CONNECT_SAMPLES);
}

/// Seconds count answers by their arrival, in the warm-up too, and start anew with each phase.
#[test]
fn seconds() {
    let mut record = new();
    let sent = record.sent(0, 0);
    record.ended(end(Outcome::Ok, sent, 40));
    let sent = record.sent(0, 0);
    record.ended(end(Outcome::Reset, sent, 50));
    let mut second = record.second.clone();
    assert_eq!(
        (second.ok, second.not_ok, second.latency_ok.max()),
        (1, 1, 40)
    );
    second.merge(&record.second);
    assert_eq!(
        (second.ok, second.not_ok, second.latency_ok.len()),
        (2, 2, 2)
    );
    record.enter(Phase::Window);
    assert_eq!(
        (
            record.second.ok,
            record.second.not_ok,
            record.second.latency_ok.len()
        ),
        (0, 0, 0)
    );
}
