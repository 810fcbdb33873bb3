//! One kind of request, compiled: rendered into bytes without allocation.

use crate::core::error::EngineError;
use crate::core::expect::Expect;
use crate::core::lines::Lines;
use crate::core::plan;
use crate::core::template::{Escape, MAX_ABS, Slots, Template, check_pairs};

#[derive(Debug)]
pub struct Request {
    pub kind: String,
    pub weight: u32,
    pub method: String,
    pub path: Template,
    /// From the space after the path to the blank line, without `content-length`.
    head_rest: Vec<u8>,
    body: Option<Template>,
    pub slots: Slots,
    pub expect: Expect,
    pub ledger: Vec<LedgerRule>,
    /// The slots that are told with the moment of each good answer; `None`: the moment is not told.
    pub log: Option<Vec<usize>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerRule {
    pub name: String,
    pub account: usize,
    pub add: Add,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Add {
    Slot { index: usize, sign: i64 },
    Constant(i64),
}

impl Request {
    /// `host`: the value of the `host` header where the plan names none. `read`: gives the lines of a file.
    pub fn compile(
        plan: &plan::Request,
        host: &str,
        keep_alive: bool,
        read: &dyn Fn(&str) -> Result<Lines, EngineError>,
    ) -> Result<Request, EngineError> {
        check_method(&plan.method)?;
        check_head(plan)?;
        let mut slots = Slots::default();
        let path = Template::compile(&plan.path, &mut slots, Escape::Url, read)?;
        check_path(&plan.path, &path, &slots)?;
        let body = plan
            .body
            .as_ref()
            .map(|body| {
                let escape = body_escape(&plan.headers, body);
                Template::compile(body, &mut slots, escape, read)
            })
            .transpose()?;
        check_pairs(&slots)?;
        let head_rest = compile_head(&plan.headers, host, keep_alive)?;
        let expect = Expect::compile(&plan.expect, &slots)?;
        let ledger = plan
            .ledger
            .iter()
            .map(|entry| compile_ledger(entry, &slots))
            .collect::<Result<_, _>>()?;
        let log = plan
            .log
            .as_ref()
            .map(|names| {
                names
                    .iter()
                    .map(|name| compile_logged(name, &slots))
                    .collect::<Result<Vec<usize>, EngineError>>()
            })
            .transpose()?;
        let kind = plan.kind.clone();
        Ok(Request {
            kind,
            weight: plan.weight,
            method: plan.method.clone(),
            path,
            head_rest,
            body,
            slots,
            expect,
            ledger,
            log,
        })
    }

    /// Writes the request with `values` in its slots into `out`, which is emptied first.
    pub fn render(&self, values: &[i64], body: &mut Vec<u8>, out: &mut Vec<u8>) {
        out.clear();
        out.extend_from_slice(self.method.as_bytes());
        out.push(b' ');
        self.path.render(&self.slots, values, out);
        out.extend_from_slice(&self.head_rest);
        match &self.body {
            Some(template) => {
                body.clear();
                template.render(&self.slots, values, body);
                out.extend_from_slice(b"content-length: ");
                out.extend_from_slice(itoa::Buffer::new().format(body.len()).as_bytes());
                out.extend_from_slice(b"\r\n\r\n");
                out.extend_from_slice(body);
            }
            None if self.method == "POST" || self.method == "PUT" || self.method == "PATCH" => {
                out.extend_from_slice(b"content-length: 0\r\n\r\n");
            }
            None => out.extend_from_slice(b"\r\n"),
        }
    }

    pub fn is_head(&self) -> bool {
        self.method == "HEAD"
    }
}

/// By the content type; a body without one is JSON if it begins like it.
fn body_escape(headers: &[(String, String)], body: &str) -> Escape {
    let named = headers
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case("content-type"));
    let Some((_, value)) = named else {
        let is_json = body.starts_with("{{") || body.starts_with('[');
        return if is_json { Escape::Json } else { Escape::AsIs };
    };
    let media = value.split(';').next().unwrap_or_default().trim();
    match media.to_ascii_lowercase().as_str() {
        "application/x-www-form-urlencoded" => Escape::Url,
        media if media.ends_with("/json") || media.ends_with("+json") => Escape::Json,
        _ => Escape::AsIs,
    }
}

fn check_method(method: &str) -> Result<(), EngineError> {
    if method.is_empty()
        || method == "CONNECT"
        || !method.bytes().all(|byte| byte.is_ascii_uppercase())
    {
        return Err(EngineError::Plan(format!(
            "method `{method}` cannot be sent; write GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS"
        )));
    }
    Ok(())
}

fn check_head(plan: &plan::Request) -> Result<(), EngineError> {
    let expects_body =
        plan.expect.body.is_some() || plan.expect.length.is_some_and(|length| length > 0);
    if plan.method == "HEAD" && expects_body {
        return Err(EngineError::Plan(
            "the answer to HEAD has no body; leave out `expect.body` and `expect.length`"
                .to_string(),
        ));
    }
    Ok(())
}

fn check_path(text: &str, path: &Template, slots: &Slots) -> Result<(), EngineError> {
    if !text.starts_with('/') {
        return Err(EngineError::Plan(format!(
            "path `{text}` does not start with `/`"
        )));
    }
    let safe = |bytes: &[u8]| {
        bytes
            .iter()
            .all(|byte| byte.is_ascii_graphic() && *byte != b'#')
    };
    if !path.literals().all(safe) || !slots.words().all(|word| safe(word.as_bytes())) {
        return Err(EngineError::Plan(format!(
            "path `{text}` holds a byte that must be percent-encoded"
        )));
    }
    Ok(())
}

fn compile_head(
    headers: &[(String, String)],
    host: &str,
    keep_alive: bool,
) -> Result<Vec<u8>, EngineError> {
    let mut head = String::from(" HTTP/1.1\r\n");
    if !headers
        .iter()
        .any(|(name, _)| name.eq_ignore_ascii_case("host"))
    {
        head.push_str(&format!("host: {host}\r\n"));
    }
    for (name, value) in headers {
        let is_token = !name.is_empty()
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte));
        if !is_token
            || value
                .bytes()
                .any(|byte| byte < b' ' && byte != b'\t' || byte == 0x7f)
        {
            return Err(EngineError::Plan(format!(
                "header `{name}: {value}` is not HTTP"
            )));
        }
        if ["content-length", "transfer-encoding", "connection"]
            .iter()
            .any(|own| name.eq_ignore_ascii_case(own))
        {
            return Err(EngineError::Plan(format!(
                "header `{name}` is the engine's own; leave it out (`keep_alive` decides on `connection`)"
            )));
        }
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    if !keep_alive {
        head.push_str("connection: close\r\n");
    }
    Ok(head.into_bytes())
}

