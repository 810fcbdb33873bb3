//! Load curves, lines of files, the kernel's stamps: what a plan can ask for beside one rate.

use serde_json::{Value, json};

use crate::support::{Deed, Finished, Server, answer, good, plan, run, serve};

fn curve(server: &Server, arrivals: &str, steps: Value) -> Value {
    let mut plan = plan(server.address);
    let load = plan["load"].as_object_mut().unwrap();
    load.remove("window_s");
    load.extend([
        ("model".to_string(), json!("open")),
        ("arrivals".to_string(), json!(arrivals)),
        ("steps".to_string(), steps),
    ]);
    plan
}

fn sum(finished: &Finished, pointer: &str) -> u64 {
    let steps = finished.result["window"]["steps"].as_array().unwrap();
    let numbers = steps
        .iter()
        .map(|step| step.pointer(pointer).unwrap().as_u64().unwrap());
    numbers.sum()
}

/// Every step has the requests that its rate asks for, and the steps add up to the window.
#[test]
fn steps_add_up() {
    let server = serve(|_, _| Deed::Answer(good()));
    let rates = [200.0, 800.0, 100.0];
    let steps = rates.map(|rate| json!({"rate_per_s": rate, "duration_s": 0.2}));
    let mut plan = curve(&server, "constant", json!(steps));
    plan["load"]["threads"] = json!(2);
    plan["load"]["warmup_s"] = json!(0.15);
    let finished = run(&plan);
    assert_eq!(finished.code, 0);
    let rows = finished.result["window"]["steps"].as_array().unwrap();
    let mut end_us = 0;
    for (index, (row, rate)) in rows.iter().zip(rates).enumerate() {
        let due = row["due"].as_u64().unwrap() as f64;
        let duration_us = row["duration_us"].as_f64().unwrap();
        // What the warm-up left over is sent in the first step, and nothing is due after the last one's time, however late its
        // end is seen: on a busy machine both are more than nothing.
        let planned_us = duration_us.min(0.2e6);
        assert!(
            due >= rate * planned_us / 1e6 - 3.0
                && (index == 0 || due <= rate * duration_us / 1e6 + 3.0),
            "step {index}: {due} due in {duration_us} µs"
        );
        assert_eq!(
            (&row["step"], &row["rate_per_s"]),
            (&json!(index), &json!(rate))
        );
        assert_eq!(row["start_us"], json!(end_us));
        end_us += row["duration_us"].as_u64().unwrap();
        let ok = row["completed_ok"].as_f64().unwrap();
        for (field, count) in [("offered_per_s", due), ("achieved_per_s", ok)] {
            let rate = row[field].as_f64().unwrap();
            assert!(
                (rate - count * 1e6 / duration_us).abs() < 1e-6,
                "{field}: {rate}"
            );
        }
    }
    for name in [
        "sent",
        "completed",
        "completed_ok",
        "outcomes/ok",
        "outcomes/unsent",
        "latency/ok/count",
        "service/count",
        "send_lag/count",
    ] {
        let window = finished.number(&format!("/window/{name}"));
        assert_eq!(sum(&finished, &format!("/{name}")), window, "{name}");
    }
    assert_eq!(
        sum(&finished, "/duration_us"),
        finished.number("/window/duration_us")
    );
    assert_eq!(finished.number("/life/sent"), server.requests());
}

/// A step that overwhelms the server has the late answers and the unsent requests on its own account.
#[test]
fn a_step_too_far() {
    let server = serve(|_, _| Deed::Late(std::time::Duration::from_millis(5), good()));
    let steps =
        json!([{"rate_per_s": 50, "duration_s": 0.3}, {"rate_per_s": 2000, "duration_s": 0.3}]);
    let finished = run(&curve(&server, "poisson", steps));
    let number =
        |step: usize, field: &str| finished.number(&format!("/window/steps/{step}/{field}"));
    assert_eq!(number(0, "outcomes/unsent"), 0);
    assert!(
        number(1, "outcomes/unsent") > 50,
        "{}",
        finished.result["window"]["steps"]
    );
    // Of the 600 that are due at most 255 are sent, the last of them 170 ms after its time: a slower machine only makes it later.
    assert!(number(1, "latency/ok/max_us") > 100_000);
    assert!(number(1, "latency/ok/p50_us") > number(0, "latency/ok/p50_us"));
    let offered = finished.result["window"]["steps"][1]["offered_per_s"]
        .as_f64()
        .unwrap();
    let achieved = finished.result["window"]["steps"][1]["achieved_per_s"]
        .as_f64()
        .unwrap();
    assert!(achieved < 0.8 * offered, "{achieved} of {offered}");
}

