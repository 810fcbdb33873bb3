//! The slots of one request: what each may hold, and what it holds in request number so and so.

use std::sync::Arc;

use crate::core::data::{Data, Supply};
use crate::core::error::EngineError;
use crate::core::kept::Kept;
use crate::core::lines::Lines;
use crate::core::random;

/// Numbers in templates stay inside ±10^15, so that a sum of two fits 64 bits.
pub const MAX_ABS: i64 = 1_000_000_000_000_000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Draw {
    Int {
        low: i64,
        span: u64,
    },
    IntNot {
        low: i64,
        span: u64,
        other: usize,
    },
    Low {
        low: i64,
        span: u64,
    },
    High {
        of: usize,
    },
    Choice(Vec<String>),
    Line {
        lines: Lines,
        sent: Vec<Vec<u8>>,
    },
    Seq,
    /// A cell of a table; `first` is the request's first slot of that table, and decides on the row.
    Cell {
        table: String,
        data: Arc<Data>,
        column: usize,
        first: usize,
        sent: Vec<Vec<u8>>,
    },
    /// What was kept of an earlier answer.
    Kept {
        field: usize,
        escape: Escape,
    },
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
pub(crate) struct Slot {
    pub(crate) name: Option<String>,
    pub(crate) draw: Draw,
}

/// All slots of one request: those of its path, its body and its headers, then the cells that only rules can name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Slots {
    pub(crate) slots: Vec<Slot>,
    pub(crate) unpaired_low: Option<(usize, i64, u64)>,
    supply: Arc<Supply>,
    pub(crate) kept: Option<KeptFrom>,
}

/// The kind of request whose answers a request draws from, and whether it takes them out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptFrom {
    pub kind: String,
    pub once: bool,
}

impl Slots {
    pub fn new(supply: &Arc<Supply>) -> Slots {
        Slots {
            supply: supply.clone(),
            ..Slots::default()
        }
    }

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

