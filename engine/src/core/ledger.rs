//! Sums per account of what was asked for: acknowledged, and of unknown fate. The database must agree.

use std::collections::{BTreeMap, HashMap};

use crate::core::outcome::Outcome;
use crate::core::request::{Add, Request};

/// Accounts of a range up to this many values lie in one array; others in a map.
const DENSE_ACCOUNTS: u64 = 1 << 16;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sums {
    pub count: u64,
    /// Wider than what is added: a wrapped sum would blame the server.
    pub sum: i128,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Row {
    pub acknowledged: Sums,
    pub unknown: Sums,
}

#[derive(Debug)]
enum Accounts {
    Dense { low: i64, rows: Vec<Row> },
    Sparse(HashMap<i64, Row>),
}

/// One set of accounts for each ledger rule of each kind of request.
#[derive(Debug, Default)]
pub struct Ledger {
    kinds: Vec<Vec<Accounts>>,
    /// Answers 5xx are of unknown fate, too.
    doubts_errors: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Acknowledged,
    Unknown,
    DidNotHappen,
}

fn fate(outcome: Outcome, doubts_errors: bool) -> Fate {
    match outcome {
        Outcome::Ok => Fate::Acknowledged,
        Outcome::Status(500..) | Outcome::Shed if doubts_errors => Fate::Unknown,
        Outcome::Status(code) if code < 400 => Fate::Unknown,
        Outcome::Timeout
        | Outcome::Reset
        | Outcome::Malformed
        | Outcome::WrongBody
        | Outcome::InFlight => Fate::Unknown,
        Outcome::Status(_) | Outcome::Shed | Outcome::Connect | Outcome::Unsent => {
            Fate::DidNotHappen
        }
    }
}

impl Ledger {
    pub fn new(requests: &[Request]) -> Ledger {
        let accounts = |request: &Request| {
            request
                .ledger
                .iter()
                .map(|rule| match request.slots.range(rule.account) {
                    Some((low, span)) if span <= DENSE_ACCOUNTS => Accounts::Dense {
                        low,
                        rows: vec![Row::default(); span as usize],
                    },
                    _ => Accounts::Sparse(HashMap::new()),
                })
                .collect()
        };
        Ledger {
            kinds: requests.iter().map(accounts).collect(),
            doubts_errors: false,
        }
    }

    /// Whether answers 5xx may be of requests that did happen: what cuts a connection may come between a commit and its confirmation.
    pub fn doubting(self, errors: bool) -> Ledger {
        Ledger {
            doubts_errors: errors,
            ..self
        }
    }

    /// Books a request of kind number `kind` that has ended.
    pub fn book(&mut self, kind: usize, request: &Request, values: &[i64], outcome: Outcome) {
        let fate = fate(outcome, self.doubts_errors);
        if fate == Fate::DidNotHappen {
            return;
        }
        for (rule, accounts) in request.ledger.iter().zip(&mut self.kinds[kind]) {
            let row = accounts.row(values[rule.account]);
            let sums = if fate == Fate::Acknowledged {
                &mut row.acknowledged
            } else {
                &mut row.unknown
            };
            sums.count += 1;
            sums.sum += i128::from(match rule.add {
                Add::Constant(constant) => constant,
                Add::Slot { index, sign } => sign * values[index],
            });
        }
    }

    pub fn merge(&mut self, other: &Ledger) {
        for (mine, others) in self
            .kinds
            .iter_mut()
            .flatten()
            .zip(other.kinds.iter().flatten())
        {
            others.each(|account, row| mine.row(account).add(row));
        }
    }

    /// By the ledger's name, then by the account as it stood in the request. Names of several kinds add up.
    pub fn by_name(&self, requests: &[Request]) -> BTreeMap<String, BTreeMap<String, Row>> {
        let mut names: BTreeMap<String, BTreeMap<String, Row>> = BTreeMap::new();
        for (request, kind) in requests.iter().zip(&self.kinds) {
            for (rule, accounts) in request.ledger.iter().zip(kind) {
                let rows = names.entry(rule.name.clone()).or_default();
                accounts.each(|account, row| {
                    rows.entry(request.slots.text(rule.account, account))
                        .or_default()
                        .add(row)
                });
            }
        }
        names
    }
}

impl Row {
    fn add(&mut self, other: &Row) {
        self.acknowledged.count += other.acknowledged.count;
        self.acknowledged.sum += other.acknowledged.sum;
        self.unknown.count += other.unknown.count;
        self.unknown.sum += other.unknown.sum;
    }
}

impl Accounts {
    fn row(&mut self, account: i64) -> &mut Row {
        match self {
            Accounts::Dense { low, rows } => &mut rows[(account - *low) as usize],
            Accounts::Sparse(rows) => rows.entry(account).or_default(),
        }
    }

    /// Visits the accounts that were booked at all.
    fn each(&self, mut visit: impl FnMut(i64, &Row)) {
        match self {
            Accounts::Dense { low, rows } => {
                let booked = rows
                    .iter()
                    .zip(*low..)
                    .filter(|(row, _)| **row != Row::default());
                booked.for_each(|(row, account)| visit(account, row));
            }
            Accounts::Sparse(rows) => rows.iter().for_each(|(account, row)| visit(*account, row)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::error::EngineError;
    use crate::core::slots::MAX_ABS;

    fn requests(range: &str) -> Vec<Request> {
        let json = format!(
            r#"{{"kind":"t","method":"POST","path":"/t?from={{int:1..{range}}}&to={{int:1..{range}!=from}}&amount={{int:1..9}}",
            "expect":{{"status":200}},"ledger":[{{"name":"credits","account":"from","add":"-amount"}},
            {{"name":"credits","account":"to","add":"amount"}},{{"name":"rows","account":"to","add":"1"}}]}}"#
        );
        vec![
            Request::compile(
                &serde_json::from_str(&json).unwrap(),
                "h",
                true,
                &|_| Err(EngineError::File("there are no files here".to_string())),
                &Default::default(),
            )
            .unwrap(),
        ]
    }

    fn row(acknowledged: (u64, i128), unknown: (u64, i128)) -> Row {
        let sums = |(count, sum)| Sums { count, sum };
        Row {
            acknowledged: sums(acknowledged),
            unknown: sums(unknown),
        }
    }

    /// Each rule books its slot under its account: good answers as acknowledged, doubtful ones as unknown, refused ones nowhere.
    #[test]
    fn books_by_fate() {
        for range in ["9", "9000000"] {
            let requests = requests(range);
            let mut ledger = Ledger::new(&requests);
            let mut other = Ledger::new(&requests);
            ledger.book(0, &requests[0], &[1, 2, 5], Outcome::Ok);
            ledger.book(0, &requests[0], &[2, 1, 3], Outcome::Ok);
            for refused in [
                Outcome::Shed,
                Outcome::Status(404),
                Outcome::Status(500),
                Outcome::Connect,
                Outcome::Unsent,
            ] {
                ledger.book(0, &requests[0], &[1, 2, 9], refused);
            }
            let doubtful = [
                Outcome::Timeout,
                Outcome::Reset,
                Outcome::Malformed,
                Outcome::WrongBody,
                Outcome::InFlight,
                Outcome::Status(302),
            ];
            for doubtful in doubtful {
                other.book(0, &requests[0], &[1, 2, 7], doubtful);
            }
            ledger.merge(&other);
            let names = ledger.by_name(&requests);
            let credits = BTreeMap::from([
                ("1".to_string(), row((2, -2), (6, -42))),
                ("2".to_string(), row((2, 2), (6, 42))),
            ]);
            let rows = BTreeMap::from([
                ("1".to_string(), row((1, 1), (0, 0))),
                ("2".to_string(), row((1, 1), (6, 6))),
            ]);
            assert_eq!(
                names,
                BTreeMap::from([("credits".to_string(), credits), ("rows".to_string(), rows)])
            );
        }
    }

    /// Sums are right where they leave 64 bits.
    #[test]
    fn sums_of_large_numbers() {
        let requests = requests("9");
        let mut ledger = Ledger::new(&requests);
        for _ in 0..10_000 {
            ledger.book(0, &requests[0], &[1, 2, MAX_ABS], Outcome::Ok);
        }
        let sum = 10_000 * i128::from(MAX_ABS);
        let credits = &ledger.by_name(&requests)["credits"];
        assert_eq!(credits["1"], row((10_000, -sum), (0, 0)));
        assert_eq!(credits["2"], row((10_000, sum), (0, 0)));
    }

    /// Where something is made to go wrong, an answer 5xx may be of a request that happened; one 4xx is of none.
    #[test]
    fn errors_are_doubted_where_that_is_asked() {
        let requests = requests("9");
        let mut ledger = Ledger::new(&requests).doubting(true);
        for outcome in [
            Outcome::Status(500),
            Outcome::Shed,
            Outcome::Status(404),
            Outcome::Connect,
        ] {
            ledger.book(0, &requests[0], &[1, 2, 5], outcome);
        }
        let names = ledger.by_name(&requests);
        assert_eq!(names["rows"]["2"], row((0, 0), (2, 2)));
    }
}
