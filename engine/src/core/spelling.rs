//! How slots are spelled: `{int:1..9}`, `{file:PATH}`, `{id=seq}` and the like.

use crate::core::data::is_name;
use crate::core::error::EngineError;
use crate::core::lines::Lines;
use crate::core::slots::{Draw, Escape, KeptFrom, MAX_ABS, Slot, Slots};

impl Slots {
    /// Compiles what stands between two braces; it is written by `escape`. `place`: what it is called by its place, unless it has a name of its own.
    pub fn add(
        &mut self,
        inner: &str,
        place: Option<String>,
        escape: Escape,
        read: &dyn Fn(&str) -> Result<Lines, EngineError>,
    ) -> Result<(), EngineError> {
        let (own, kind) = match inner.split_once('=') {
            Some((name, kind)) if is_name(name) => (Some(name.to_string()), kind),
            _ => (None, inner),
        };
        if let Some((source, name, once)) = source(kind) {
            let draw = self.supplied(source, name, escape).ok_or_else(|| {
                EngineError::Plan(format!(
                    "`{{{inner}}}`: there is no table and no kept value `{source}.{name}`"
                ))
            })?;
            check_name(own.as_deref(), self)?;
            self.draw_from(source, once, inner, &draw)?;
            let name = own.or_else(|| Some(format!("{source}.{name}")));
            self.slots.push(Slot { name, draw });
            return Ok(());
        }
        let name = own.or(place);
        check_name(name.as_deref(), self)?;
        let draw = match kind.strip_prefix("file:") {
            Some(path) => compile_lines(inner, path, escape, read)?,
            None => compile_draw(kind, self)?,
        };
        self.slots.push(Slot { name, draw });
        Ok(())
    }

    /// Gives a name to the first slot from number `from` on that has none.
    pub fn call(&mut self, from: usize, name: &str) -> Result<(), EngineError> {
        let Some(index) = (from..self.len()).find(|index| self.slots[*index].name.is_none()) else {
            return Ok(());
        };
        check_name(Some(name), self)?;
        self.slots[index].name = Some(name.to_string());
        Ok(())
    }

    /// Notes the kind whose answers are drawn: all of a request are of one answer.
    fn draw_from(
        &mut self,
        source: &str,
        once: bool,
        inner: &str,
        draw: &Draw,
    ) -> Result<(), EngineError> {
        let wrong = |why: &str| Err(EngineError::Plan(format!("`{{{inner}}}` {why}")));
        match (draw, &mut self.kept) {
            (Draw::Kept { .. }, Some(kept)) if kept.kind != source => {
                wrong("is of a second kind; a request names the answers of one")
            }
            (Draw::Kept { .. }, Some(kept)) => {
                kept.once |= once;
                Ok(())
            }
            (Draw::Kept { .. }, kept) => {
                let kind = source.to_string();
                *kept = Some(KeptFrom { kind, once });
                Ok(())
            }
            (_, _) if once => wrong("is of a table, whose rows stay; leave out `:once`"),
            _ => Ok(()),
        }
    }
}

/// `TABLE.COLUMN`, `KIND.KEPT` or `KIND.KEPT:once`. All other slots have a colon before any point.
fn source(inner: &str) -> Option<(&str, &str, bool)> {
    let (path, once) = match inner.strip_suffix(":once") {
        Some(path) => (path, true),
        None => (inner, false),
    };
    let (source, name) = path.rsplit_once('.')?;
    let is_fit = !source.is_empty() && !source.contains(':') && is_name(name);
    is_fit.then_some((source, name, once))
}

const KINDS: &str = "slots: {int:a..b}, {int:a..b!=name}, {low:a..b}, {high:a..b}, {choice:x|y}, {file:PATH}, {seq}, {TABLE.COLUMN}, {KIND.KEPT}, {KIND.KEPT:once}; `{NAME=…}` names one, `{{` is a brace";

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
