//! What a misbehaving server writes down: every request that it got, and what became of it.

use std::collections::BTreeMap;

use serde::Serialize;

/// What became of one request, as the server saw it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Fate {
    /// All that the script says was done.
    Given,
    /// The client hung up first.
    Abandoned,
    /// The server was ended first.
    Unfinished,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Fates {
    pub given: u64,
    pub abandoned: u64,
    pub unfinished: u64,
}

/// One request, as it is listed on demand.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Line {
    pub number: u64,
    pub connection: u64,
    pub line: String,
    pub outcome: String,
    pub fate: Fate,
}

/// The document at the end: `docs/engine-protocol.md`, "`fairload faulty`".
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    pub connections: u64,
    /// Connections that were reset before any request.
    pub refused: u64,
    /// Whole requests that were read and got their turn.
    pub requests: u64,
    /// Whole requests that arrived after the server had closed their connection; nobody answered them.
    pub too_late: u64,
    /// Connections that ended inside a request, or sent none that is HTTP.
    pub broken: u64,
    /// Connections that the script had reset after a request, answered or not.
    pub resets: u64,
    pub stalls: u64,
    /// What became of them, by the outcome that the script calls it.
    pub fates: BTreeMap<String, Fates>,
    /// What a client that counts exactly must have counted.
    pub outcomes: BTreeMap<String, u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub list: Option<Vec<Line>>,
}

impl Tally {
    /// `lists`: each request is written down on its own too.
    pub fn new(lists: bool) -> Tally {
        Tally {
            list: lists.then(Vec::new),
            ..Tally::default()
        }
    }

    pub fn ended(&mut self, outcome: &str, fate: Fate) {
        let fates = self.fates.entry(outcome.to_string()).or_default();
        let (count, seen_as) = match fate {
            Fate::Given => (&mut fates.given, outcome),
            Fate::Abandoned => (&mut fates.abandoned, "timeout"),
            Fate::Unfinished => (&mut fates.unfinished, "in_flight"),
        };
        *count += 1;
        *self.outcomes.entry(seen_as.to_string()).or_default() += 1;
    }

    /// A request on a connection that was closed already: its client sees the connection end.
    pub fn too_late(&mut self, requests: u64) {
        if requests > 0 {
            self.too_late += requests;
            *self.outcomes.entry("reset".to_string()).or_default() += requests;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each fate is what an exact client sees: the script's outcome, a timeout, or nothing yet.
    #[test]
    fn outcomes_follow_fates() {
        let mut tally = Tally::new(false);
        for fate in [Fate::Given, Fate::Given, Fate::Abandoned, Fate::Unfinished] {
            tally.ended("shed", fate);
        }
        tally.too_late(2);
        tally.too_late(0);
        let counts: Vec<(&str, u64)> = tally
            .outcomes
            .iter()
            .map(|(name, count)| (name.as_str(), *count))
            .collect();
        assert_eq!(
            counts,
            [("in_flight", 1), ("reset", 2), ("shed", 2), ("timeout", 1)]
        );
        assert_eq!(
            tally.fates["shed"],
            Fates {
                given: 2,
                abandoned: 1,
                unfinished: 1
            }
        );
        assert_eq!(tally.too_late, 2);
    }
}
