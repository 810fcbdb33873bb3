use super::*;
use crate::core::http1::{Headers, Progress};
use crate::core::template::{Escape, Template};

fn slots() -> Slots {
    let mut slots = Slots::default();
    let read = |_: &str| crate::core::lines::split("a \"b\"");
    let text = "/x?id={int:1..9}&word={choice:a|b}&line={file:f}";
    Template::compile(text, &mut slots, Escape::Url, &read).unwrap();
    slots
}

fn sent<'a>(slots: &'a Slots, values: &'a [i64]) -> Sent<'a> {
    Sent {
        slots,
        values,
        kept: None,
    }
}

fn judge(expect: &str, status: u16, content_type: &str, body: &str) -> (Outcome, String) {
    let expect = Expect::compile(&serde_json::from_str(expect).unwrap(), &slots()).unwrap();
    let answer = Answer {
        status,
        content_type: Some(content_type.as_bytes()),
        content_encoding: None,
        headers: Headers::default(),
        body: body.as_bytes(),
        close: false,
        extra_bytes: 0,
    };
    let mut known = Known::default();
    let judgement = expect.judge(
        &answer,
        sent(&slots(), &[5, 1, 0]),
        &mut known,
        true,
        || 1000.5,
    );
    (judgement.outcome, judgement.reason)
}

