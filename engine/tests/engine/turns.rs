//! Turns: what `hold`, `go` and a load that begins held do to clocks, counts and the result.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{Deed, Running, answer, good, open, plan, serve, start};

/// Between `hold` and `go` nothing is sent and every answer is there; what was held back goes on, and the account is one piece.
#[test]
fn turns() {
    for threads in [1, 2] {
        let server = serve(|_, _| Deed::Answer(good()));
        let mut plan = plan(server.address);
        plan["load"]["warmup_s"] = Value::Null;
        plan["load"]["window_s"] = json!(60);
        plan["load"]["connections"] = json!(5);
        plan["load"]["threads"] = json!(threads);
        let mut running = start(&plan);
        running.wait_for("start");
        let mut told = Vec::new();
        for _ in 0..3 {
            std::thread::sleep(Duration::from_millis(250));
            running.tell("hold");
            let (event, at_server) = (running.wait_for("held"), server.requests());
            std::thread::sleep(Duration::from_millis(60));
            assert_eq!(event["ok"], at_server);
            assert_eq!(server.requests(), at_server, "sent while held");
            told.push((at_server, event["active_us"].as_u64().unwrap()));
            running.tell("go");
        }
        assert!(told.is_sorted_by(|one, other| one.0 < other.0 && one.1 + 50_000 < other.1));
        running.tell("hold");
        running.wait_for("held");
        running.tell("measure");
        running.wait_for("window");
        running.tell("go");
        std::thread::sleep(Duration::from_millis(60));
        running.tell("stop");
        let finished = running.finish();
        assert_eq!(finished.code, 0);
        assert_eq!(finished.number("/life/sent"), server.requests());
        assert!(finished.number("/window/completed_ok") > 0);
        assert_eq!(finished.number("/window/in_flight_start"), 0);
    }
}

/// A turn of so many requests ends by itself: all threads together send as many, the answers are there, and nothing else comes.
#[test]
fn turns_of_so_many_requests() {
    for (threads, pipeline, requests, sent) in
        [(1, 1, 7, 7), (3, 1, 100, 100), (3, 1, 2, 2), (1, 4, 10, 12)]
    {
        let server = serve(|_, _| Deed::Answer(good()));
        let mut plan = plan(server.address);
        plan["load"]["warmup_s"] = Value::Null;
        plan["load"]["window_s"] = json!(60);
        plan["load"]["connections"] = json!(3);
        plan["load"]["threads"] = json!(threads);
        plan["load"]["pipeline"] = json!(pipeline);
        plan["load"]["begin"] = json!("held");
        let mut running = start(&plan);
        running.wait_for("held");
        for turn in 1..4 {
            running.go(requests);
            let event = running.wait_for("held");
            assert_eq!(event["ok"], turn * sent, "{threads} threads");
            std::thread::sleep(Duration::from_millis(30));
            assert_eq!(server.requests(), turn * sent, "sent while held");
        }
        running.tell("go");
        while server.requests() <= 4 * sent {
            std::thread::sleep(Duration::from_millis(5));
        }
        running.tell("stop");
        let finished = running.finish();
        assert_eq!(finished.code, 0);
        assert_eq!(finished.number("/life/sent"), server.requests());
    }
}

/// A rate says what is sent, so that a turn of so many requests is a warning in open loop, and lasts until the hold.
#[test]
fn no_turn_of_so_many_requests_in_open_loop() {
    let server = serve(|_, _| Deed::Answer(good()));
    let mut plan = plan(server.address);
    plan["load"]["model"] = json!("open");
    plan["load"]["rate_per_s"] = json!(500.0);
    plan["load"]["warmup_s"] = Value::Null;
    plan["load"]["begin"] = json!("held");
    let mut running = start(&plan);
    running.wait_for("held");
    running.go(1);
    running.wait_for("warning");
    while server.requests() < 5 {
        std::thread::sleep(Duration::from_millis(5));
    }
    running.tell("stop");
    assert_eq!(running.finish().code, 0);
}

