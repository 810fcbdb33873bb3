use super::*;

/// Every command line option is well formed, and none contradicts another.
#[test]
fn options_are_sound() {
    use clap::CommandFactory;
    Cli::command().debug_assert();
}

/// The direct form stands for a plan that the engine accepts, with every option in its place.
#[test]
fn direct_form_is_a_plan() {
    let line = "fairload run --url http://127.0.0.1:81/x?a={int:1..2} -c 3 -d 2 -X POST -H a:b --body hi --close --rate 9 --json";
    let Command::Run(args) = Cli::parse_from(line.split(' ')).command else {
        panic!("not `run`")
    };
    let config = Config::parse(&direct_plan(&args.direct).unwrap()).unwrap();
    assert_eq!(config.address.to_string(), "127.0.0.1:81");
    assert_eq!(
        (
            config.load.connections,
            config.load.keep_alive,
            config.load.rate_per_s
        ),
        (3, false, Some(9.0))
    );
    let (mut body, mut out) = (Vec::new(), Vec::new());
    config.requests[0].render(&[2], &mut body, &mut out);
    let expected = "POST /x?a=2 HTTP/1.1\r\nhost: 127.0.0.1:81\r\na: b\r\nconnection: close\r\ncontent-length: 2\r\n\r\nhi";
    assert_eq!(String::from_utf8(out).unwrap(), expected);
}

/// Addresses without path or port get `/` and 80; what is no address is refused.
#[test]
fn urls() {
    let direct = |url: &str| {
        let Command::Run(args) = Cli::parse_from(["fairload", "run", "--url", url]).command else {
            panic!("not `run`")
        };
        direct_plan(&args.direct)
            .map(|plan| serde_json::from_str::<serde_json::Value>(&plan).unwrap())
    };
    let rows = [
        ("http://h", "h", 80, "/"),
        ("http://h:1?q=1", "h", 1, "/?q=1"),
        ("http://[::1]/a", "[::1]", 80, "/a"),
        ("http://[::1]:8/a:b", "[::1]", 8, "/a:b"),
    ];
    for (url, host, port, path) in rows {
        let plan = direct(url).unwrap();
        assert_eq!(
            (
                plan["target"]["host"].as_str(),
                plan["target"]["port"].as_u64()
            ),
            (Some(host), Some(port)),
            "{url}"
        );
        assert_eq!(plan["requests"][0]["path"], path, "{url}");
    }
    assert_eq!(
        direct("https://h").unwrap_err(),
        "url `https://h` does not start with `http://`"
    );
    assert_eq!(
        direct("http://h:x/").unwrap_err(),
        "url `http://h:x/`: `x` is no port"
    );
}
