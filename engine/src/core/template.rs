//! Request templates: text with seeded slots, compiled once, rendered without allocation.

use crate::core::error::EngineError;
use crate::core::lines::Lines;
use crate::core::random;

/// Numbers in templates stay inside ±10^15, so that sums of millions of them fit 64 bits.
pub const MAX_ABS: i64 = 1_000_000_000_000_000;

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(Vec<u8>),
    Slot(usize),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    pieces: Vec<Piece>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Draw {
    Int { low: i64, span: u64 },
    IntNot { low: i64, span: u64, other: usize },
    Low { low: i64, span: u64 },
    High { of: usize },
    Choice(Vec<String>),
    Line { lines: Lines, sent: Vec<Vec<u8>> },
    Seq,
}

/// How a line of a file is written where its slot stands, so that no line can become more than one value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Escape {
    /// Percent-encoded, all but RFC 3986's unreserved characters.
    Url,
    /// As inside of a JSON string.
    Json,
    AsIs,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Slot {
    name: Option<String>,
    draw: Draw,
}

/// All slots of one request, those of its path first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Slots {
    slots: Vec<Slot>,
    unpaired_low: Option<(usize, i64, u64)>,
}

impl Slots {
    /// The slot called `name`, or a sentence that says which there are.
    pub fn find(&self, name: &str) -> Result<usize, EngineError> {
        self.slots
            .iter()
            .position(|slot| slot.name.as_deref() == Some(name))
            .ok_or_else(|| {
                let names: Vec<String> = self
                    .slots
                    .iter()
                    .filter_map(|slot| slot.name.as_ref())
                    .map(|name| format!("`{name}`"))
                    .collect();
                let known = if names.is_empty() {
                    "none has a name".to_string()
                } else {
                    names.join(", ")
                };
                EngineError::Plan(format!("there is no slot `{name}` (slots: {known})"))
            })
    }

    pub fn len(&self) -> usize {
        self.slots.len()
    }

    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Fills `values` with those of request `number`. A choice and a line are their index.
    pub fn draw(&self, seed: u64, number: u64, values: &mut Vec<i64>) {
        values.clear();
        for index in 0..self.slots.len() {
            let value = self.value(index, seed, number, values);
            values.push(value);
        }
    }

    fn value(&self, index: usize, seed: u64, number: u64, earlier: &[i64]) -> i64 {
        let bits = |of: usize| random::bits(seed, number, of as u64);
        match &self.slots[index].draw {
            Draw::Int { low, span } => low + random::below(bits(index), *span) as i64,
            Draw::IntNot { low, span, other } => int_not(bits(index), *low, *span, earlier[*other]),
            Draw::Low { low, span } => pair(bits(index), *low, *span).0,
            Draw::High { of } => match self.slots[*of].draw {
                Draw::Low { low, span } => pair(bits(*of), low, span).1,
                _ => unreachable!("`high` is compiled with the index of its `low`"),
            },
            Draw::Choice(words) => random::below(bits(index), words.len() as u64) as i64,
            Draw::Line { lines, .. } => random::below(bits(index), lines.len() as u64) as i64,
            Draw::Seq => number as i64 + 1,
        }
    }

    /// The value in words, not escaped.
    pub fn text(&self, index: usize, value: i64) -> String {
        match &self.slots[index].draw {
            Draw::Choice(words) => words[value as usize].clone(),
            Draw::Line { lines, .. } => lines[value as usize].clone(),
            _ => value.to_string(),
        }
    }

    /// A number, unless the slot holds words.
    pub fn is_number(&self, index: usize) -> bool {
        !matches!(self.slots[index].draw, Draw::Choice(_) | Draw::Line { .. })
    }

    /// Smallest value and count of values, where that is known and the same for every request.
    pub fn range(&self, index: usize) -> Option<(i64, u64)> {
        match &self.slots[index].draw {
            Draw::Int { low, span } | Draw::IntNot { low, span, .. } | Draw::Low { low, span } => {
                Some((*low, *span))
            }
            Draw::High { of } => self.range(*of),
            Draw::Choice(words) => Some((0, words.len() as u64)),
            Draw::Line { lines, .. } => Some((0, lines.len() as u64)),
            Draw::Seq => None,
        }
    }

    /// The words of all choices, for checks of what may stand in a path.
    pub fn words(&self) -> impl Iterator<Item = &str> {
        self.slots.iter().flat_map(|slot| match &slot.draw {
            Draw::Choice(words) => words.iter().map(String::as_str).collect::<Vec<_>>(),
            _ => Vec::new(),
        })
    }
}

fn int_not(bits: u64, low: i64, span: u64, other: i64) -> i64 {
    let excluded = (low..low + span as i64).contains(&other);
    let value = low + random::below(bits, span - u64::from(excluded)) as i64;
    value + i64::from(excluded && value >= other)
}

