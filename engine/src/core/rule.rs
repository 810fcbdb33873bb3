//! What a JSON value must be, as a tree.

use serde_json::{Map, Value};

use crate::core::error::EngineError;
use crate::core::sent::Sent;
use crate::core::template::Slots;

/// Rules of more depth than this are a mistake.
const MOST_DEPTH: usize = 32;
const MOST_FIELDS: usize = 256;
const RULES: &str = "\"text\", \"integer\", \"number\", \"boolean\", \"null\", \"any\", or an object with one of `text`, `integer`, `number`, `equals`, `slot`, `unix_now_within_s`, `one_of`, `list`, `object`, `json`, `nullable`; a field's rule may be `optional`";

#[derive(Debug)]
pub enum Rule {
    Any,
    Null,
    Boolean,
    /// With so many characters.
    Text(Option<Span>),
    Integer(Option<(i64, i64)>),
    Number(Option<(f64, f64)>),
    UnixNow(f64),
    /// The text or number that was sent in it.
    Slot(usize),
    IsBoolean(bool),
    IsNumber(serde_json::Number),
    IsText(String),
    IsList(Vec<Rule>),
    OneOf(Vec<Rule>),
    /// Null is right, too.
    Nullable(Box<Rule>),
    List(Box<List>),
    Object(Fields),
}

/// How many there must be: a least and a most.
pub type Span = (u64, u64);

#[derive(Debug)]
pub struct List {
    pub length: Length,
    pub each: Rule,
    /// A field of each object that may not fall.
    pub ascending: Option<String>,
}

#[derive(Debug)]
pub enum Length {
    Between(Span),
    Slot(usize),
}

#[derive(Debug, Default)]
pub struct Fields {
    pub rules: Vec<Field>,
    /// Other fields are wrong.
    pub closed: bool,
    /// A bit for each field that must be there.
    pub needed: Bits,
    /// The field whose place is told to the list around.
    pub told: Option<usize>,
}

pub type Bits = [u64; MOST_FIELDS / 64];

#[derive(Debug)]
pub struct Field {
    pub name: String,
    pub rule: Rule,
}

impl Rule {
    pub fn compile(plan: &Value, slots: &Slots) -> Result<Rule, EngineError> {
        compile(plan, slots, 0)
    }

    /// The rule that one JSON value fulfils: the order of keys is free, and numbers count by their value.
    pub fn equal_to(value: &Value) -> Result<Rule, EngineError> {
        Ok(match value {
            Value::Null => Rule::Null,
            Value::Bool(right) => Rule::IsBoolean(*right),
            Value::Number(right) => Rule::IsNumber(right.clone()),
            Value::String(right) => Rule::IsText(right.clone()),
            Value::Array(values) => Rule::IsList(
                values
                    .iter()
                    .map(Rule::equal_to)
                    .collect::<Result<_, _>>()?,
            ),
            Value::Object(fields) => {
                let field = |(name, value): (&String, &Value)| {
                    Ok((name.clone(), Rule::equal_to(value)?, true))
                };
                let rules = fields
                    .iter()
                    .map(field)
                    .collect::<Result<_, EngineError>>()?;
                Rule::Object(Fields::new(rules, true)?)
            }
        })
    }

    /// Whether it asks for something that was sent.
    pub fn names_slots(&self) -> bool {
        match self {
            Rule::Slot(_) => true,
            Rule::Nullable(rule) => rule.names_slots(),
            Rule::List(list) => matches!(list.length, Length::Slot(_)) || list.each.names_slots(),
            Rule::Object(fields) => fields.rules.iter().any(|field| field.rule.names_slots()),
            _ => false,
        }
    }

    /// Refuses two keys of one object that differ by case alone.
    pub fn check_cases(&self) -> Result<(), EngineError> {
        match self {
            Rule::IsList(rules) | Rule::OneOf(rules) => {
                rules.iter().try_for_each(Rule::check_cases)
            }
            Rule::Nullable(rule) => rule.check_cases(),
            Rule::List(list) => list.each.check_cases(),
            Rule::Object(fields) => fields.check_cases(),
            _ => Ok(()),
        }
    }

