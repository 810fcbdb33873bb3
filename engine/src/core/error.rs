//! Why the engine cannot do what it was asked for: a sentence for a person, a code for a program.

use std::fmt::{Display, Formatter, Result as Written};

/// The kind says what has to be changed; the sentence says how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EngineError {
    /// Words of the command line.
    Arguments(String),
    Plan(String),
    /// Of the misbehaving server.
    Script(String),
    /// It cannot be read or written, or does not hold what it has to.
    File(String),
    /// A name without an address, or an address that cannot be listened on.
    Address(String),
    /// A certificate, or whom it names.
    Tls(String),
    /// What this machine does not give: open files, threads, processes.
    Machine(String),
    /// The server never accepted a connection: nothing was measured.
    Unreachable(String),
    /// A fault of the engine's own: its sums do not hold.
    Count(String),
}

use EngineError::*;

impl EngineError {
    pub fn code(&self) -> &'static str {
        match self {
            Arguments(_) => "arguments",
            Plan(_) => "plan",
            Script(_) => "script",
            File(_) => "file",
            Address(_) => "address",
            Tls(_) => "tls",
            Machine(_) => "machine",
            Unreachable(_) => "unreachable",
            Count(_) => "count",
        }
    }

    /// The same, and where in what was given.
    pub fn within(mut self, place: impl Display) -> EngineError {
        let sentence = match &mut self {
            Arguments(sentence)
            | Plan(sentence)
            | Script(sentence)
            | File(sentence)
            | Address(sentence)
            | Tls(sentence)
            | Machine(sentence)
            | Unreachable(sentence)
            | Count(sentence) => sentence,
        };
        *sentence = format!("{place}: {sentence}");
        self
    }
}

impl Display for EngineError {
    fn fmt(&self, out: &mut Formatter<'_>) -> Written {
        match self {
            Arguments(sentence)
            | Plan(sentence)
            | Script(sentence)
            | File(sentence)
            | Address(sentence)
            | Tls(sentence)
            | Machine(sentence)
            | Unreachable(sentence)
            | Count(sentence) => out.write_str(sentence),
        }
    }
}

impl std::error::Error for EngineError {}

#[cfg(test)]
mod tests {
    use super::*;

    /// A place goes before the sentence, and the kind stays.
    #[test]
    fn places() {
        let error = File("line 2 is empty".to_string()).within("file `names.txt`");
        assert_eq!(error.to_string(), "file `names.txt`: line 2 is empty");
        assert_eq!(error.code(), "file");
    }
}
