//! The right answer to a request, compiled, and the comparison with the answer that came.

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::core::bytes::{Bytes, difference};
use crate::core::date;
use crate::core::error::EngineError;
use crate::core::headers::HeaderRules;
use crate::core::http1::Answer;
use crate::core::judge::{Judge, Times};
use crate::core::outcome::Outcome;
use crate::core::plan;
use crate::core::rule::Rule;
use crate::core::sent::Sent;
use crate::core::table::{Bodies, Table};
use crate::core::template::Slots;

#[derive(Debug)]
pub struct Expect {
    /// Each of them is right; all are errors, or none is.
    statuses: Box<[u16]>,
    /// Each of them is right; none: any is.
    content_types: Box<[String]>,
    headers: HeaderRules,
    length: Option<usize>,
    body: Body,
    pub check_one_in: u64,
}

#[derive(Debug)]
enum Body {
    Any,
    Exact(Vec<u8>),
    Bytes(Bytes),
    Rule {
        rule: Rule,
        any_case: bool,
        /// It depends on what was sent.
        names_slots: bool,
    },
    Table(Table),
}

/// Bodies that one thread has found right by reading them: the same bytes need not be read again.
#[derive(Debug, Default)]
pub struct Known {
    /// By what a body depends on: the value of a table's slot.
    bodies: Bodies,
    /// A body whose rules depend on nothing that was sent, and its times.
    body: Vec<u8>,
    times: Times,
    /// The last `date`.
    dates: date::Memory,
}

/// What became of a request, and why where it is not right.
#[derive(Debug, PartialEq, Eq)]
pub struct Judgement {
    pub outcome: Outcome,
    pub reason: String,
}

impl Expect {
    pub fn compile(plan: &plan::Expect, slots: &Slots) -> Result<Expect, EngineError> {
        check_statuses(&plan.status)?;
        if plan.check_one_in == 0 {
            return Err(EngineError::Plan(
                "`expect.check_one_in` is 0; write 1 to check every body".to_string(),
            ));
        }
        let body = match &plan.body {
            None => Body::Any,
            Some(body) => Body::compile(body, slots)?,
        };
        let exact_length = match &body {
            Body::Exact(text) => Some(text.len()),
            _ => None,
        };
        if let (Some(length), Some(exact)) = (plan.length, exact_length)
            && length != exact
        {
            return Err(EngineError::Plan(format!(
                "`expect.length` is {length}, but `expect.body` has {exact} bytes"
            )));
        }
        let length = plan.length.or(exact_length);
        Ok(Expect {
            statuses: plan.status.clone().into_boxed_slice(),
            content_types: plan.content_type.clone().into_boxed_slice(),
            headers: HeaderRules::compile(&plan.headers)?,
            length,
            body,
            check_one_in: plan.check_one_in,
        })
    }

    /// True where the body is compared at all.
    pub fn has_body(&self) -> bool {
        !matches!(self.body, Body::Any)
    }

    /// True where headers besides the content type must be told.
    pub fn has_headers(&self) -> bool {
        !self.headers.is_empty()
    }

    pub fn is_status(&self, status: u16) -> bool {
        self.statuses.contains(&status)
    }

    /// True where the right answer is an error: such a request does nothing.
    pub fn refuses(&self) -> bool {
        self.statuses[0] >= 400
    }

    /// Compares an answer; its body's content only with `checks_body`. `unix_now` is asked only where a rule needs it.
    pub fn judge(
        &self,
        answer: &Answer,
        sent: Sent,
        known: &mut Known,
        checks_body: bool,
        unix_now: impl Fn() -> f64,
    ) -> Judgement {
        if !self.is_status(answer.status) {
            let outcome = if answer.status == 503 {
                Outcome::Shed
            } else {
                Outcome::Status(answer.status)
            };
            return Judgement {
                outcome,
                reason: format!(
                    "status {} instead of {}",
                    answer.status,
                    or_words(&self.statuses)
                ),
            };
        }
        let mut wrong = self.wrong_shape(answer);
        if wrong.is_none() && self.has_headers() {
            wrong = self
                .headers
                .wrong(answer.headers, &mut known.dates, &unix_now);
        }
        if wrong.is_none() && checks_body {
            wrong = self.wrong_body(answer, sent, known, unix_now);
        }
        match wrong {
            Some(reason) => Judgement {
                outcome: Outcome::WrongBody,
                reason,
            },
            None => Judgement {
                outcome: Outcome::Ok,
                reason: String::new(),
            },
        }
    }