    /// What a value should have been.
    pub fn words(&self, sent: &Sent) -> String {
        match self {
            Rule::Any => "any value".to_string(),
            Rule::Null => "null".to_string(),
            Rule::Boolean => "true or false".to_string(),
            Rule::Text(None) => "a text".to_string(),
            Rule::Text(Some(span)) => format!("a text of {} characters", span_words(*span)),
            Rule::Integer(None) => "a whole number".to_string(),
            Rule::Integer(Some((low, high))) => format!("a whole number from {low} to {high}"),
            Rule::Number(None) | Rule::UnixNow(_) => "a number".to_string(),
            Rule::Number(Some((low, high))) => format!("a number from {low} to {high}"),
            Rule::Slot(slot) => format!("{}, as sent", sent.text(*slot)),
            Rule::IsBoolean(right) => right.to_string(),
            Rule::IsNumber(right) => right.to_string(),
            Rule::IsText(right) => Value::from(right.as_str()).to_string(),
            Rule::OneOf(rules) => {
                let words: Vec<String> = rules.iter().map(|rule| rule.words(sent)).collect();
                words.join(" or ")
            }
            Rule::Nullable(rule) => format!("{} or null", rule.words(sent)),
            Rule::IsList(_) | Rule::List(_) => "a list".to_string(),
            Rule::Object(_) => "an object".to_string(),
        }
    }
}

pub fn span_words((least, most): Span) -> String {
    match least == most {
        true => least.to_string(),
        false => format!("{least} to {most}"),
    }
}

impl Fields {
    /// Names, rules, and whether the field must be there.
    fn new(fields: Vec<(String, Rule, bool)>, closed: bool) -> Result<Fields, EngineError> {
        if fields.len() > MOST_FIELDS {
            return Err(wrong(format!(
                "an object has {} fields; write at most {MOST_FIELDS}",
                fields.len()
            )));
        }
        let mut all = Fields {
            closed,
            ..Fields::default()
        };
        for (index, (name, rule, is_needed)) in fields.into_iter().enumerate() {
            all.needed[index / 64] |= u64::from(is_needed) << (index % 64);
            all.rules.push(Field { name, rule });
        }
        Ok(all)
    }

    fn check_cases(&self) -> Result<(), EngineError> {
        for (index, field) in self.rules.iter().enumerate() {
            let folded = field.name.to_lowercase();
            let is_same = |other: &&Field| other.name.to_lowercase() == folded;
            if let Some(other) = self.rules[..index].iter().find(is_same) {
                return Err(wrong(format!(
                    "`{}` and `{}` are one key in any case; write one of them",
                    other.name, field.name
                )));
            }
            field.rule.check_cases()?;
        }
        Ok(())
    }
}

fn wrong(sentence: String) -> EngineError {
    EngineError::Plan(format!("`expect.body`: {sentence}"))
}

fn compile(plan: &Value, slots: &Slots, depth: usize) -> Result<Rule, EngineError> {
    if depth == MOST_DEPTH {
        return Err(wrong(format!("rules lie more than {MOST_DEPTH} deep")));
    }
    let unknown = || wrong(format!("`{plan}` is no rule; write {RULES}"));
    let (key, of) = match plan {
        Value::String(word) => return named(word).ok_or_else(unknown),
        Value::Object(fields) if fields.len() == 1 => fields.iter().next().ok_or_else(unknown)?,
        _ => return Err(unknown()),
    };
    match key.as_str() {
        "text" => {
            let length = only(of, &["length"]).and_then(|fields| fields.get("length"));
            let span = length.and_then(span).ok_or_else(|| {
                wrong(format!(
                    "`{plan}`: write {{\"text\": {{\"length\": [1, 60]}}}}"
                ))
            })?;
            Ok(Rule::Text(Some(span)))
        }
        "integer" => ends(of, Value::as_i64)
            .map(|ends| Rule::Integer(Some(ends)))
            .ok_or_else(|| wrong(format!("`{plan}`: write {{\"integer\": [1, 100]}}"))),
        "number" => ends(of, Value::as_f64)
            .map(|ends| Rule::Number(Some(ends)))
            .ok_or_else(|| wrong(format!("`{plan}`: write {{\"number\": [0, 1]}}"))),
        "equals" => Rule::equal_to(of),
        "slot" => slot(of, slots).map(Rule::Slot),
        "unix_now_within_s" => match of.as_f64() {
            Some(within_s) if within_s >= 0.0 => Ok(Rule::UnixNow(within_s)),
            _ => Err(EngineError::Plan(format!(
                "`unix_now_within_s` is {of}; write a number of seconds from 0"
            ))),
        },
        "one_of" => match of.as_array() {
            Some(values) if !values.is_empty() => {
                let rules = values.iter().map(Rule::equal_to);
                Ok(Rule::OneOf(rules.collect::<Result<_, _>>()?))
            }
            _ => Err(wrong(format!("`{plan}`: write {{\"one_of\": [JSON, …]}}"))),
        },
        "nullable" => Ok(Rule::Nullable(Box::new(compile(of, slots, depth + 1)?))),
        "list" => compile_list(of, slots, depth),
        "object" => compile_fields(of, true, slots, depth).map(Rule::Object),
        "json" => compile_fields(of, false, slots, depth).map(Rule::Object),
        "optional" => Err(wrong("`optional` is for a field of an object".to_string())),
        _ => Err(unknown()),
    }
}