    #[cfg(test)]
    pub fn name(&self, index: usize) -> Option<&str> {
        self.slots[index].name.as_deref()
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
            Draw::Cell { data, first, .. } if *first == index => {
                random::below(bits(index), data.len() as u64) as i64
            }
            Draw::Cell { first, .. } => earlier[*first],
            // The value is no number: `Kept` has it.
            Draw::Kept { .. } => 0,
        }
    }

    /// Appends the value as it is sent.
    pub fn write(&self, index: usize, value: i64, kept: Option<&Kept>, out: &mut Vec<u8>) {
        match &self.slots[index].draw {
            Draw::Choice(words) => out.extend_from_slice(words[value as usize].as_bytes()),
            Draw::Line { sent, .. } | Draw::Cell { sent, .. } => {
                out.extend_from_slice(&sent[value as usize])
            }
            Draw::Kept { field, escape } => {
                let text = kept.and_then(|kept| kept.fields.get(*field));
                escape.append(text.map_or("", String::as_str), out);
            }
            _ => out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes()),
        }
    }

    /// The value in words, not escaped.
    pub fn text(&self, index: usize, value: i64) -> String {
        match self.word(index, value) {
            Some(word) => word.to_string(),
            None => value.to_string(),
        }
    }

    /// The value in words, not escaped; `None` where it is the number itself.
    pub fn word(&self, index: usize, value: i64) -> Option<&str> {
        match &self.slots[index].draw {
            Draw::Choice(words) => Some(&words[value as usize]),
            Draw::Line { lines, .. } => Some(&lines[value as usize]),
            Draw::Cell { data, column, .. } => Some(data.cell(value, *column)),
            _ => None,
        }
    }

    /// Numbers, or words that are all numbers.
    pub fn holds_numbers(&self, index: usize) -> bool {
        let is_number = |word: &String| word.parse::<i64>().is_ok();
        match &self.slots[index].draw {
            Draw::Choice(words) => words.iter().all(is_number),
            Draw::Line { lines, .. } => lines.iter().all(is_number),
            Draw::Cell { data, column, .. } => {
                data.cells(*column).all(|cell| cell.parse::<i64>().is_ok())
            }
            Draw::Kept { .. } => false,
            _ => true,
        }
    }

    /// A number, unless the slot holds words.
    pub fn is_number(&self, index: usize) -> bool {
        !matches!(
            self.slots[index].draw,
            Draw::Choice(_) | Draw::Line { .. } | Draw::Cell { .. } | Draw::Kept { .. }
        )
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
            Draw::Cell { data, .. } => Some((0, data.len() as u64)),
            Draw::Seq | Draw::Kept { .. } => None,
        }
    }

    /// Which kind's answers are named, if any.
    pub fn kept_from(&self) -> Option<&KeptFrom> {
        self.kept.as_ref()
    }

    /// Which of the names that are kept stands in the slot.
    pub fn kept_field(&self, index: usize) -> Option<usize> {
        match self.slots[index].draw {
            Draw::Kept { field, .. } => Some(field),
            _ => None,
        }
    }

    /// Takes the rows of what was kept in place of those that were drawn.
    pub fn follow(&self, kept: &Kept, values: &mut [i64]) {
        for (slot, value) in self.slots.iter().zip(values) {
            if let Draw::Cell { table, .. } = &slot.draw
                && let Some((_, row)) = kept.rows.iter().find(|(name, _)| name == table)
            {
                *value = *row;
            }
        }
    }

    /// The row of each table that the values are of.
    pub fn rows(&self, values: &[i64]) -> Vec<(String, i64)> {
        let row = |(index, slot): (usize, &Slot)| match &slot.draw {
            Draw::Cell { table, first, .. } if *first == index => {
                Some((table.clone(), values[index]))
            }
            _ => None,
        };
        self.slots.iter().enumerate().filter_map(row).collect()
    }

    /// Adds what rules and ledgers can name besides: the other cells of a row, and all that was kept.
    pub fn complete(&mut self) {
        let supply = self.supply.clone();
        for (table, data) in &supply.tables {
            if self.first_of(table).is_some() {
                data.columns
                    .iter()
                    .for_each(|name| self.add_hidden(table, name));
            }
        }
        if let Some(KeptFrom { kind, .. }) = self.kept.clone() {
            supply.keeps[&kind]
                .iter()
                .for_each(|name| self.add_hidden(&kind, name));
        }
    }

    fn add_hidden(&mut self, source: &str, name: &str) {
        let full = format!("{source}.{name}");
        if self.find(&full).is_err()
            && let Some(mut draw) = self.supplied(source, name, Escape::AsIs)
        {
            if let Draw::Cell { sent, .. } = &mut draw {
                sent.clear();
            }
            let name = Some(full);
            self.slots.push(Slot { name, draw });
        }
    }

    fn first_of(&self, table: &str) -> Option<usize> {
        let is_of =
            |slot: &Slot| matches!(&slot.draw, Draw::Cell { table: name, .. } if name == table);
        self.slots.iter().position(is_of)
    }

    /// A cell or something kept, if there is a table or a kind of that name which has it.
    pub(crate) fn supplied(&self, source: &str, name: &str, escape: Escape) -> Option<Draw> {
        if let Some(data) = self.supply.tables.get(source) {
            let column = data.columns.iter().position(|column| column == name)?;
            return Some(Draw::Cell {
                table: source.to_string(),
                data: data.clone(),
                column,
                first: self.first_of(source).unwrap_or(self.slots.len()),
                sent: data.cells(column).map(|cell| escape.write(cell)).collect(),
            });
        }
        let names = self.supply.keeps.get(source)?;
        let field = names.iter().position(|kept| kept == name)?;
        Some(Draw::Kept { field, escape })
    }

    /// All words that slots from number `from` on can write as they stand.
    pub fn words_from(&self, from: usize) -> impl Iterator<Item = &str> {
        self.slots[from..].iter().flat_map(|slot| match &slot.draw {
            Draw::Choice(words) => words.iter().map(String::as_str).collect(),
            Draw::Line { lines, .. } => lines.iter().map(String::as_str).collect(),
            Draw::Cell { data, column, .. } => data.cells(*column).collect(),
            _ => Vec::new(),
        })
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

impl Escape {
    pub(crate) fn write(self, line: &str) -> Vec<u8> {
        let mut out = Vec::with_capacity(line.len());
        self.append(line, &mut out);
        out
    }

    fn append(self, line: &str, out: &mut Vec<u8>) {
        match self {
            Escape::AsIs => out.extend_from_slice(line.as_bytes()),
            Escape::Json => {
                let quoted = serde_json::to_string(line).expect("a line is plain text");
                out.extend_from_slice(&quoted.as_bytes()[1..quoted.len() - 1]);
            }
            Escape::Url => {
                for byte in line.bytes() {
                    if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
                        out.push(byte);
                    } else {
                        out.extend_from_slice(format!("%{byte:02X}").as_bytes());
                    }
                }
            }
        }
    }
}
