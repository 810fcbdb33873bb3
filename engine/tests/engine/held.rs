//! A load that is held: what is late, under way, measured or ended meanwhile.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{Deed, good, open, plan, run, serve, start};

/// What was due before the hold and had no free connection keeps its lateness, and is sent in the next turn.
#[test]
fn a_backlog_outlasts_a_hold() {
    let server = serve(|_, _| Deed::Late(Duration::from_millis(50), good()));
    let mut plan = open(&server, "constant");
    plan["load"]["connections"] = json!(1);
    plan["load"]["window_s"] = json!(60);
    let mut running = start(&plan);
    running.wait_for("held");
    for _ in 0..2 {
        running.tell("go");
        std::thread::sleep(Duration::from_millis(175));
        running.tell("hold");
        running.wait_for("held");
        std::thread::sleep(Duration::from_millis(2000));
    }
    running.tell("stop");
    let finished = running.finish();
    // Longer than the first turn: the second one began with what the first one had left.
    assert!((180_000..2_000_000).contains(&finished.number("/window/send_lag/max_us")));
    assert!(finished.number("/window/outcomes/unsent") > 0);
    assert_eq!(finished.number("/life/sent"), server.requests());
}

/// Requests that are under way at a hold still have their timeout, and the turn ends with it.
#[test]
fn timeout_while_held() {
    for model in ["closed", "open"] {
        let server = serve(|_, _| Deed::Silence);
        let mut plan = open(&server, "constant");
        plan["load"]["window_s"] = json!(60);
        plan["load"]["timeout_ms"] = json!(300);
        if model == "closed" {
            plan["load"]["model"] = json!("closed");
            plan["load"]["rate_per_s"] = Value::Null;
            plan["load"]["arrivals"] = Value::Null;
        }
        let mut running = start(&plan);
        running.wait_for("held");
        running.tell("go");
        std::thread::sleep(Duration::from_millis(60));
        running.tell("hold");
        let held = running.wait_for("held");
        let timeouts = held["not_ok"].as_u64().unwrap();
        assert!(timeouts > 0 && held["ok"] == 0, "{held}");
        assert_eq!(timeouts, server.requests());
        running.tell("stop");
        assert_eq!(running.finish().number("/life/outcomes/timeout"), timeouts);
    }
}

/// An answer that came while the engine itself stood still is an answer, however many of them lie in its sockets.
#[test]
fn answers_that_came_in_a_standstill() {
    const REQUESTS: u64 = 300;
    let server = serve(|_, _| Deed::Late(Duration::from_millis(300), good()));
    let mut plan = plan(server.address);
    plan["load"]["connections"] = json!(REQUESTS);
    plan["load"]["begin"] = json!("held");
    plan["load"]["window_s"] = json!(60);
    plan["load"]["timeout_ms"] = json!(2000);
    let mut running = start(&plan);
    running.wait_for("held");
    running.go(REQUESTS);
    while server.requests() < REQUESTS {
        std::thread::sleep(Duration::from_millis(1));
    }
    let engine = running.child.id() as libc::pid_t;
    // SAFETY: takes plain numbers; the child is ours and has not been waited for.
    unsafe { libc::kill(engine, libc::SIGSTOP) };
    std::thread::sleep(Duration::from_millis(2500));
    // SAFETY: as above.
    unsafe { libc::kill(engine, libc::SIGCONT) };
    running.wait_for("held");
    running.tell("stop");
    let finished = running.finish();
    assert_eq!(finished.number("/life/outcomes/ok"), REQUESTS);
}

/// `stop` while held ends the window at once, with the active time that it had; before any `go` it has none.
#[test]
fn stop_while_held() {
    let server = serve(|_, _| Deed::Answer(good()));
    for turns in [0, 1] {
        let mut plan = open(&server, "poisson");
        plan["load"]["window_s"] = json!(3600);
        plan["load"]["warmup_s"] = Value::Null;
        let mut running = start(&plan);
        let mut held = running.wait_for("held");
        running.tell("measure");
        for _ in 0..turns {
            running.tell("go");
            std::thread::sleep(Duration::from_millis(100));
            running.tell("hold");
            held = running.wait_for("held");
        }
        running.tell("stop");
        let finished = running.finish();
        assert_eq!(finished.number("/window/duration_us"), held["active_us"]);
        assert_eq!(finished.number("/window/sent"), held["ok"]);
        assert_eq!(finished.number("/window/sent") > 0, turns > 0);
    }
}

/// Commands that come before the last answer wait for it: the window begins with the `go`, and holds no older answer.
#[test]
fn measure_and_go_wait_for_the_drain() {
    let server = serve(|_, _| Deed::Late(Duration::from_millis(60), good()));
    let mut plan = plan(server.address);
    plan["load"]["warmup_s"] = Value::Null;
    let mut running = start(&plan);
    running.wait_for("start");
    std::thread::sleep(Duration::from_millis(90));
    for command in ["hold", "measure", "go"] {
        running.tell(command);
    }
    let finished = running.finish();
    assert_eq!(
        finished.names(),
        ["start", "held", "window", "drain", "end"]
    );
    assert_eq!(finished.number("/window/in_flight_start"), 0);
    assert_eq!(finished.number("/life/sent"), server.requests());
    assert!(finished.number("/window/sent") > 0);
    assert!(finished.number("/life/sent") > finished.number("/window/sent"));
}

/// A load that begins held opens nothing before its first `go`; then it is as any other.
#[test]
fn begin_held() {
    let server = serve(|_, _| Deed::Answer(good()));
    let mut plan = plan(server.address);
    plan["load"]["begin"] = json!("held");
    let mut running = start(&plan);
    let held = running.wait_for("held");
    assert_eq!(held["active_us"], 0);
    std::thread::sleep(Duration::from_millis(150));
    assert_eq!(
        server.connections.load(std::sync::atomic::Ordering::SeqCst),
        0
    );
    running.tell("go");
    let finished = running.finish();
    assert_eq!(finished.code, 0);
    assert!(finished.number("/window/completed_ok") > 0);
    assert_eq!(finished.number("/life/sent"), server.requests());
    let other = run(&json!({"load": {"begin": "later"}}));
    assert_eq!(other.code, 2);
}
