//! A body of JSON is held against its rule while it is read.

use std::ops::Range;

use crate::core::json::{Fault, Number, Reader, Text, Token};
use crate::core::rule::{Bits, Fields, Length, List, Rule, Span, span_words};
use crate::core::sent::Sent;

/// So much of a wrong value is shown.
const SHOWN_BYTES: usize = 100;

/// A value that breaks its rule: where it is, from the outside in, and what is wrong.
#[derive(Debug)]
struct Wrong {
    place: String,
    why: String,
}

/// What is wrong with a value that is JSON.
type Judged = Result<Option<Box<Wrong>>, Fault>;

/// The times that a right body holds, and how far each may be off.
pub type Times = Vec<(f64, f64)>;

/// One body, held against its rule.
pub struct Judge<'a> {
    reader: Reader<'a>,
    sent: Sent<'a>,
    any_case: bool,
    unix_now: &'a dyn Fn() -> f64,
    times: &'a mut Times,
    /// Where the field of the last object stood that its list compares.
    told: Range<usize>,
}

impl Wrong {
    fn new(why: String) -> Option<Box<Wrong>> {
        let place = String::new();
        Some(Box::new(Wrong { place, why }))
    }

    fn within(mut self: Box<Wrong>, outer: &str) -> Box<Wrong> {
        self.place = match self.place.is_empty() {
            true => outer.to_string(),
            false => format!("{outer}.{}", self.place),
        };
        self
    }

    fn sentence(&self) -> String {
        match self.place.is_empty() {
            true => format!("the body {}", self.why),
            false => format!("field `{}` {}", self.place, self.why),
        }
    }
}

