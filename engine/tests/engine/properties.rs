//! Thousands of inputs, most of them broken: what `fuzz/entry.rs` asks of every one holds.
//!
//! The same seed each time, so that a failure can be repeated; `cargo fuzz` goes on from here (see `README.md`).

use std::panic::{AssertUnwindSafe, catch_unwind};

#[path = "../../fuzz/entry.rs"]
mod entry;

const INPUTS: u64 = 5_000;

/// SplitMix64.
struct Dice(u64);

impl Dice {
    fn below(&mut self, span: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) as usize % span.max(1)
    }

    /// One of the seeds, changed in one to six places.
    fn input(&mut self, seeds: &[Vec<u8>], words: &[&str]) -> Vec<u8> {
        let mut bytes = seeds[self.below(seeds.len())].clone();
        for _ in 0..=self.below(6) {
            self.change(&mut bytes, seeds, words);
        }
        bytes
    }

    fn change(&mut self, bytes: &mut Vec<u8>, seeds: &[Vec<u8>], words: &[&str]) {
        let at = self.below(bytes.len() + 1);
        let end = bytes.len().min(at + 1 + self.below(20));
        match self.below(7) {
            0 if at < bytes.len() => bytes[at] = self.below(256) as u8,
            1 => drop(bytes.drain(at..end)),
            2 => {
                let part = bytes[at..end].to_vec();
                bytes.splice(at..at, part);
            }
            3 => bytes.truncate(at),
            4 => {
                let other = &seeds[self.below(seeds.len())];
                let from = self.below(other.len());
                bytes.splice(at.., other[from..].iter().copied());
            }
            // A number becomes another one: limits lie there.
            5 => {
                if let Some(digit) = bytes[at..].iter().position(u8::is_ascii_digit) {
                    let start = at + digit;
                    let digits = bytes[start..]
                        .iter()
                        .take_while(|byte| byte.is_ascii_digit())
                        .count();
                    let number = NUMBERS[self.below(NUMBERS.len())];
                    bytes.splice(start..start + digits, number.bytes());
                }
            }
            _ => {
                let word = words[self.below(words.len())];
                bytes.splice(at..at, word.bytes());
            }
        }
    }
}

const NUMBERS: [&str; 12] = [
    "0",
    "1",
    "-1",
    "1e-300",
    "0.1",
    "101",
    "65536",
    "4294967296",
    "1000000000000000",
    "9223372036854775807",
    "18446744073709551615",
    "-9223372036854775808",
];

/// Runs `check` on inputs made from `seeds`; the first that breaks it is shown.
fn holds(seeds: &[Vec<u8>], words: &[&str], check: fn(&[u8])) {
    let mut dice = Dice(1);
    for seed in seeds {
        check(seed);
    }
    for _ in 0..INPUTS {
        let input = dice.input(seeds, words);
        let outcome = catch_unwind(AssertUnwindSafe(|| check(&input)));
        assert!(
            outcome.is_ok(),
            "this input breaks it: {:?}",
            String::from_utf8_lossy(&input)
        );
    }
}

fn files(folder: &str, end: &str) -> Vec<Vec<u8>> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut paths: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.to_str().unwrap().ends_with(end))
        .collect();
    paths.sort();
    assert!(paths.len() > 3);
    paths
        .iter()
        .map(|path| std::fs::read(path).unwrap())
        .collect()
}