/// An answer that fulfils every rule is ok, also with fields that no rule names.
#[test]
fn right_answers() {
    let rows = [
        (r#"{"status":200}"#, "anything"),
        (
            r#"{"status":200,"content_type":"Text/plain","length":2,"body":{"exact":"hi"}}"#,
            "hi",
        ),
        (
            r#"{"status":200,"content_type":["a/b","TEXT/plain"],"body":{"exact":"hi"}}"#,
            "hi",
        ),
        (r#"{"status":200,"content_type":[]}"#, "hi"),
        (
            r#"{"status":200,"body":{"json":{"a":{"equals":[1,null]},"id":{"slot":"id"}}}}"#,
            r#"{"id":5,"a":[1,null],"z":0}"#,
        ),
        (
            r#"{"status":200,"body":{"json":{"id":{"slot":"id"},"w":{"slot":"word"}}}}"#,
            r#"{"id":"5","w":"b"}"#,
        ),
        (
            r#"{"status":200,"body":{"json":{"q":{"slot":"line"}}}}"#,
            r#"{"q":"a \"b\""}"#,
        ),
        (
            r#"{"status":200,"body":{"json":{"t":{"unix_now_within_s":2}}}}"#,
            r#"{"t":999}"#,
        ),
    ];
    for (expect, body) in rows {
        assert_eq!(
            judge(expect, 200, "text/plain", body),
            (Outcome::Ok, String::new()),
            "{expect}"
        );
    }
}

/// Where an error is asked for, each of its statuses is right with its body, and an answer that claims success is not.
#[test]
fn errors_can_be_right() {
    let expect = r#"{"status":[404,422],"body":{"json":{"ok":{"equals":false},"message":"text"}}}"#;
    let right = r#"{"ok":false,"message":"no account 7"}"#;
    let rows = [
        (404, right, Outcome::Ok, ""),
        (422, right, Outcome::Ok, ""),
        (
            200,
            right,
            Outcome::Status(200),
            "status 200 instead of 404 or 422",
        ),
        (
            503,
            right,
            Outcome::Shed,
            "status 503 instead of 404 or 422",
        ),
        (
            404,
            r#"{"ok":true,"message":""}"#,
            Outcome::WrongBody,
            "field `ok` is true instead of false",
        ),
        (
            404,
            r#"{"ok":false,"message":7}"#,
            Outcome::WrongBody,
            "field `message` is 7 instead of a text",
        ),
        (
            404,
            r#"{"ok":false}"#,
            Outcome::WrongBody,
            "field `message` is missing",
        ),
    ];
    for (status, body, outcome, reason) in rows {
        assert_eq!(
            judge(expect, status, "", body),
            (outcome, reason.to_string()),
            "{status} {body}"
        );
    }
}

/// A request refuses where its right answer is an error.
#[test]
fn refusals() {
    for (status, refuses) in [("200", false), ("404", true), ("[400,422]", true)] {
        let plan = format!(r#"{{"status":{status}}}"#);
        let expect = Expect::compile(&serde_json::from_str(&plan).unwrap(), &slots()).unwrap();
        assert_eq!(expect.refuses(), refuses, "{status}");
    }
    let wrong = serde_json::from_str::<plan::Expect>(r#"{"status":"404"}"#).unwrap_err();
    assert!(
        wrong
            .to_string()
            .starts_with("`expect.status` is neither a status nor a list of them"),
        "{wrong}"
    );
}

/// A wrong status, content type or length is named before the body is looked at.
#[test]
fn wrong_shapes() {
    let wrong = Outcome::WrongBody;
    let rows = [
        (
            r#"{"status":200}"#,
            503,
            "",
            Outcome::Shed,
            "status 503 instead of 200",
        ),
        (
            r#"{"status":200}"#,
            404,
            "",
            Outcome::Status(404),
            "status 404 instead of 200",
        ),
        (
            r#"{"status":200,"content_type":["a/b","a/b;c=d"]}"#,
            200,
            "",
            wrong,
            "content type `text/plain` instead of `a/b` or `a/b;c=d`",
        ),
        (
            r#"{"status":200,"length":3}"#,
            200,
            "hi",
            wrong,
            "2 bytes instead of 3",
        ),
        (
            r#"{"status":200,"body":{"exact":"high"}}"#,
            200,
            "hi",
            wrong,
            "2 bytes instead of 4",
        ),
        (
            r#"{"status":200,"body":{"exact":"hi"}}"#,
            200,
            "ho",
            wrong,
            "the body differs from byte 1 on",
        ),
    ];
    for (expect, status, body, outcome, reason) in rows {
        assert_eq!(
            judge(expect, status, "text/plain", body),
            (outcome, reason.to_string()),
            "{expect}"
        );
    }
}

/// Each rule for a field that is broken gives its own sentence.
#[test]
fn wrong_fields() {
    let rows = [
        (r#"{"equals":1}"#, "[1]", "the body is not a JSON object"),
        (r#"{"equals":1}"#, "{}", "field `a` is missing"),
        (
            r#"{"equals":1}"#,
            r#"{"a":"1"}"#,
            "field `a` is \"1\" instead of 1",
        ),
        (
            r#"{"slot":"id"}"#,
            r#"{"a":6}"#,
            "field `a` is 6 instead of 5, as sent",
        ),
        (
            r#"{"slot":"id"}"#,
            r#"{"a":null}"#,
            "field `a` is null instead of 5, as sent",
        ),
        (
            r#"{"unix_now_within_s":2}"#,
            r#"{"a":998}"#,
            "field `a` is 998, more than 2 s from now (1000.500)",
        ),
    ];
    for (rule, body, reason) in rows {
        let expect = format!(r#"{{"status":200,"body":{{"json":{{"a":{rule}}}}}}}"#);
        assert_eq!(
            judge(&expect, 200, "", body),
            (Outcome::WrongBody, reason.to_string()),
            "{rule}"
        );
    }
    let expect = r#"{"status":200,"body":{"json":{}}}"#;
    assert!(
        judge(expect, 200, "", "{")
            .1
            .starts_with("the body is not JSON: ")
    );
}

/// An `object` has the keys of its rules and no other; a shorter or longer one is wrong.
#[test]
fn the_set_of_keys_is_part_of_the_rule() {
    let expect = r#"{"status":200,"body":{"object":{"a":{"equals":1},"id":{"slot":"id"}}}}"#;
    for (body, reason) in [
        (r#"{"id":5,"a":1}"#, ""),
        (r#"{"id":5}"#, "field `a` is missing"),
        (r#"{"id":5,"a":1,"b":2}"#, "field `b` does not belong there"),
    ] {
        assert_eq!(judge(expect, 200, "", body).1, reason, "{body}");
    }
}

/// Judges one body after the other with what the earlier ones have left, as one thread does.
fn judge_in_turn(expect: &str, rows: &[(i64, f64, &str, Outcome)]) {
    let expect = Expect::compile(&serde_json::from_str(expect).unwrap(), &slots()).unwrap();
    let mut known = Known::default();
    for (id, now, body, outcome) in rows {
        let answer = Answer {
            status: 200,
            content_type: None,
            content_encoding: None,
            headers: Headers::default(),
            body: body.as_bytes(),
            close: false,
            extra_bytes: 0,
        };
        let judged = expect.judge(
            &answer,
            sent(&slots(), &[*id, 0, 0]),
            &mut known,
            true,
            || *now,
        );
        assert_eq!(judged.outcome, *outcome, "{id} at {now}: {body}");
    }
}

/// `any_case` stands beside a rule, and only there.
#[test]
fn any_case_stands_beside_a_rule() {
    let rule = r#"{"status":200,"body":{"any_case":true,"object":{"Id":{"slot":"id"}}}}"#;
    assert_eq!(judge(rule, 200, "", r#"{"ID":5}"#).1, "");
    let rows = [
        (
            r#"{"any_case":true,"exact":"x"}"#,
            "`expect.body.any_case` stands beside a rule alone; leave it out",
        ),
        (
            r#"{"any_case":1,"json":{}}"#,
            "`expect.body.any_case` is 1; write true or false",
        ),
        (
            r#"{"any_case":true,"json":{"a":"any","A":"any"}}"#,
            "`expect.body`: `A` and `a` are one key in any case; write one of them",
        ),
        (
            r#"{"bytes":{"base46":""}}"#,
            "`expect.body.bytes`: unknown field `base46`, expected `base64` or `coding`",
        ),
    ];
    for (body, sentence) in rows {
        let plan = format!(r#"{{"status":200,"body":{body}}}"#);
        let found = Expect::compile(&serde_json::from_str(&plan).unwrap(), &slots()).unwrap_err();
        assert_eq!(found.to_string(), sentence);
    }
}

/// A wrong header is found whatever the body, also where no body is compared.
#[test]
fn headers_are_held() {
    let expect = r#"{"status":200,"headers":{"x-cache":{"equals":"miss"}},"body":{"exact":"hi"}}"#;
    let expect = Expect::compile(&serde_json::from_str(expect).unwrap(), &slots()).unwrap();
    for (cache, reason) in [
        ("miss", ""),
        ("hit", "the header `x-cache` is `hit` instead of `miss`"),
    ] {
        let bytes = format!("HTTP/1.1 200 OK\r\nX-Cache: {cache}\r\nContent-Length: 2\r\n\r\nhi");
        let mut progress = Progress::default().with_headers(expect.has_headers());
        progress.step(bytes.as_bytes(), false, false);
        let answer = progress.answer(bytes.as_bytes());
        for checks_body in [true, false] {
            let (slots, mut known) = (slots(), Known::default());
            let sent = sent(&slots, &[5, 0, 0]);
            let judged = expect.judge(&answer, sent, &mut known, checks_body, || 0.0);
            assert_eq!(judged.reason, reason);
        }
    }
}

/// The same bytes are right as long as their time is, and wrong once it has passed.
#[test]
fn remembered_times_grow_old() {
    let expect = r#"{"status":200,"body":{"object":{"t":{"unix_now_within_s":2}}}}"#;
    let rows = [
        (1, 1000.0, r#"{"t":1000}"#, Outcome::Ok),
        (1, 1001.9, r#"{"t":1000}"#, Outcome::Ok),
        (1, 1002.1, r#"{"t":1000}"#, Outcome::WrongBody),
        (1, 1002.1, r#"{"t":1002}"#, Outcome::Ok),
        (1, 1002.1, r#"{"t":1002,"u":0}"#, Outcome::WrongBody),
    ];
    judge_in_turn(expect, &rows);
}

/// What depends on what was sent is never taken from an earlier answer.
#[test]
fn slots_are_read_anew() {
    let expect = r#"{"status":200,"body":{"json":{"id":{"slot":"id"}}}}"#;
    let rows = [
        (5, 0.0, r#"{"id":5}"#, Outcome::Ok),
        (6, 0.0, r#"{"id":5}"#, Outcome::WrongBody),
    ];
    judge_in_turn(expect, &rows);
}

/// Expectations that no answer could meet are refused.
#[test]
fn mistakes_have_sentences() {
    let rows = [
        (
            r#"{"status":99}"#,
            "`expect.status` 99 is not between 200 and 599",
        ),
        (
            r#"{"status":[]}"#,
            "`expect.status` has no status; write at least one",
        ),
        (
            r#"{"status":[404,600]}"#,
            "`expect.status` 600 is not between 200 and 599",
        ),
        (
            r#"{"status":[200,404]}"#,
            "`expect.status` 200 or 404 are errors and others; write two requests",
        ),
        (
            r#"{"status":200,"check_one_in":0}"#,
            "`expect.check_one_in` is 0; write 1 to check every body",
        ),
        (
            r#"{"status":200,"length":3,"body":{"exact":"hi"}}"#,
            "`expect.length` is 3, but `expect.body` has 2 bytes",
        ),
        (
            r#"{"status":200,"body":{"json":{"a":{"slot":"x"}}}}"#,
            "`expect.body`: there is no slot `x` (slots: `id`, `word`, `line`)",
        ),
        (
            r#"{"status":200,"body":{"json":{"a":{"unix_now_within_s":-1}}}}"#,
            "`unix_now_within_s` is -1; write a number of seconds from 0",
        ),
        (
            r#"{"status":200,"body":{"table":{"slot":"id","rows":{"1":{},"3":[]}}}}"#,
            "`expect.body`: slot `id` can be `2`, and the table has no row of that key",
        ),
        (
            r#"{"status":200,"body":{"table":{"slot":"word","rows":{"a":1}}}}"#,
            "`expect.body`: slot `word` can be `b`, and the table has no row of that key",
        ),
    ];
    for (plan, sentence) in rows {
        assert_eq!(
            Expect::compile(&serde_json::from_str(plan).unwrap(), &slots())
                .unwrap_err()
                .to_string(),
            sentence
        );
    }
}

/// A nullable rule takes null beside what it asks for; a field with one must be there.
#[test]
fn null_is_right_where_a_rule_says_so() {
    let expect = r#"{"status":200,"body":{"json":{"a":{"nullable":{"list":{"each":{"nullable":{"slot":"id"}}}}}}}}"#;
    for (body, reason) in [
        (r#"{"a":null}"#, ""),
        (r#"{"a":[null,5]}"#, ""),
        (r#"{"a":[6]}"#, "field `a.0` is 6 instead of 5, as sent"),
        (r#"{"a":1}"#, "field `a` is 1 instead of a list"),
        ("{}", "field `a` is missing"),
    ] {
        let (_, found) = judge(expect, 200, "application/json", body);
        assert_eq!(found, reason, "{body}");
    }
}
