//! What an answer's headers must be.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::core::date;
use crate::core::error::EngineError;
use crate::core::http1::Headers;

/// Dates have no fractions: so many whole seconds may lie between one and the engine's clock.
const NOW_WITHIN_S: i64 = 2;

#[derive(Debug)]
pub struct HeaderRules(Box<[(String, HeaderRule)]>);

#[derive(Debug)]
enum HeaderRule {
    /// Any value that is not empty.
    Text,
    /// A date of HTTP that is now.
    Now,
    Absent,
    OneOf(Box<[String]>),
}

impl HeaderRules {
    pub fn compile(plan: &BTreeMap<String, Value>) -> Result<HeaderRules, EngineError> {
        let compile = |(name, rule): (&String, &Value)| {
            let rule = HeaderRule::compile(rule).ok_or_else(|| {
                EngineError::Plan(format!(
                    "`expect.headers`: `{name}` is {rule}; write \"text\", \"now\", \"absent\", {{\"equals\": TEXT}} or {{\"one_of\": [TEXT]}}"
                ))
            })?;
            Ok((name.clone(), rule))
        };
        let rules: Vec<_> = plan
            .iter()
            .map(compile)
            .collect::<Result<_, EngineError>>()?;
        for (place, (name, _)) in rules.iter().enumerate() {
            let is_token = |byte: u8| byte.is_ascii_graphic() && !b":,;\"".contains(&byte);
            if name.is_empty() || !name.bytes().all(is_token) {
                return Err(EngineError::Plan(format!(
                    "`expect.headers`: `{name}` is no name of a header"
                )));
            }
            let before = &rules[..place];
            if before
                .iter()
                .any(|(other, _)| other.eq_ignore_ascii_case(name))
            {
                return Err(EngineError::Plan(format!(
                    "`expect.headers` has two rules for `{name}`; write one"
                )));
            }
        }
        Ok(HeaderRules(rules.into_boxed_slice()))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The reason of a judgement. A header that stands several times is right if each of its values is.
    pub fn wrong(
        &self,
        headers: Headers,
        dates: &mut date::Memory,
        unix_now: impl Fn() -> f64,
    ) -> Option<String> {
        self.0.iter().find_map(|(name, rule)| {
            let mut is_there = false;
            for value in headers.named(name) {
                is_there = true;
                if let Some(why) = rule.wrong(value, dates, &unix_now) {
                    return Some(format!("the header `{name}` {why}"));
                }
            }
            let is_missing = !is_there && !matches!(rule, HeaderRule::Absent);
            is_missing.then(|| format!("the header `{name}` is missing"))
        })
    }
}

impl HeaderRule {
    fn compile(plan: &Value) -> Option<HeaderRule> {
        let text = |value: &Value| value.as_str().map(str::to_string);
        match plan {
            Value::String(word) => match word.as_str() {
                "text" => Some(HeaderRule::Text),
                "now" => Some(HeaderRule::Now),
                "absent" => Some(HeaderRule::Absent),
                _ => None,
            },
            Value::Object(fields) if fields.len() == 1 => match fields.iter().next()? {
                (key, value) if key == "equals" => Some(HeaderRule::OneOf([text(value)?].into())),
                (key, Value::Array(values)) if key == "one_of" && !values.is_empty() => Some(
                    HeaderRule::OneOf(values.iter().map(text).collect::<Option<_>>()?),
                ),
                _ => None,
            },
            _ => None,
        }
    }

