use serde_json::Value;

use super::*;
use crate::core::template::{Escape, Slots, Template};

fn slots() -> Slots {
    let mut slots = Slots::default();
    let read = |_: &str| crate::core::lines::split("a \"b\"");
    let text = "/x?id={int:1..9}&word={choice:a|b}&line={file:f}&count={choice:2|3}&sum={choice:2.50}&no={choice:007}&big={choice:100000000000000000000}&done={choice:true}";
    Template::compile(text, &mut slots, Escape::Url, &read).unwrap();
    slots
}

fn wrong_in(rule: &str, any_case: bool, body: &[u8]) -> String {
    let slots = slots();
    let rule = Rule::compile(&serde_json::from_str(rule).unwrap(), &slots).unwrap();
    let values = [5, 1, 0, 0, 0, 0, 0, 0];
    let sent = Sent {
        slots: &slots,
        values: &values,
        kept: None,
    };
    let mut times = Times::new();
    let judge = Judge::new(body, sent, any_case, &|| 1000.5, &mut times);
    judge.wrong(&rule).unwrap_or_default()
}

fn wrong_of(rule: &str, body: &str) -> String {
    wrong_in(rule, false, body.as_bytes())
}

const RIGHT: &[(&str, &[&str])] = &[
    (r#""any""#, &["1", "null", "[{}]", r#"{"a":[1,{"b":2}]}"#]),
    (r#""null""#, &["null"]),
    (r#""boolean""#, &["true", "false"]),
    (r#""text""#, &[r#""""#, r#""é""#]),
    (
        r#"{"text":{"length":[1,3]}}"#,
        &[r#""a""#, r#""äöü""#, r#""\u00e4\n😀""#],
    ),
    (r#"{"text":{"length":2}}"#, &[r#""ab""#]),
    (
        r#""integer""#,
        &["0", "-7", "123456789012345678901234567890"],
    ),
    (r#"{"integer":[-2,10]}"#, &["-2", "10", "-0"]),
    (r#""number""#, &["0", "1.5", "1e300"]),
    (r#"{"number":[0,1]}"#, &["0", "1", "0.5", "1e-9", "1.0"]),
    (r#"{"equals":1}"#, &["1", "1.0", "10e-1"]),
    (
        r#"{"equals":0.12345678901234567}"#,
        &["0.12345678901234567", "12345678901234567e-17"],
    ),
    (
        r#"{"equals":{"a":[1,"x"],"b":null}}"#,
        &[r#"{ "b":null, "\u0061":[1.0,"\u0078"]}"#],
    ),
    (r#"{"slot":"id"}"#, &["5", r#""5""#, "5.0", "50e-1"]),
    (r#"{"slot":"sum"}"#, &["2.5", "2.50", "25e-1", r#""2.50""#]),
    (r#"{"slot":"word"}"#, &[r#""b""#, r#""\u0062""#]),
    (r#"{"slot":"done"}"#, &["true", r#""true""#]),
    (r#"{"slot":"line"}"#, &[r#""a \"b\"""#]),
    (r#"{"unix_now_within_s":2}"#, &["999", "1002.4"]),
    (
        r#"{"one_of":[1,"a",{"b":[]},null]}"#,
        &["1", r#""a""#, r#"{"b":[]}"#, "null"],
    ),
    (r#"{"list":{}}"#, &["[]", r#"[1,"a"]"#]),
    (r#"{"list":{"length":2,"each":"integer"}}"#, &["[1,2]"]),
    (
        r#"{"list":{"length":[0,1],"each":"text"}}"#,
        &["[]", r#"["a"]"#],
    ),
    (r#"{"list":{"length":{"slot":"count"}}}"#, &["[1,2]"]),
    (r#"{"list":{"length":{"slot":"id"}}}"#, &["[1,2,3,4,5]"]),
    (
        r#"{"list":{"each":{"object":{"a":"any","n":"integer"}},"ascending":"n"}}"#,
        &[
            "[]",
            r#"[{"n":1,"a":[9]},{"a":{"n":0},"n":1},{"n":20,"a":0}]"#,
        ],
    ),
    (
        r#"{"list":{"each":{"json":{"t":"text"}},"ascending":"t"}}"#,
        &[r#"[{"t":"Z"},{"t":"a"},{"t":"\u0061a"}]"#],
    ),
    (
        r#"{"object":{"a":"text","b":{"optional":"integer"}}}"#,
        &[r#"{"a":""}"#, r#"{"b":1,"a":""}"#],
    ),
    (
        r#"{"json":{"a":{"json":{"b":"null"}}}}"#,
        &[r#"{"z":[{"a":1}],"a":{"b":null,"c":0},"y":0}"#],
    ),
];

/// Each rule is fulfilled by what it says, wherever it stands.
#[test]
fn right_values() {
    for (rule, bodies) in RIGHT {
        for body in *bodies {
            assert_eq!(wrong_of(rule, body), "", "{rule} {body}");
        }
    }
}

const ITEMS: &str =
    r#"{"json":{"items":{"list":{"length":2,"each":{"object":{"id":{"integer":[1,9]}}}}}}}"#;
const RISING: &str = r#"{"list":{"each":{"object":{"n":"any"}},"ascending":"n"}}"#;

const WRONG: &[(&str, &str, &str)] = &[
    (r#""null""#, "0", "the body is 0 instead of null"),
    (
        r#""boolean""#,
        r#""true""#,
        "the body is \"true\" instead of true or false",
    ),
    (
        r#"{"text":{"length":[1,3]}}"#,
        r#""abcd""#,
        "the body is \"abcd\" instead of a text of 1 to 3 characters",
    ),
    (
        r#""integer""#,
        "1.0",
        "the body is 1.0 instead of a whole number",
    ),
    (
        r#""integer""#,
        r#""1""#,
        "the body is \"1\" instead of a whole number",
    ),
    (
        r#"{"integer":[1,9]}"#,
        "10",
        "the body is 10 instead of a whole number from 1 to 9",
    ),
    (
        r#"{"integer":[1,9]}"#,
        "99999999999999999999",
        "the body is 99999999999999999999 instead of a whole number from 1 to 9",
    ),
    (
        r#"{"number":[0,1]}"#,
        "1.5",
        "the body is 1.5 instead of a number from 0 to 1",
    ),
    (
        r#"{"equals":9007199254740993}"#,
        "9007199254740992",
        "the body is 9007199254740992 instead of 9007199254740993",
    ),
    (
        r#"{"equals":[1,2]}"#,
        "[1]",
        "the body has 1 items instead of 2",
    ),
    (
        r#"{"equals":[1,2]}"#,
        "[1,3,2]",
        "the body has 3 items instead of 2",
    ),
    (
        r#"{"equals":[1,[2]]}"#,
        "[1,[3]]",
        "field `1.0` is 3 instead of 2",
    ),
    (
        r#"{"one_of":[1,"a"]}"#,
        "[1]",
        "the body is [1] instead of 1 or \"a\"",
    ),
    (
        ITEMS,
        r#"{"items":[{"id":1}]}"#,
        "field `items` has 1 items instead of 2",
    ),
    (
        ITEMS,
        r#"{"items":[{"id":1},{"id":0}]}"#,
        "field `items.1.id` is 0 instead of a whole number from 1 to 9",
    ),
    (
        ITEMS,
        r#"{"items":[{"id":1},{}]}"#,
        "field `items.1.id` is missing",
    ),
    (
        ITEMS,
        r#"{"items":[{"id":1},7]}"#,
        "field `items.1` is not a JSON object",
    ),
    (
        ITEMS,
        r#"{"items":[{"id":1},{"id":2,"x":3}]}"#,
        "field `items.1.x` does not belong there",
    ),
    (
        ITEMS,
        r#"{"items":{}}"#,
        "field `items` is {} instead of a list",
    ),
    (
        RISING,
        r#"[{"n":3},{"n":10},{"n":9}]"#,
        "field `2.n` is 9 after 10, and does not ascend",
    ),
    (
        RISING,
        r#"[{"n":"3"},{"n":10}]"#,
        "field `1.n` is 10 after \"3\", and does not ascend",
    ),
    (
        RISING,
        r#"[{"n":[]},{"n":[]}]"#,
        "field `1.n` is [] after [], and does not ascend",
    ),
    (
        r#"{"list":{"length":{"slot":"count"}}}"#,
        "[1]",
        "the body has 1 items instead of 2",
    ),
    (
        "\"any\"",
        "[1",
        "the body is not JSON: a list does not end at byte 2",
    ),
    (
        "\"any\"",
        "1 2",
        "the body is not JSON: more follows its end at byte 2",
    ),
    (
        "\"text\"",
        "[1,]",
        "the body is not JSON: a comma ends a list at byte 3",
    ),
];

/// What breaks a rule is named with its place, and what it was to be.
#[test]
fn wrong_values() {
    for (rule, body, reason) in WRONG {
        assert_eq!(&wrong_of(rule, body), reason, "{rule} {body}");
    }
    for (slot, body) in [("sum", "3"), ("no", "7"), ("big", "100000000000000000001")] {
        let rule = format!(r#"{{"slot":"{slot}"}}"#);
        assert_ne!(wrong_of(&rule, body), "", "{rule}");
    }
}

/// Of a key that stands twice the last value counts, right or wrong.
#[test]
fn the_last_key_counts() {
    let rule = r#"{"object":{"a":{"equals":1},"b":{"optional":{"list":{"each":"integer"}}}}}"#;
    let rows = [
        (r#"{"a":2,"a":1}"#, ""),
        (r#"{"b":["x"],"a":1,"b":[]}"#, ""),
        (r#"{"a":1,"a":2}"#, "field `a` is 2 instead of 1"),
        (
            r#"{"a":2,"b":["x"],"a":1}"#,
            "field `b.0` is \"x\" instead of a whole number",
        ),
        (r#"{"a":3,"a":2}"#, "field `a` is 2 instead of 1"),
    ];
    for (body, reason) in rows {
        assert_eq!(wrong_of(rule, body), reason, "{body}");
    }
}

/// Keys without case, at any depth; two that fold alike are one, and the last counts.
#[test]
fn keys_in_any_case() {
    let rule = r#"{"list":{"each":{"object":{"randomNumber":{"integer":[1,9]},"ä":"any"}},"ascending":"randomNumber"}}"#;
    let rows = [
        (
            r#"[{"RANDOMNUMBER":1,"Ä":0},{"randomnumber":2,"\u00c4":0}]"#,
            "",
        ),
        (r#"[{"randomNumber":0,"ä":0,"randomnumber":5}]"#, ""),
        (
            r#"[{"randomNumber":5,"ä":0,"randomnumber":0}]"#,
            "field `0.randomNumber` is 0 instead of a whole number from 1 to 9",
        ),
        (
            r#"[{"random_number":5,"ä":0}]"#,
            "field `0.randomNumber` is missing",
        ),
    ];
    for (body, reason) in rows {
        assert_eq!(wrong_in(rule, true, body.as_bytes()), reason, "{body}");
    }
    assert_ne!(wrong_of(rule, r#"[{"RANDOMNUMBER":1,"ä":0}]"#), "");
    let equals = r#"{"equals":{"Id":{"Name":"X"}}}"#;
    assert_eq!(wrong_in(equals, true, br#"{"ID":{"NAME":"X"}}"#), "");
    assert_ne!(wrong_in(equals, true, br#"{"ID":{"NAME":"x"}}"#), "");
}

/// SplitMix64.
struct Dice(u64);

impl Dice {
    fn below(&mut self, span: usize) -> usize {
        self.0 += 1;
        crate::core::random::below(crate::core::random::bits(3, self.0, 0), span as u64) as usize
    }

    /// A value with every kind of thing that JSON has.
    fn json(&mut self, depth: usize) -> Value {
        match self.below(if depth == 0 { 5 } else { 7 }) {
            0 => Value::Null,
            1 => Value::Bool(self.below(2) == 0),
            2 => Value::from(self.below(7) as i64 - 3),
            3 => Value::from(self.below(5) as f64 / 2.0 - 1.0),
            4 => Value::from(["", "a", "é\"\n", "\u{1}\\/", "😀"][self.below(5)]),
            5 => (0..self.below(4)).map(|_| self.json(depth - 1)).collect(),
            _ => {
                let key =
                    |dice: &mut Dice| ["a", "b", "é\"", "longer key"][dice.below(4)].to_string();
                let fields = (0..self.below(4)).map(|_| (key(self), self.json(depth - 1)));
                Value::Object(fields.collect())
            }
        }
    }

    /// The same value with other spaces, escapes and order of keys.
    fn write(&mut self, value: &Value, out: &mut String) {
        let space = |dice: &mut Dice| ["", "", " ", "\n\t"][dice.below(4)];
        out.push_str(space(self));
        match value {
            Value::Array(values) => {
                out.push('[');
                for (index, value) in values.iter().enumerate() {
                    out.push_str(if index > 0 { "," } else { "" });
                    self.write(value, out);
                }
                out.push(']');
            }
            Value::Object(fields) => {
                out.push('{');
                let count = fields.len().max(1);
                let turned = fields.iter().cycle().skip(self.below(count));
                for (index, (key, value)) in turned.take(fields.len()).enumerate() {
                    out.push_str(if index > 0 { "," } else { "" });
                    self.write(&Value::from(key.as_str()), out);
                    out.push(':');
                    self.write(value, out);
                }
                out.push('}');
            }
            Value::String(text) if self.below(2) == 0 => {
                let units: String = text
                    .encode_utf16()
                    .map(|unit| format!("\\u{unit:04x}"))
                    .collect();
                out.push_str(&format!("\"{units}\""));
            }
            other => out.push_str(&other.to_string()),
        }
        out.push_str(space(self));
    }
}

/// Numbers by value, all else as `serde_json` compares.
fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => left.as_f64() == right.as_f64(),
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len()
                && left
                    .iter()
                    .zip(right)
                    .all(|(left, right)| same(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left
                    .iter()
                    .all(|(key, value)| right.get(key).is_some_and(|other| same(value, other)))
        }
        _ => left == right,
    }
}

/// Held against `serde_json`: two values are equal for one where they are for the other, however they are written.
#[test]
fn equality_is_serde_jsons() {
    let mut dice = Dice(0);
    let (mut alike, mut unlike) = (0, 0);
    for _ in 0..20_000 {
        let (left, right) = (dice.json(2), dice.json(2));
        for (right, expected) in [(&right, same(&left, &right)), (&left, true)] {
            let mut body = String::new();
            dice.write(right, &mut body);
            let rule = format!("{{\"equals\":{left}}}");
            assert_eq!(wrong_of(&rule, &body).is_empty(), expected, "{rule} {body}");
            *(if expected { &mut alike } else { &mut unlike }) += 1;
        }
    }
    assert!(alike > 20_500 && unlike > 15_000, "{alike} {unlike}");
}

const PARTS: &[u8] = b"[]{},:\"\\u0e.-1n \xc3";

/// Held against `serde_json`: broken bodies are read as it reads them, whatever the rule.
#[test]
fn broken_bodies_are_serde_jsons() {
    let mut dice = Dice(1);
    let (mut broken, mut whole) = (0, 0);
    for _ in 0..20_000 {
        let value = dice.json(3);
        let mut text = String::new();
        dice.write(&value, &mut text);
        let mut body = text.into_bytes();
        for _ in 0..=dice.below(2) {
            let at = dice.below(body.len());
            match dice.below(4) {
                0 => body.truncate(at),
                1 => drop(body.drain(at..body.len().min(at + 1))),
                2 => body.insert(at, PARTS[dice.below(PARTS.len())]),
                _ => {}
            }
            if body.is_empty() {
                body.push(b'[');
            }
        }
        let found = serde_json::from_slice::<Value>(&body);
        for rule in [
            r#""any""#,
            r#"{"list":{"each":{"list":{}}}}"#,
            r#"{"object":{"a":"null"}}"#,
            r#"{"one_of":[{"a":1},[1]]}"#,
        ] {
            let reason = wrong_in(rule, false, &body);
            let is_json = !reason.starts_with("the body is not JSON");
            assert_eq!(
                is_json,
                found.is_ok(),
                "{rule} {:?}: {reason} {found:?}",
                String::from_utf8_lossy(&body)
            );
        }
        *(if found.is_ok() {
            &mut whole
        } else {
            &mut broken
        }) += 1;
    }
    assert!(broken > 2_000 && whole > 5_000, "{broken} {whole}");
}
