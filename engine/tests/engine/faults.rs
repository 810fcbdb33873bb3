//! Every way in which a server can misbehave is counted as what it is, exactly as often as it happened.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::json;

use crate::support::{Deed, answer, good, plan, run, serve};

/// Runs a server whose every answer is `deed`, and expects every request to end as `outcome`.
fn always(outcome: &str, reason: &str, deed: fn() -> Deed) {
    let server = serve(move |_, _| deed());
    let finished = run(&plan(server.address));
    assert_eq!(finished.code, 0, "{outcome}");
    let sent = finished.number("/life/sent");
    assert!(sent >= 4, "{outcome}: {sent} sent");
    assert_eq!(
        finished.number(&format!("/life/outcomes/{outcome}")),
        sent,
        "{}",
        finished.result["life"]
    );
    assert_eq!(server.requests(), sent, "{outcome}");
    assert_eq!(
        finished.number("/window/completed_ok"),
        if outcome == "ok" {
            finished.number("/window/completed")
        } else {
            0
        }
    );
    if outcome != "ok" {
        assert_eq!(finished.reason(outcome.split('/').next().unwrap()), reason);
        assert_eq!(finished.number("/window/latency/ok/count"), 0);
        assert_eq!(
            finished.number("/window/latency/all/count"),
            finished.number("/window/sent")
        );
    }
}

/// Answers of any legal framing, in one piece or many, are good.
#[test]
fn good_answers() {
    const CHUNKED: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n2\r\ngo\r\n2\r\nod\r\n0\r\n\r\n";
    always("ok", "", || Deed::Answer(good()));
    always("ok", "", || Deed::Answer(CHUNKED.to_string()));
    always("ok", "", || {
        Deed::Answer(format!("HTTP/1.1 100 Continue\r\n\r\n{}", good()))
    });
    always("ok", "", || {
        Deed::AnswerAndClose("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\ngood".to_string())
    });
    always("ok", "", || {
        Deed::AnswerAndClose(good().replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n"))
    });
    always("ok", "", || {
        Deed::Pieces(
            [good(), CHUNKED.to_string()][0]
                .split_inclusive('\n')
                .map(str::to_string)
                .collect(),
        )
    });
}

/// An answer that is cut in two at each of its bytes in turn is good each time.
#[test]
fn cut_at_every_byte() {
    let server = serve(|number, _| {
        let whole = good();
        let (left, right) = whole.split_at(number as usize % whole.len());
        Deed::Pieces(vec![left.to_string(), right.to_string()])
    });
    let finished = run(&plan(server.address));
    assert!(
        server.requests() > good().len() as u64,
        "{} requests do not cut everywhere",
        server.requests()
    );
    assert_eq!(finished.number("/life/outcomes/ok"), server.requests());
}

/// Each fault has its own outcome and its own sentence.
#[test]
fn faults_have_names() {
    always("shed", "status 503 instead of 200", || {
        Deed::Answer(answer("503 Service Unavailable", ""))
    });
    always("status/500", "status 500 instead of 200", || {
        Deed::Answer(answer("500 Oops", "x"))
    });
    always("wrong_body", "the body differs from byte 2 on", || {
        Deed::Answer(answer("200 OK", "gold"))
    });
    always("wrong_body", "3 bytes instead of 4", || {
        Deed::Answer(answer("200 OK", "goo"))
    });
    always(
        "wrong_body",
        "content type `text/html` instead of `text/plain`",
        || Deed::Answer(good().replace("plain", "html")),
    );
    always("malformed", "3 bytes follow the end of the answer", || {
        Deed::Answer(good() + "bye")
    });
    always(
        "malformed",
        "the answer does not start with `HTTP/1.1` or `HTTP/1.0`",
        || Deed::Answer("+OK redis\r\n".to_string()),
    );
    always(
        "reset",
        "the connection was closed before the whole answer",
        || Deed::AnswerAndClose(String::new()),
    );
    always(
        "reset",
        "the connection was closed before the whole answer",
        || Deed::AnswerAndClose(good().replace("Length: 4", "Length: 5")),
    );
    always(
        "reset",
        "the connection was reset before the whole answer",
        || Deed::Reset(good()[..60].to_string()),
    );
}

/// Faults of all kinds, mixed: the engine's counts are the server's, one by one.
#[test]
fn mixed_faults_agree_with_the_server() {
    let done: Arc<[AtomicU64; 7]> = Arc::new(Default::default());
    let tally = done.clone();
    let server = serve(move |number, _| {
        let turn = (number * 7 + number / 5) as usize % 7;
        tally[turn].fetch_add(1, Ordering::SeqCst);
        match turn {
            0 => Deed::Answer(good()),
            1 => Deed::Answer(answer("503 Busy", "")),
            2 => Deed::Answer(answer("404 Not Found", "")),
            3 => Deed::Answer(answer("200 OK", "evil")),
            4 => Deed::AnswerAndClose(good().replace("Length: 4", "Length: 9")),
            5 => Deed::Answer("garbage".to_string()),
            _ => Deed::AnswerAndClose(good().replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n")),
        }
    });
    let mut plan = plan(server.address);
    plan["load"]["connections"] = json!(20);
    plan["load"]["threads"] = json!(2);
    let finished = run(&plan);
    let count = |turn: usize| done[turn].load(Ordering::SeqCst);
    let outcome = |name: &str| finished.number(&format!("/life/outcomes/{name}"));
    assert_eq!(outcome("ok"), count(0) + count(6));
    let counts = ["shed", "status/404", "wrong_body", "reset", "malformed"].map(outcome);
    assert_eq!(counts, [1, 2, 3, 4, 5].map(count));
    assert_eq!(finished.number("/life/sent"), server.requests());
    assert_eq!(finished.result["samples"].as_array().unwrap().len(), 15);
}

/// A server that refuses a long request before it has read it has answered, and drops nothing: the engine gives it up.
#[test]
fn early_answers() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let mut lines = BufReader::new(&stream).lines().map_while(Result::ok);
            lines.find(String::is_empty);
            // The client may hang up at any point; that ends this connection and nothing else.
            let _ = (&stream).write_all(answer("413 Content Too Large", "").as_bytes());
        }
    });
    let mut plan = plan(address);
    plan["requests"][0]["method"] = json!("POST");
    plan["requests"][0]["body"] = json!("x".repeat(8_000_000));
    let finished = run(&plan);
    let sent = finished.number("/life/sent");
    assert!(sent >= 4);
    assert_eq!(finished.number("/life/outcomes/status/413"), sent);
    assert_eq!(finished.number("/life/closed"), 0);
}

