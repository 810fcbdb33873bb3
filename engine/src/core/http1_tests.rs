use super::*;

const PLAIN: &str =
    "HTTP/1.1 200 OK\r\nServer: x\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nhello";
const CHUNKED: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nhel\r\n2\r\nlo\r\n0\r\nTrailer: 1\r\n\r\n";
const INTERIM: &str = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nhello";

fn read(bytes: &str, to_head: bool, ended: bool) -> (Step, Progress) {
    let mut progress = Progress::default();
    let step = progress.step(bytes.as_bytes(), to_head, ended);
    (step, progress)
}

fn bad(bytes: &str) -> &'static str {
    match read(bytes, false, false).0 {
        Step::Bad(reason) => reason,
        step => panic!("{bytes:?} gave {step:?}"),
    }
}

/// An answer split in two at any byte gives the same answer as in one piece, and never an early one.
#[test]
fn split_in_two_anywhere() {
    for whole in [PLAIN, CHUNKED, INTERIM] {
        let bytes = whole.as_bytes();
        for at in 0..bytes.len() {
            let mut progress = Progress::default();
            assert_eq!(
                progress.step(&bytes[..at], false, false),
                Step::More,
                "{whole:?} cut at {at}"
            );
            assert_eq!(
                progress.step(bytes, false, false),
                Step::Done,
                "{whole:?} cut at {at}"
            );
            let answer = progress.answer(bytes);
            assert_eq!(
                (answer.status, answer.body, answer.extra_bytes),
                (200, &b"hello"[..], 0)
            );
            assert_eq!(answer.content_type, Some(&b"text/plain"[..]));
            assert!(!answer.close);
        }
    }
}

/// An answer that arrives byte by byte is read once, at its last byte.
#[test]
fn byte_by_byte() {
    for whole in [PLAIN, CHUNKED, INTERIM] {
        let mut progress = Progress::default();
        let steps: Vec<Step> = (1..=whole.len())
            .map(|end| progress.step(&whole.as_bytes()[..end], false, false))
            .collect();
        assert!(
            steps[..whole.len() - 1]
                .iter()
                .all(|step| *step == Step::More)
        );
        assert_eq!(steps[whole.len() - 1], Step::Done);
        assert_eq!(progress.answer(whole.as_bytes()).body, b"hello");
    }
}

/// Progress that was reset reads the next answer as if it were new.
#[test]
fn reset_forgets() {
    let (step, mut progress) = read(CHUNKED, false, false);
    assert_eq!(step, Step::Done);
    progress.reset();
    assert_eq!(progress.step(CHUNKED.as_bytes(), false, false), Step::Done);
    assert_eq!(progress.answer(CHUNKED.as_bytes()).body, b"hello");
}

/// Bytes after an answer are counted: nothing more was asked.
#[test]
fn extra_bytes_are_counted() {
    for (bytes, extra) in [
        (format!("{PLAIN}HTTP/1.1"), 8),
        (format!("{PLAIN}{PLAIN}"), PLAIN.len()),
        (format!("{CHUNKED}x"), 1),
    ] {
        let (step, progress) = read(&bytes, false, false);
        assert_eq!(step, Step::Done);
        assert_eq!(progress.answer(bytes.as_bytes()).extra_bytes, extra);
    }
}

/// HEAD, 204 and 304 have no body, whatever their headers say.
#[test]
fn answers_without_body() {
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n";
    let rows = [
        (head, true),
        ("HTTP/1.1 204 No Content\r\n\r\n", false),
        (
            "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n",
            false,
        ),
    ];
    for (bytes, to_head) in rows {
        let (step, progress) = read(bytes, to_head, false);
        assert_eq!(step, Step::Done, "{bytes:?}");
        assert_eq!(progress.answer(bytes.as_bytes()).body, b"");
    }
}

/// The connection ends after the answer where the version or the header says so.
#[test]
fn connection_close() {
    let rows = [
        ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", false),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: Close\r\n\r\n",
            true,
        ),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: foo , close\r\n\r\n",
            true,
        ),
        ("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n", true),
        (
            "HTTP/1.0 200 OK\r\nContent-Length: 0\r\nConnection: keep-alive\r\n\r\n",
            false,
        ),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\nConnection: keep-alive\r\n\r\n",
            true,
        ),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: keep-alive, close\r\n\r\n",
            true,
        ),
        (
            "HTTP/1.0 200 OK\r\nContent-Length: 0\r\nConnection: close, keep-alive\r\n\r\n",
            true,
        ),
    ];
    for (bytes, close) in rows {
        let (step, progress) = read(bytes, false, false);
        assert_eq!(step, Step::Done, "{bytes:?}");
        assert_eq!(progress.answer(bytes.as_bytes()).close, close, "{bytes:?}");
    }
}

/// A body without a length ends with the connection, and only then.
#[test]
fn body_until_close() {
    let bytes = "HTTP/1.1 200 OK\r\n\r\nhello";
    let mut progress = Progress::default();
    assert_eq!(progress.step(bytes.as_bytes(), false, false), Step::More);
    assert_eq!(progress.step(bytes.as_bytes(), false, true), Step::Done);
    let answer = progress.answer(bytes.as_bytes());
    assert_eq!((answer.body, answer.close), (&b"hello"[..], true));
}

/// A body that is cut short is not an answer.
#[test]
fn cut_short() {
    assert_eq!(read(&PLAIN[..PLAIN.len() - 1], false, true).0, Step::More);
    assert_eq!(
        read(&CHUNKED[..CHUNKED.len() - 1], false, true).0,
        Step::More
    );
}