fn compile_logged(name: &str, slots: &Slots) -> Result<usize, EngineError> {
    let index = slots
        .find(name)
        .map_err(|error| error.within(format_args!("`log`")))?;
    if !slots.is_number(index) {
        return Err(EngineError::Plan(format!(
            "`log`: slot `{name}` holds words; name slots that hold numbers"
        )));
    }
    Ok(index)
}

fn compile_ledger(entry: &plan::LedgerEntry, slots: &Slots) -> Result<LedgerRule, EngineError> {
    let within = |error: EngineError| error.within(format_args!("ledger `{}`", entry.name));
    let wrong = |sentence| within(EngineError::Plan(sentence));
    let account = slots.find(&entry.account).map_err(within)?;
    let add = match entry.add.parse::<i64>() {
        Ok(constant) if constant.unsigned_abs() > MAX_ABS as u64 => {
            return Err(wrong(format!("`{constant}` goes beyond ±10^15")));
        }
        Ok(constant) => Add::Constant(constant),
        Err(_) => {
            let (sign, name) = entry
                .add
                .strip_prefix('-')
                .map_or((1, entry.add.as_str()), |name| (-1, name));
            let index = slots.find(name).map_err(within)?;
            if !slots.is_number(index) {
                return Err(wrong(format!(
                    "slot `{name}` holds words and cannot be added"
                )));
            }
            Add::Slot { index, sign }
        }
    };
    Ok(LedgerRule {
        name: entry.name.clone(),
        account,
        add,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(json: &str) -> plan::Request {
        serde_json::from_str(json).unwrap()
    }

    fn read(_: &str) -> Result<Lines, EngineError> {
        Ok(Lines::from(["a \"b\"/ü".to_string()]))
    }

    fn render(json: &str, keep_alive: bool) -> String {
        let request = Request::compile(&plan(json), "127.0.0.1:80", keep_alive, &read).unwrap();
        let (mut values, mut body, mut out) = (Vec::new(), Vec::new(), b"old".to_vec());
        request.slots.draw(7, 0, &mut values);
        request.render(&values, &mut body, &mut out);
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

    /// HEAD is answered without a body, so none can be right.
    #[test]
    fn head_has_no_body() {
        for (expect, fits) in [
            (r#""length":0"#, true),
            (r#""length":1"#, false),
            (r#""body":{"exact":"x"}"#, false),
        ] {
            let json = format!(
                r#"{{"kind":"a","method":"HEAD","path":"/","expect":{{"status":200,{expect}}}}}"#
            );
            let compiled = Request::compile(&plan(&json), "h", true, &read);
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
                Request::compile(&plan, "h", true, &read)
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
}
