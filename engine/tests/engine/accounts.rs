//! The engine's counts against the ledger of `fairload faulty`, one by one, for every script in `tests/faults`.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::atomic::{AtomicUsize, Ordering};

use fairload::core::script::{Script, Then};
use serde_json::{Value, json};

use crate::support::{Finished, plan, run, started};

/// At once: enough to be done soon, few enough that no timeout is late.
const SCRIPTS_AT_ONCE: usize = 3;

struct Faulty {
    child: Child,
    address: std::net::SocketAddr,
}

fn start_faulty(arguments: &[&str]) -> Faulty {
    let (child, event) = started(&[&["faulty"], arguments].concat());
    let address = format!("127.0.0.1:{}", event["port"]).parse().unwrap();
    Faulty { child, address }
}

impl Faulty {
    /// Ends it by closing its input; what it wrote down.
    fn tally(mut self) -> Value {
        drop(self.child.stdin.take());
        let mut text = String::new();
        self.child
            .stdout
            .take()
            .unwrap()
            .read_to_string(&mut text)
            .unwrap();
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
        serde_json::from_str(&text).unwrap()
    }
}

fn scripts() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/faults");
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    files
}

/// Runs `check` on every script.
fn each_script(check: impl Fn(&str, &Path, &Script) + Sync) {
    let files = scripts();
    assert!(files.len() >= 20, "only {} scripts", files.len());
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..SCRIPTS_AT_ONCE {
            scope.spawn(|| {
                while let Some(file) = files.get(next.fetch_add(1, Ordering::SeqCst)) {
                    let script = Script::parse(&std::fs::read_to_string(file).unwrap()).unwrap();
                    check(file.file_stem().unwrap().to_str().unwrap(), file, &script);
                }
            });
        }
    });
}

fn scripted_plan(script: &Script, server: &Faulty) -> Value {
    let client = &script.client;
    let mut plan = plan(server.address);
    plan["load"]["connections"] = json!(client.connections);
    plan["load"]["timeout_ms"] = json!(client.timeout_ms);
    plan["load"]["keep_alive"] = json!(client.keep_alive);
    plan["load"]["window_s"] = json!(client.seconds);
    plan["requests"][0]["method"] = json!(client.method);
    if client.method == "HEAD" {
        plan["requests"][0]["expect"]["body"] = Value::Null;
    }
    plan
}

/// The outcomes that are not zero, flat: `status/404` beside `ok`.
fn outcomes(finished: &Finished) -> BTreeMap<String, u64> {
    let outcomes = finished.result["life"]["outcomes"].as_object().unwrap();
    let statuses = outcomes["status"].as_object().unwrap().iter();
    let named = outcomes.iter().filter(|(name, _)| *name != "status");
    let all = named
        .map(|(name, count)| (name.clone(), count))
        .chain(statuses.map(|(code, count)| (format!("status/{code}"), count)));
    all.map(|(name, count)| (name, count.as_u64().unwrap()))
        .filter(|(_, count)| *count > 0)
        .collect()
}

/// Where a server resets a connection on which it owes nothing, a request may be on its way that it never reads.
fn may_leave_unread(script: &Script) -> bool {
    let resets_idle =
        |deed: &fairload::core::script::Deed| deed.then == Then::Reset && deed.outcome == "ok";
    script.refuse.is_some() || script.deeds().any(resets_idle)
}

