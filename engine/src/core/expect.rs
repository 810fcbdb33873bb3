//! The right answer to a request, compiled, and the comparison with the answer that came.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Map, Value};

use crate::core::bytes::{Bytes, difference};
use crate::core::error::EngineError;
use crate::core::http1::Answer;
use crate::core::outcome::Outcome;
use crate::core::plan;
use crate::core::template::Slots;

#[derive(Debug)]
pub struct Expect {
    /// Each of them is right; all are errors, or none is.
    statuses: Box<[u16]>,
    content_type: Option<String>,
    length: Option<usize>,
    body: Body,
    pub check_one_in: u64,
}

#[derive(Debug)]
enum Body {
    Any,
    Exact(Vec<u8>),
    Bytes(Bytes),
    Json {
        rules: Vec<(String, Rule)>,
        /// Other fields than those of the rules are wrong.
        closed: bool,
    },
    /// JSON texts by the value of a slot.
    Record {
        slot: usize,
        records: HashMap<i64, Box<str>>,
    },
}

/// Bodies that one thread has found right by reading them: the same bytes need not be read again.
#[derive(Debug, Default)]
pub struct Known {
    /// By what a body depends on: the value of a record's slot.
    bodies: HashMap<i64, Box<[u8]>>,
    /// A body whose rules depend on nothing that was sent, and its times with how far they may be off.
    body: Vec<u8>,
    times: Vec<(f64, f64)>,
}

