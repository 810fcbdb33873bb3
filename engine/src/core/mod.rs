//! The pure part: values and calculations. Nothing here reads a clock, a file or a socket, so its tests need none.

pub mod analytic;
pub mod clock;
pub mod config;
pub mod error;
pub mod expect;
pub mod handshakes;
pub mod histogram;
pub mod http1;
pub mod kind;
pub mod ledger;
pub mod lines;
pub mod outcome;
pub(crate) mod pace;
pub(crate) mod pauses;
pub mod plan;
pub(crate) mod random;
pub mod record;
pub mod request;
pub mod schedule;
pub mod script;
pub(crate) mod second;
pub mod settled;
pub mod silence;
pub mod tally;
pub mod template;
pub mod tenths;
