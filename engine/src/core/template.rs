//! Request templates: text with seeded slots, compiled once, rendered without allocation.

use crate::core::error::EngineError;
use crate::core::kept::Kept;
use crate::core::lines::Lines;
pub use crate::core::slots::{Escape, MAX_ABS, Slots};
pub use crate::core::spelling::check_pairs;

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(Vec<u8>),
    Slot(usize),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    pieces: Vec<Piece>,
}

impl Template {
    /// As `compile`; the first slot that has no other name is called `name`.
    pub fn compile_in(
        name: &str,
        text: &str,
        slots: &mut Slots,
        escape: Escape,
        read: &dyn Fn(&str) -> Result<Lines, EngineError>,
    ) -> Result<Template, EngineError> {
        let first = slots.len();
        let template = Template::compile(text, slots, escape, read)?;
        slots.call(first, name)?;
        Ok(template)
    }

    pub fn push(&mut self, other: Template) {
        for piece in other.pieces {
            match piece {
                Piece::Text(text) => self.push_bytes(&text),
                slot => self.pieces.push(slot),
            }
        }
    }

    pub fn push_text(&mut self, text: &str) {
        self.push_bytes(text.as_bytes());
    }

    fn push_bytes(&mut self, bytes: &[u8]) {
        match self.pieces.last_mut() {
            Some(Piece::Text(text)) => text.extend_from_slice(bytes),
            _ => self.pieces.push(Piece::Text(bytes.to_vec())),
        }
    }

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
            let inner = &rest[at + 1..at + end];
            let place = name_before(&literal, &pieces);
            slots.add(inner, place, escape, read)?;
            pieces.push(Piece::Text(std::mem::take(&mut literal).into_bytes()));
            pieces.push(Piece::Slot(slots.len() - 1));
            rest = &rest[at + end + 1..];
        }
        literal.push_str(rest);
        pieces.push(Piece::Text(literal.into_bytes()));
        Ok(Template { pieces })
    }

    /// Appends the text with `values` in its slots; `kept`: what was drawn of an earlier answer.
    pub fn render(&self, slots: &Slots, values: &[i64], kept: Option<&Kept>, out: &mut Vec<u8>) {
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => out.extend_from_slice(text),
                Piece::Slot(index) => slots.write(*index, values[*index], kept, out),
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

impl From<&str> for Template {
    /// A text without slots, which is sent as it stands.
    fn from(text: &str) -> Template {
        let pieces = vec![Piece::Text(text.as_bytes().to_vec())];
        Template { pieces }
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

#[cfg(test)]
#[path = "template_tests.rs"]
mod tests;
