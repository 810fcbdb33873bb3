use super::*;

fn plan(load: &str, requests: &str) -> String {
    format!(
        r#"{{"protocol":1,"seed":1,"target":{{"host":"127.0.0.1","port":9}},"load":{{{load}}},"requests":[{requests}]}}"#
    )
}

const LOAD: &str = r#""model":"closed","connections":10,"window_s":1"#;
const PING: &str = r#"{"kind":"ping","method":"GET","path":"/ping","expect":{"status":200}}"#;

fn parse(json: &str) -> Result<Config, String> {
    Config::parse(json, &NOWHERE).map_err(|error| error.to_string())
}

/// What a plan leaves out gets the documented default.
#[test]
fn defaults() {
    let config = parse(&plan(LOAD, PING)).unwrap();
    assert_eq!(
        (
            config.load.threads,
            config.load.timeout_ms,
            config.load.keep_alive,
            config.load.think_ms
        ),
        (1, 10_000, true, 0.0)
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
            "`load.rate_per_s`, `load.steps` and `load.arrivals` belong to the model `open`; leave them out",
        ),
        (
            closed(("closed", "open")),
            "the model `open` needs `load.rate_per_s` or `load.steps`",
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
        assert_eq!(parse(&json).unwrap_err(), sentence, "{json}");
    }
    for (json, part) in [
        ("{", "the plan cannot be read: EOF"),
        (&plan("\"wat\":1", PING), "unknown field `wat`"),
    ] {
        let sentence = parse(json).unwrap_err();
        assert!(sentence.contains(part), "{sentence}");
    }
}

/// Pauses are bounded, and belong to a closed loop.
#[test]
fn think_time() {
    let thinking = |load: &str| parse(&plan(load, PING));
    let load = format!("{LOAD},\"think_ms\":2.5");
    assert_eq!(thinking(&load).unwrap().load.think_ms, 2.5);
    for wrong in ["-1", "60001"] {
        let sentence = format!("`load.think_ms` is {wrong}; write 0 to 60000");
        assert_eq!(thinking(&load.replace("2.5", wrong)).unwrap_err(), sentence);
    }
    let open = load.replace("closed", "open") + ",\"rate_per_s\":5";
    assert_eq!(
        thinking(&open).unwrap_err(),
        "`load.think_ms` belongs to the model `closed`; leave it out"
    );
}

/// A kind that keeps has a name of its own, and no kind waits for itself, however far around.
#[test]
fn fillers() {
    let kind = |kind: &str, path: &str, keep: &str| {
        format!(
            r#"{{"kind":"{kind}","method":"POST","path":"{path}","expect":{{"status":200}},"keep":{keep}}}"#
        )
    };
    let keeps = r#"{"id":"id"}"#;
    let chain = [
        kind("a", "/", keeps),
        kind("b", "/{a.id}", keeps),
        kind("c", "/{b.id:once}", "{}"),
    ];
    let config = parse(&plan(LOAD, &chain.join(","))).unwrap();
    let draws: Vec<_> = config.requests.iter().map(|one| one.draws).collect();
    let draw = |kind, once| Some(Draws { kind, once });
    assert_eq!(draws, [None, draw(0, false), draw(1, true)]);
    let rows = [
        (
            vec![
                kind("a", "/{c.id}", keeps),
                kind("b", "/{a.id}", keeps),
                kind("c", "/{b.id}", keeps),
            ],
            "request `a` waits for answers that wait for its own",
        ),
        (
            vec![kind("a", "/{a.id}", keeps)],
            "request `a` waits for answers that wait for its own",
        ),
        (
            vec![kind("a", "/", keeps), kind("a", "/", keeps)],
            "`a` keeps, and something else has its name; call it otherwise",
        ),
        (
            vec![
                kind("a", "/", keeps),
                kind("b", "/", keeps),
                kind("c", "/{a.id}/{b.id}", "{}"),
            ],
            "request `c`: `{b.id}` is of a second kind; a request names the answers of one",
        ),
    ];
    for (requests, sentence) in rows {
        assert_eq!(
            parse(&plan(LOAD, &requests.join(","))).unwrap_err(),
            sentence
        );
    }
}

const STEP: &str = r#"{"rate_per_s":10,"duration_s":1.5}"#;