    fn wrong(
        &self,
        value: &[u8],
        dates: &mut date::Memory,
        unix_now: &impl Fn() -> f64,
    ) -> Option<String> {
        let shown = || String::from_utf8_lossy(value).into_owned();
        match self {
            HeaderRule::Text if value.is_empty() => Some("is empty".to_string()),
            HeaderRule::Text => None,
            HeaderRule::Absent => Some(format!("is `{}` and must not be there", shown())),
            HeaderRule::OneOf(right) if right.iter().any(|text| text.as_bytes() == value) => None,
            HeaderRule::OneOf(right) => Some(format!(
                "is `{}` instead of `{}`",
                shown(),
                right.join("` or `")
            )),
            HeaderRule::Now => match dates.read(value) {
                None => Some(format!("is `{}`, which is no date of HTTP", shown())),
                Some(unix_s) => match unix_now().floor() as i64 - unix_s {
                    old_s if old_s.abs() <= NOW_WITHIN_S => None,
                    old_s if old_s > 0 => Some(format!("is {old_s} s old")),
                    ahead_s => Some(format!("is {} s ahead", -ahead_s)),
                },
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::http1::{Progress, Step};

    const NOON: f64 = 1_798_718_400.9;

    fn wrong(rules: &str, head: &str) -> Option<String> {
        let rules = HeaderRules::compile(&serde_json::from_str(rules).unwrap()).unwrap();
        let bytes = format!(
            "HTTP/1.1 103 Early\r\nserver: early\r\n\r\nHTTP/1.1 204 No Content\r\n{head}\r\n"
        );
        let mut progress = Progress::default().with_headers(true);
        assert_eq!(progress.step(bytes.as_bytes(), false, false), Step::Done);
        let headers = progress.answer(bytes.as_bytes()).headers;
        rules.wrong(headers, &mut date::Memory::default(), || NOON)
    }

    /// Each rule is fulfilled by what it says and by nothing else; names have no case, values do.
    #[test]
    fn each_rule() {
        let rows = [
            (r#"{"server":"text"}"#, "Server: x\r\n", ""),
            (
                r#"{"server":"text"}"#,
                "Server:\r\n",
                "the header `server` is empty",
            ),
            (
                r#"{"server":"text"}"#,
                "Serves: x\r\n",
                "the header `server` is missing",
            ),
            (r#"{"set-cookie":"absent"}"#, "a: b\r\n", ""),
            (
                r#"{"set-cookie":"absent"}"#,
                "Set-Cookie: a=b\r\n",
                "the header `set-cookie` is `a=b` and must not be there",
            ),
            (r#"{"X-Cache":{"equals":"miss"}}"#, "x-cache: miss\r\n", ""),
            (
                r#"{"X-Cache":{"equals":"miss"}}"#,
                "x-cache: Miss\r\n",
                "the header `X-Cache` is `Miss` instead of `miss`",
            ),
            (
                r#"{"x-cache":{"equals":"miss"}}"#,
                "x-cache: miss\r\nx-cache: hit\r\n",
                "the header `x-cache` is `hit` instead of `miss`",
            ),
            (
                r#"{"retry-after":{"one_of":["1","2"]}}"#,
                "Retry-After: 2\r\n",
                "",
            ),
            (
                r#"{"retry-after":{"one_of":["1","2"]}}"#,
                "Retry-After: 3\r\n",
                "the header `retry-after` is `3` instead of `1` or `2`",
            ),
        ];
        for (rules, head, reason) in rows {
            assert_eq!(
                wrong(rules, head).unwrap_or_default(),
                reason,
                "{rules} {head}"
            );
        }
    }

    /// A date is now for two whole seconds before and after; what is none says so.
    #[test]
    fn dates() {
        let rows = [
            ("Thu, 31 Dec 2026 11:59:58 GMT", ""),
            ("Thu, 31 Dec 2026 12:00:02 GMT", ""),
            (
                "Thu, 31 Dec 2026 11:59:48 GMT",
                "the header `date` is 12 s old",
            ),
            (
                "Thu, 31 Dec 2026 11:59:57 GMT",
                "the header `date` is 3 s old",
            ),
            (
                "Thu, 31 Dec 2026 12:00:03 GMT",
                "the header `date` is 3 s ahead",
            ),
            (
                "now",
                "the header `date` is `now`, which is no date of HTTP",
            ),
        ];
        for (date, reason) in rows {
            let found = wrong(r#"{"date":"now"}"#, &format!("Date: {date}\r\n"));
            assert_eq!(found.unwrap_or_default(), reason, "{date}");
        }
    }

    /// Rules that are none, and two for one header, are refused.
    #[test]
    fn mistakes_have_sentences() {
        let others = r#"; write "text", "now", "absent", {"equals": TEXT} or {"one_of": [TEXT]}"#;
        let rows = [
            (
                r#"{"a":"any"}"#,
                format!("`expect.headers`: `a` is \"any\"{others}"),
            ),
            (
                r#"{"a":{"equals":1}}"#,
                format!("`expect.headers`: `a` is {{\"equals\":1}}{others}"),
            ),
            (
                r#"{"a":{"one_of":[]}}"#,
                format!("`expect.headers`: `a` is {{\"one_of\":[]}}{others}"),
            ),
            (
                r#"{"a b":"text"}"#,
                "`expect.headers`: `a b` is no name of a header".to_string(),
            ),
            (
                r#"{"A":"text","a":"now"}"#,
                "`expect.headers` has two rules for `a`; write one".to_string(),
            ),
        ];
        for (rules, sentence) in rows {
            let rules = serde_json::from_str(rules).unwrap();
            assert_eq!(
                HeaderRules::compile(&rules).unwrap_err().to_string(),
                sentence
            );
        }
    }
}
