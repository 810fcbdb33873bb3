//! What every input must leave true: shared by the fuzz targets and by `tests/engine/properties.rs`.

#![allow(dead_code, reason = "each fuzz target uses one of these")]

use std::net::SocketAddr;

use fairload::core::config::{Config, Outside};
use fairload::core::error::EngineError;
use fairload::core::http1::{Progress, Step};
use fairload::core::judge::{Judge, Times};
use fairload::core::lines::{self, Lines};
use fairload::core::rule::Rule;
use fairload::core::script::{Act, Manner, Script};
use fairload::core::sent::Sent;
use fairload::core::template::{Escape, Slots, Template, check_pairs};
use serde_json::Value;

const SEED: u64 = 7;

/// An answer's bytes. The first two say how it is asked for and cut; in pieces it is read as in one.
pub fn http1(data: &[u8]) {
    let [manner, cut, bytes @ ..] = data else {
        return;
    };
    let to_head = manner & 1 == 1;
    let whole = read(bytes, to_head, bytes.len());
    let pieces = read(bytes, to_head, usize::from(*cut) + 1);
    assert_eq!(whole, pieces, "cut every {} bytes", u16::from(*cut) + 1);
}

/// What became of an answer that arrived in pieces of this size, and then ended.
fn read(bytes: &[u8], to_head: bool, piece: usize) -> String {
    let mut progress = Progress::default().with_headers(true);
    let mut end = 0;
    let mut step = Step::More;
    while step == Step::More && end < bytes.len() {
        end = bytes.len().min(end + piece);
        step = progress.step(&bytes[..end], to_head, false);
    }
    if step == Step::More {
        step = progress.step(&bytes[..end], to_head, true);
    }
    if step != Step::Done {
        return format!("{step:?}");
    }
    let answer = progress.answer(&bytes[..end]);
    assert!(answer.extra_bytes <= end);
    let types = answer.headers.named("Content-Type");
    assert_eq!(types.last(), answer.content_type);
    let (status, body) = (answer.status, answer.body);
    format!(
        "{status} {:?} {body:?} {}",
        answer.content_type, answer.close
    )
}

/// A body of JSON: a rule reads it to its end, and calls it JSON where `serde_json` does; each value equals itself.
pub fn body(data: &[u8]) {
    let expected = serde_json::from_slice::<Value>(data);
    for rule in RULES {
        let rule = serde_json::from_str(rule).expect("a rule is JSON");
        let reason = judged(&rule, data);
        let is_json = !reason.is_some_and(|reason| reason.starts_with("the body is not JSON"));
        assert_eq!(is_json, expected.is_ok(), "{rule}: {expected:?}");
    }
    if let Ok(value) = expected {
        let rule = serde_json::json!({ "equals": value });
        assert_eq!(judged(&rule, data), None);
    }
}

const RULES: [&str; 4] = [
    r#""any""#,
    r#"{"object":{"a":{"optional":"text"},"list":{"list":{"length":[1,3],"each":{"json":{"n":"number"}},"ascending":"n"}}}}"#,
    r#"{"one_of":[1,"a",[true],{"b":null}]}"#,
    r#"{"list":{"each":{"list":{"each":"integer"}}}}"#,
];

fn judged(rule: &Value, body: &[u8]) -> Option<String> {
    let slots = Slots::default();
    // An object of more fields than a rule may have is no rule.
    let rule = Rule::compile(rule, &slots).ok()?;
    let sent = Sent {
        slots: &slots,
        values: &[],
        kept: None,
    };
    Judge::new(body, sent, false, &|| 0.0, &mut Times::new()).wrong(&rule)
}

/// A template: what compiles renders, the same each time, with every value in its range.
pub fn template(text: &str) {
    for escape in [Escape::Url, Escape::Json, Escape::AsIs] {
        let mut slots = Slots::default();
        let Ok(template) = Template::compile(text, &mut slots, escape, &no_files) else {
            continue;
        };
        if check_pairs(&slots).is_err() {
            continue;
        }
        for number in [0, 1, 2, u64::from(u32::MAX)] {
            let (mut values, mut again, mut out) = (Vec::new(), Vec::new(), Vec::new());
            slots.draw(SEED, number, &mut values);
            slots.draw(SEED, number, &mut again);
            assert_eq!(values, again);
            template.render(&slots, &values, None, &mut out);
            for (index, value) in values.iter().enumerate() {
                if let Some((low, span)) = slots.range(index) {
                    assert!((low..low + span as i64).contains(value), "{value}");
                }
                assert!(!slots.text(index, *value).is_empty());
            }
            assert!(template.literals().map(<[u8]>::len).sum::<usize>() <= out.len());
        }
    }
}

/// A plan: what is accepted can be sent, as whole requests.
pub fn plan(json: &str) {
    let outside = Outside {
        lines: &no_files,
        secret: SEED,
        resolve: &|_| Ok(SocketAddr::from(([127, 0, 0, 1], 9))),
    };
    let Ok(config) = Config::parse(json, &outside) else {
        return;
    };
    assert!(config.window_s > 0.0);
    let dealt = (0..config.load.threads).map(|thread| config.connections_of(thread));
    assert_eq!(dealt.sum::<usize>(), config.load.connections);
    let (mut values, mut body, mut out) = (Vec::new(), Vec::new(), Vec::new());
    for number in 0..8 {
        let request = &config.requests[config.kind_of(number)];
        request.slots.draw(config.seed, number, &mut values);
        out.clear();
        request.render(&values, None, &mut body, &mut out);
        let head_end = out
            .windows(4)
            .position(|bytes| bytes == b"\r\n\r\n")
            .expect("a request has a header");
        let head = String::from_utf8_lossy(&out[..head_end]).into_owned();
        let first = head.split("\r\n").next().unwrap_or_default();
        assert_eq!(first.split(' ').count(), 3, "{first}");
        assert!(first.starts_with(&request.method) && first.ends_with(" HTTP/1.1"));
        let length = head
            .split("\r\n")
            .find_map(|line| line.strip_prefix("content-length: "));
        let rest = out.len() - head_end - 4;
        assert_eq!(length.unwrap_or("0"), rest.to_string());
    }
    schedule(&config);
}

/// What is due is due later and later.
fn schedule(config: &Config) {
    let Some(offered) = &config.offered else {
        return;
    };
    let mut schedule = fairload::core::schedule::Schedule::new(
        config.seed,
        offered.arrivals,
        offered.curve.clone(),
    );
    let mut before = 0;
    for turn in 0..64 {
        let (number, due_ns) = schedule.next();
        assert_eq!(number, turn);
        assert!(due_ns >= before && offered.curve.step_at(due_ns) < offered.curve.steps().len());
        before = due_ns;
        if turn == 10 {
            schedule.begin_window(due_ns);
        }
        schedule.advance(1);
    }
}

/// A script of the misbehaving server: what is accepted has a deed for every request, and every deed an end.
pub fn script(toml: &str) {
    let Ok(script) = Script::parse(toml) else {
        return;
    };
    let count = script.deeds().count();
    assert!((0..200).all(|number| script.deed_of(number) < count));
    for deed in script.deeds() {
        for manner in Manner::ALL {
            let acts = deed.acts(manner);
            let (last, others) = acts.split_last().expect("a deed has steps");
            assert!(matches!(last, Act::End(_)));
            assert!(others.iter().all(|act| !matches!(act, Act::End(_))));
        }
    }
}

fn no_files(path: &str) -> Result<Lines, EngineError> {
    match path {
        "words" => lines::split("one\ntwo \"words\"\nü/&="),
        _ => Err(EngineError::File("there are no files here".to_string())),
    }
}
