//! The right answer to a request, compiled, and the comparison with the answer that came.

use serde_json::Value;

use crate::http1::Answer;
use crate::outcome::Outcome;
use crate::plan;
use crate::template::Slots;

#[derive(Debug)]
pub struct Expect {
    status: u16,
    content_type: Option<String>,
    length: Option<usize>,
    body: Body,
    pub check_one_in: u64,
}

#[derive(Debug)]
enum Body {
    Any,
    Exact(Vec<u8>),
    Json(Vec<(String, Rule)>),
}

#[derive(Debug)]
enum Rule {
    Equals(Value),
    Slot(usize),
    UnixNowWithinS(f64),
}

/// What became of a request, and why where it is not right.
#[derive(Debug, PartialEq, Eq)]
pub struct Judgement {
    pub outcome: Outcome,
    pub reason: String,
}

impl Expect {
    pub fn compile(plan: &plan::Expect, slots: &Slots) -> Result<Expect, String> {
        if !(200..600).contains(&plan.status) {
            return Err(format!(
                "`expect.status` {} is not between 200 and 599",
                plan.status
            ));
        }
        if plan.check_one_in == 0 {
            return Err("`expect.check_one_in` is 0; write 1 to check every body".to_string());
        }
        let body = match &plan.body {
            None => Body::Any,
            Some(plan::Body::Exact(text)) => Body::Exact(text.clone().into_bytes()),
            Some(plan::Body::Json(rules)) => Body::Json(
                rules
                    .iter()
                    .map(|(field, rule)| Ok((field.clone(), compile_rule(rule, slots)?)))
                    .collect::<Result<_, String>>()?,
            ),
        };
        let exact_length = match &body {
            Body::Exact(text) => Some(text.len()),
            _ => None,
        };
        if let (Some(length), Some(exact)) = (plan.length, exact_length)
            && length != exact
        {
            return Err(format!(
                "`expect.length` is {length}, but `expect.body` has {exact} bytes"
            ));
        }
        let length = plan.length.or(exact_length);
        Ok(Expect {
            status: plan.status,
            content_type: plan.content_type.clone(),
            length,
            body,
            check_one_in: plan.check_one_in,
        })
    }

    /// True where the body is compared at all.
    pub fn has_body(&self) -> bool {
        !matches!(self.body, Body::Any)
    }

    pub fn is_status(&self, status: u16) -> bool {
        self.status == status
    }

    /// Compares an answer; its body's content only if `check_body`. `unix_now` is asked only where a rule needs it.
    pub fn judge(
        &self,
        answer: &Answer,
        slots: &Slots,
        values: &[i64],
        check_body: bool,
        unix_now: impl Fn() -> f64,
    ) -> Judgement {
        if answer.status != self.status {
            let outcome = if answer.status == 503 {
                Outcome::Shed
            } else {
                Outcome::Status(answer.status)
            };
            return Judgement {
                outcome,
                reason: format!("status {} instead of {}", answer.status, self.status),
            };
        }
        let wrong = self.wrong_shape(answer).or_else(|| {
            if check_body {
                self.wrong_body(answer.body, slots, values, unix_now)
            } else {
                None
            }
        });
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
        if let Some(expected) = &self.content_type {
            let found = answer.content_type.unwrap_or(b"");
            if !found.eq_ignore_ascii_case(expected.as_bytes()) {
                return Some(format!(
                    "content type `{}` instead of `{expected}`",
                    String::from_utf8_lossy(found)
                ));
            }
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
        body: &[u8],
        slots: &Slots,
        values: &[i64],
        unix_now: impl Fn() -> f64,
    ) -> Option<String> {
        match &self.body {
            Body::Any => None,
            Body::Exact(text) if text == body => None,
            Body::Exact(text) => {
                let at = text
                    .iter()
                    .zip(body)
                    .take_while(|(expected, found)| expected == found)
                    .count();
                Some(format!("the body differs from byte {at} on"))
            }
            Body::Json(rules) => match serde_json::from_slice::<Value>(body) {
                Ok(Value::Object(fields)) => {
                    rules
                        .iter()
                        .find_map(|(field, rule)| match fields.get(field) {
                            Some(found) => rule.wrong(field, found, slots, values, &unix_now),
                            None => Some(format!("field `{field}` is missing")),
                        })
                }
                Ok(_) => Some("the body is not a JSON object".to_string()),
                Err(error) => Some(format!("the body is not JSON: {error}")),
            },
        }
    }
}

impl Rule {
    fn wrong(
        &self,
        field: &str,
        found: &Value,
        slots: &Slots,
        values: &[i64],
        unix_now: &impl Fn() -> f64,
    ) -> Option<String> {
        match self {
            Rule::Equals(expected) if expected == found => None,
            Rule::Equals(expected) => {
                Some(format!("field `{field}` is {found} instead of {expected}"))
            }
            Rule::Slot(index) => {
                let sent = slots.text(*index, values[*index]);
                let same = match found {
                    Value::String(text) => *text == sent,
                    Value::Number(number) => number.to_string() == sent,
                    _ => false,
                };
                (!same).then(|| format!("field `{field}` is {found} instead of {sent}, as sent"))
            }
            Rule::UnixNowWithinS(within_s) => {
                let now = unix_now();
                let right = found
                    .as_f64()
                    .is_some_and(|seconds| (seconds - now).abs() <= *within_s);
                (!right).then(|| {
                    format!(
                        "field `{field}` is {found}, more than {within_s} s from now ({now:.3})"
                    )
                })
            }
        }
    }
}

fn compile_rule(rule: &plan::Rule, slots: &Slots) -> Result<Rule, String> {
    match rule {
        plan::Rule::Equals(value) => Ok(Rule::Equals(value.clone())),
        plan::Rule::Slot(name) => slots
            .find(name)
            .map(Rule::Slot)
            .map_err(|error| format!("`expect.body`: {error}")),
        plan::Rule::UnixNowWithinS(within_s) if *within_s >= 0.0 => {
            Ok(Rule::UnixNowWithinS(*within_s))
        }
        plan::Rule::UnixNowWithinS(within_s) => Err(format!(
            "`unix_now_within_s` is {within_s}; write a number of seconds from 0"
        )),
    }
}

#[cfg(test)]
#[path = "expect_tests.rs"]
mod tests;
