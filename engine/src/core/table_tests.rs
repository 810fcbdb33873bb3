use super::*;
use crate::core::template::{Escape, Template};

fn slots() -> Slots {
    let mut slots = Slots::default();
    let read = |_: &str| crate::core::lines::split("a");
    let text = "/x?id={int:1..9}&word={choice:a|b}";
    Template::compile(text, &mut slots, Escape::Url, &read).unwrap();
    slots
}

/// Holds one body after the other against a table, with what the earlier ones have left; values are those of the two slots.
fn hold(table: &str, rows: &[(i64, i64, &str, &str)]) {
    let slots = slots();
    let table = Table::compile(&serde_json::from_str(table).unwrap(), &slots).unwrap();
    let mut known = Bodies::new();
    for (id, word, body, reason) in rows {
        let values = [*id, *word];
        let sent = Sent {
            slots: &slots,
            values: &values,
            kept: None,
        };
        let found = table.wrong(body.as_bytes(), sent, &mut known);
        assert_eq!(found.unwrap_or_default(), *reason, "{id} {word} {body}");
    }
}

/// All of a row is held, in any order; what was right for one key is wrong for another, also the second time.
#[test]
fn rows_belong_to_what_was_sent() {
    let row = |id: i64| format!(r#""{id}":{{"id":"{id}","n":7}}"#);
    let rows = (1..=9).map(row).collect::<Vec<_>>().join(",");
    let (right, other) = (r#"{"n":7,"id":"5"}"#, r#"{"id":"5", "n":7.0}"#);
    let another = "field `id` is \"5\" instead of \"6\"";
    hold(
        &format!(r#"{{"slot":"id","rows":{{{rows}}}}}"#),
        &[
            (5, 0, right, ""),
            (5, 0, right, ""),
            (5, 0, other, ""),
            (6, 0, right, another),
            (6, 0, right, another),
            (5, 0, r#"{"id":"5"}"#, "field `n` is missing"),
            (
                5,
                0,
                r#"{"id":"5","n":7,"m":1}"#,
                "field `m` does not belong there",
            ),
            (5, 0, r#"{"id":"5","n":8}"#, "field `n` is 8 instead of 7"),
            (5, 0, "", "the body is not JSON: it ends at byte 0"),
            (5, 0, right, ""),
        ],
    );
}

/// A table holds whole answers by a number or by words: texts byte for byte, JSON by what it says.
#[test]
fn rows_are_texts_or_json() {
    let json = r#"{"n":[1.0],"text":"\u0078"}"#;
    hold(
        r#"{"slot":"word","rows":{"a":{"text":"not found\n"},"b":{"equals":{"text":"x","n":[1]}}}}"#,
        &[
            (1, 0, "not found\n", ""),
            (1, 0, "not found", "9 bytes instead of 10"),
            (1, 1, json, ""),
            (1, 1, json, ""),
            (1, 0, json, "the body differs from byte 0 on"),
            (
                1,
                1,
                r#"{"n":[2],"text":"x"}"#,
                "field `n.0` is 2 instead of 1",
            ),
            (
                1,
                1,
                "not found\n",
                "the body is not JSON: no value begins at byte 0",
            ),
        ],
    );
}