const GARBAGE: &[(&str, &str)] = &[
    (
        "SSH-2.0-OpenSSH_9.2\r\n",
        "the answer does not start with `HTTP/1.1` or `HTTP/1.0`",
    ),
    (
        "\0\0\0",
        "the answer does not start with `HTTP/1.1` or `HTTP/1.0`",
    ),
    (
        "HTTP/2.0 200 OK\r\n\r\n",
        "the answer does not start with `HTTP/1.1` or `HTTP/1.0`",
    ),
    ("HTTP/1.1 2x0 OK\r\n\r\n", "the status line is not HTTP"),
    (
        "HTTP/1.1 200 OK\r\nbad header\r\n\r\n",
        "a header is not HTTP",
    ),
    (
        "HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n",
        "`content-length` is not a number",
    ),
    (
        "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n",
        "`content-length` is not a number",
    ),
    (
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        "two different `content-length`",
    ),
    (
        "HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n",
        BODY_TOO_LONG,
    ),
    (
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
        "`transfer-encoding` is not `chunked`",
    ),
    (
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n",
        "both `content-length` and `transfer-encoding`",
    ),
    (
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        "a chunk's size is not a hexadecimal number",
    ),
    (
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nabcd\r\n",
        "a chunk is longer than its size says",
    ),
    (
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n\r\n\r\n",
        "a chunk's size is not a hexadecimal number",
    ),
    (
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n\r\n5\r\nworld\r\n0\r\n\r\n",
        "a chunk's size is not a hexadecimal number",
    ),
    (
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nrubbish\r\n\r\n",
        "the trailers are not HTTP, or more than 128",
    ),
    (
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffff\r\n",
        BODY_TOO_LONG,
    ),
    (
        "HTTP/1.1 101 Switching Protocols\r\n\r\n",
        "status 101 to a request that asked for no upgrade",
    ),
    (
        "HTTP/1.1 099 Odd\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
        "a status below 100",
    ),
];

/// What is not HTTP is called so, with the reason.
#[test]
fn garbage_has_a_reason() {
    for &(bytes, reason) in GARBAGE {
        assert_eq!(bad(bytes), reason, "{bytes:?}");
    }
}

/// Endless headers, header lines and chunk lines end in `Bad`, not in memory.
#[test]
fn limits_hold() {
    assert_eq!(
        bad(&format!(
            "HTTP/1.1 200 OK\r\nx: {}",
            "a".repeat(MAX_HEAD_BYTES)
        )),
        "the header is longer than 32 KiB"
    );
    assert_eq!(
        bad(&format!(
            "HTTP/1.1 200 OK\r\nx: {}\r\nContent-Length: 0\r\n\r\n",
            "a".repeat(MAX_HEAD_BYTES)
        )),
        "the header is longer than 32 KiB",
        "it came whole"
    );
    assert_eq!(
        bad(&format!(
            "HTTP/1.1 200 OK\r\n{}\r\n",
            "x: y\r\n".repeat(129)
        )),
        "more than 128 headers"
    );
    let chunks = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    assert_eq!(
        bad(&format!("{chunks}1;{}", "a".repeat(MAX_CHUNK_LINE_BYTES))),
        "a chunk's size line is too long"
    );
    let long = "a".repeat(MAX_CHUNK_LINE_BYTES - 100);
    assert_eq!(
        bad(&format!(
            "{chunks}0\r\n{}",
            format!("x: {long}\r\n").repeat(9)
        )),
        "the trailers are longer than 32 KiB"
    );
    let chunk = format!("1;{long}\r\nx\r\n");
    let whole = format!("{chunks}{}", chunk.repeat(20));
    let step = |most| Progress::new(most).step(whole.as_bytes(), false, false);
    assert_eq!(
        (step(1000), step(8000)),
        (
            Step::Bad("the chunks take more than 8 times the longest body"),
            Step::More
        )
    );
}

/// Random bytes, and answers with one byte changed, never panic.
#[test]
fn mutations_never_panic() {
    for whole in [PLAIN, CHUNKED, INTERIM] {
        for at in 0..whole.len() {
            for value in [0, b'\r', b'\n', b' ', b'0', b'f', b':', 0xff] {
                let mut bytes = whole.as_bytes().to_vec();
                bytes[at] = value;
                let mut progress = Progress::default();
                for end in [at, bytes.len()] {
                    if progress.step(&bytes[..end], false, end == bytes.len()) == Step::Done {
                        assert!(progress.answer(&bytes[..end]).body.len() <= bytes.len());
                    }
                }
            }
        }
    }
}

/// The more connections there are, the less each may hold, and never less than 256 KiB; a body of any framing is read no further.
#[test]
fn bodies_share_what_is_held() {
    let rows = [
        (1, MAX_BODY_BYTES),
        (16, MAX_BODY_BYTES),
        (100, HELD_BYTES / 100),
        (100_000, LEAST_BODY_BYTES),
    ];
    for (connections, most) in rows {
        assert_eq!(most_body_bytes(connections), most);
    }
    let heads = ["Content-Length: 5", "Transfer-Encoding: chunked", "A: b"];
    for (head, body) in heads.iter().zip(["", "5\r\n", "hello"]) {
        let whole = format!("HTTP/1.1 200 OK\r\n{head}\r\n\r\n{body}");
        let step = |most| Progress::new(most).step(whole.as_bytes(), false, false);
        assert_eq!(
            (step(5), step(4)),
            (Step::More, Step::Bad(BODY_TOO_LONG)),
            "{head}"
        );
    }
}