/// Pauses run in turns: what a connection still had to pause at a hold it pauses after the next `go`, however long the load stood still.
#[test]
fn pauses_in_turns() {
    const THINK_MS: u64 = 200;
    for threads in [1, 3] {
        let server = serve(|_, _| Deed::Answer(good()));
        let mut plan = plan(server.address);
        plan["load"]["warmup_s"] = Value::Null;
        plan["load"]["connections"] = json!(3);
        plan["load"]["threads"] = json!(threads);
        plan["load"]["think_ms"] = json!(THINK_MS);
        plan["load"]["begin"] = json!("held");
        let mut running = start(&plan);
        running.wait_for("held");
        for turn in 1..5 {
            running.tell("go");
            std::thread::sleep(Duration::from_millis(30));
            while turn == 4 && server.requests() <= 3 {
                std::thread::sleep(Duration::from_millis(5));
            }
            running.tell("hold");
            let event = running.wait_for("held");
            assert_eq!(event["ok"], server.requests());
            let active_ms = event["active_us"].as_u64().unwrap() / 1000;
            assert!(
                server.requests() <= 3 * (1 + active_ms / THINK_MS),
                "{event}"
            );
            std::thread::sleep(Duration::from_millis(THINK_MS + 50));
        }
        assert!(server.requests() > 3, "none went on after its pause");
        running.tell("stop");
        let finished = running.finish();
        assert_eq!(finished.code, 0);
        assert_eq!(finished.number("/life/sent"), server.requests());
    }
}

/// A turn that does not follow is told so and changes nothing.
#[test]
fn turns_out_of_turn() {
    let server = serve(|_, _| Deed::Answer(good()));
    let mut closed = plan(server.address);
    closed["load"]["warmup_s"] = Value::Null;
    let mut running = start(&closed);
    running.wait_for("start");
    // A run without any connection would have measured nothing, and its code says so.
    while server.requests() == 0 {
        std::thread::sleep(Duration::from_millis(1));
    }
    for (command, part) in [("go", "without `hold`"), ("hold", ""), ("hold", "twice")] {
        running.tell(command);
        let wanted = if part.is_empty() { "held" } else { "warning" };
        let told = running.wait_for(wanted);
        assert!(
            told["message"].as_str().unwrap_or_default().contains(part),
            "{told}"
        );
    }
    running.tell("stop");
    assert_eq!(running.finish().code, 0);
}

/// Turns of about `turn_ms` with long stands between them, up to the end of the window; the events `held` of it.
fn take_turns(running: &mut Running, turn_ms: u64, stand_ms: u64) -> Vec<Value> {
    let mut held = vec![running.wait_for("held")];
    loop {
        std::thread::sleep(Duration::from_millis(stand_ms));
        running.tell("go");
        std::thread::sleep(Duration::from_millis(turn_ms));
        running.tell("hold");
        match running.next_of(&["held", "end"]) {
            event if event["event"] == "held" => held.push(event),
            _ => return held,
        }
    }
}

/// How long the load stands still between two turns: much longer than a busy machine keeps a request waiting.
const STAND_MS: u64 = 600;

/// In short turns with stands several times as long, an open loop sends what its schedule says: nothing is unsent, and nothing is
/// late by a stand.
fn open_loop_in_turns(arrivals: &str, least: u64, most: u64) {
    for threads in [1, 2] {
        let server = serve(|_, _| Deed::Answer(good()));
        let mut plan = open(&server, arrivals);
        plan["load"]["threads"] = json!(threads);
        plan["load"]["warmup_s"] = Value::Null;
        let mut running = start(&plan);
        running.tell("measure");
        let held = take_turns(&mut running, 60, STAND_MS);
        let finished = running.finish();
        assert_eq!(finished.code, 0);
        assert!(held.len() > 3, "{held:?}");
        assert_eq!(finished.number("/life/outcomes/unsent"), 0);
        assert_eq!(finished.number("/life/sent"), server.requests());
        let duration_us = finished.number("/window/duration_us");
        assert!(duration_us >= 300_000);
        // The schedule goes on until the window's end is seen.
        let most = most + (duration_us - 300_000).div_ceil(5_000);
        let sent = finished.number("/life/sent");
        assert!((least..=most).contains(&sent), "{sent}");
        for histogram in ["latency/all", "send_lag"] {
            let most_us = finished.number(&format!("/window/{histogram}/max_us"));
            assert!(
                most_us < 1000 * STAND_MS,
                "{histogram}: {most_us} µs hold a stand"
            );
        }
    }
}

/// Poisson arrivals: the schedule's own number of requests, 60 give or take.
#[test]
fn poisson_arrivals_in_turns() {
    open_loop_in_turns("poisson", 30, 100);
}

/// Constant arrivals: as many requests as the window has room for, and no more.
#[test]
fn constant_arrivals_in_turns() {
    open_loop_in_turns("constant", 60, 60);
}

