use super::*;

fn compile(text: &str) -> Result<(Template, Slots), EngineError> {
    let mut slots = Slots::default();
    let read = |path: &str| match path {
        "words" => crate::core::lines::split("one\ntwo words\nthree\n"),
        _ => Err(EngineError::File(format!(
            "file `{path}` cannot be read: it is not there"
        ))),
    };
    let template = Template::compile(text, &mut slots, Escape::Url, &read)?;
    check_pairs(&slots)?;
    Ok((template, slots))
}

fn render(text: &str, seed: u64, number: u64) -> String {
    let (template, slots) = compile(text).unwrap();
    let (mut values, mut out) = (Vec::new(), Vec::new());
    slots.draw(seed, number, &mut values);
    template.render(&slots, &values, None, &mut out);
    String::from_utf8(out).unwrap()
}

fn values(text: &str) -> Vec<Vec<i64>> {
    let (_, slots) = compile(text).unwrap();
    (0..20_000)
        .map(|number| {
            let mut values = Vec::new();
            slots.draw(3, number, &mut values);
            values
        })
        .collect()
}

/// Text without slots stands as it is, and a doubled brace is one.
#[test]
fn literal_text() {
    assert_eq!(render("/ping", 1, 1), "/ping");
    assert_eq!(render("{{\"a\":{{}}", 1, 1), "{\"a\":{}}");
}

/// `int` draws every value of its range, both ends included, and no other.
#[test]
fn int_covers_its_range() {
    let mut seen: Vec<i64> = values("{int:-2..3}")
        .into_iter()
        .map(|values| values[0])
        .collect();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen, [-2, -1, 0, 1, 2, 3]);
}

/// `int … !=` never equals the other slot, and all other pairs come equally often.
#[test]
fn int_not_differs() {
    let mut counts = std::collections::BTreeMap::new();
    for pair in values("/x?a={int:1..4}&b={int:1..4!=a}") {
        *counts.entry(pair).or_insert(0) += 1;
    }
    assert_eq!(counts.len(), 12);
    assert!(
        counts
            .iter()
            .all(|(pair, count)| pair[0] != pair[1] && (1_450..1_900).contains(count)),
        "{counts:?}"
    );
}

/// A slot that differs from one outside its own range loses no value.
#[test]
fn int_not_of_another_range() {
    let all = values("/x?a={int:8..9}&b={int:1..2!=a}");
    assert!(all.iter().any(|pair| pair[1] == 1) && all.iter().any(|pair| pair[1] == 2));
    assert!(all.iter().all(|pair| (1..=2).contains(&pair[1])));
}

/// `low` and `high` are one draw of two distinct numbers, in order, all pairs equally often.
#[test]
fn low_and_high() {
    let mut counts = std::collections::BTreeMap::new();
    for pair in values("/x?from={low:1..4}&to={high:1..4}") {
        *counts.entry(pair).or_insert(0) += 1;
    }
    assert_eq!(counts.len(), 6);
    assert!(
        counts
            .iter()
            .all(|(pair, count)| pair[0] < pair[1] && (3_000..3_700).contains(count)),
        "{counts:?}"
    );
}

/// `choice` gives each of its words, `seq` the request's number from 1.
#[test]
fn choice_and_seq() {
    let texts: std::collections::BTreeSet<String> = (0..100)
        .map(|number| render("{choice:red|green|blue}", 1, number))
        .collect();
    assert_eq!(
        texts.into_iter().collect::<Vec<_>>(),
        ["blue", "green", "red"]
    );
    assert_eq!(
        (0..3)
            .map(|number| render("/{seq}", 1, number))
            .collect::<Vec<_>>(),
        ["/1", "/2", "/3"]
    );
}

/// `file` gives each of its lines equally often; the line is told as it stands in the file, and sent escaped.
#[test]
fn lines() {
    let mut counts = [0; 3];
    for values in values("/x?q={file:words}") {
        counts[values[0] as usize] += 1;
    }
    assert!(
        counts.iter().all(|count| (6_300..7_000).contains(count)),
        "{counts:?}"
    );
    let (_, slots) = compile("/x?q={file:words}").unwrap();
    assert_eq!(slots.text(slots.find("q").unwrap(), 1), "two words");
    assert_eq!((slots.range(0), slots.is_number(0)), (Some((0, 3)), false));
    let sent: std::collections::BTreeSet<String> = (0..100)
        .map(|number| render("{file:words}", 1, number))
        .collect();
    assert_eq!(
        sent.into_iter().collect::<Vec<_>>(),
        ["one", "three", "two%20words"]
    );
}

