//! What is sent: streams, ledgers, keep-alive, threads, the open loop.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{Deed, Server, answer, good, plan, run, serve};

fn value(line: &str, key: &str) -> i64 {
    let start = line.find(&format!("{key}=")).unwrap() + key.len() + 1;
    line[start..].split('&').next().unwrap().parse().unwrap()
}

const TRANSFER: &str = "/t?from={int:1..9}&to={int:1..9!=from}&amount={int:1..10}&seq={seq}";

fn transfers(server: &Server, threads: usize) -> Value {
    let mut plan = plan(server.address);
    plan["load"]["threads"] = json!(threads);
    plan["requests"][0]["method"] = json!("POST");
    plan["requests"][0]["path"] = json!(TRANSFER);
    plan["requests"][0]["ledger"] = json!([
        {"name": "credits", "account": "from", "add": "-amount"},
        {"name": "credits", "account": "to", "add": "amount"}
    ]);
    plan
}

/// Each connection pauses between an answer and its next request, and no latency includes the pause: both together fit into the time
/// that the connections had.
#[test]
fn think_time() {
    const THINK_US: u64 = 20_000;
    for (threads, keep_alive) in [(1, true), (2, true), (1, false)] {
        let server = serve(|_, _| Deed::Answer(good()));
        let mut plan = plan(server.address);
        plan["load"]["think_ms"] = json!(THINK_US / 1000);
        plan["load"]["threads"] = json!(threads);
        plan["load"]["keep_alive"] = json!(keep_alive);
        let finished = run(&plan);
        let (sent, ok) = (
            finished.number("/window/sent"),
            finished.number("/window/outcomes/ok"),
        );
        assert!(sent > 4 && ok == sent);
        assert_eq!(finished.number("/life/sent"), server.requests());
        let latency = &finished.result["window"]["latency"]["ok"];
        let answered_us = latency["mean_us"].as_f64().unwrap() * ok as f64;
        let ends_us = 4.0 * latency["max_us"].as_f64().unwrap();
        let had_us = 4.0 * finished.number("/window/duration_us") as f64 + ends_us;
        let paused_us = ((sent - 4) * THINK_US) as f64;
        assert!(
            answered_us + paused_us <= had_us,
            "{answered_us} + {paused_us} > {had_us}"
        );
    }
}

/// The ledger is what the server saw, account by account: acknowledged, unknown, and refused in neither.
#[test]
fn ledger_is_what_the_server_saw() {
    let server = serve(|number, _| match number % 5 {
        0 => Deed::Answer(answer("503 Busy", "")),
        1 => Deed::AnswerAndClose(String::new()),
        _ => Deed::Answer(good()),
    });
    let finished = run(&transfers(&server, 2));
    let mut expected: BTreeMap<(&str, i64), (u64, i64)> = BTreeMap::new();
    for (number, line) in server.lines.lock().unwrap().iter().enumerate() {
        let side = match number % 5 {
            0 => continue,
            1 => "unknown",
            _ => "acknowledged",
        };
        let amount = value(line, "amount");
        for (account, sum) in [(value(line, "from"), -amount), (value(line, "to"), amount)] {
            let row = expected.entry((side, account)).or_default();
            *row = (row.0 + 1, row.1 + sum);
        }
    }
    for ((side, account), (count, sum)) in &expected {
        let row = &finished.result["ledger"]["credits"][side][account.to_string()];
        assert_eq!(
            row,
            &json!({"count": count, "sum": sum}),
            "{side} {account}"
        );
    }
    let rows = ["acknowledged", "unknown"].map(|side| {
        finished.result["ledger"]["credits"][side]
            .as_object()
            .unwrap()
            .len()
    });
    assert_eq!(rows[0] + rows[1], expected.len());
}

