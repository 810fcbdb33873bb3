//! fairload: an HTTP load engine that accounts for every request.
//!
//! `http1`, `template`, `clock`, `schedule`, `pace`, `record`, `silence`, `turn`, `ledger`, `expect`, `script` and `tally` are pure: they touch
//! neither the machine's clock nor a socket. `worker`, `exchange` and `turns` are one thread's loop. `run` moves all threads through
//! the phases and turns of a measurement. `event`, `measurement` and `output` are what it says. `null` and `faulty` are servers, for ceilings and for tests; `awake` keeps the
//! processors from idling, and `burn` slows a server down by a known share.
//! Modules use each other one way, from `cli` down; a test holds that.

pub mod analytic;
mod awake;
mod burn;
pub mod cli;
pub mod clock;
pub mod config;
mod conn;
mod control;
mod direct;
pub mod event;
mod exchange;
pub mod expect;
pub mod faulty;
pub mod histogram;
pub mod http1;
pub mod ledger;
pub mod lines;
pub mod measurement;
pub mod null;
pub mod outcome;
pub mod output;
mod pace;
pub mod plan;
pub mod qualify;
mod random;
pub mod record;
pub mod request;
pub mod run;
pub mod schedule;
pub mod script;
mod scripted;
pub mod serve;
pub mod settled;
pub mod silence;
mod socket;
pub mod summary;
pub mod sys;
pub mod tally;
pub mod template;
pub mod turn;
mod turns;
mod worker;

pub use control::Input;