/// A late answer ends as a timeout, its connection is closed, and it is never taken for the next request's answer.
#[test]
fn late_answers_are_not_paired() {
    let server = serve(|_, _| Deed::Late(Duration::from_millis(150), good()));
    let mut plan = plan(server.address);
    plan["load"]["timeout_ms"] = json!(60);
    let finished = run(&plan);
    let sent = finished.number("/life/sent");
    assert_eq!(finished.number("/life/outcomes/timeout"), sent);
    assert_eq!(
        server.connections.load(Ordering::SeqCst),
        sent,
        "each timeout costs its connection"
    );
    assert_eq!(finished.reason("timeout"), "no whole answer within 60 ms");
    assert!(finished.number("/window/latency/all/min_us") >= 60_000);
}

/// A server that never answers holds the engine up for one timeout and no longer.
#[test]
fn silence_ends() {
    let server = serve(|_, _| Deed::Silence);
    let mut plan = plan(server.address);
    plan["load"]["timeout_ms"] = json!(600);
    let finished = run(&plan);
    assert_eq!(
        (
            finished.number("/life/sent"),
            finished.number("/life/outcomes/timeout")
        ),
        (4, 4)
    );
    assert_eq!(
        (
            finished.number("/window/completed"),
            finished.number("/window/in_flight_end")
        ),
        (0, 4)
    );
}

/// A server that closes after each answer without saying so costs at most resets, and every request is accounted for.
#[test]
fn silent_closes() {
    let server = serve(|_, _| Deed::AnswerAndClose(good()));
    let finished = run(&plan(server.address));
    let (ok, reset) = (
        finished.number("/life/outcomes/ok"),
        finished.number("/life/outcomes/reset"),
    );
    assert_eq!(
        ok,
        server.requests(),
        "every request that was read was answered"
    );
    assert_eq!(ok + reset, finished.number("/life/sent"));
    assert!(ok > 0);
}

/// A server that dies in mid-run ends neither the engine nor its account; attempts after that back off.
#[test]
fn death_of_the_server() {
    let server = serve(|number, _| {
        if number < 50 {
            Deed::Answer(good())
        } else {
            Deed::Die
        }
    });
    let finished = run(&plan(server.address));
    assert_eq!(finished.code, 0);
    assert_eq!(finished.number("/life/outcomes/ok"), 50);
    let (refused, reset) = (
        finished.number("/life/outcomes/connect"),
        finished.number("/life/outcomes/reset"),
    );
    assert_eq!(50 + refused + reset, finished.number("/life/sent"));
    assert!((1..200).contains(&refused), "{refused} refused connections");
}