/// Answers that arrive in pieces of any size are read as in one piece, good or bad.
#[test]
fn answers() {
    let texts = [
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nhel\r\n2\r\nlo\r\n0\r\nTrailer: 1\r\n\r\n",
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n",
        "HTTP/1.0 404 Not Found\r\nConnection: keep-alive\r\n\r\nuntil the end",
        "HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n",
    ];
    let mut seeds: Vec<Vec<u8>> = texts
        .iter()
        .flat_map(|text| {
            [[0, 0], [1, 3], [2, 40]].map(|start| [&start[..], text.as_bytes()].concat())
        })
        .collect();
    // Just at, and just beyond, each limit.
    for length in [
        4 * 1024 - 1,
        4 * 1024,
        4 * 1024 + 1,
        32 * 1024 - 40,
        32 * 1024 + 1,
    ] {
        let long = "x".repeat(length);
        for text in [
            format!("\u{0}\u{fe}HTTP/1.1 200 OK\r\nA: {long}\r\nContent-Length: 0\r\n\r\n"),
            format!(
                "\u{0}\u{fe}HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;{long}\r\nx\r\n0\r\n\r\n"
            ),
            format!(
                "\u{0}\u{fe}HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n{long}\r\n\r\n"
            ),
        ] {
            entry::http1(text.as_bytes());
        }
    }
    let words = [
        "\r\n",
        "\r\n\r\n",
        "\n",
        "HTTP/1.1 100 Continue\r\n\r\n",
        "Content-Length: 3\r\n",
        "Transfer-Encoding: chunked\r\n",
        "Connection: close\r\n",
        "0\r\n\r\n",
        "ffffffffffffffff\r\n",
        ": ",
    ];
    seeds.push(Vec::new());
    holds(&seeds, &words, entry::http1);
}

/// Templates that compile render, each value in its range.
#[test]
fn templates() {
    let texts = [
        "/t?from={int:1..100}&to={int:1..100!=from}&amount={int:1..10}",
        "{{\"a\":\"{int:1..10000}\",\"low\":{low:1..9},\"high\":{high:1..9},\"c\":\"{choice:x|y|z}\",\"n\":{seq}}",
        "/q/{file:words}?w={file:words}",
        "a={int:-5..5}",
    ];
    let seeds: Vec<Vec<u8>> = texts.iter().map(|text| text.as_bytes().to_vec()).collect();
    let words = [
        "{",
        "}",
        "{{",
        "{seq}",
        "{int:",
        "..",
        "!=from",
        "{low:1..9}",
        "{high:1..9}",
        "{file:words}",
        "|",
        "\"k\":",
        "?k=",
        "ü",
    ];
    holds(&seeds, &words, |data| {
        entry::template(&String::from_utf8_lossy(data))
    });
}

/// Bodies are JSON for the rules where they are JSON for `serde_json`.
#[test]
fn bodies() {
    let texts = [
        r#"{"a":"x\u00e9\ud83d\ude00","list":[{"n":1},{"n":2.50},{"n":3e1,"b":null}]}"#,
        r#"[[1,-2,0],[],[30000000000000000000000]]"#,
        r#"{"a":1,"a":"2","b":{"c":[true,false,{}]}}"#,
        "\"\u{fc}/\"",
        " -0.0e-0 ",
    ];
    let seeds: Vec<Vec<u8>> = texts.iter().map(|text| text.as_bytes().to_vec()).collect();
    let words = [
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\"",
        "\\",
        "\\u",
        "\\ud800",
        "null",
        "true",
        "1e999",
        "-",
        ".",
        "\n",
        "\u{1}",
        "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[",
        "é",
    ];
    holds(&seeds, &words, entry::body);
}

/// Plans that are accepted can be sent.
#[test]
fn plans() {
    let mut seeds = files("tests/golden", ".json");
    seeds.retain(|text| text.windows(8).any(|part| part == b"\"target\""));
    assert_eq!(seeds.len(), 7);
    let words = [
        "null",
        "true",
        "[]",
        "{}",
        ",",
        "\"",
        "\"HEAD\"",
        "\"POST\"",
        "{int:1..3}",
        "{file:words}",
        "\\r\\n",
        "\"body\":\"x\",",
        "\"open\"",
        "\"closed\"",
        "\"weight\":0,",
        " ",
        "#",
    ];
    holds(&seeds, &words, |data| {
        entry::plan(&String::from_utf8_lossy(data))
    });
}

/// Scripts that are accepted have an end for every request.
#[test]
fn scripts() {
    let words = [
        "status = 204\n",
        "raw = ''\n",
        "cut = 0\n",
        "pieces = 10000\n",
        "gap_ms = nan\n",
        "delay_ms = inf\n",
        "then = 'hang'\n",
        "framing = 'chunked'\n",
        "[[rule]]\n",
        "every = 1",
        "body = ''\n",
        "=",
        "\n",
    ];
    holds(&files("tests/faults", ".toml"), &words, |data| {
        entry::script(&String::from_utf8_lossy(data))
    });
}
