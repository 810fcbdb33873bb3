//! One kind of request, compiled: rendered into bytes without allocation.

use std::sync::Arc;

use crate::core::data::Supply;
use crate::core::error::EngineError;
use crate::core::expect::Expect;
use crate::core::kept::{Keep, Kept};
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
    head_rest: Template,
    body: Option<Template>,
    pub slots: Slots,
    pub expect: Expect,
    pub ledger: Vec<LedgerRule>,
    /// The slots that are told with the moment of each good answer; `None`: the moment is not told.
    pub log: Option<Vec<usize>>,
    pub keep: Keep,
    /// Whose answers it names; set when all kinds of the plan are known.
    pub draws: Option<Draws>,
}

/// The number of the kind whose kept answers a request names, and whether it takes them out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Draws {
    pub kind: usize,
    pub once: bool,
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
        supply: &Arc<Supply>,
    ) -> Result<Request, EngineError> {
        check_method(&plan.method)?;
        check_head(plan)?;
        let mut slots = Slots::new(supply);
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
        let head_rest = compile_head(&plan.headers, host, keep_alive, &mut slots, read)?;
        check_pairs(&slots)?;
        slots.complete();
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
            keep: Keep::compile(&plan.keep)?,
            draws: None,
        })
    }

    /// Appends the request with `values` in its slots to `out`.
    pub fn render(
        &self,
        values: &[i64],
        kept: Option<&Kept>,
        body: &mut Vec<u8>,
        out: &mut Vec<u8>,
    ) {
        out.extend_from_slice(self.method.as_bytes());
        out.push(b' ');
        self.path.render(&self.slots, values, kept, out);
        self.head_rest.render(&self.slots, values, kept, out);
        match &self.body {
            Some(template) => {
                body.clear();
                template.render(&self.slots, values, kept, body);
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
    let expects_body = plan.expect.body.is_some()
        || !plan.keep.is_empty()
        || plan.expect.length.is_some_and(|length| length > 0);
    if plan.method == "HEAD" && expects_body {
        return Err(EngineError::Plan(
            "the answer to HEAD has no body; leave out `expect.body`, `expect.length` and `keep`"
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
    slots: &mut Slots,
    read: &dyn Fn(&str) -> Result<Lines, EngineError>,
) -> Result<Template, EngineError> {
    let mut head = Template::from(" HTTP/1.1\r\n");
    if !headers
        .iter()
        .any(|(name, _)| name.eq_ignore_ascii_case("host"))
    {
        head.push_text(&format!("host: {host}\r\n"));
    }
    for (name, value) in headers {
        let is_token = !name.is_empty()
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte));
        if !is_token || !is_value(value) {
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
        let first = slots.len();
        let called = name.to_ascii_lowercase();
        let template = Template::compile_in(&called, value, slots, Escape::AsIs, read)
            .map_err(|error| error.within(format_args!("header `{name}`")))?;
        if let Some(word) = slots.words_from(first).find(|word| !is_value(word)) {
            return Err(EngineError::Plan(format!(
                "header `{name}` would hold `{}`, which is not HTTP",
                word.escape_debug()
            )));
        }
        head.push_text(&format!("{name}: "));
        head.push(template);
        head.push_text("\r\n");
    }
    if !keep_alive {
        head.push_text("connection: close\r\n");
    }
    Ok(head)
}

/// Whether a text can be a header's value.
fn is_value(text: &str) -> bool {
    let is_control = |byte| byte < b' ' && byte != b'\t' || byte == 0x7f;
    !text.bytes().any(is_control)
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
    if slots.kept_field(account).is_some() {
        return Err(wrong(format!(
            "`{}` is kept of an answer, and no account",
            entry.account
        )));
    }
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
#[path = "request_tests.rs"]
mod tests;
