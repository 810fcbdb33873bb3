use super::*;

fn plan(json: &str) -> plan::Request {
    serde_json::from_str(json).unwrap()
}

fn read(_: &str) -> Result<Lines, EngineError> {
    Ok(Lines::from(["a \"b\"/ü".to_string()]))
}

fn render(json: &str, keep_alive: bool) -> String {
    let request = Request::compile(
        &plan(json),
        "127.0.0.1:80",
        keep_alive,
        &read,
        &Arc::default(),
    )
    .unwrap();
    let (mut values, mut body, mut out) = (Vec::new(), Vec::new(), Vec::new());
    request.slots.draw(7, 0, &mut values);
    request.render(&values, None, &mut body, &mut out);
    String::from_utf8(out).unwrap()
}

/// A request without a body ends at the blank line.
#[test]
fn plain_get() {
    let json = r#"{"kind":"a","method":"GET","path":"/ping","headers":[["accept","*/*"]],"expect":{"status":200}}"#;
    assert_eq!(
        render(json, true),
        "GET /ping HTTP/1.1\r\nhost: 127.0.0.1:80\r\naccept: */*\r\n\r\n"
    );
    assert!(render(json, false).ends_with("accept: */*\r\nconnection: close\r\n\r\n"));
}

/// A body carries its own length, whatever its slots drew; a POST without a body says so.
#[test]
fn bodies_have_a_length() {
    let json = r#"{"kind":"a","method":"POST","path":"/x","headers":[["Host","h"]],"body":"{{\"n\":{seq}}","expect":{"status":200}}"#;
    assert_eq!(
        render(json, true),
        "POST /x HTTP/1.1\r\nHost: h\r\ncontent-length: 7\r\n\r\n{\"n\":1}"
    );
    let json = r#"{"kind":"a","method":"POST","path":"/x","headers":[["host","h"]],"expect":{"status":200}}"#;
    assert_eq!(
        render(json, true),
        "POST /x HTTP/1.1\r\nhost: h\r\ncontent-length: 0\r\n\r\n"
    );
}

/// A header's value is a template: the first slot without another name is called as the header is, and a line stands as it is.
#[test]
fn headers_have_slots() {
    let json = r#"{"kind":"a","method":"GET","path":"/?a={int:1..1}",
        "headers":[["Authorization","Bearer {file:f}"],["cookie","id={choice:x}; at={at=int:5..5}"],["x","{{}"]],
        "expect":{"status":200,"body":{"json":{"a":{"slot":"a"},"t":{"slot":"authorization"},"i":{"slot":"id"},"n":{"slot":"at"}}}}}"#;
    assert_eq!(
        render(json, false),
        "GET /?a=1 HTTP/1.1\r\nhost: 127.0.0.1:80\r\nAuthorization: Bearer a \"b\"/ü\r\ncookie: id=x; at=5\r\nx: {}\r\nconnection: close\r\n\r\n"
    );
}

fn supply() -> Arc<Supply> {
    let json = r#"{"protocol":1,"seed":1,"target":{"host":"h","port":1},
        "load":{"model":"closed","connections":1,"window_s":1},
        "data":{"s":{"columns":["person","token"],"rows":[["1","a/b"],["2","c\"d"],["1","\u0001"]]}},
        "requests":[{"kind":"make","method":"POST","path":"/","expect":{"status":200},"keep":{"id":"id"}}]}"#;
    Arc::new(Supply::compile(&serde_json::from_str(json).unwrap()).unwrap())
}

