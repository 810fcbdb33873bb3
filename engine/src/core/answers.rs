//! When each good answer came, for whoever holds it against a log of the server's own. Pure.

use crate::core::random;

/// So many answers of one thread are kept. Beyond that they are thinned, so that memory has a bound.
const MOST: usize = 1 << 18;

/// Numbers of requests whose answers were good, and when those were there.
///
/// All of them are kept, or a share that is drawn by the number of the request: one in two, in four, and so on.
#[derive(Debug)]
pub struct Answers {
    kept: Vec<(u64, u64)>,
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

    /// The answer to request `number` was there at `at_ns`.
    #[inline]
    pub fn came(&mut self, number: u64, at_ns: u64) {
        if self.halvings > 0 && !is_kept(number, self.halvings) {
            return;
        }
        self.kept.push((number, at_ns));
        if self.kept.len() >= self.most {
            self.thin(self.halvings + 1);
        }
    }

    /// One in so many answers is kept.
    pub fn one_in(&self) -> u64 {
        1 << self.halvings
    }

    /// Number and moment of those that are kept.
    pub fn kept(&self) -> &[(u64, u64)] {
        &self.kept
    }

    /// Adds another thread's, of which as large a share is kept afterwards.
    pub fn merge(&mut self, other: &Answers) {
        self.thin(self.halvings.max(other.halvings));
        let halvings = self.halvings;
        let others = other
            .kept
            .iter()
            .filter(|(number, _)| is_kept(*number, halvings));
        self.kept.extend(others);
    }

    fn thin(&mut self, halvings: u32) {
        self.halvings = halvings;
        self.kept.retain(|(number, _)| is_kept(*number, halvings));
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
        (0..99).for_each(|number| answers.came(number, number * 7));
        assert_eq!((answers.one_in(), answers.kept().len()), (1, 99));
        assert_eq!(answers.kept()[5], (5, 35));
    }

    /// Beyond the bound a share is kept, the same one whenever it is drawn and on whichever thread.
    #[test]
    fn thins_beyond_its_bound() {
        let mut answers = Answers::up_to(64);
        (0..1000).for_each(|number| answers.came(number, number));
        assert!(answers.one_in() >= 16 && answers.kept().len() < 64);
        let mut other = Answers::up_to(64);
        (1000..1030).for_each(|number| other.came(number, number));
        let one_in = answers.one_in();
        other.merge(&answers);
        assert_eq!(other.one_in(), one_in);
        let halvings = one_in.trailing_zeros();
        let mut expected: Vec<u64> = (0..1030)
            .filter(|number| is_kept(*number, halvings))
            .collect();
        let mut numbers: Vec<u64> = other.kept().iter().map(|(number, _)| *number).collect();
        numbers.sort_unstable();
        expected.sort_unstable();
        assert_eq!(numbers, expected);
    }
}