/// Requests that must be refused: the right error is a good answer and books nothing, and a claim of success is told by its status.
#[test]
fn refusals_are_answers() {
    let server = serve(|_, line| match value(line, "from") {
        100..105 => Deed::Answer(answer(
            "404 Not Found",
            r#"{"ok":false,"message":"no such account"}"#,
        )),
        _ => Deed::Answer(good()),
    });
    let mut plan = transfers(&server, 2);
    plan["requests"][0]["weight"] = json!(9);
    plan["requests"].as_array_mut().unwrap().push(json!({
        "kind": "t/unknown", "method": "POST",
        "path": TRANSFER.replace("{int:1..9}", "{int:100..109}").replace("{int:1..9!=from}", "{int:1..9}"),
        "expect": {"status": [404, 422], "body": {"json": {"ok": {"equals": false}, "message": "text"}}}
    }));
    let finished = run(&plan);
    let lines = server.lines.lock().unwrap();
    let sent = |from: std::ops::Range<i64>| {
        let drawn = lines
            .iter()
            .filter(|line| from.contains(&value(line, "from")));
        drawn.count() as u64
    };
    let (refused, claimed) = (sent(100..105), sent(105..110));
    assert!(
        refused > 0 && claimed > 0,
        "{refused} and {claimed} of {}",
        lines.len()
    );
    assert_eq!(finished.number("/life/refused"), refused);
    assert_eq!(finished.number("/life/outcomes/status/200"), claimed);
    assert_eq!(
        finished.number("/life/outcomes/ok"),
        lines.len() as u64 - claimed
    );
    assert_eq!(
        finished.reason("status"),
        "status 200 instead of 404 or 422"
    );
    let booked = finished.result["ledger"]["credits"]["acknowledged"]
        .as_object()
        .unwrap();
    let entries: u64 = booked
        .values()
        .map(|row| row["count"].as_u64().unwrap())
        .sum();
    assert_eq!(entries, 2 * sent(1..10));
    assert!(booked.keys().all(|account| account.len() == 1));
}

/// The stream of requests is the same with one thread and with two: only their order differs.
#[test]
fn stream_depends_on_the_seed_alone() {
    let streams = [1, 2].map(|threads| {
        let server = serve(|_, _| Deed::Answer(good()));
        let finished = run(&transfers(&server, threads));
        let lines = server.lines.lock().unwrap();
        assert_eq!(finished.number("/life/outcomes/ok"), lines.len() as u64);
        let stream: BTreeMap<i64, String> = lines
            .iter()
            .map(|line| (value(line, "seq"), line.clone()))
            .collect();
        assert_eq!(stream.len(), lines.len(), "no number is sent twice");
        stream
    });
    let common = streams[0]
        .iter()
        .filter(|(number, _)| streams[1].contains_key(number));
    let equal = common
        .clone()
        .filter(|(number, line)| streams[1][number] == **line)
        .count();
    assert!(equal > 20 && equal == common.count());
}

/// Without keep-alive each request has a connection of its own, and their making is timed.
#[test]
fn connections_that_are_not_kept() {
    let server = serve(|_, _| Deed::AnswerAndClose(good()));
    let mut plan = plan(server.address);
    plan["load"]["keep_alive"] = json!(false);
    let finished = run(&plan);
    let sent = finished.number("/life/sent");
    assert_eq!(finished.number("/life/outcomes/ok"), sent);
    assert_eq!(server.connections.load(Ordering::SeqCst), sent);
    assert_eq!(
        finished.number("/window/connections_opened"),
        finished.number("/window/connect/count")
    );
}

/// Kept connections are opened once.
#[test]
fn connections_that_are_kept() {
    let server = serve(|_, _| Deed::Answer(good()));
    let finished = run(&plan(server.address));
    assert_eq!(server.connections.load(Ordering::SeqCst), 4);
    assert!(finished.number("/life/outcomes/ok") > 100);
    assert!(
        finished.number("/window/bytes_received")
            >= finished.number("/window/completed") * good().len() as u64
    );
}

/// HEAD has no body, bodies with slots carry their length, and a mix is reported by kind.
#[test]
fn kinds_of_requests() {
    let server = serve(|_, line| match line.split(' ').next() {
        Some("HEAD") => Deed::Answer("HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\n".to_string()),
        Some("POST") => Deed::Answer(answer("200 OK", &line[line.find('{').unwrap()..])),
        _ => Deed::Answer("HTTP/1.1 204 No Content\r\n\r\n".to_string()),
    });
    let mut plan = plan(server.address);
    plan["requests"] = json!([
        {"kind": "head", "weight": 1, "method": "HEAD", "path": "/h", "expect": {"status": 200}},
        {"kind": "post", "weight": 2, "method": "POST", "path": "/p",
         "headers": [["content-type", "application/json"]], "body": "{{\"id\":{int:1..1000},\"w\":\"{choice:a|bb}\"}",
         "expect": {"status": 200, "check_one_in": 2, "body": {"json": {"id": {"slot": "id"}, "w": {"slot": "w"}}}}},
        {"kind": "none", "weight": 1, "method": "GET", "path": "/n", "expect": {"status": 204}}
    ]);
    let finished = run(&plan);
    assert_eq!(
        finished.number("/life/outcomes/ok"),
        server.requests(),
        "{}",
        finished.result["samples"]
    );
    let ok = [0, 1, 2].map(|kind| finished.number(&format!("/window/kinds/{kind}/outcomes/ok")));
    assert!(
        ok.iter().all(|count| *count > 10) && ok[1] > ok[0] && ok[1] > ok[2],
        "{ok:?}"
    );
    let checked = finished.number("/window/bodies_checked");
    // Half of them at random: six standard deviations either way.
    let within = 3 + 3 * ok[1].isqrt();
    assert!(
        checked.abs_diff(ok[1] / 2) <= within,
        "{checked} of {}",
        ok[1]
    );
}

