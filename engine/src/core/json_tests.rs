use super::*;

fn read(bytes: &[u8]) -> Result<(), Fault> {
    let mut reader = Reader::new(bytes);
    reader.skip()?;
    reader.end()
}

const TEXTS: &[&str] = &[
    r#"{"a":[1,-0,0.5,1e5,1E-5,true,false,null,"x"],"b":{}, "c":[]}"#,
    " \r\n\t1 \n",
    "",
    " ",
    "1 2",
    "[1,]",
    "[,1]",
    "[1 2]",
    "[1",
    "{\"a\":1,}",
    "{,}",
    "{a:1}",
    "{\"a\" 1}",
    "{\"a\":}",
    "{\"a\":1 \"b\":2}",
    "{\"a\":1",
    "]",
    "nul",
    "nulll",
    "tru",
    "True",
    "01",
    "-",
    "-01",
    "1.",
    ".5",
    "+1",
    "1e",
    "1e+",
    "1e400",
    "-1e400",
    "1e-400",
    "0e400",
    "NaN",
    "\"a",
    "\"\u{1}\"",
    "\"\t\"",
    r#""\u00e9 \ud83d\ude00 \n\/\\\"""#,
    r#""\ud83d""#,
    r#""\ud83d\u0041""#,
    r#""\ude00""#,
    r#""\u12g4""#,
    r#""\u12""#,
    r#""\x""#,
    r#""\"#,
    "\u{feff}1",
    "\"\u{7f}é😀\"",
    "'a'",
    "/* */1",
];

/// What `serde_json` reads is read, and what it refuses is refused.
#[test]
fn as_serde_json() {
    let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
    let mixed = |depth: usize| "{\"a\":[".repeat(depth) + &"]}".repeat(depth);
    let digits = |count: usize| "9".repeat(count);
    let made = [
        nested(127),
        nested(128),
        nested(100_000),
        mixed(63),
        mixed(64),
        digits(308),
        digits(309),
        digits(400),
        format!("{}.5", digits(320)),
        format!("0.{}", digits(400)),
    ];
    let all = TEXTS.iter().map(|text| text.as_bytes().to_vec());
    let broken = [
        b"\"\xff\"".to_vec(),
        b"\"\xc3\"".to_vec(),
        b"[\xff]".to_vec(),
    ];
    for bytes in all.chain(made.map(String::into_bytes)).chain(broken) {
        let expected = serde_json::from_slice::<serde_json::Value>(&bytes);
        let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(60)]).into_owned();
        assert_eq!(
            read(&bytes).is_ok(),
            expected.is_ok(),
            "{shown}: {expected:?}"
        );
    }
}

/// Texts are decoded as `serde_json` decodes them, and counted in characters.
#[test]
fn texts() {
    for json in [
        r#""plain""#,
        r#""""#,
        r#""é😀""#,
        r#""\u00e9\ud83d\ude00\n\"\\\/\b\f\r\t""#,
        r#""a\u0000b""#,
    ] {
        let expected: String = serde_json::from_str(json).unwrap();
        let Ok(Token::Text(text)) = Reader::new(json.as_bytes()).token() else {
            panic!("{json}")
        };
        assert_eq!(text.decoded(), expected);
        assert_eq!(text.characters(), expected.chars().count());
        assert!(text.is(expected.as_bytes()) && !text.is(b"other"));
        assert!(text.is_in_any_case(&expected.to_uppercase()), "{json}");
    }
}

/// Numbers keep their digits; a whole one is known by its form.
#[test]
fn numbers() {
    let rows = [
        ("0", Some(0), 0.0),
        ("-0", Some(0), 0.0),
        ("-12", Some(-12), -12.0),
        (
            "9007199254740993",
            Some(9007199254740993),
            9007199254740992.0,
        ),
        (
            "123456789012345678901",
            Some(123456789012345678901),
            123456789012345680000.0,
        ),
        ("1.0", None, 1.0),
        ("1e2", None, 100.0),
        ("-0.25", None, -0.25),
    ];
    for (json, whole, value) in rows {
        let Ok(Token::Number(number)) = Reader::new(json.as_bytes()).token() else {
            panic!("{json}")
        };
        assert_eq!((number.whole(), number.value()), (whole, value), "{json}");
        assert_eq!(number.is_whole(), whole.is_some());
        assert_eq!(number.raw(), json.as_bytes());
    }
}

/// A fault says what is wrong, and where.
#[test]
fn faults_have_places() {
    let rows = [
        ("", "it ends at byte 0"),
        ("[1,2", "a list does not end at byte 4"),
        (r#"{"a":tru}"#, "no value begins at byte 5"),
        ("[1] x", "more follows its end at byte 4"),
    ];
    for (json, sentence) in rows {
        assert_eq!(read(json.as_bytes()).unwrap_err().to_string(), sentence);
    }
}
