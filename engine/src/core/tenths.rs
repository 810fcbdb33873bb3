//! The answers of each tenth of a second of the window. Pure: every moment comes in as a number.

pub const WIDTH_NS: u64 = 100_000_000;
/// Those after the first ten minutes are not kept.
const MOST: u64 = 6_000;

/// Answers that arrived in one tenth: good ones, and requests that ended otherwise.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tenth {
    pub ok: u64,
    pub not_ok: u64,
}

/// The tenths of one thread, or of several together. Empty where nobody asked for them.
#[derive(Debug, Clone, Default)]
pub struct Tenths {
    /// `None`: outside of the window.
    start_ns: Option<u64>,
    rows: Vec<Tenth>,
}

impl Tenths {
    /// A phase begins, and the last one has ended. `begins`: it is a window whose tenths are told.
    pub fn edge(&mut self, at_ns: u64, begins: bool) {
        // What lasted to the window's end without an answer has rows, too.
        self.row(at_ns.saturating_sub(1));
        self.start_ns = begins.then_some(at_ns);
    }

    /// A request has ended.
    pub fn ended(&mut self, at_ns: u64, ok: bool) {
        if let Some(row) = self.row(at_ns) {
            match ok {
                true => row.ok += 1,
                false => row.not_ok += 1,
            }
        }
    }

    pub fn rows(&self) -> &[Tenth] {
        &self.rows
    }

    pub fn merge(&mut self, other: &Tenths) {
        let length = self.rows.len().max(other.rows.len());
        self.rows.resize(length, Tenth::default());
        for (mine, others) in self.rows.iter_mut().zip(&other.rows) {
            mine.ok += others.ok;
            mine.not_ok += others.not_ok;
        }
    }

    fn row(&mut self, at_ns: u64) -> Option<&mut Tenth> {
        let index = at_ns.saturating_sub(self.start_ns?) / WIDTH_NS;
        if index >= MOST {
            return None;
        }
        let index = index as usize;
        if self.rows.len() <= index {
            self.rows.resize(index + 1, Tenth::default());
        }
        Some(&mut self.rows[index])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(tenths: &Tenths) -> Vec<(u64, u64)> {
        tenths
            .rows()
            .iter()
            .map(|row| (row.ok, row.not_ok))
            .collect()
    }

    /// Each answer counts in the tenth of its arrival, silence to the window's end has rows of zeros, and threads add up.
    #[test]
    fn answers_count_in_their_tenth() {
        let mut tenths = Tenths::default();
        tenths.ended(1, true);
        assert!(
            tenths.rows().is_empty(),
            "nothing counts outside of the window"
        );
        tenths.edge(1_000, true);
        for (at_ns, ok) in [(1_000, true), (100_000_999, true), (100_001_000, false)] {
            tenths.ended(at_ns, ok);
        }
        tenths.edge(400_001_000, false);
        assert_eq!(counts(&tenths), [(2, 0), (0, 1), (0, 0), (0, 0)]);
        tenths.ended(1, true);
        let mut other = Tenths::default();
        other.edge(0, true);
        other.ended(499_999_999, true);
        tenths.merge(&other);
        assert_eq!(counts(&tenths), [(2, 0), (0, 1), (0, 0), (0, 0), (1, 0)]);
    }

    /// A load that goes on for hours keeps no more than the first ten minutes.
    #[test]
    fn tenths_are_bounded() {
        let mut tenths = Tenths::default();
        tenths.edge(0, true);
        tenths.ended(MOST * WIDTH_NS - 1, true);
        tenths.ended(MOST * WIDTH_NS, true);
        assert_eq!(tenths.rows().len() as u64, MOST);
        assert_eq!(tenths.rows().last(), Some(&Tenth { ok: 1, not_ok: 0 }));
    }
}