impl<'a> Judge<'a> {
    pub fn new(
        body: &'a [u8],
        sent: Sent<'a>,
        any_case: bool,
        unix_now: &'a dyn Fn() -> f64,
        times: &'a mut Times,
    ) -> Judge<'a> {
        times.clear();
        Judge {
            reader: Reader::new(body),
            sent,
            any_case,
            unix_now,
            times,
            told: 0..0,
        }
    }

    /// The reason of a judgement, or `None` where the body is right.
    pub fn wrong(mut self, rule: &Rule) -> Option<String> {
        let judged = self.value(rule);
        match judged.and_then(|wrong| self.reader.end().map(|()| wrong)) {
            Ok(wrong) => wrong.map(|wrong| wrong.sentence()),
            Err(fault) => Some(format!("the body is not JSON: {fault}")),
        }
    }

    /// Reads one whole value, right or wrong.
    fn value(&mut self, rule: &Rule) -> Judged {
        if let Rule::OneOf(rules) = rule {
            return self.one_of(rule, rules);
        }
        if let Rule::Nullable(rule) = rule {
            return match self.reader.clone().token()? {
                Token::Null => self.value(&Rule::Null),
                _ => self.value(rule),
            };
        }
        let start = self.reader.start();
        let token = self.reader.token()?;
        let is_right = match (rule, token) {
            (Rule::List(list), Token::List) => return self.list(list),
            (Rule::IsList(rules), Token::List) => return self.row(rules),
            (Rule::Object(fields), Token::Object) => return self.object(fields),
            (Rule::Any, _) | (Rule::Null, Token::Null) | (Rule::Boolean, Token::Boolean(_)) => true,
            (Rule::IsBoolean(right), Token::Boolean(found)) => *right == found,
            (Rule::Text(span), Token::Text(found)) => {
                span.is_none_or(|span| is_within(found.characters() as u64, span))
            }
            (Rule::IsText(right), Token::Text(found)) => found.is(right.as_bytes()),
            (Rule::Slot(slot), Token::Text(found)) => match found.plain() {
                Some(raw) => self.sent.is(*slot, raw),
                None => self.sent.is(*slot, found.decoded().as_bytes()),
            },
            (Rule::Slot(slot), Token::Boolean(found)) => {
                let word: &[u8] = if found { b"true" } else { b"false" };
                self.sent.is(*slot, word)
            }
            (Rule::Slot(slot), Token::Number(found)) => {
                self.sent.is(*slot, found.raw()) || self.is_sent_otherwise(*slot, found)
            }
            (_, Token::Number(found)) => self.number(rule, found),
            _ => false,
        };
        self.reader.finish(token)?;
        if is_right {
            return Ok(None);
        }
        Ok(self.unlike(rule, start..self.reader.at()))
    }

    /// Whether what was sent is the same number, spelled otherwise.
    #[cold]
    #[inline(never)]
    fn is_sent_otherwise(&self, slot: usize, found: Number) -> bool {
        let sent = self.sent.text(slot);
        let Ok(number) = sent.parse() else {
            return false;
        };
        match (sent.parse::<i128>(), found.whole()) {
            (Ok(sent), Some(found)) => sent == found,
            _ => is_number(&number, found),
        }
    }

    fn number(&mut self, rule: &Rule, found: Number) -> bool {
        match rule {
            Rule::Integer(None) => found.is_whole(),
            Rule::Integer(Some((low, high))) => found
                .whole()
                .is_some_and(|value| (i128::from(*low)..=i128::from(*high)).contains(&value)),
            Rule::Number(range) => {
                range.is_none_or(|(low, high)| (low..=high).contains(&found.value()))
            }
            Rule::IsNumber(right) => is_number(right, found),
            Rule::UnixNow(within_s) => {
                self.times.push((found.value(), *within_s));
                (found.value() - (self.unix_now)()).abs() <= *within_s
            }
            _ => false,
        }
    }

    fn unlike(&self, rule: &Rule, place: Range<usize>) -> Option<Box<Wrong>> {
        let found = self.shown(place);
        Wrong::new(match rule {
            Rule::Object(_) => "is not a JSON object".to_string(),
            Rule::UnixNow(within_s) => {
                let now = (self.unix_now)();
                format!("is {found}, more than {within_s} s from now ({now:.3})")
            }
            rule => format!("is {found} instead of {}", rule.words(&self.sent)),
        })
    }

    fn shown(&self, place: Range<usize>) -> String {
        let end = place.end.min(place.start + SHOWN_BYTES);
        let mark = if end < place.end { "…" } else { "" };
        String::from_utf8_lossy(self.reader.bytes(place.start..end)).into_owned() + mark
    }

    fn one_of(&mut self, rule: &Rule, rules: &[Rule]) -> Judged {
        let start = self.reader.start();
        let before = self.reader.clone();
        for rule in rules {
            self.reader = before.clone();
            if self.value(rule)?.is_none() {
                return Ok(None);
            }
        }
        Ok(self.unlike(rule, start..self.reader.at()))
    }

    /// A list of exactly these.
    fn row(&mut self, rules: &[Rule]) -> Judged {
        let (mut count, mut is_first, mut wrong) = (0, true, None);
        while self.reader.item(&mut is_first)? {
            match rules.get(count) {
                Some(rule) if wrong.is_none() => {
                    let found = self.value(rule)?;
                    wrong = found.map(|found| found.within(&count.to_string()));
                }
                _ => {
                    self.reader.skip()?;
                }
            }
            count += 1;
        }
        let right = rules.len() as u64;
        Ok(wrong_length(count as u64, (right, right)).or(wrong))
    }

    fn list(&mut self, list: &List) -> Judged {
        let (mut count, mut is_first, mut wrong) = (0, true, None);
        let mut before = 0..0;
        while self.reader.item(&mut is_first)? {
            if wrong.is_some() {
                self.reader.skip()?;
            } else {
                let found = self.value(&list.each)?;
                wrong = found.map(|found| found.within(&count.to_string()));
                if let (Some(field), None) = (&list.ascending, &wrong) {
                    let told = self.told.clone();
                    wrong = self
                        .falls(before, told.clone())
                        .map(|found| found.within(field).within(&count.to_string()));
                    before = told;
                }
            }
            count += 1;
        }
        let span = match list.length {
            Length::Between(span) => span,
            Length::Slot(slot) => {
                match self.sent.number(slot).and_then(|n| u64::try_from(n).ok()) {
                    Some(length) => (length, length),
                    None => {
                        let sent = self.sent.text(slot);
                        return Ok(Wrong::new(format!("has no length: {sent} was sent")));
                    }
                }
            }
        };
        Ok(wrong_length(count, span).or(wrong))
    }

    /// What is wrong with a field that must not be smaller than the one before it.
    fn falls(&self, before: Range<usize>, told: Range<usize>) -> Option<Box<Wrong>> {
        if before.is_empty() {
            return None;
        }
        let tokens = [before.clone(), told.clone()]
            .map(|place| Reader::new(self.reader.bytes(place)).token());
        let is_right = match tokens {
            [Ok(Token::Number(before)), Ok(Token::Number(now))] => {
                match (before.whole(), now.whole()) {
                    (Some(before), Some(now)) => before <= now,
                    _ => before.value() <= now.value(),
                }
            }
            [Ok(Token::Text(before)), Ok(Token::Text(now))] => before.decoded() <= now.decoded(),
            _ => false,
        };
        if is_right {
            return None;
        }
        let (before, found) = (self.shown(before), self.shown(told));
        Wrong::new(format!("is {found} after {before}, and does not ascend"))
    }

    /// Of a key that stands twice the last value counts.
    fn object(&mut self, fields: &Fields) -> Judged {
        let (mut is_first, mut found, mut next) = (true, Bits::default(), 0);
        let (mut wrongs, mut other, mut told) = (Vec::new(), None, 0..0);
        while let Some(key) = self.reader.key(&mut is_first)? {
            let Some(index) = fields.find(key, next, self.any_case) else {
                if fields.closed && other.is_none() {
                    other = Some(key.decoded().into_owned());
                }
                self.reader.skip()?;
                continue;
            };
            next = index + 1;
            found[index / 64] |= 1 << (index % 64);
            let start = self.reader.start();
            let wrong = self.value(&fields.rules[index].rule)?;
            if fields.told == Some(index) {
                told = start..self.reader.at();
            }
            if wrong.is_some() || !wrongs.is_empty() {
                wrongs.retain(|(of, _)| *of != index);
                wrongs.extend(wrong.map(|wrong| (index, wrong)));
            }
        }
        self.told = told;
        if wrongs.is_empty() && other.is_none() && fields.are_in(&found) {
            return Ok(None);
        }
        Ok(fields.first_wrong(wrongs, &found).or_else(|| {
            let other = other?;
            Wrong::new("does not belong there".to_string()).map(|wrong| wrong.within(&other))
        }))
    }
}