/// Steps make the window as long as they are together, and every step has the limits of a rate and of a time.
#[test]
fn steps() {
    let steps = |more: &str, steps: &str| {
        let load = format!(r#""model":"open","connections":1{more},"steps":[{steps}]"#);
        parse(&plan(&load, PING))
    };
    let two = steps("", &format!("{STEP},{STEP}")).unwrap();
    assert_eq!((two.window_s, two.steps().len()), (3.0, 2));
    let many = vec![STEP; 101].join(",");
    let rows = [
        (
            r#","window_s":3"#,
            STEP,
            "`load.window_s` is as long as all of `load.steps`; leave it out",
        ),
        (
            r#","rate_per_s":3"#,
            STEP,
            "`load.rate_per_s` and `load.steps` exclude each other",
        ),
        ("", "", "`load.steps` has 0 steps; write 1 to 100"),
        ("", &many, "`load.steps` has 101 steps; write 1 to 100"),
        (
            "",
            r#"{"rate_per_s":0,"duration_s":1}"#,
            "`load.steps[0].rate_per_s` is 0; write 0.001 to 10000000 requests/s",
        ),
        (
            "",
            r#"{"rate_per_s":1,"duration_s":0.01}"#,
            "`load.steps[0].duration_s` is 0.01; write seconds from 0.1 to 86400",
        ),
    ];
    for (more, list, sentence) in rows {
        assert_eq!(steps(more, list).unwrap_err(), sentence);
    }
    let closed = plan(
        &format!(r#""model":"closed","connections":1,"steps":[{STEP}]"#),
        PING,
    );
    assert!(
        parse(&closed)
            .unwrap_err()
            .contains("belong to the model `open`")
    );
    let neither = plan(r#""model":"closed","connections":1"#, PING);
    assert_eq!(parse(&neither).unwrap_err(), "`load.window_s` is missing");
}

/// A mix follows its weights, and depends on the request's number alone.
#[test]
fn mix_follows_weights() {
    let mix = format!(
        "{},{}",
        PING.replace("\"kind\"", "\"weight\":3,\"kind\""),
        PING.replace("\"kind\":\"ping\"", "\"kind\":\"b\"")
    );
    let config = parse(&plan(LOAD, &mix)).unwrap();
    let second = (0..40_000)
        .filter(|number| config.kind_of(*number) == 1)
        .count();
    assert!((9_500..10_500).contains(&second), "{second}");
    assert_eq!(config.kind_of(77), config.kind_of(77));
}

/// All connections are dealt out, none twice.
#[test]
fn connections_are_dealt() {
    let config = parse(&plan(&format!("{LOAD},\"threads\":3"), PING)).unwrap();
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
        ("a", 80, false, "a"),
        ("a", 81, false, "a:81"),
        ("::1", 81, false, "[::1]:81"),
        ("[::1]", 80, false, "[::1]"),
        ("a", 443, true, "a"),
        ("a", 80, true, "a:80"),
    ];
    for (host, port, tls, header) in rows {
        let target = Target {
            host: host.to_string(),
            port,
            tls: tls.then(Tls::default),
        };
        assert_eq!(host_header(&target), header);
    }
}

/// Whom to believe is said once, and TLS without any word of it believes this machine's authorities.
#[test]
fn targets_by_tls() {
    let plan = |tls: &str| {
        let json = plan(LOAD, PING);
        Config::parse(
            &json.replace("\"port\":", &format!("\"tls\":{tls},\"port\":")),
            &NOWHERE,
        )
    };
    assert_eq!(plan("null").unwrap().tls, None);
    assert_eq!(plan("{}").unwrap().tls, Some(Tls::default()));
    let name = plan(r#"{"name":"a","insecure":true}"#)
        .unwrap()
        .tls
        .unwrap();
    assert_eq!((name.name.as_deref(), name.insecure), (Some("a"), true));
    assert_eq!(
        plan(r#"{"ca":"x","insecure":true}"#)
            .unwrap_err()
            .to_string(),
        "`target.tls` has `ca` and `insecure`; leave one of them out"
    );
}

/// Which bodies are compared hangs on the secret, has no period, and has the share that was asked for.
#[test]
fn checks_are_drawn() {
    let json = plan(LOAD, &PING.replace("200", "200,\"check_one_in\":10"));
    let drawn = |secret| {
        let outside = Outside { secret, ..NOWHERE };
        let config = Config::parse(&json, &outside).unwrap();
        (0..10_000)
            .map(|number| config.is_checked(0, number))
            .collect::<Vec<_>>()
    };
    let one = drawn(1);
    assert!(one == drawn(1) && one != drawn(2));
    let count = one.iter().filter(|checked| **checked).count();
    assert!((800..1200).contains(&count), "{count}");
    let again = |period: usize| (period..one.len()).all(|at| one[at] == one[at - period]);
    assert!(!(1..200).any(again));
}
