use super::*;
use crate::template::{Escape, Template};

fn slots() -> Slots {
    let mut slots = Slots::default();
    let read = |_: &str| crate::lines::split("a \"b\"");
    let text = "/x?id={int:1..9}&word={choice:a|b}&line={file:f}";
    Template::compile(text, &mut slots, Escape::Url, &read).unwrap();
    slots
}

fn judge(expect: &str, status: u16, content_type: &str, body: &str) -> (Outcome, String) {
    let expect = Expect::compile(&serde_json::from_str(expect).unwrap(), &slots()).unwrap();
    let answer = Answer {
        status,
        content_type: Some(content_type.as_bytes()),
        body: body.as_bytes(),
        close: false,
        extra_bytes: 0,
    };
    let judgement = expect.judge(&answer, &slots(), &[5, 1, 0], true, || 1000.5);
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
            r#"{"status":200,"content_type":"a/b"}"#,
            200,
            "",
            wrong,
            "content type `text/plain` instead of `a/b`",
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

/// Expectations that no answer could meet are refused.
#[test]
fn mistakes_have_sentences() {
    let rows = [
        (
            r#"{"status":99}"#,
            "`expect.status` 99 is not between 200 and 599",
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
    ];
    for (plan, sentence) in rows {
        assert_eq!(
            Expect::compile(&serde_json::from_str(plan).unwrap(), &slots()).unwrap_err(),
            sentence
        );
    }
}
