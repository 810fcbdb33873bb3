use super::*;

fn plan(load: &str, requests: &str) -> String {
    format!(
        r#"{{"protocol":1,"seed":1,"target":{{"host":"127.0.0.1","port":9}},"load":{{{load}}},"requests":[{requests}]}}"#
    )
}

const LOAD: &str = r#""model":"closed","connections":10,"window_s":1"#;
const PING: &str = r#"{"kind":"ping","method":"GET","path":"/ping","expect":{"status":200}}"#;

/// What a plan leaves out gets the documented default.
#[test]
fn defaults() {
    let config = Config::parse(&plan(LOAD, PING)).unwrap();
    assert_eq!(
        (
            config.load.threads,
            config.load.timeout_ms,
            config.load.keep_alive
        ),
        (1, 10_000, true)
    );
    assert_eq!(
        (
            config.load.warmup_s,
            config.requests[0].weight,
            config.requests[0].expect.check_one_in
        ),
        (None, 1, 1)
    );
}

/// Every limit is refused with a sentence that names the field and what may stand there.
#[test]
fn mistakes_have_sentences() {
    let closed = |change: (&str, &str)| plan(&LOAD.replace(change.0, change.1), PING);
    let rows = [
        (
            closed(("10", "0")),
            "`load.connections` is 0; write 1 to 100000",
        ),
        (
            closed(("\"window_s\":1", "\"window_s\":0")),
            "`load.window_s` is 0; write seconds above 0, up to 86400",
        ),
        (
            closed(("10", "10,\"threads\":11")),
            "`load.threads` is 11; write 1 to 10 (a thread needs a connection)",
        ),
        (
            closed(("10", "10,\"warmup_s\":-1")),
            "`load.warmup_s` is -1; write seconds from 0 to 86400, or null",
        ),
        (
            closed(("10", "10,\"timeout_ms\":0")),
            "`load.timeout_ms` is 0; write 1 to 60000",
        ),
        (
            closed(("10", "10,\"rate_per_s\":5")),
            "`load.rate_per_s` and `load.arrivals` belong to the model `open`; leave them out",
        ),
        (
            closed(("closed", "open")),
            "the model `open` needs `load.rate_per_s`",
        ),
        (
            plan(LOAD, ""),
            "the plan has no request with a weight above 0",
        ),
        (
            plan(LOAD, PING).replace("\"protocol\":1", "\"protocol\":2"),
            "the plan speaks protocol 2, this engine speaks 1",
        ),
        (
            plan(LOAD, &PING.replace("/ping", "ping")),
            "request `ping`: path `ping` does not start with `/`",
        ),
    ];
    for (json, sentence) in rows {
        assert_eq!(Config::parse(&json).unwrap_err(), sentence, "{json}");
    }
    for (json, part) in [
        ("{", "the plan cannot be read: EOF"),
        (&plan("\"wat\":1", PING), "unknown field `wat`"),
    ] {
        let sentence = Config::parse(json).unwrap_err();
        assert!(sentence.contains(part), "{sentence}");
    }
}

/// A mix follows its weights, and depends on the request's number alone.
#[test]
fn mix_follows_weights() {
    let mix = format!(
        "{},{}",
        PING.replace("\"kind\"", "\"weight\":3,\"kind\""),
        PING.replace("\"kind\":\"ping\"", "\"kind\":\"b\"")
    );
    let config = Config::parse(&plan(LOAD, &mix)).unwrap();
    let second = (0..40_000)
        .filter(|number| config.kind_of(*number) == 1)
        .count();
    assert!((9_500..10_500).contains(&second), "{second}");
    assert_eq!(config.kind_of(77), config.kind_of(77));
}

/// All connections are dealt out, none twice.
#[test]
fn connections_are_dealt() {
    let config = Config::parse(&plan(&format!("{LOAD},\"threads\":3"), PING)).unwrap();
    assert_eq!(
        (0..3)
            .map(|thread| config.connections_of(thread))
            .collect::<Vec<_>>(),
        [4, 3, 3]
    );
}

/// The `host` header names the port unless it is 80, and brackets IPv6 addresses.
#[test]
fn host_headers() {
    let rows = [
        ("a", 80, "a"),
        ("a", 81, "a:81"),
        ("::1", 81, "[::1]:81"),
        ("[::1]", 80, "[::1]"),
    ];
    for (host, port, header) in rows {
        assert_eq!(
            host_header(&Target {
                host: host.to_string(),
                port
            }),
            header
        );
    }
}
