//! What a request held: the slots of its kind, with their values.

use crate::core::kept::Kept;
use crate::core::slots::Slots;

#[derive(Debug, Clone, Copy)]
pub struct Sent<'a> {
    pub slots: &'a Slots,
    pub values: &'a [i64],
    /// Of an earlier answer, where the request names one.
    pub kept: Option<&'a Kept>,
}

impl Sent<'_> {
    /// What stood in the slot, before it was escaped.
    pub fn text(&self, slot: usize) -> String {
        match self.kept_text(slot) {
            Some(text) => text.to_string(),
            None => self.slots.text(slot, self.values[slot]),
        }
    }

    fn kept_text(&self, slot: usize) -> Option<&str> {
        let field = self.slots.kept_field(slot)?;
        self.kept?.fields.get(field).map(String::as_str)
    }

    pub fn is(&self, slot: usize, text: &[u8]) -> bool {
        if let Some(kept) = self.kept_text(slot) {
            return kept.as_bytes() == text;
        }
        let value = self.values[slot];
        match self.slots.word(slot, value) {
            Some(word) => word.as_bytes() == text,
            None => itoa::Buffer::new().format(value).as_bytes() == text,
        }
    }

    /// The number that stood in the slot, also where it is one of words.
    pub fn number(&self, slot: usize) -> Option<i64> {
        let value = self.values[slot];
        match self.slots.word(slot, value) {
            Some(word) => word.parse().ok(),
            None => Some(value),
        }
    }
}