fn pair(bits: u64, low: i64, span: u64) -> (i64, i64) {
    let combination = random::below(bits, span * (span - 1));
    let first = low + (combination / (span - 1)) as i64;
    let second = low + (combination % (span - 1)) as i64;
    let second = second + i64::from(second >= first);
    (first.min(second), first.max(second))
}

impl Template {
    /// Compiles `text`; its slots are appended to `slots`. `read` gives the lines of a file, written by `escape`.
    pub fn compile(
        text: &str,
        slots: &mut Slots,
        escape: Escape,
        read: &dyn Fn(&str) -> Result<Lines, EngineError>,
    ) -> Result<Template, EngineError> {
        let mut pieces = Vec::new();
        let mut literal = String::new();
        let mut rest = text;
        while let Some(at) = rest.find('{') {
            literal.push_str(&rest[..at]);
            if rest[at..].starts_with("{{") {
                literal.push('{');
                rest = &rest[at + 2..];
                continue;
            }
            let end = rest[at..].find('}').ok_or_else(|| {
                EngineError::Plan(format!(
                    "`{}` has no closing brace; write `{{{{` for a brace",
                    &rest[at..]
                ))
            })?;
            let name = name_before(&literal, &pieces);
            let inner = &rest[at + 1..at + end];
            check_name(name.as_deref(), slots)?;
            let draw = match inner.strip_prefix("file:") {
                Some(path) => compile_lines(inner, path, escape, read)?,
                None => compile_draw(inner, slots)?,
            };
            slots.slots.push(Slot { name, draw });
            pieces.push(Piece::Text(std::mem::take(&mut literal).into_bytes()));
            pieces.push(Piece::Slot(slots.slots.len() - 1));
            rest = &rest[at + end + 1..];
        }
        literal.push_str(rest);
        pieces.push(Piece::Text(literal.into_bytes()));
        Ok(Template { pieces })
    }

    /// Appends the text with `values` in its slots.
    pub fn render(&self, slots: &Slots, values: &[i64], out: &mut Vec<u8>) {
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => out.extend_from_slice(text),
                Piece::Slot(index) => match &slots.slots[*index].draw {
                    Draw::Choice(words) => {
                        out.extend_from_slice(words[values[*index] as usize].as_bytes())
                    }
                    Draw::Line { sent, .. } => {
                        out.extend_from_slice(&sent[values[*index] as usize])
                    }
                    _ => {
                        out.extend_from_slice(itoa::Buffer::new().format(values[*index]).as_bytes())
                    }
                },
            }
        }
    }

    /// The text between the slots.
    pub fn literals(&self) -> impl Iterator<Item = &[u8]> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Text(text) => Some(&text[..]),
            Piece::Slot(_) => None,
        })
    }
}

/// `a=`, `?a=`, `&a=` and `"a": "` all name the slot that follows `a`.
fn name_before(literal: &str, pieces: &[Piece]) -> Option<String> {
    if let Some(query) = literal.strip_suffix('=') {
        let start = query.rfind(['?', '&']).map(|at| at + 1);
        let name = match start {
            Some(start) => &query[start..],
            None if pieces.is_empty() => query,
            None => return None,
        };
        return (!name.is_empty() && !name.contains(['/', '"', ' '])).then(|| name.to_string());
    }
    let before_colon = literal
        .trim_end()
        .trim_end_matches('"')
        .trim_end()
        .strip_suffix(':')?
        .trim_end();
    let key = before_colon.strip_suffix('"')?;
    key.rfind('"').map(|at| key[at + 1..].to_string())
}

const KINDS: &str = "slots: {int:a..b}, {int:a..b!=name}, {low:a..b}, {high:a..b}, {choice:x|y}, {file:PATH}, {seq}; `{{` is a brace";

fn check_name(name: Option<&str>, slots: &Slots) -> Result<(), EngineError> {
    match name {
        Some(name) if slots.find(name).is_ok() => {
            Err(EngineError::Plan(format!("two slots are called `{name}`")))
        }
        _ => Ok(()),
    }
}

fn compile_draw(inner: &str, slots: &mut Slots) -> Result<Draw, EngineError> {
    let (kind, argument) = inner.split_once(':').unwrap_or((inner, ""));
    match kind {
        "int" => compile_int(inner, argument, slots),
        "low" => {
            let (low, span) = distinct_range(inner, argument)?;
            if slots
                .unpaired_low
                .replace((slots.slots.len(), low, span))
                .is_some()
            {
                return Err(EngineError::Plan(format!(
                    "`{{{inner}}}` follows a `low` that has no `high`"
                )));
            }
            Ok(Draw::Low { low, span })
        }
        "high" => {
            let range = distinct_range(inner, argument)?;
            match slots.unpaired_low.take() {
                Some((of, low, span)) if (low, span) == range => Ok(Draw::High { of }),
                Some(_) => Err(EngineError::Plan(format!(
                    "`{{{inner}}}` has another range than the `low` before it"
                ))),
                None => Err(EngineError::Plan(format!(
                    "`{{{inner}}}` stands without a `low` before it"
                ))),
            }
        }
        "choice" => compile_choice(inner, argument),
        "seq" if argument.is_empty() && !inner.contains(':') => Ok(Draw::Seq),
        _ => Err(EngineError::Plan(format!(
            "`{{{inner}}}` is no slot ({KINDS})"
        ))),
    }
}

