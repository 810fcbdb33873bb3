use super::*;
use crate::core::template::{Escape, Template};

fn slots() -> Slots {
    let mut slots = Slots::default();
    let read = |_: &str| crate::core::lines::split("a \"b\"");
    let text = "/x?id={int:1..9}&word={choice:a|b}&line={file:f}&count={choice:2|3}";
    Template::compile(text, &mut slots, Escape::Url, &read).unwrap();
    slots
}

const MISTAKES: &[(&str, &str)] = &[
    (
        r#""wat""#,
        "`expect.body`: `\"wat\"` is no rule; write \"text\",",
    ),
    ("7", "`expect.body`: `7` is no rule"),
    (
        r#"{"equals":1,"slot":"id"}"#,
        "`expect.body`: `{\"equals\":1,\"slot\":\"id\"}` is no rule",
    ),
    (
        r#"{"integer":[2,1]}"#,
        "`expect.body`: `{\"integer\":[2,1]}`: write {\"integer\": [1, 100]}",
    ),
    (
        r#"{"integer":[0.5,1]}"#,
        "`expect.body`: `{\"integer\":[0.5,1]}`: write",
    ),
    (
        r#"{"number":1}"#,
        "`expect.body`: `{\"number\":1}`: write {\"number\": [0, 1]}",
    ),
    (
        r#"{"text":{"size":1}}"#,
        "`expect.body`: `{\"text\":{\"size\":1}}`: write {\"text\"",
    ),
    (
        r#"{"one_of":[]}"#,
        "`expect.body`: `{\"one_of\":[]}`: write",
    ),
    (
        r#"{"optional":"text"}"#,
        "`expect.body`: `optional` is for a field of an object",
    ),
    (
        r#"{"object":{"a":{"optional":{"optional":"text"}}}}"#,
        "`expect.body`: `optional` is for a field of an object",
    ),
    (
        r#"{"object":["a"]}"#,
        "`expect.body`: `[\"a\"]` has no fields",
    ),
    (
        r#"{"list":{"lenght":1}}"#,
        "`expect.body`: the list `{\"lenght\":1}`: write",
    ),
    (
        r#"{"list":{"length":{"slot":"word"}}}"#,
        "`expect.body`: the slot of a list's length holds words",
    ),
    (
        r#"{"list":{"length":{"slot":"wat"}}}"#,
        "`expect.body`: there is no slot `wat`",
    ),
    (
        r#"{"list":{"each":"any","ascending":"n"}}"#,
        "`expect.body`: `ascending` names `n`, and `each` is no object with such a field",
    ),
    (
        r#"{"list":{"each":{"json":{"n":{"optional":"any"}}},"ascending":"n"}}"#,
        "`expect.body`: `ascending` names `n`",
    ),
];

/// Rules that no answer could meet, or that say nothing, are refused.
#[test]
fn mistakes_have_sentences() {
    let nested = format!(
        "{}\"any\"{}",
        "{\"list\":{\"each\":".repeat(40),
        "}}".repeat(40)
    );
    let deep = (
        nested.as_str(),
        "`expect.body`: rules lie more than 32 deep",
    );
    for (rule, sentence) in MISTAKES.iter().chain([&deep]) {
        let rule = serde_json::from_str(rule).unwrap();
        let found = Rule::compile(&rule, &slots()).unwrap_err().to_string();
        assert!(found.starts_with(*sentence), "{found}");
    }
    let many: Map<String, Value> = (0..257).map(|n| (n.to_string(), Value::Null)).collect();
    let found = Rule::equal_to(&Value::Object(many))
        .unwrap_err()
        .to_string();
    assert_eq!(
        found,
        "`expect.body`: an object has 257 fields; write at most 256"
    );
    let alike = Rule::compile(
        &serde_json::json!({"json": {"Id": "any", "iD": "any"}}),
        &slots(),
    )
    .unwrap();
    let found = alike.check_cases().unwrap_err().to_string();
    assert_eq!(
        found,
        "`expect.body`: `Id` and `iD` are one key in any case; write one of them"
    );
}