/// A run that is stopped early has no rate for the steps that it never reached.
#[test]
fn stopped_before_the_last_step() {
    let server = serve(|_, _| Deed::Answer(good()));
    let steps = json!([{"rate_per_s": 100, "duration_s": 0.2}, {"rate_per_s": 100, "duration_s": 50}, {"rate_per_s": 5, "duration_s": 9}]);
    let mut running = crate::support::start(&curve(&server, "constant", steps));
    running.wait_for("second");
    std::io::Write::write_all(&mut running.input, b"{\"command\":\"stop\"}\n").unwrap();
    let finished = running.finish();
    let rows = &finished.result["window"]["steps"];
    assert_eq!(
        sum(&finished, "/duration_us"),
        finished.number("/window/duration_us")
    );
    assert_eq!(
        (&rows[2]["duration_us"], &rows[2]["offered_per_s"]),
        (&json!(0), &Value::Null)
    );
    assert!(rows[1]["due"].as_u64().unwrap() > 0);
}

/// One rate has no steps.
#[test]
fn no_steps() {
    let server = serve(|_, _| Deed::Answer(good()));
    assert_eq!(
        run(&plan(server.address)).result["window"]["steps"],
        Value::Null
    );
}

/// Lines of a file arrive as they stand in the file, after the server's own decoding, in paths and in JSON; the answer may be held
/// against them.
#[test]
fn lines_of_a_file() {
    let file = std::env::temp_dir().join(format!("fairload-words-{}", std::process::id()));
    std::fs::write(&file, "plain\ntwo words & more\n\"quoted\" \\ ü\n").unwrap();
    let server = serve(|_, line| Deed::Answer(answer("200 OK", &line[line.find('{').unwrap()..])));
    let mut plan = plan(server.address);
    let path = file.to_str().unwrap();
    plan["requests"][0] = json!({
        "kind": "x", "method": "POST", "path": format!("/x?q={{file:{path}}}"),
        "body": format!("{{{{\"word\":\"{{file:{path}}}\"}}"),
        "expect": {"status": 200, "body": {"json": {"word": {"slot": "word"}}}},
        "ledger": [{"name": "l", "account": "word", "add": "1"}]
    });
    let finished = run(&plan);
    std::fs::remove_file(&file).unwrap();
    let sent = finished.number("/life/sent");
    assert_eq!(
        finished.number("/life/outcomes/ok"),
        sent,
        "{}",
        finished.result["samples"]
    );
    let accounts = finished.result["ledger"]["l"]["acknowledged"]
        .as_object()
        .unwrap();
    let names: Vec<&String> = accounts.keys().collect();
    assert_eq!(names, ["\"quoted\" \\ ü", "plain", "two words & more"]);
    let encoded = [
        "plain",
        "two%20words%20%26%20more",
        "%22quoted%22%20%5C%20%C3%BC",
    ];
    for line in server.lines.lock().unwrap().iter() {
        let query = line.split(['=', '{']).nth(1).unwrap();
        assert!(encoded.contains(&query), "{line}");
    }
}

/// A file that is not there is a wrong plan.
#[test]
fn no_such_file() {
    let mut plan = plan("127.0.0.1:9".parse().unwrap());
    plan["requests"][0]["path"] = json!("/x?q={file:/no/such/file}");
    let finished = run(&plan);
    assert_eq!(finished.code, 2);
    assert_eq!(
        finished.events[0]["message"],
        "request `x`: `{file:/no/such/file}`: file `/no/such/file` cannot be read: No such file or directory (os error 2)"
    );
}

/// The kernel's stamps give a histogram that no answer is missing from for long, or a reason why there is none.
#[test]
fn kernel_timestamps() {
    let server = serve(|_, _| Deed::Answer(good()));
    let mut plan = plan(server.address);
    plan["load"]["kernel_timestamps"] = json!(true);
    plan["load"]["warmup_s"] = json!(0.1);
    let finished = run(&plan);
    assert_eq!(finished.number("/life/outcomes/ok"), server.requests());
    let own = &finished.result["self"];
    if own["receive_lag"].is_null() {
        assert!(
            own["receive_lag_missing"]
                .as_str()
                .unwrap()
                .contains("SO_TIMESTAMPING"),
            "{own}"
        );
    } else {
        let count = own["receive_lag"]["count"].as_u64().unwrap();
        let completed = finished.number("/window/completed");
        assert!(
            count.abs_diff(completed) <= completed / 20 + 4,
            "{count} of {completed}"
        );
        assert_eq!(own["receive_lag_missing"], Value::Null);
    }
}

/// Who does not ask is told so.
#[test]
fn no_kernel_timestamps() {
    let server = serve(|_, _| Deed::Answer(good()));
    let own = &run(&plan(server.address)).result["self"];
    assert_eq!(own["receive_lag"], Value::Null);
    assert_eq!(
        own["receive_lag_missing"],
        "`kernel_timestamps` was not asked for"
    );
}