fn compare(name: &str, script: &Script, finished: &Finished, tally: &Value) {
    assert_eq!(finished.code, 0, "{name}");
    let mut seen = outcomes(finished);
    let mut done: BTreeMap<String, u64> =
        serde_json::from_value(tally["outcomes"].clone()).unwrap();
    let count = |field: &str| tally[field].as_u64().unwrap();
    let unread = finished.number("/life/sent") - count("requests") - count("too_late");
    if may_leave_unread(script) {
        let resets = count("refused") + count("resets");
        assert!(unread <= resets, "{name}: {unread} unread, {resets} resets");
        if script.refuse.is_some() {
            assert_eq!(
                unread,
                count("refused"),
                "{name}: each refused connection costs one request"
            );
        }
        // The kernel decides whether the reset is seen before or after the request is sent.
        for map in [&mut seen, &mut done] {
            let refused = map.remove("connect").unwrap_or(0);
            *map.entry("reset".to_string()).or_default() += refused;
        }
        *done.entry("reset".to_string()).or_default() += unread;
    } else {
        assert_eq!(unread, 0, "{name}: every request that was sent was read");
    }
    // A request that comes in the midst of a stall may be answered just as the client gives it up: there it is given, and here late.
    let late = |map: &BTreeMap<String, u64>| map.get("timeout").copied().unwrap_or(0);
    let on_edge = late(&seen).saturating_sub(late(&done));
    if (1..=2 * count("stalls")).contains(&on_edge) {
        *done.entry("timeout".to_string()).or_default() += on_edge;
        *done.entry("ok".to_string()).or_default() -= on_edge;
    }
    seen.remove("unsent");
    seen.retain(|_, count| *count > 0);
    done.retain(|_, count| *count > 0);
    assert_eq!(seen, done, "{name}: {} {tally}", finished.result["samples"]);
    for deed in script.deeds() {
        let reached = tally["fates"].get(&deed.outcome).is_some();
        assert!(reached, "{name}: no request was to end as {}", deed.outcome);
    }
}

/// Closed loop: every request that was sent has the outcome that the server's ledger says, in every script.
#[test]
fn closed_loop_agrees_with_the_ledger() {
    each_script(|name, file, script| {
        let server = start_faulty(&[file.to_str().unwrap()]);
        let finished = run(&scripted_plan(script, &server));
        compare(name, script, &finished, &server.tally());
    });
}

/// Open loop with two threads: the same.
#[test]
fn open_loop_agrees_with_the_ledger() {
    each_script(|name, file, script| {
        let server = start_faulty(&[file.to_str().unwrap()]);
        let mut plan = scripted_plan(script, &server);
        plan["load"]["model"] = json!("open");
        plan["load"]["rate_per_s"] = json!(300);
        plan["load"]["threads"] = json!(2);
        let finished = run(&plan);
        compare(name, script, &finished, &server.tally());
    });
}

/// The list names each request with its connection, its line and its fate; one that waits at the end is unfinished.
#[test]
fn list_of_requests() {
    let server = start_faulty(&[
        "--list",
        "--script",
        "[[rule]]\non = {every = 2, from = 1}\nthen = 'hang'",
    ]);
    let mut stream = std::net::TcpStream::connect(server.address).unwrap();
    for path in ["a", "b"] {
        std::io::Write::write_all(
            &mut stream,
            format!("GET /{path} HTTP/1.1\r\n\r\n").as_bytes(),
        )
        .unwrap();
        assert!(stream.read(&mut [0; 1000]).unwrap() > 0);
    }
    let tally = server.tally();
    let line = |number: u64, line: &str, fate: &str| json!({"number": number, "connection": 0, "line": line, "outcome": "ok", "fate": fate});
    assert_eq!(
        tally["list"],
        json!([
            line(0, "GET /a HTTP/1.1", "given"),
            line(1, "GET /b HTTP/1.1", "unfinished")
        ])
    );
    assert_eq!(tally["outcomes"], json!({"in_flight": 1, "ok": 1}));
}

/// A script that is wrong costs one sentence and exit code 2.
#[test]
fn wrong_script() {
    let output = Command::new(env!("CARGO_BIN_EXE_fairload"))
        .args(["faulty", "--script", "[answer]\npieces = 0"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(
        String::from_utf8(output.stderr).unwrap(),
        "fairload: `answer`: `pieces` is 0; write 1 to 10000\n"
    );
}
