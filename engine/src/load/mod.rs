//! The load loop: threads that send requests and wait for answers, and the controller that moves them through a measurement.

mod conn;
mod connections;
mod control;
mod counting;
pub mod event;
mod exchange;
mod gathering;
mod judging;
mod logging;
pub mod measurement;
pub mod output;
pub mod outside;
pub mod run;
mod stream;
mod timing;
mod tls;
mod turns;
mod worker;

pub use control::Input;