fn is_within(count: u64, (least, most): Span) -> bool {
    (least..=most).contains(&count)
}

fn wrong_length(count: u64, span: Span) -> Option<Box<Wrong>> {
    if is_within(count, span) {
        return None;
    }
    Wrong::new(format!("has {count} items instead of {}", span_words(span)))
}

fn is_number(right: &serde_json::Number, found: Number) -> bool {
    match (right.as_i128(), found.whole()) {
        (Some(right), Some(found)) => right == found,
        // `serde_json` reads the plan's decimals to the last bit but one.
        _ => right.as_f64().is_some_and(|right| {
            let apart = (right - found.value()).abs();
            apart <= 2.0 * f64::EPSILON * right.abs()
        }),
    }
}

impl Fields {
    /// Keys mostly come in one order: looking begins behind the last one that was found.
    fn find(&self, key: Text, next: usize, any_case: bool) -> Option<usize> {
        let is_key = |index: &usize| match any_case {
            false => key.is(self.rules[*index].name.as_bytes()),
            true => key.is_in_any_case(&self.rules[*index].name),
        };
        let count = self.rules.len();
        (next..count).chain(0..next.min(count)).find(is_key)
    }

    fn are_in(&self, found: &Bits) -> bool {
        let mut pairs = self.needed.iter().zip(found);
        pairs.all(|(needed, found)| needed & !found == 0)
    }

    /// The first field, in the order of the rules, that is missing or wrong.
    fn first_wrong(&self, wrongs: Vec<(usize, Box<Wrong>)>, found: &Bits) -> Option<Box<Wrong>> {
        let has = |bits: &Bits, index: usize| bits[index / 64] >> (index % 64) & 1 == 1;
        let missing = (0..self.rules.len())
            .find(|&index| has(&self.needed, index) && !has(found, index))
            .and_then(|index| Some((index, Wrong::new("is missing".to_string())?)));
        let first = wrongs
            .into_iter()
            .chain(missing)
            .min_by_key(|(index, _)| *index);
        first.map(|(index, wrong)| wrong.within(&self.rules[index].name))
    }
}

#[cfg(test)]
#[path = "judge_tests.rs"]
mod tests;