fn compile_int(inner: &str, argument: &str, slots: &Slots) -> Result<Draw, EngineError> {
    let Some((range, other)) = argument.split_once("!=") else {
        let (low, span) = parse_range(inner, argument)?;
        return Ok(Draw::Int { low, span });
    };
    let (low, span) = parse_range(inner, range)?;
    let other = slots
        .find(other)
        .map_err(|error| EngineError::Plan(format!("`{{{inner}}}`: {error} before it")))?;
    if !slots.is_number(other) {
        return Err(EngineError::Plan(format!(
            "`{{{inner}}}` cannot differ from a slot of words"
        )));
    }
    if span < 2 {
        return Err(EngineError::Plan(format!(
            "`{{{inner}}}` leaves no value: it needs a range of at least two"
        )));
    }
    Ok(Draw::IntNot { low, span, other })
}

fn compile_choice(inner: &str, argument: &str) -> Result<Draw, EngineError> {
    let words: Vec<String> = argument.split('|').map(str::to_string).collect();
    if words.iter().any(String::is_empty) {
        return Err(EngineError::Plan(format!(
            "`{{{inner}}}` has an empty word; write `{{choice:x|y}}`"
        )));
    }
    Ok(Draw::Choice(words))
}

fn compile_lines(
    inner: &str,
    path: &str,
    escape: Escape,
    read: &dyn Fn(&str) -> Result<Lines, EngineError>,
) -> Result<Draw, EngineError> {
    let lines = read(path).map_err(|error| error.within(format_args!("`{{{inner}}}`")))?;
    let sent = lines.iter().map(|line| escape.write(line)).collect();
    Ok(Draw::Line { lines, sent })
}

impl Escape {
    fn write(self, line: &str) -> Vec<u8> {
        match self {
            Escape::AsIs => line.as_bytes().to_vec(),
            Escape::Json => {
                let quoted = serde_json::to_string(line).expect("a line is plain text");
                quoted.as_bytes()[1..quoted.len() - 1].to_vec()
            }
            Escape::Url => {
                let is_unreserved =
                    |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
                let written = line.bytes().map(|byte| match byte {
                    byte if is_unreserved(byte) => char::from(byte).to_string(),
                    byte => format!("%{byte:02X}"),
                });
                written.collect::<String>().into_bytes()
            }
        }
    }
}

fn distinct_range(inner: &str, argument: &str) -> Result<(i64, u64), EngineError> {
    let (low, span) = parse_range(inner, argument)?;
    // The pair is one draw out of span * (span - 1), which must fit 64 bits.
    match span {
        0 | 1 => Err(EngineError::Plan(format!(
            "`{{{inner}}}` needs a range of at least two"
        ))),
        2..=4_000_000_000 => Ok((low, span)),
        _ => Err(EngineError::Plan(format!(
            "`{{{inner}}}` is wider than 4000000000"
        ))),
    }
}

fn parse_range(inner: &str, argument: &str) -> Result<(i64, u64), EngineError> {
    let numbers = argument
        .split_once("..")
        .and_then(|(low, high)| Some((low.parse::<i64>().ok()?, high.parse::<i64>().ok()?)));
    let (low, high) = numbers.ok_or_else(|| {
        EngineError::Plan(format!(
            "`{{{inner}}}` is not a range of whole numbers; write `a..b`"
        ))
    })?;
    if low.unsigned_abs().max(high.unsigned_abs()) > MAX_ABS as u64 {
        return Err(EngineError::Plan(format!(
            "`{{{inner}}}` goes beyond ±10^15"
        )));
    }
    if low > high {
        return Err(EngineError::Plan(format!(
            "`{{{inner}}}` is empty; write the smaller number first"
        )));
    }
    Ok((low, (high - low) as u64 + 1))
}

/// A `low` without its `high`, found when all templates of a request are compiled.
pub fn check_pairs(slots: &Slots) -> Result<(), EngineError> {
    match slots.unpaired_low {
        Some(_) => Err(EngineError::Plan(
            "`low` stands without a `high` of the same range after it".to_string(),
        )),
        None => Ok(()),
    }
}

#[cfg(test)]
#[path = "template_tests.rs"]
mod tests;
