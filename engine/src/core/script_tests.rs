use super::*;

fn sent(toml: &str, number: u64, manner: Manner) -> (String, Act) {
    let script = Script::parse(toml).unwrap();
    let deed = script.deed_of(number);
    let mut acts = script.deeds().nth(deed).unwrap().acts(manner);
    let end = acts.pop().unwrap();
    let bytes = acts.into_iter().flat_map(|act| match act {
        Act::Send(bytes) => bytes,
        _ => Vec::new(),
    });
    (String::from_utf8(bytes.collect()).unwrap(), end)
}

/// The first rule whose turn it is decides; what no rule is for gets the plain answer.
#[test]
fn rules_by_number() {
    let rules = "[[rule]]\non = {every = 5, from = 3, to = 5}\nstatus = 503\n[[rule]]\non = {every = 2}\nstatus = 404";
    let script = Script::parse(rules).unwrap();
    let deeds: Vec<usize> = (0..11).map(|number| script.deed_of(number)).collect();
    assert_eq!(deeds, [1, 2, 1, 0, 0, 2, 1, 2, 0, 0, 1]);
}

/// An answer is written as its framing says, and the connection ends when it must.
#[test]
fn answers() {
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n";
    let rows = [
        (
            "",
            true,
            format!("{head}Connection: keep-alive\r\nContent-Length: 4\r\n\r\ngood"),
            Then::Keep,
        ),
        (
            "",
            false,
            format!("{head}Connection: close\r\nContent-Length: 4\r\n\r\ngood"),
            Then::Close,
        ),
        (
            "[answer]\nframing = 'chunked'\nbody = 'abc'\nthen = 'reset'",
            true,
            format!(
                "{head}Connection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n"
            ),
            Then::Reset,
        ),
        (
            "[answer]\nframing = 'close'",
            true,
            format!("{head}Connection: close\r\n\r\ngood"),
            Then::Close,
        ),
        (
            "[answer]\ncut = 12\nthen = 'hang'",
            true,
            "HTTP/1.1 200".to_string(),
            Then::Hang,
        ),
        (
            "[answer]\nraw = 'x'\npieces = 3",
            true,
            "x".to_string(),
            Then::Keep,
        ),
        (
            "[answer]\nlength = 9\nheaders = ['Connection: close']\ninformational = [103]",
            true,
            format!(
                "HTTP/1.1 103 Early Hints\r\n\r\n{head}Connection: close\r\nContent-Length: 9\r\n\r\ngood"
            ),
            Then::Keep,
        ),
    ];
    for (toml, keep_alive, bytes, then) in rows {
        let manner = Manner::new(keep_alive, false);
        assert_eq!(sent(toml, 0, manner), (bytes, Act::End(then)), "{toml}");
    }
}

/// An answer to HEAD, and one with a status that has no body, ends with its header; only `raw` can be wrong about that.
#[test]
fn answers_without_a_body() {
    let head = "Content-Type: text/plain\r\nConnection: keep-alive\r\n";
    let rows = [
        (
            "",
            true,
            format!("200 OK\r\n{head}Content-Length: 4\r\n\r\n"),
        ),
        (
            "framing = 'chunked'",
            true,
            format!("200 OK\r\n{head}Transfer-Encoding: chunked\r\n\r\n"),
        ),
        ("status = 204", false, format!("204 Scripted\r\n{head}\r\n")),
        (
            "status = 304",
            false,
            format!("304 Scripted\r\n{head}Content-Length: 4\r\n\r\n"),
        ),
        ("raw = 'HTTP/1.1 x'", true, "x".to_string()),
    ];
    for (answer, to_head, rest) in rows {
        let toml = format!("[answer]\n{answer}");
        let (bytes, end) = sent(&toml, 0, Manner::new(true, to_head));
        assert_eq!(bytes, format!("HTTP/1.1 {rest}"), "{answer}");
        assert_eq!(end, Act::End(Then::Keep));
    }
    for manner in Manner::ALL {
        assert_eq!(Manner::ALL[manner.index()], manner);
    }
}

/// Slow answers come in pieces with waits between them, never before the first without a delay.
#[test]
fn waits() {
    let script =
        Script::parse("[answer]\nraw = 'abcd'\npieces = 2\ngap_ms = 1.5\ndelay_ms = 3").unwrap();
    let acts = script.answer.acts(Manner::new(true, false));
    let (ab, cd) = (Act::Send(b"ab".to_vec()), Act::Send(b"cd".to_vec()));
    assert_eq!(
        acts,
        [
            Act::Wait(3_000_000),
            ab,
            Act::Wait(1_500_000),
            cd,
            Act::End(Then::Keep)
        ]
    );
}

/// A mistake is a sentence that names its place.
#[test]
fn mistakes() {
    let rows = [
        (
            "[[rule]]\non = {every = 2, from = 2}",
            "rule 1: turns 2 to 3 of each 2 are none",
        ),
        ("[[rule]]\n[[rule]]\npieces = 0", "rule 2: `pieces` is 0"),
        ("[answer]\nstatus = 20", "`answer`: `status` is 20"),
        ("[answer]\ndelay_ms = -1", "`answer`: a time is not"),
        ("[answer]\nbody = 'ü'", "`answer`: `body` and `raw`"),
        ("[refuse]\nevery = 0", "`refuse`: turns 0 to 1 of each 0"),
        ("[stall]\nevery_s = 1\nfor_ms = 1000", "`stall` needs"),
        ("[queue]\nmean_us = 0", "`queue.mean_us`"),
        ("wrong = 1", "the script cannot be read: "),
    ];
    for (toml, start) in rows {
        let error = Script::parse(toml).unwrap_err().to_string();
        assert!(error.starts_with(start), "{error}");
    }
}

/// Service times are exponential: mean and standard deviation are equal, and the seed alone decides.
#[test]
fn service_times() {
    let queue = Queue {
        mean_us: 500.0,
        seed: 3,
    };
    let times: Vec<f64> = (0..100_000)
        .map(|number| queue.service_ns(number) as f64)
        .collect();
    let mean = times.iter().sum::<f64>() / times.len() as f64;
    let variance = times.iter().map(|time| (time - mean).powi(2)).sum::<f64>() / times.len() as f64;
    assert!(
        (mean / 500_000.0 - 1.0).abs() < 0.01 && (variance.sqrt() / mean - 1.0).abs() < 0.02,
        "{mean}"
    );
}