#[derive(Debug)]
enum Rule {
    Equals(Value),
    Slot(usize),
    UnixNowWithinS(f64),
    Text,
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
            Some(plan::Body::Exact(text)) => Body::Exact(text.clone().into_bytes()),
            Some(plan::Body::Bytes(bytes)) => Body::Bytes(Bytes::compile(bytes)?),
            Some(plan::Body::Json(rules)) => compile_rules(rules, false, slots)?,
            Some(plan::Body::Object(rules)) => compile_rules(rules, true, slots)?,
            Some(plan::Body::Record(records)) => compile_records(records, slots)?,
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
        self.statuses.contains(&status)
    }

    /// True where the right answer is an error: such a request does nothing.
    pub fn refuses(&self) -> bool {
        self.statuses[0] >= 400
    }

    /// Compares an answer; its body's content only with `known`. `unix_now` is asked only where a rule needs it.
    pub fn judge(
        &self,
        answer: &Answer,
        slots: &Slots,
        values: &[i64],
        known: Option<&mut Known>,
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
        let wrong = self.wrong_shape(answer).or_else(|| {
            known.and_then(|known| self.wrong_body(answer, slots, values, known, unix_now))
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
        answer: &Answer,
        slots: &Slots,
        values: &[i64],
        known: &mut Known,
        unix_now: impl Fn() -> f64,
    ) -> Option<String> {
        let body = answer.body;
        match &self.body {
            Body::Any => None,
            Body::Exact(text) if text == body => None,
            Body::Exact(text) => Some(difference(text, body)),
            Body::Bytes(bytes) => bytes.wrong(answer, &mut known.body),
            Body::Json { rules, closed } => {
                let within = |(time, within_s): &(f64, f64)| (time - unix_now()).abs() <= *within_s;
                if !known.body.is_empty() && known.body == body && known.times.iter().all(within) {
                    return None;
                }
                let fields = match object(body) {
                    Ok(fields) => fields,
                    Err(reason) => return Some(reason),
                };
                let wrong = wrong_fields(&fields, rules, *closed, |field, rule, found| {
                    rule.wrong(field, found, slots, values, &unix_now)
                });
                if wrong.is_none() {
                    known.keep(body, &fields, rules);
                }
                wrong
            }
            Body::Record { slot, records } => {
                let value = values[*slot];
                if known
                    .bodies
                    .get(&value)
                    .is_some_and(|right| **right == *body)
                {
                    return None;
                }
                let wrong = wrong_record(body, &records[&value]);
                if wrong.is_none() {
                    known.bodies.insert(value, body.into());
                }
                wrong
            }
        }
    }
}

impl Known {
    /// Remembers a right body, unless a rule of it depends on what was sent.
    fn keep(&mut self, body: &[u8], fields: &Map<String, Value>, rules: &[(String, Rule)]) {
        self.body.clear();
        self.times.clear();
        if rules.iter().any(|(_, rule)| matches!(rule, Rule::Slot(_))) {
            return;
        }
        self.body.extend_from_slice(body);
        for (field, rule) in rules {
            if let (Rule::UnixNowWithinS(within_s), Some(time)) = (rule, fields[field].as_f64()) {
                self.times.push((time, *within_s));
            }
        }
    }
}

/// The JSON object in `body`, or the reason of a judgement.
fn object(body: &[u8]) -> Result<Map<String, Value>, String> {
    match serde_json::from_slice::<Value>(body) {
        Ok(Value::Object(fields)) => Ok(fields),
        Ok(_) => Err("the body is not a JSON object".to_string()),
        Err(error) => Err(format!("the body is not JSON: {error}")),
    }
}

/// The first field that is missing or wrong by `judge`, or stands beside the rules where that is wrong.
fn wrong_fields<R>(
    fields: &Map<String, Value>,
    rules: &[(String, R)],
    closed: bool,
    judge: impl Fn(&str, &R, &Value) -> Option<String>,
) -> Option<String> {
    let wrong = rules
        .iter()
        .find_map(|(field, rule)| match fields.get(field) {
            Some(found) => judge(field, rule, found),
            None => Some(format!("field `{field}` is missing")),
        });
    if wrong.is_some() || !closed || fields.len() == rules.len() {
        return wrong;
    }
    fields
        .keys()
        .find(|field| rules.iter().all(|(ruled, _)| ruled != *field))
        .map(|field| format!("field `{field}` does not belong there"))
}

/// What is wrong with `body`, which must hold the JSON value `right`, in whatever order and form.
fn wrong_record(body: &[u8], right: &str) -> Option<String> {
    let right: Value = serde_json::from_str(right).expect("a record is JSON");
    let Value::Object(right) = right else {
        unreachable!("a record is an object")
    };
    let rules: Vec<(String, Value)> = right.into_iter().collect();
    match object(body) {
        Ok(fields) => wrong_fields(&fields, &rules, true, |field, expected, found| {
            (expected != found).then(|| format!("field `{field}` is {found} instead of {expected}"))
        }),
        Err(reason) => Some(reason),
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
            Rule::Text => (!found.is_string())
                .then(|| format!("field `{field}` is {found} instead of a text")),
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

fn compile_rules(
    rules: &BTreeMap<String, plan::Rule>,
    closed: bool,
    slots: &Slots,
) -> Result<Body, EngineError> {
    let compile =
        |(field, rule): (&String, &plan::Rule)| Ok((field.clone(), compile_rule(rule, slots)?));
    let rules = rules
        .iter()
        .map(compile)
        .collect::<Result<_, EngineError>>()?;
    Ok(Body::Json { rules, closed })
}

fn compile_records(plan: &plan::Records, slots: &Slots) -> Result<Body, EngineError> {
    let slot = slots
        .find(&plan.slot)
        .map_err(|error| error.within("`expect.body`"))?;
    let numbers = slots.range(slot).filter(|_| slots.is_number(slot));
    let Some((first, span)) = numbers else {
        return Err(EngineError::Plan(format!(
            "`expect.body`: slot `{}` has no range of numbers, so records cannot be found by it",
            plan.slot
        )));
    };
    let lacking = (0..span)
        .map(|place| first + place as i64)
        .find(|value| !plan.records.get(value).is_some_and(Value::is_object));
    if let Some(value) = lacking {
        return Err(EngineError::Plan(format!(
            "`expect.body`: slot `{}` can be {value}, and no record of that key is a JSON object",
            plan.slot
        )));
    }
    let records = plan
        .records
        .iter()
        .map(|(value, record)| (*value, record.to_string().into_boxed_str()))
        .collect();
    Ok(Body::Record { slot, records })
}

fn compile_rule(rule: &plan::Rule, slots: &Slots) -> Result<Rule, EngineError> {
    match rule {
        plan::Rule::Equals(value) => Ok(Rule::Equals(value.clone())),
        plan::Rule::Slot(name) => slots
            .find(name)
            .map(Rule::Slot)
            .map_err(|error| error.within("`expect.body`")),
        plan::Rule::Text => Ok(Rule::Text),
        plan::Rule::UnixNowWithinS(within_s) if *within_s >= 0.0 => {
            Ok(Rule::UnixNowWithinS(*within_s))
        }
        plan::Rule::UnixNowWithinS(within_s) => Err(EngineError::Plan(format!(
            "`unix_now_within_s` is {within_s}; write a number of seconds from 0"
        ))),
    }
}

#[cfg(test)]
#[path = "expect_tests.rs"]
mod tests;
