//! Many requests on a connection at once: each answer is matched, judged and counted for itself.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{Deed, answer, plan, run, serve, start};

/// A mix of GET and HEAD in batches of 16, whose answers name the number that was sent.
fn batches(address: std::net::SocketAddr) -> Value {
    let mut plan = plan(address);
    plan["load"]["pipeline"] = json!(16);
    plan["requests"] = json!([
        {"kind": "get", "weight": 3, "method": "GET", "path": "/get?n={seq}",
         "expect": {"status": 200, "headers": {"x-n": "text"}, "body": {"object": {"n": {"slot": "n"}}}}},
        {"kind": "head", "method": "HEAD", "path": "/head?n={seq}", "expect": {"status": 200}},
    ]);
    plan
}

fn right(line: &str) -> String {
    let number = line.rsplit('=').next().unwrap();
    let body = format!("{{\"n\":{number}}}");
    let whole = answer("200 OK", &body).replacen("\r\n", &format!("\r\nX-N: {number}\r\n"), 1);
    match line.starts_with("HEAD") {
        true => whole.replace(&body, ""),
        false => whole,
    }
}

/// Answers are matched in their order, whole or in pieces, with interim ones between; all of a batch are sent at once.
#[test]
fn answers_are_matched_in_order() {
    let server = serve(|number, line| {
        let whole = right(line);
        match number % 7 {
            0 => Deed::Answer(format!(
                "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n{whole}"
            )),
            1 => {
                let (head, rest) = whole.split_at(whole.len() / 2);
                Deed::Pieces(vec![head.to_string(), rest.to_string()])
            }
            _ => Deed::Answer(whole),
        }
    });
    let finished = run(&batches(server.address));
    assert_eq!(finished.code, 0);
    let sent = finished.number("/life/sent");
    assert_eq!(
        finished.number("/life/outcomes/ok"),
        sent,
        "{}",
        finished.result["samples"]
    );
    assert!(sent > 100 && sent.is_multiple_of(16), "{sent}");
    assert_eq!(server.requests(), sent);
    assert!(finished.number("/window/in_flight_end") <= 64);
}

/// An answer that is another one's is wrong, and the later ones are judged for themselves.
#[test]
fn a_wrong_answer_is_its_own() {
    let server = serve(|number, line| match number % 20 {
        7 => Deed::Answer(right("GET /get?n=0")),
        _ => Deed::Answer(right(line)),
    });
    let mut plan = batches(server.address);
    plan["requests"].as_array_mut().unwrap().truncate(1);
    let finished = run(&plan);
    let lies = server.requests().div_ceil(20);
    let wrong = finished.number("/life/outcomes/wrong_body");
    assert!(wrong > 0 && wrong.abs_diff(lies) <= 1, "{wrong} {lies}");
    assert_eq!(
        finished.number("/life/outcomes/ok") + wrong,
        finished.number("/life/sent")
    );
    assert!(finished.reason("wrong_body").ends_with("as sent"));
}

/// Where a connection is closed in a batch, the answers before it count and the requests behind it are resets.
#[test]
fn a_close_resets_what_is_behind_it() {
    for announced in [true, false] {
        let server = serve(move |number, line| match (number % 40, announced) {
            (39, true) => {
                Deed::AnswerAndClose(right(line).replacen("\r\n", "\r\nConnection: close\r\n", 1))
            }
            (39, false) => Deed::Reset(right(line)),
            _ => Deed::Answer(right(line)),
        });
        let finished = run(&batches(server.address));
        let outcomes = &finished.result["life"]["outcomes"];
        let (ok, reset) = (
            finished.number("/life/outcomes/ok"),
            finished.number("/life/outcomes/reset"),
        );
        assert_eq!(ok + reset, finished.number("/life/sent"), "{outcomes}");
        assert!(ok > reset && reset > 0, "{outcomes}");
        if announced {
            assert!(
                ok >= server.requests() - finished.number("/life/closed"),
                "{outcomes}"
            );
        }
    }
}

/// One answer that never comes: it and all behind it time out, those before it are good.
#[test]
fn a_silence_times_out_what_is_behind_it() {
    let server = serve(|number, line| match number {
        5 => Deed::Late(Duration::from_secs(4), right(line)),
        _ => Deed::Answer(right(line)),
    });
    let mut plan = batches(server.address);
    plan["load"]["connections"] = json!(1);
    plan["load"]["timeout_ms"] = json!(700);
    let finished = run(&plan);
    assert_eq!(
        finished.number("/life/outcomes/timeout"),
        11,
        "{}",
        finished.result["life"]
    );
    assert_eq!(
        finished.number("/life/outcomes/ok") + 11,
        finished.number("/life/sent")
    );
}

/// Bytes that are no HTTP end the batch: one is malformed, those behind it are resets.
#[test]
fn garbage_ends_its_batch() {
    let server = serve(|number, line| match number {
        5 => Deed::Answer("garbage\r\n\r\n".to_string()),
        _ => Deed::Answer(right(line)),
    });
    let mut plan = batches(server.address);
    plan["load"]["connections"] = json!(1);
    let finished = run(&plan);
    let counts =
        ["malformed", "reset"].map(|name| finished.number(&format!("/life/outcomes/{name}")));
    assert_eq!(counts, [1, 10]);
}

/// A hold waits for whole batches, and the next turn begins with new ones.
#[test]
fn a_hold_waits_for_whole_batches() {
    let server = serve(|_, line| Deed::Answer(right(line)));
    let mut plan = batches(server.address);
    plan["load"]["window_s"] = json!(60);
    let mut running = start(&plan);
    running.wait_for("window");
    let mut told = 0;
    for _ in 0..2 {
        std::thread::sleep(Duration::from_millis(60));
        running.tell("hold");
        let event = running.wait_for("held");
        assert_eq!(event["ok"], server.requests());
        let ok = event["ok"].as_u64().unwrap();
        assert!(ok > told && ok.is_multiple_of(16), "{event}");
        told = ok;
        running.tell("go");
    }
    running.tell("stop");
    let finished = running.finish();
    assert_eq!(finished.number("/life/outcomes/ok"), server.requests());
}

/// A batch that is no closed loop over kept connections is refused.
#[test]
fn mistakes_have_sentences() {
    let address = "127.0.0.1:9".parse().unwrap();
    for (pipeline, keep_alive, sentence) in [
        (0, true, "`load.pipeline` is 0; write 1 to 1000"),
        (1001, true, "`load.pipeline` is 1001; write 1 to 1000"),
        (
            2,
            false,
            "`load.pipeline` belongs to the model `closed` and kept connections; leave it out",
        ),
    ] {
        let mut plan = batches(address);
        plan["load"]["pipeline"] = json!(pipeline);
        plan["load"]["keep_alive"] = json!(keep_alive);
        let finished = run(&plan);
        assert_eq!(
            (finished.code, &finished.events[0]["message"]),
            (2, &json!(sentence))
        );
    }
}
