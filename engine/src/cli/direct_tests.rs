use clap::Parser;

use super::*;
use crate::load::outside;

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    direct: DirectArgs,
    #[arg(long)]
    plan: Option<String>,
}

fn plan(arguments: &str) -> Result<Value, String> {
    let line = Line::try_parse_from(["x"].into_iter().chain(arguments.split(' ')))
        .map_err(|error| error.to_string())?;
    let plan = line.direct.plan().map_err(|error| error.to_string())?;
    Ok(serde_json::from_str(&plan).unwrap())
}

/// The direct form stands for a plan that the engine accepts, with every option in its place.
#[test]
fn direct_form_is_a_plan() {
    let plan = plan(
        "http://127.0.0.1:81/x?a={int:1..2} -c 3 -d 2 -X POST -H a:b --body hi --close --rate 9 --kernel-timestamps",
    );
    let config = outside::config(&plan.unwrap().to_string()).unwrap();
    assert_eq!(config.address.to_string(), "127.0.0.1:81");
    let load = &config.load;
    assert_eq!(
        (load.connections, load.keep_alive, load.rate_per_s),
        (3, false, Some(9.0))
    );
    assert_eq!((config.window_s, load.kernel_timestamps), (2.0, true));
    let (mut body, mut out) = (Vec::new(), Vec::new());
    config.requests[0].render(&[2], None, &mut body, &mut out);
    let expected = "POST /x?a=2 HTTP/1.1\r\nhost: 127.0.0.1:81\r\na: b\r\nconnection: close\r\ncontent-length: 2\r\n\r\nhi";
    assert_eq!(String::from_utf8(out).unwrap(), expected);
}

/// What is expected of an answer, and how many requests are sent together, stand in the plan.
#[test]
fn expectations() {
    let plan_of = |options: &str| plan(&format!("http://127.0.0.1:1/?n={{seq}} {options}"));
    let found = plan_of(
        r#"--pipeline 16 --expect-type a/b --expect-type c/d --expect-json {"json":{"n":{"slot":"n"}}}"#,
    );
    let found = found.unwrap();
    assert_eq!(found["load"]["pipeline"], 16);
    let expect = &found["requests"][0]["expect"];
    assert_eq!(expect["content_type"], json!(["a/b", "c/d"]));
    assert_eq!(expect["body"], json!({"json": {"n": {"slot": "n"}}}));
    assert!(outside::config(&found.to_string()).is_ok());
    let wrong = plan_of("--expect-json {").unwrap_err();
    assert!(wrong.starts_with("--expect-json is not JSON: "), "{wrong}");
    for both in [
        "--pipeline 2 --close",
        "--pipeline 2 --rate 9",
        "--expect-json 1 --expect-body 1",
    ] {
        assert!(plan_of(both).is_err(), "{both}");
    }
}

/// A pause is told in milliseconds, and belongs to no rate.
#[test]
fn think_time() {
    let thinking = plan("http://127.0.0.1:1 --think 5ms").unwrap();
    assert_eq!(thinking["load"]["think_ms"], 5.0);
    assert!(outside::config(&thinking.to_string()).is_ok());
    assert!(plan("http://127.0.0.1:1 --think 5ms --rate 9").is_err());
}

/// Several rates are steps of the given length, or share the duration; a ramp has both its ends.
#[test]
fn rates_are_steps() {
    let rows = [
        (
            "--rate 1000,500 --step 5s",
            vec![(1000.0, 5.0), (500.0, 5.0)],
        ),
        ("--rate 1000,500 -d 3", vec![(1000.0, 1.5), (500.0, 1.5)]),
        (
            "--rate 100..400 --steps 4 --step 500ms",
            vec![(100.0, 0.5), (200.0, 0.5), (300.0, 0.5), (400.0, 0.5)],
        ),
        (
            "--rate 9..1 --steps 2 -d 2m",
            vec![(9.0, 60.0), (1.0, 60.0)],
        ),
    ];
    for (options, expected) in rows {
        let plan = plan(&format!("http://127.0.0.1:1 {options}")).unwrap();
        let config = outside::config(&plan.to_string()).unwrap();
        let steps: Vec<(f64, f64)> = config
            .steps()
            .iter()
            .map(|step| (step.rate_per_s, step.duration_ns as f64 / 1e9))
            .collect();
        assert_eq!(steps, expected, "{options}");
    }
    let plan = plan("http://127.0.0.1:1 --rate 1..10").unwrap();
    assert_eq!(plan["load"]["steps"].as_array().unwrap().len(), 10);
}