/// After the last turn the counts and the active time are those of the window; settled parts are within their turns.
#[test]
fn turns_add_up_to_the_window() {
    for model in ["closed", "open"] {
        let server = serve(|number, _| match number % 7 {
            0 => Deed::Answer(answer("503 Busy", "")),
            _ => Deed::Late(Duration::from_millis(2), good()),
        });
        let mut plan = open(&server, "poisson");
        plan["load"]["window_s"] = json!(60);
        plan["load"]["warmup_s"] = Value::Null;
        if model == "closed" {
            plan["load"]["model"] = json!("closed");
            plan["load"]["rate_per_s"] = Value::Null;
            plan["load"]["arrivals"] = Value::Null;
        }
        let mut running = start(&plan);
        let zero = running.wait_for("held");
        let nothing = json!({"event": "held", "ok": 0, "not_ok": 0, "active_us": 0, "settled": {"ok": 0, "active_us": 0}});
        assert_eq!(zero, nothing);
        running.tell("measure");
        running.wait_for("window");
        let mut turns = Vec::new();
        for _ in 0..6 {
            running.tell("go");
            std::thread::sleep(Duration::from_millis(40));
            running.tell("hold");
            turns.push(running.wait_for("held"));
            std::thread::sleep(Duration::from_millis(100));
        }
        running.tell("stop");
        let finished = running.finish();
        let settled = |name: &str| -> u64 {
            let of = |event: &Value| event["settled"][name].as_u64().unwrap();
            turns.iter().map(of).sum()
        };
        let last = turns.last().unwrap();
        let good = finished.number("/window/completed_ok");
        let duration_us = finished.number("/window/duration_us");
        assert_eq!(
            (&last["ok"], &last["active_us"]),
            (&json!(good), &json!(duration_us))
        );
        assert_eq!(
            last["not_ok"],
            finished.result["window"]["outcomes"]["shed"]
        );
        assert!(finished.number("/window/outcomes/shed") > 0);
        if model == "closed" {
            assert!((1..good).contains(&settled("ok")));
            assert!((1..duration_us).contains(&settled("active_us")));
        } else {
            assert_eq!(settled("active_us"), 0);
        }
        let seconds = finished.result["seconds"].as_array().unwrap();
        let told: u64 = seconds.iter().map(|row| row["ok"].as_u64().unwrap()).sum();
        assert_eq!(told, good);
        assert_eq!(seconds.len() as u64, duration_us.div_ceil(1_000_000));
    }
}

/// Seconds are of active time: one of them may span several turns, and the window ends when its active time is used up.
#[test]
fn seconds_of_turns() {
    let server = serve(|_, _| Deed::Answer(good()));
    let mut plan = plan(server.address);
    plan["load"]["window_s"] = json!(1.2);
    plan["load"]["begin"] = json!("held");
    let mut running = start(&plan);
    let held = take_turns(&mut running, 150, 150);
    assert!(held.len() > 3);
    let finished = running.finish();
    let seconds = finished.result["seconds"].as_array().unwrap();
    assert_eq!(seconds.len(), 2);
    let told: u64 = seconds.iter().map(|row| row["ok"].as_u64().unwrap()).sum();
    assert_eq!(told, finished.number("/window/completed_ok"));
    assert!(finished.number("/window/duration_us") >= 1_200_000);
}

/// A load curve in turns offers each step whole; its steps are as long as the window together.
#[test]
fn steps_in_turns() {
    let server = serve(|_, _| Deed::Answer(good()));
    let mut plan = open(&server, "constant");
    let load = plan["load"].as_object_mut().unwrap();
    load.remove("window_s");
    load.remove("rate_per_s");
    // Rates at which nothing is due just where a step ends.
    let steps = [202, 404].map(|rate| json!({"rate_per_s": rate, "duration_s": 0.2}));
    load.insert("steps".to_string(), json!(steps));
    load.insert("warmup_s".to_string(), Value::Null);
    let mut running = start(&plan);
    running.tell("measure");
    take_turns(&mut running, 30, 150);
    let finished = running.finish();
    let rows = finished.result["window"]["steps"].as_array().unwrap();
    let length = |row: &Value| row["duration_us"].as_u64().unwrap();
    let due = |row: &Value| row["due"].as_u64().unwrap();
    // The schedule goes on until the window's end is seen.
    let more = length(&rows[1]).saturating_sub(200_000) * 404 / 1_000_000;
    assert_eq!(due(&rows[0]), 40);
    assert!((81..=82 + more).contains(&due(&rows[1])), "{rows:?}");
    let outcome = |row: &Value, name: &str| row["outcomes"][name].as_u64().unwrap();
    assert_eq!(outcome(&rows[0], "ok"), 40);
    // At the end the last one may find no connection free.
    let last = &rows[1];
    assert_eq!(outcome(last, "ok") + outcome(last, "unsent"), due(last));
    assert_eq!(rows[1]["start_us"], length(&rows[0]));
    assert_eq!(
        length(&rows[0]) + length(&rows[1]),
        finished.number("/window/duration_us")
    );
    assert!(length(&rows[0]) >= 200_000 && length(&rows[1]) >= 200_000);
}