/// The same seed and number give the same text; another seed gives another.
#[test]
fn seed_decides() {
    let text = "/x?a={int:1..1000000}";
    assert_eq!(render(text, 7, 42), render(text, 7, 42));
    assert_ne!(render(text, 7, 42), render(text, 8, 42));
    assert_ne!(render(text, 7, 42), render(text, 7, 43));
}

/// A slot is called after the query key or JSON key before it.
#[test]
fn slots_have_names() {
    let rows = [
        ("/x?from={seq}", Some("from")),
        ("/x?a=1&to={seq}", Some("to")),
        ("{{\"id\":{seq}}", Some("id")),
        ("{{\"id\" : \"{seq}\"}", Some("id")),
        ("{{\"x\":1,\"acc no\": {seq}}", Some("acc no")),
        ("id={seq}&x=1", Some("id")),
        ("/users/{id=seq}", Some("id")),
        ("/x?a={b=int:1..2}", Some("b")),
        ("/x?a={choice:b=c|d}", Some("a")),
        ("/users/{seq}", None),
        ("/a/b={seq}", None),
        ("{{\"list\":[{seq}]}", None),
    ];
    for (text, name) in rows {
        let (_, slots) = compile(text).unwrap();
        assert_eq!(slots.name(0), name, "{text}");
    }
}

const MISTAKES: &[(&str, &str)] = &[
    (
        "/x?a={int:1..2",
        "`{int:1..2` has no closing brace; write `{{` for a brace",
    ),
    (
        "/{int:1-2}",
        "`{int:1-2}` is not a range of whole numbers; write `a..b`",
    ),
    (
        "/{int:a..b}",
        "`{int:a..b}` is not a range of whole numbers; write `a..b`",
    ),
    (
        "/{int}",
        "`{int}` is not a range of whole numbers; write `a..b`",
    ),
    (
        "/{int:5..1}",
        "`{int:5..1}` is empty; write the smaller number first",
    ),
    (
        "/{int:0..9999999999999999}",
        "`{int:0..9999999999999999}` goes beyond ±10^15",
    ),
    (
        "/x?b={int:1..2!=a}",
        "`{int:1..2!=a}`: there is no slot `a` (slots: none has a name) before it",
    ),
    (
        "/x?c={seq}&b={int:1..2!=a}",
        "`{int:1..2!=a}`: there is no slot `a` (slots: `c`) before it",
    ),
    (
        "/x?a={choice:x|y}&b={int:1..2!=a}",
        "`{int:1..2!=a}` cannot differ from a slot of words",
    ),
    (
        "/x?a={seq}&b={int:1..1!=a}",
        "`{int:1..1!=a}` leaves no value: it needs a range of at least two",
    ),
    (
        "/{low:1..2}",
        "`low` stands without a `high` of the same range after it",
    ),
    (
        "/{high:1..2}",
        "`{high:1..2}` stands without a `low` before it",
    ),
    (
        "/{low:1..2}{high:1..3}",
        "`{high:1..3}` has another range than the `low` before it",
    ),
    (
        "/{low:1..2}{low:1..2}",
        "`{low:1..2}` follows a `low` that has no `high`",
    ),
    ("/{low:1..1}", "`{low:1..1}` needs a range of at least two"),
    (
        "/{low:0..4000000000}",
        "`{low:0..4000000000}` is wider than 4000000000",
    ),
    (
        "/{choice:a||b}",
        "`{choice:a||b}` has an empty word; write `{choice:x|y}`",
    ),
    (
        "/{choice}",
        "`{choice}` has an empty word; write `{choice:x|y}`",
    ),
    ("/x?a={seq}&a={seq}", "two slots are called `a`"),
    (
        "/{file:none}",
        "`{file:none}`: file `none` cannot be read: it is not there",
    ),
    (
        "/x?a={file:words}&b={int:1..2!=a}",
        "`{int:1..2!=a}` cannot differ from a slot of words",
    ),
];

/// Every mistake is named with the slot that holds it.
#[test]
fn mistakes_have_sentences() {
    for &(text, sentence) in MISTAKES {
        assert_eq!(compile(text).unwrap_err().to_string(), sentence, "{text}");
    }
    for text in ["/{uuid}", "/{}", "/{seq:1}"] {
        let sentence = compile(text).unwrap_err().to_string();
        assert!(
            sentence.contains("is no slot (slots: {int:a..b}"),
            "{sentence}"
        );
    }
}
