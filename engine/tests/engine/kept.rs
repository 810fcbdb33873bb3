//! Data rows and what is kept of answers: a little application that checks who asks for what.

use std::collections::BTreeMap;
use std::sync::Mutex;

use serde_json::{Value, json};

use crate::support::{Deed, answer, plan, run, serve};

fn value<'a>(line: &'a str, name: &str) -> &'a str {
    let start = line.find(&format!("{name}=")).unwrap() + name.len() + 1;
    line[start..].split(['&', ' ', '{']).next().unwrap()
}

/// A list of things with owners: made, changed by their owner alone, thrown away once.
fn things() -> impl Fn(u64, &str) -> Deed + Send + Sync {
    let things = Mutex::new(BTreeMap::<String, String>::new());
    move |number, line| {
        let mut things = things.lock().unwrap();
        let owner = value(line, "token").to_string();
        let id = line
            .split(['/', '?'])
            .nth(2)
            .unwrap_or_default()
            .to_string();
        let (status, body) = match line.split(' ').next().unwrap() {
            "POST" => {
                things.insert(format!("t {number}"), owner);
                (
                    "201 Created",
                    json!({"made": [{"id": format!("t {number}")}]}).to_string(),
                )
            }
            "PUT" if things.get(&id.replace("%20", " ")) == Some(&owner) => {
                ("200 OK", json!({"id": id.replace("%20", " ")}).to_string())
            }
            "DELETE" if things.remove(&id.replace("%20", " ")) == Some(owner) => {
                ("200 OK", "{}".to_string())
            }
            _ => ("404 Not Found", "{}".to_string()),
        };
        Deed::Answer(answer(status, &body))
    }
}

fn day(address: std::net::SocketAddr) -> Value {
    let mut plan = plan(address);
    plan["data"] = json!({"people": {"columns": ["person", "token"], "rows": [["ann", "t-1"], ["bob", "t-2"], ["cid", "t-3"]]}});
    let ledger = |add: &str| json!([{"name": "things", "account": "people.person", "add": add}]);
    plan["requests"] = json!([
        {"kind": "create", "weight": 2, "method": "POST", "path": "/things?token={people.token}", "expect": {"status": 201},
         "keep": {"id": "made.0.id"}, "ledger": ledger("1")},
        {"kind": "change", "weight": 4, "method": "PUT", "path": "/things/{create.id}?token={people.token}",
         "expect": {"status": 200, "body": {"object": {"id": {"slot": "create.id"}}}}},
        {"kind": "remove", "weight": 1, "method": "DELETE", "path": "/things/{create.id:once}?token={people.token}",
         "expect": {"status": 200}, "ledger": ledger("-1")},
    ]);
    plan
}

/// Later requests name what was made, with the row that made it; nothing is removed twice, or under another request.
#[test]
fn a_day() {
    let server = serve(things());
    let finished = run(&day(server.address));
    assert_eq!(finished.code, 0);
    assert_eq!(
        finished.number("/life/outcomes/ok"),
        finished.number("/life/sent"),
        "{}",
        finished.result["samples"]
    );
    let kinds = finished.result["life"]["kinds"].as_array().unwrap();
    let ok: Vec<i64> = kinds
        .iter()
        .map(|kind| kind["outcomes"]["ok"].as_i64().unwrap())
        .collect();
    assert!(ok.iter().all(|count| *count > 5), "{ok:?}");
    let accounts = finished.result["ledger"]["things"]["acknowledged"]
        .as_object()
        .unwrap();
    assert_eq!(accounts.keys().collect::<Vec<_>>(), ["ann", "bob", "cid"]);
    let sum: i64 = accounts
        .values()
        .map(|sums| sums["sum"].as_i64().unwrap())
        .sum();
    assert_eq!(sum, ok[0] - ok[2]);
}

/// A good status without what is to be kept is a wrong body.
#[test]
fn an_answer_must_hold_what_is_kept() {
    let server = serve(|_, _| Deed::Answer(answer("201 Created", "{\"made\":[]}")));
    let finished = run(&day(server.address));
    assert_eq!(
        finished.number("/life/outcomes/wrong_body"),
        finished.number("/life/sent")
    );
    assert_eq!(
        finished.reason("wrong_body"),
        "field `made.0.id` is missing, and is to be kept"
    );
}
