use super::*;
use crate::core::http1::Headers;

/// Judges one body after the other against bytes that came with a coding.
fn hold(plan: &str, rows: &[(Option<&str>, &[u8], bool)]) {
    let bytes = Bytes::compile(&serde_json::from_str(plan).unwrap()).unwrap();
    let mut known = Vec::new();
    for (coding, body, is_right) in rows {
        let answer = Answer {
            status: 200,
            content_type: None,
            content_encoding: coding.map(str::as_bytes),
            headers: Headers::default(),
            body,
            close: false,
            extra_bytes: 0,
        };
        let found = bytes.wrong(&answer, &mut known);
        assert_eq!(found.is_none(), *is_right, "{coding:?}: {found:?}");
    }
}

/// Bytes need be no text; what is compressed anew is right while it holds the same, and a lie in it is found.
#[test]
fn bytes() {
    use flate2::{Compression, GzBuilder};
    use std::io::Write;
    let gzip = |text: &[u8], time: u32| {
        let mut encoder = GzBuilder::new()
            .mtime(time)
            .write(Vec::new(), Compression::fast());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    };
    let plain = format!(r#"{{"base64":"{}"}}"#, BASE64.encode(b"\xff\0x"));
    hold(
        &plain,
        &[
            (None, b"\xff\0x", true),
            (None, b"\xff\0y", false),
            (None, b"\xff\0", false),
            (Some("gzip"), &gzip(b"\xff\0x", 1), true),
        ],
    );
    let (first, later, lie) = (gzip(b"one", 1), gzip(b"one", 2), gzip(b"two", 1));
    let coded = format!(
        r#"{{"base64":"{}","coding":"gzip"}}"#,
        BASE64.encode(&first)
    );
    hold(
        &coded,
        &[
            (Some("gzip"), &first, true),
            (Some("gzip"), &later, true),
            (Some("gzip"), &later, true),
            (Some("gzip"), &lie, false),
            (Some("gzip"), &later[..later.len() - 3], false),
            (None, &first, false),
            (None, b"one", true),
        ],
    );
}