/// All cells of a table in one request are of one row, which its seed and number alone decide; each is escaped by its place.
#[test]
fn cells_are_of_one_row() {
    let json = r#"{"kind":"a","method":"POST","path":"/{s.token}?n={int:1..9}","body":"{{\"t\":\"{s.token}\",\"p\":{who=s.person}}",
        "expect":{"status":200,"body":{"json":{"p":{"slot":"s.person"}}}},
        "ledger":[{"name":"l","account":"s.person","add":"1"},{"name":"l","account":"who","add":"n"}]}"#;
    let request = Request::compile(&plan(json), "h", true, &read, &supply()).unwrap();
    let mut seen = std::collections::BTreeSet::new();
    for number in 0..60 {
        let (mut values, mut body, mut out) = (Vec::new(), Vec::new(), Vec::new());
        request.slots.draw(7, number, &mut values);
        request.render(&values, None, &mut body, &mut out);
        let (text, body) = (
            String::from_utf8(out).unwrap(),
            String::from_utf8(body).unwrap(),
        );
        let (path, sent) = match request
            .slots
            .text(request.ledger[0].account, values[request.ledger[0].account])
            .as_str()
        {
            "1" if body.contains("a/b") => ("/a%2Fb?", r#"{"t":"a/b","p":1}"#),
            "1" => ("/%01?", r#"{"t":"\u0001","p":1}"#),
            _ => ("/c%22d?", r#"{"t":"c\"d","p":2}"#),
        };
        assert!(
            text.starts_with(&format!("POST {path}")) && body == sent,
            "{text}"
        );
        seen.insert(body);
    }
    assert_eq!(seen.len(), 3);
}

/// What no table and no request has, and what could break a header, is refused.
#[test]
fn supplies_are_checked() {
    let rows = [
        (
            r#""path":"/{s.wat}""#,
            "`{s.wat}`: there is no table and no kept value `s.wat`",
        ),
        (
            r#""path":"/{wat.id}""#,
            "`{wat.id}`: there is no table and no kept value `wat.id`",
        ),
        (
            r#""path":"/{s.person:once}""#,
            "`{s.person:once}` is of a table, whose rows stay; leave out `:once`",
        ),
        (
            r#""path":"/","headers":[["a","{s.token}"]]"#,
            "header `a` would hold `\\u{1}`, which is not HTTP",
        ),
        (
            r#""path":"/","headers":[["a","{choice:x|y"]]"#,
            "header `a`: `{choice:x|y` has no closing brace; write `{{` for a brace",
        ),
        (
            r#""path":"/?a={seq}","headers":[["a","{seq}"]]"#,
            "header `a`: two slots are called `a`",
        ),
        (
            r#""path":"/?a={b=seq}&b={seq}""#,
            "two slots are called `b`",
        ),
        (
            r#""path":"/{make.id}","ledger":[{"name":"l","account":"make.id","add":"1"}]"#,
            "ledger `l`: `make.id` is kept of an answer, and no account",
        ),
        (
            r#""path":"/{s.token}","log":["s.person"]"#,
            "`log`: slot `s.person` holds words; name slots that hold numbers",
        ),
        (
            r#""path":"/","ledger":[{"name":"l","account":"s.person","add":"1"}]"#,
            "ledger `l`: there is no slot `s.person` (slots: none has a name)",
        ),
        (
            r#""path":"/","keep":{"id":"a..b"}"#,
            "`keep`: `id` = `a..b`; write a name and a place such as `id`, `list.0.id` or `next?`",
        ),
    ];
    for (part, sentence) in rows {
        let json = format!(r#"{{"kind":"a","method":"GET",{part},"expect":{{"status":200}}}}"#);
        let found = Request::compile(&plan(&json), "h", true, &read, &supply()).unwrap_err();
        assert_eq!(found.to_string(), sentence);
    }
}

/// HEAD is answered without a body, so none can be right.
#[test]
fn head_has_no_body() {
    for (expect, fits) in [
        (r#""length":0"#, true),
        (r#""length":1"#, false),
        (r#""body":{"exact":"x"}"#, false),
        (r#""body":"any""#, false),
    ] {
        let json = format!(
            r#"{{"kind":"a","method":"HEAD","path":"/","expect":{{"status":200,{expect}}}}}"#
        );
        let compiled = Request::compile(&plan(&json), "h", true, &read, &Arc::default());
        assert_eq!(compiled.is_ok(), fits, "{expect}");
    }
}

/// A line of a file stays one value wherever it stands: percent-encoded in paths and forms, escaped in JSON, as it is elsewhere.
#[test]
fn lines_are_escaped() {
    let json =
        r#"{"kind":"a","method":"GET","path":"/{file:f}?q={file:f}","expect":{"status":200}}"#;
    let encoded = "a%20%22b%22%2F%C3%BC";
    assert!(render(json, true).starts_with(&format!("GET /{encoded}?q={encoded} HTTP/1.1")));
    let escaped = r#"{"q":"a \"b\"/ü"}"#;
    let body = r#"{{\"q\":\"{file:f}\"}"#;
    let rows = [
        ("", body, escaped),
        (
            r#"["Content-Type","application/json; charset=utf-8"]"#,
            body,
            escaped,
        ),
        (r#"["content-type","application/ld+json"]"#, body, escaped),
        (
            r#"["content-type","application/x-www-form-urlencoded"]"#,
            "q={file:f}",
            &format!("q={encoded}"),
        ),
        (
            r#"["content-type","text/plain"]"#,
            "q={file:f}",
            "q=a \"b\"/ü",
        ),
        ("", "q={file:f}", "q=a \"b\"/ü"),
    ];
    for (header, body, sent) in rows {
        let json = format!(
            r#"{{"kind":"a","method":"POST","path":"/","headers":[{header}],"body":"{body}","expect":{{"status":200}}}}"#
        );
        let whole = render(&json, true);
        assert_eq!(whole.split("\r\n\r\n").nth(1), Some(sent), "{json}");
    }
}

/// Every part that cannot be sent is refused with its reason.
#[test]
fn mistakes_have_sentences() {
    let rows = [
        (
            r#""method":"get","path":"/""#,
            "method `get` cannot be sent; write GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS",
        ),
        (
            r#""method":"GET","path":"x""#,
            "path `x` does not start with `/`",
        ),
        (
            r#""method":"GET","path":"/a b""#,
            "path `/a b` holds a byte that must be percent-encoded",
        ),
        (
            r#""method":"GET","path":"/{choice:a b}""#,
            "path `/{choice:a b}` holds a byte that must be percent-encoded",
        ),
        (
            r#""method":"GET","path":"/","headers":[["a","b\r\nc: d"]]"#,
            "header `a: b\r\nc: d` is not HTTP",
        ),
        (
            r#""method":"GET","path":"/","headers":[["a b","c"]]"#,
            "header `a b: c` is not HTTP",
        ),
        (
            r#""method":"GET","path":"/","headers":[["Connection","close"]]"#,
            "header `Connection` is the engine's own; leave it out (`keep_alive` decides on `connection`)",
        ),
        (
            r#""method":"GET","path":"/?a={seq}","ledger":[{"name":"l","account":"a","add":"-1000000000000001"}]"#,
            "ledger `l`: `-1000000000000001` goes beyond ±10^15",
        ),
        (
            r#""method":"GET","path":"/","ledger":[{"name":"l","account":"x","add":"1"}]"#,
            "ledger `l`: there is no slot `x` (slots: none has a name)",
        ),
        (
            r#""method":"GET","path":"/?a={seq}","ledger":[{"name":"l","account":"a","add":"-b"}]"#,
            "ledger `l`: there is no slot `b` (slots: `a`)",
        ),
        (
            r#""method":"GET","path":"/?a={choice:x}","ledger":[{"name":"l","account":"a","add":"a"}]"#,
            "ledger `l`: slot `a` holds words and cannot be added",
        ),
    ];
    assert_refused(&rows);
}

fn assert_refused(rows: &[(&str, &str)]) {
    for (part, sentence) in rows {
        let plan = plan(&format!(
            r#"{{"kind":"a",{part},"expect":{{"status":200}}}}"#
        ));
        assert_eq!(
            Request::compile(&plan, "h", true, &read, &Arc::default())
                .unwrap_err()
                .to_string(),
            *sentence
        );
    }
}

/// A log names slots that there are, and that hold numbers.
#[test]
fn logs_hold_numbers() {
    let rows = [
        (
            r#""method":"GET","path":"/?a={seq}","log":["b"]"#,
            "`log`: there is no slot `b` (slots: `a`)",
        ),
        (
            r#""method":"GET","path":"/?a={choice:x}","log":["a"]"#,
            "`log`: slot `a` holds words; name slots that hold numbers",
        ),
    ];
    assert_refused(&rows);
}
