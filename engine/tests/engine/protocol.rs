//! Plans, commands, events, signals and exit codes.

use std::io::Write;
use std::net::TcpListener;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{Deed, Finished, good, plan, run, serve, start, started};

/// An open-ended warm-up lasts until `measure`, the window until `stop`; the rest of the account is one piece.
/// Lines that are no command, or no text at all, cost a warning each and nothing more.
#[test]
fn commands() {
    let server = serve(|_, _| Deed::Answer(good()));
    let mut plan = plan(server.address);
    plan["load"]["warmup_s"] = Value::Null;
    plan["load"]["window_s"] = json!(60);
    let mut running = start(&plan);
    running.wait_for("start");
    std::thread::sleep(Duration::from_millis(150));
    writeln!(running.input, r#"{{"command":"measure"}}"#).unwrap();
    running.wait_for("window");
    std::thread::sleep(Duration::from_millis(150));
    writeln!(running.input, r#"{{"command":"dance"}}"#).unwrap();
    running.input.write_all(b"\xff\n").unwrap();
    writeln!(running.input, r#"{{"command":"stop"}}"#).unwrap();
    let finished = running.finish();
    assert_eq!(finished.code, 0);
    assert_eq!(
        finished.names(),
        ["start", "window", "warning", "warning", "drain", "end"]
    );
    let window_us = finished.number("/window/duration_us");
    assert!((100_000..30_000_000).contains(&window_us), "{window_us}");
    assert!(finished.number("/life/sent") > finished.number("/window/sent"));
    assert_eq!(finished.number("/life/sent"), server.requests());
}

/// The command that begins the window may say how long it lasts; the steps of a load curve say it themselves.
#[test]
fn measure_sizes_the_window() {
    let server = serve(|_, _| Deed::Answer(good()));
    let mut shape = plan(server.address);
    shape["load"]["warmup_s"] = Value::Null;
    shape["load"]["window_s"] = json!(60);
    let finished = sized(&shape, 1.3);
    assert_eq!(finished.names().last(), Some(&"end"));
    let seconds = finished.result["seconds"].as_array().unwrap();
    assert_eq!(seconds.len(), 2);
    let window_us = finished.number("/window/duration_us");
    assert!((1_300_000..30_000_000).contains(&window_us), "{window_us}");

    let load = shape["load"].as_object_mut().unwrap();
    load.remove("window_s");
    load.insert("model".to_string(), json!("open"));
    load.insert(
        "steps".to_string(),
        json!([{"rate_per_s": 100, "duration_s": 0.3}]),
    );
    let finished = sized(&shape, 60.0);
    assert!(finished.names().contains(&"warning"));
    assert!(finished.number("/window/duration_us") < 30_000_000);
}

/// A run of a plan whose window is begun for so many seconds.
fn sized(plan: &Value, window_s: f64) -> Finished {
    let mut running = start(plan);
    running.wait_for("start");
    writeln!(
        running.input,
        r#"{{"command":"measure","window_s":{window_s}}}"#
    )
    .unwrap();
    running.finish()
}

/// Seconds are told in warm-up and window, and those of the window add up to its completions.
#[test]
fn seconds() {
    let server = serve(|_, _| Deed::Answer(good()));
    let mut plan = plan(server.address);
    plan["load"]["warmup_s"] = json!(1.2);
    plan["load"]["window_s"] = json!(1.5);
    plan["load"]["threads"] = json!(2);
    let finished = run(&plan);
    let seconds: Vec<&Value> = finished
        .events
        .iter()
        .filter(|event| event["event"] == "second")
        .collect();
    let told: Vec<(&str, u64)> = seconds
        .iter()
        .map(|second| {
            (
                second["phase"].as_str().unwrap(),
                second["second"].as_u64().unwrap(),
            )
        })
        .collect();
    assert_eq!(told, [("warmup", 0), ("window", 0), ("window", 1)]);
    let of_window = finished.result["seconds"].as_array().unwrap();
    let sum = |key: &str| {
        of_window
            .iter()
            .map(|second| second[key].as_u64().unwrap())
            .sum::<u64>()
    };
    assert_eq!(sum("ok"), finished.number("/window/completed_ok"));
    assert_eq!(
        sum("ok") + sum("not_ok"),
        finished.number("/window/completed")
    );
    assert_eq!(
        of_window.last().unwrap()["in_flight"],
        finished.result["window"]["in_flight_end"]
    );
}

/// SIGINT ends the window at once; the result is whole, and the exit code says why.
#[test]
fn interrupt() {
    let server = serve(|_, _| Deed::Answer(good()));
    let mut plan = plan(server.address);
    plan["load"]["window_s"] = json!(60);
    let mut running = start(&plan);
    running.wait_for("window");
    std::thread::sleep(Duration::from_millis(200));
    // SAFETY: takes plain numbers; the child is ours and has not been waited for.
    unsafe { libc::kill(running.child.id() as libc::pid_t, libc::SIGINT) };
    let finished = running.finish();
    assert_eq!(finished.code, 130);
    assert_eq!(finished.names(), ["start", "window", "drain", "end"]);
    assert_eq!(finished.number("/life/outcomes/ok"), server.requests());
}

/// What is unanswered when an interrupted drain ends is in flight, and its fate unknown.
#[test]
fn interrupt_while_the_server_is_silent() {
    let server = serve(|_, _| Deed::Silence);
    let mut plan = plan(server.address);
    plan["load"]["window_s"] = json!(60);
    plan["requests"][0]["path"] = json!("/x?id={int:1..1}");
    plan["requests"][0]["ledger"] = json!([{"name": "l", "account": "id", "add": "1"}]);
    let mut running = start(&plan);
    running.wait_for("window");
    std::thread::sleep(Duration::from_millis(200));
    // SAFETY: as above.
    unsafe { libc::kill(running.child.id() as libc::pid_t, libc::SIGTERM) };
    let finished = running.finish();
    assert_eq!(finished.code, 130);
    assert_eq!(
        (
            finished.number("/life/sent"),
            finished.number("/life/outcomes/in_flight")
        ),
        (4, 4)
    );
    assert_eq!(
        finished.result["ledger"]["l"]["unknown"]["1"],
        json!({"count": 4, "sum": 4})
    );
}

/// A plan that is wrong costs one sentence and exit code 2.
#[test]
fn wrong_plan() {
    let mut plan = plan("127.0.0.1:9".parse().unwrap());
    plan["load"]["connections"] = json!(0);
    let finished = run(&plan);
    assert_eq!((finished.code, &finished.result), (2, &Value::Null));
    let message = "`load.connections` is 0; write 1 to 100000";
    assert_eq!(
        finished.events,
        [json!({"event": "error", "code": "plan", "message": message})]
    );
}

/// A server that never accepts a connection is exit code 3; every attempt is in the account.
#[test]
fn nobody_there() {
    let address = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let finished = run(&plan(address));
    assert_eq!(finished.code, 3);
    assert_eq!(
        finished.number("/life/outcomes/connect"),
        finished.number("/life/sent")
    );
    let error = finished.events.last().unwrap();
    assert_eq!(error["code"], "unreachable");
    let message = error["message"].as_str().unwrap();
    assert_eq!(
        message,
        format!("{address} never accepted a connection; is the server running there?")
    );
}

/// A load whose first request is due late, or never, does not call its server unreachable.
#[test]
fn nothing_due_for_long() {
    let server = serve(|_, _| Deed::Answer(good()));
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap();
    let closed = nobody.local_addr().unwrap();
    drop(nobody);
    let rows = [(server.address, "0.18", "6s", 1), (closed, "1", "200ms", 0)];
    for (address, rate, window, sent) in rows {
        let url = format!("http://{address}/x");
        let output = Command::new(env!("CARGO_BIN_EXE_fairload"))
            .args([
                "run",
                &url,
                "--rate",
                rate,
                "--constant",
                "-d",
                window,
                "--json",
            ])
            .output()
            .unwrap();
        let result: Value = serde_json::from_slice(&output.stdout).unwrap();
        let life = &result["life"];
        assert_eq!(output.status.code(), Some(0), "{life}");
        let counts = [&life["sent"], &life["outcomes"]["ok"]];
        assert_eq!(counts, [&json!(sent), &json!(sent)]);
    }
}

/// The null responder serves the engine, kept connections and others, and ends with its input.
#[test]
fn null_responder() {
    let (mut null, told) = started(&[
        "null",
        "--threads",
        "2",
        "--body",
        "good",
        "--content-type",
        "text/plain",
    ]);
    let port = &told["port"];
    for keep_alive in [true, false] {
        let mut plan = plan(format!("127.0.0.1:{port}").parse().unwrap());
        plan["load"]["keep_alive"] = json!(keep_alive);
        plan["requests"][0]["method"] = json!("POST");
        plan["requests"][0]["body"] = json!("n={int:1..1000000}");
        let finished = run(&plan);
        let sent = finished.number("/life/sent");
        assert!(sent > 100);
        assert_eq!(
            finished.number("/life/outcomes/ok"),
            sent,
            "{}",
            finished.result["samples"]
        );
    }
    drop(null.stdin.take());
    assert_eq!(null.wait().unwrap().code(), Some(0));
}

/// The direct form prints a summary for a person, or the same result as a plan does.
#[test]
fn direct_form() {
    let server = serve(|_, _| Deed::Answer(good()));
    let url = format!("http://{}/x?n={{int:1..5}}", server.address);
    let direct = |more: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fairload"));
        command
            .args(["run", "--url", &url, "-c", "2", "-d", "0.2"])
            .args(more);
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(0));
        String::from_utf8(output.stdout).unwrap()
    };
    let text = direct(&["--expect-body", "bad"]);
    assert!(
        text.contains(" wrong body") && text.contains("4 bytes instead of 3"),
        "{text}"
    );
    let result: Value = serde_json::from_str(&direct(&["--json"])).unwrap();
    assert_eq!(result["life"]["sent"], result["life"]["outcomes"]["ok"]);
    assert!(
        server
            .lines
            .lock()
            .unwrap()
            .iter()
            .all(|line| line.starts_with("GET /x?n="))
    );
}

/// `awake` spins on each processor that it may use, behind everybody else, until its input ends.
#[test]
fn awake() {
    let (mut child, told) = started(&["awake"]);
    assert_eq!(told["event"], "awake");
    // Fields 19 and 41 of stat, counted behind the name, which may hold blanks: nice, and the policy (5: SCHED_IDLE).
    let last = |stat: &str| {
        let fields: Vec<&str> = stat.rsplit_once(") ").unwrap().1.split(' ').collect();
        fields[16] == "19" && fields[38] == "5"
    };
    let spinning = std::fs::read_dir(format!("/proc/{}/task", child.id()))
        .unwrap()
        .map(|task| std::fs::read_to_string(task.unwrap().path().join("stat")).unwrap())
        .filter(|stat| last(stat))
        .count();
    assert_eq!(told["processors"], spinning);
    assert_eq!(
        spinning,
        std::thread::available_parallelism().unwrap().get()
    );
    drop(child.stdin.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}