fn open(server: &Server, rate_per_s: f64, arrivals: &str) -> Value {
    let mut plan = plan(server.address);
    plan["load"]["model"] = json!("open");
    plan["load"]["rate_per_s"] = json!(rate_per_s);
    plan["load"]["arrivals"] = json!(arrivals);
    plan
}

/// In the open loop as many requests are sent as the schedule says, however fast the server is.
#[test]
fn open_loop_follows_its_schedule() {
    let server = serve(|_, _| Deed::Answer(good()));
    let finished = run(&open(&server, 400.0, "constant"));
    let due = finished.number("/life/sent") + finished.number("/life/outcomes/unsent");
    let start_us = finished.events[0]["unix_us"].as_u64().unwrap();
    let end_us = finished.number("/window/start_unix_us") + finished.number("/window/duration_us");
    let lasted_us = end_us - start_us;
    // Never less than the plan has, and never more than there was time for, however late its end is seen.
    assert!(
        (100..=1 + lasted_us * 400 / 1_000_000).contains(&due),
        "{due} due in {lasted_us} µs"
    );
    assert_eq!(
        finished.number("/window/send_lag/count"),
        finished.number("/window/sent")
    );
    assert_eq!(
        finished.number("/window/service/count"),
        finished.number("/window/outcomes/ok")
    );
}

/// A server that is too slow makes later requests late: that is in the latency, and what was never sent is counted.
#[test]
fn open_loop_hides_no_queue() {
    let server = serve(|_, _| Deed::Late(Duration::from_millis(20), good()));
    let mut plan = open(&server, 200.0, "poisson");
    plan["load"]["connections"] = json!(1);
    let finished = run(&plan);
    assert!(finished.number("/window/outcomes/unsent") > 10);
    assert_eq!(finished.number("/life/outcomes/ok"), server.requests());
    let (latency, service) = (
        finished.number("/window/latency/ok/max_us"),
        finished.number("/window/service/p50_us"),
    );
    // The last of at most twelve that are sent was due within 60 ms: a slower machine only makes it later.
    assert!(
        latency > 100_000 && service >= 20_000,
        "latency {latency}, service {service}"
    );
    assert!(finished.number("/window/send_lag/max_us") > 40_000);
}

/// A load with a fault tells the answers of each tenth of its window, all of them; other loads tell none.
#[test]
fn tenths_are_told_where_something_is_to_go_wrong() {
    let server = serve(|number, _| match number % 3 {
        0 => Deed::Answer(answer("500 Oh", "bad")),
        _ => Deed::Answer(good()),
    });
    let mut plan = plan(server.address);
    assert!(run(&plan).result["window"]["tenths"].is_null());
    plan["load"]["fault"] = json!(true);
    let finished = run(&plan);
    let window = &finished.result["window"];
    let sum = |kind: &str| -> u64 {
        let counts = window["tenths"][kind].as_array().unwrap();
        counts.iter().map(|count| count.as_u64().unwrap()).sum()
    };
    let completed = ["completed", "completed_ok"].map(|name| window[name].as_u64().unwrap());
    assert_eq!([sum("ok") + sum("not_ok"), sum("ok")], completed);
    assert!(sum("not_ok") > 0);
}

/// A stretch without an answer is told with its length, and one that is too short to be told is in no row.
#[test]
fn gaps_are_told() {
    let server = serve(|number, _| match number {
        number if number % 20 == 19 => Deed::Late(Duration::from_millis(150), good()),
        _ => Deed::Answer(good()),
    });
    let mut plan = plan(server.address);
    plan["load"]["connections"] = json!(1);
    plan["load"]["window_s"] = json!(0.6);
    let finished = run(&plan);
    let window = &finished.result["window"];
    let gaps = window["gaps"]["longest"].as_array().unwrap();
    assert_eq!(window["gaps"]["count"], json!(gaps.len()));
    let long = |gap: &&Value| gap["duration_us"].as_u64().unwrap() >= 150_000;
    assert!(gaps.iter().any(|gap| long(&gap)), "{gaps:?}");
    let least_us = window["gaps"]["least_us"].as_u64().unwrap();
    for gap in gaps {
        let [start_us, duration_us, own_us] =
            ["start_us", "duration_us", "own_us"].map(|name| gap[name].as_u64().unwrap());
        assert!(duration_us >= least_us && own_us <= duration_us, "{gap}");
        let end_us = start_us + duration_us;
        assert!(
            end_us <= window["duration_us"].as_u64().unwrap() + 1000,
            "{gap}"
        );
    }
}