/// Options that do not belong together, and values that are none, are refused.
#[test]
fn mistakes_have_sentences() {
    let url = "http://h";
    let rows = [
        (
            format!("{url} --rate 5 --step 1"),
            "--step is for several rates",
        ),
        (
            format!("{url} --rate 5,6 --steps 3"),
            "--steps divides a ramp",
        ),
        (
            format!("{url} --rate 5..6 --steps 1"),
            "--steps is 1; write 2 to 100",
        ),
        (
            format!("{url} --rate 5;6"),
            "`5;6` is no rate; write 1000, 1000,2000,5000 or 1000..20000",
        ),
        (
            format!("{url} -d 1x"),
            "`1x` is no time; write 10, 10s, 500ms or 2m",
        ),
        (
            format!("{url} --rate 5,6 --step 1 -d 3"),
            "cannot be used with",
        ),
        (format!("{url} --step 1"), "--rate <RATES>"),
        (format!("{url} -c 3 --plan x"), "cannot be used with"),
        (
            format!("{url} -H nocolon"),
            "a header has no colon; write `name: value`",
        ),
        (
            "-c 3".to_string(),
            "give a URL or --plan; `fairload run --help` shows examples",
        ),
        (
            "ftp://h".to_string(),
            "url `ftp://h` does not start with `http://` or `https://`",
        ),
        (
            "http://h --insecure".to_string(),
            "--ca and --insecure belong to a url that begins with `https://`",
        ),
        (
            "https://h --insecure --ca x".to_string(),
            "cannot be used with",
        ),
        (
            "http://h:x/".to_string(),
            "url `http://h:x/`: `x` is no port",
        ),
    ];
    for (arguments, part) in rows {
        let sentence = plan(&arguments).unwrap_err();
        assert!(sentence.contains(part), "{arguments}: {sentence}");
    }
}

/// No JSON has them, and a plan without a number has another meaning: a warm-up of `inf` would never end.
#[test]
fn numbers_are_finite() {
    let rows = [
        ("--warmup inf", "`inf` is no time"),
        ("--warmup 1e308h", "`1e308h` is no time"),
        ("--rate nan", "`nan` is no rate"),
        ("--rate 5..1e400", "`1e400` is no rate"),
    ];
    for (options, part) in rows {
        let sentence = plan(&format!("http://h {options}")).unwrap_err();
        assert!(sentence.contains(part), "{options}: {sentence}");
    }
}

/// Addresses without path or port get `/` and 80.
#[test]
fn urls() {
    let rows = [
        ("http://h", "h", 80, "/"),
        ("http://h:1?q=1", "h", 1, "/?q=1"),
        ("http://[::1]/a", "[::1]", 80, "/a"),
        ("--url http://[::1]:8/a:b", "[::1]", 8, "/a:b"),
    ];
    for (url, host, port, path) in rows {
        let plan = plan(url).unwrap();
        assert_eq!(plan["target"], json!({"host": host, "port": port}), "{url}");
        assert_eq!(plan["requests"][0]["path"], path, "{url}");
    }
    let plan = plan("https://h/a --ca x.pem").unwrap();
    let tls = json!({"ca": "x.pem", "insecure": false});
    assert_eq!(
        plan["target"],
        json!({"host": "h", "port": 443, "tls": tls})
    );
}
