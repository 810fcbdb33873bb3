//! When each good answer came, for whoever holds it against a log of the server's own. Pure.

use crate::core::random;

/// So many answers of one thread are kept. Beyond that they are thinned, so that memory has a bound.
const MOST: usize = 1 << 18;

/// A request whose answer was good, and when that was there. Its kind may be another than its number says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Good {
    pub number: u64,
    pub at_ns: u64,
    pub kind: u32,
}

/// Numbers of requests whose answers were good, and when those were there.
///
/// All of them are kept, or a share that is drawn by the number of the request: one in two, in four, and so on.
#[derive(Debug)]
pub struct Answers {
    kept: Vec<Good>,
    halvings: u32,
    most: usize,
}

impl Default for Answers {
    fn default() -> Answers {
        Answers::up_to(MOST)
    }
}

impl Answers {
    fn up_to(most: usize) -> Answers {
        Answers {
            kept: Vec::new(),
            halvings: 0,
            most,
        }
    }

    /// The answer to request `number`, of this kind, was there at `at_ns`.
    #[inline]
    pub fn came(&mut self, number: u64, kind: usize, at_ns: u64) {
        if self.halvings > 0 && !is_kept(number, self.halvings) {
            return;
        }
        self.kept.push(Good {
            number,
            at_ns,
            kind: kind as u32,
        });
        if self.kept.len() >= self.most {
            self.thin(self.halvings + 1);
        }
    }

    /// One in so many answers is kept.
    pub fn one_in(&self) -> u64 {
        1 << self.halvings
    }

    pub fn kept(&self) -> &[Good] {
        &self.kept
    }

    /// Adds another thread's, of which as large a share is kept afterwards.
    pub fn merge(&mut self, other: &Answers) {
        self.thin(self.halvings.max(other.halvings));
        let halvings = self.halvings;
        let others = other
            .kept
            .iter()
            .filter(|good| is_kept(good.number, halvings));
        self.kept.extend(others);
    }

    fn thin(&mut self, halvings: u32) {
        self.halvings = halvings;
        self.kept.retain(|good| is_kept(good.number, halvings));
    }
}

fn is_kept(number: u64, halvings: u32) -> bool {
    random::bits(0, number, random::CHECK).trailing_zeros() >= halvings
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Up to the bound every answer is kept, with its moment.
    #[test]
    fn keeps_all() {
        let mut answers = Answers::up_to(100);
        (0..99).for_each(|number| answers.came(number, 1, number * 7));
        assert_eq!((answers.one_in(), answers.kept().len()), (1, 99));
        let good = answers.kept()[5];
        assert_eq!((good.number, good.kind, good.at_ns), (5, 1, 35));
    }

    /// Beyond the bound a share is kept, the same one whenever it is drawn and on whichever thread.
    #[test]
    fn thins_beyond_its_bound() {
        let mut answers = Answers::up_to(64);
        (0..1000).for_each(|number| answers.came(number, 0, number));
        assert!(answers.one_in() >= 16 && answers.kept().len() < 64);
        let mut other = Answers::up_to(64);
        (1000..1030).for_each(|number| other.came(number, 0, number));
        let one_in = answers.one_in();
        other.merge(&answers);
        assert_eq!(other.one_in(), one_in);
        let halvings = one_in.trailing_zeros();
        let mut expected: Vec<u64> = (0..1030)
            .filter(|number| is_kept(*number, halvings))
            .collect();
        let mut numbers: Vec<u64> = other.kept().iter().map(|good| good.number).collect();
        numbers.sort_unstable();
        expected.sort_unstable();
        assert_eq!(numbers, expected);
    }
}