    fn wrong_shape(&self, answer: &Answer) -> Option<String> {
        let found = answer.content_type.unwrap_or(b"");
        let is_found = |right: &String| found.eq_ignore_ascii_case(right.as_bytes());
        if !self.content_types.is_empty() && !self.content_types.iter().any(is_found) {
            return Some(format!(
                "content type `{}` instead of `{}`",
                String::from_utf8_lossy(found),
                self.content_types.join("` or `")
            ));
        }
        match self.length {
            Some(length) if length != answer.body.len() => {
                Some(format!("{} bytes instead of {length}", answer.body.len()))
            }
            _ => None,
        }
    }

    fn wrong_body(
        &self,
        answer: &Answer,
        sent: Sent,
        known: &mut Known,
        unix_now: impl Fn() -> f64,
    ) -> Option<String> {
        let body = answer.body;
        match &self.body {
            Body::Any => None,
            Body::Exact(text) if text == body => None,
            Body::Exact(text) => Some(difference(text, body)),
            Body::Bytes(bytes) => bytes.wrong(answer, &mut known.body),
            Body::Rule {
                rule,
                any_case,
                names_slots,
            } => {
                let within = |(time, within_s): &(f64, f64)| (time - unix_now()).abs() <= *within_s;
                if !known.body.is_empty() && known.body == body && known.times.iter().all(within) {
                    return None;
                }
                let judge = Judge::new(body, sent, *any_case, &unix_now, &mut known.times);
                let wrong = judge.wrong(rule);
                known.body.clear();
                if wrong.is_none() && !names_slots {
                    known.body.extend_from_slice(body);
                }
                wrong
            }
            Body::Table(table) => table.wrong(body, sent, &mut known.bodies),
        }
    }
}

impl Body {
    /// One key says how the body is right; `any_case` may stand beside a rule.
    fn compile(plan: &Value, slots: &Slots) -> Result<Body, EngineError> {
        let mut plan = plan.clone();
        let any_case = plan
            .as_object_mut()
            .and_then(|fields| fields.remove("any_case"));
        let whole = plan.as_object().filter(|fields| fields.len() == 1);
        let body = match whole.and_then(|fields| fields.iter().next()) {
            Some((key, Value::String(text))) if key == "exact" => {
                Body::Exact(text.clone().into_bytes())
            }
            Some((key, bytes)) if key == "bytes" => {
                Body::Bytes(Bytes::compile(&read(key, bytes)?)?)
            }
            Some((key, table)) if key == "table" => {
                Body::Table(Table::compile(&read(key, table)?, slots)?)
            }
            _ => {
                let rule = Rule::compile(&plan, slots)?;
                let any_case = match any_case {
                    None => false,
                    Some(Value::Bool(any_case)) => any_case,
                    Some(other) => {
                        return Err(EngineError::Plan(format!(
                            "`expect.body.any_case` is {other}; write true or false"
                        )));
                    }
                };
                if any_case {
                    rule.check_cases()?;
                }
                let names_slots = rule.names_slots();
                return Ok(Body::Rule {
                    rule,
                    any_case,
                    names_slots,
                });
            }
        };
        match any_case {
            None => Ok(body),
            Some(_) => Err(EngineError::Plan(
                "`expect.body.any_case` stands beside a rule alone; leave it out".to_string(),
            )),
        }
    }
}

/// A part of the plan that is read when its place is known.
fn read<T: DeserializeOwned>(key: &str, plan: &Value) -> Result<T, EngineError> {
    serde_json::from_value(plan.clone())
        .map_err(|error| EngineError::Plan(format!("`expect.body.{key}`: {error}")))
}

fn check_statuses(statuses: &[u16]) -> Result<(), EngineError> {
    let Some(first) = statuses.first() else {
        return Err(EngineError::Plan(
            "`expect.status` has no status; write at least one".to_string(),
        ));
    };
    if let Some(status) = statuses.iter().find(|status| !(200..600).contains(*status)) {
        return Err(EngineError::Plan(format!(
            "`expect.status` {status} is not between 200 and 599"
        )));
    }
    if statuses
        .iter()
        .any(|status| (*status >= 400) != (*first >= 400))
    {
        return Err(EngineError::Plan(format!(
            "`expect.status` {} are errors and others; write two requests",
            or_words(statuses)
        )));
    }
    Ok(())
}

fn or_words(statuses: &[u16]) -> String {
    let words: Vec<String> = statuses.iter().map(u16::to_string).collect();
    words.join(" or ")
}

#[cfg(test)]
#[path = "expect_tests.rs"]
mod tests;