fn named(word: &str) -> Option<Rule> {
    Some(match word {
        "text" => Rule::Text(None),
        "integer" => Rule::Integer(None),
        "number" => Rule::Number(None),
        "boolean" => Rule::Boolean,
        "null" => Rule::Null,
        "any" => Rule::Any,
        _ => return None,
    })
}

/// The fields of an object that has no others than these.
fn only<'a>(value: &'a Value, names: &[&str]) -> Option<&'a Map<String, Value>> {
    let fields = value.as_object()?;
    fields
        .keys()
        .all(|key| names.contains(&key.as_str()))
        .then_some(fields)
}

/// A count, or a list of the least and the most.
fn span(value: &Value) -> Option<Span> {
    match value.as_u64() {
        Some(count) => Some((count, count)),
        None => ends(value, Value::as_u64),
    }
}

fn ends<T: PartialOrd>(value: &Value, read: fn(&Value) -> Option<T>) -> Option<(T, T)> {
    let [low, high] = &value.as_array()?[..] else {
        return None;
    };
    let (low, high) = (read(low)?, read(high)?);
    (low <= high).then_some((low, high))
}

fn slot(value: &Value, slots: &Slots) -> Result<usize, EngineError> {
    let name = value
        .as_str()
        .ok_or_else(|| wrong(format!("`slot` is {value}; write a slot's name")))?;
    slots
        .find(name)
        .map_err(|error| error.within("`expect.body`"))
}

fn compile_list(plan: &Value, slots: &Slots, depth: usize) -> Result<Rule, EngineError> {
    let mistake = || {
        wrong(format!(
            "the list `{plan}`: write {{\"length\": N or [N, M] or {{\"slot\": NAME}}, \"each\": RULE, \"ascending\": FIELD}}"
        ))
    };
    let fields = only(plan, &["length", "each", "ascending"]).ok_or_else(mistake)?;
    let length = match fields.get("length") {
        None => Length::Between((0, u64::MAX)),
        Some(length) => match (span(length), length.get("slot")) {
            (Some(span), _) => Length::Between(span),
            (None, Some(name)) if only(length, &["slot"]).is_some() => {
                Length::Slot(slot(name, slots)?)
            }
            _ => return Err(mistake()),
        },
    };
    if let Length::Slot(slot) = length
        && !slots.holds_numbers(slot)
    {
        return Err(wrong("the slot of a list's length holds words".to_string()));
    }
    let mut each = match fields.get("each") {
        None => Rule::Any,
        Some(each) => compile(each, slots, depth + 1)?,
    };
    let ascending = match fields.get("ascending") {
        None => None,
        Some(field) => Some(field.as_str().ok_or_else(mistake)?.to_string()),
    };
    if let Some(field) = &ascending {
        tell(&mut each, field)?;
    }
    Ok(Rule::List(Box::new(List {
        length,
        each,
        ascending,
    })))
}

/// Lets an object's rule tell where the field stands.
fn tell(each: &mut Rule, field: &str) -> Result<(), EngineError> {
    if let Rule::Object(fields) = each {
        fields.told = fields.rules.iter().position(|rule| rule.name == *field);
        let is_needed = |index: usize| fields.needed[index / 64] >> (index % 64) & 1 == 1;
        if fields.told.is_some_and(is_needed) {
            return Ok(());
        }
    }
    Err(wrong(format!(
        "`ascending` names `{field}`, and `each` is no object with such a field"
    )))
}

fn compile_fields(
    plan: &Value,
    closed: bool,
    slots: &Slots,
    depth: usize,
) -> Result<Fields, EngineError> {
    let rules = plan
        .as_object()
        .ok_or_else(|| wrong(format!("`{plan}` has no fields; write {{FIELD: RULE, …}}")))?;
    let compile = |(name, rule): (&String, &Value)| {
        let optional = only(rule, &["optional"]).and_then(|fields| fields.get("optional"));
        let compiled = compile(optional.unwrap_or(rule), slots, depth + 1)?;
        Ok((name.clone(), compiled, optional.is_none()))
    };
    let fields = rules
        .iter()
        .map(compile)
        .collect::<Result<_, EngineError>>()?;
    Fields::new(fields, closed)
}

#[cfg(test)]
#[path = "rule_tests.rs"]
mod tests;
