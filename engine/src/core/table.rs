//! Whole answers by what was sent in one slot.

use std::collections::HashMap;

use serde_json::Value;

use crate::core::bytes::difference;
use crate::core::error::EngineError;
use crate::core::judge::{Judge, Times};
use crate::core::plan;
use crate::core::rule::Rule;
use crate::core::sent::Sent;
use crate::core::template::Slots;

#[derive(Debug)]
pub struct Table {
    slot: usize,
    /// By the slot's value.
    rows: HashMap<i64, Row>,
}

#[derive(Debug)]
enum Row {
    /// JSON that is compared by its structure. It is kept as a text, which needs less memory than a tree.
    Json(Box<str>),
    Text(Box<str>),
}

/// Bodies that were right by the value of the slot: the same bytes need not be read again.
pub type Bodies = HashMap<i64, Box<[u8]>>;

impl Table {
    pub fn compile(plan: &plan::Table, slots: &Slots) -> Result<Table, EngineError> {
        let slot = slots
            .find(&plan.slot)
            .map_err(|error| error.within("`expect.body`"))?;
        let wrong = |sentence| EngineError::Plan(format!("`expect.body`: {sentence}"));
        let Some((first, span)) = slots.range(slot) else {
            return Err(wrong(format!(
                "slot `{}` has no last value, so no table can hold them all",
                plan.slot
            )));
        };
        let mut rows = HashMap::new();
        for value in (0..span).map(|place| first + place as i64) {
            let key = slots.text(slot, value);
            let row = plan.rows.get(&key).ok_or_else(|| {
                wrong(format!(
                    "slot `{}` can be `{key}`, and the table has no row of that key",
                    plan.slot
                ))
            })?;
            rows.insert(value, Row::compile(row)?);
        }
        Ok(Table { slot, rows })
    }

    /// The reason of a judgement.
    pub fn wrong(&self, body: &[u8], sent: Sent, known: &mut Bodies) -> Option<String> {
        let value = sent.values[self.slot];
        if known.get(&value).is_some_and(|right| **right == *body) {
            return None;
        }
        match &self.rows[&value] {
            Row::Text(text) if text.as_bytes() == body => None,
            Row::Text(text) => Some(difference(text.as_bytes(), body)),
            Row::Json(json) => {
                let wrong = wrong_json(json, body, sent);
                if wrong.is_none() {
                    known.insert(value, body.into());
                }
                wrong
            }
        }
    }
}

fn wrong_json(json: &str, body: &[u8], sent: Sent) -> Option<String> {
    let right: Value = serde_json::from_str(json).expect("a row is JSON");
    let rule = Rule::equal_to(&right).expect("its fields were counted before the load");
    Judge::new(body, sent, false, &|| 0.0, &mut Times::new()).wrong(&rule)
}

impl Row {
    /// `{"text": …}` is a text and `{"equals": …}` is JSON; everything else is JSON itself.
    fn compile(plan: &Value) -> Result<Row, EngineError> {
        let wrapped = plan.as_object().filter(|fields| fields.len() == 1);
        let json = match wrapped.and_then(|fields| fields.iter().next()) {
            Some((key, Value::String(text))) if key == "text" => {
                return Ok(Row::Text(text.as_str().into()));
            }
            Some((key, json)) if key == "equals" => json,
            _ => plan,
        };
        Rule::equal_to(json)?;
        Ok(Row::Json(json.to_string().into()))
    }
}

#[cfg(test)]
#[path = "table_tests.rs"]
mod tests;
