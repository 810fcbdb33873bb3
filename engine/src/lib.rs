//! fairload: an HTTP load engine that accounts for every request.
//!
//! # Layout
//!
//! - `core`: the pure part. `error` is why the engine cannot do what it was asked for, `config` a plan that was checked. `schedule`,
//!   `pace` and `pauses` say when a request is due, `template`, `slots`, `data` and `request` what is sent, and `kept` what is kept of
//!   answers for later requests. `http1` and `expect` are what an answer is and whether it is good: by its `headers`, by a `table`, or by
//!   a `rule`, against which `judge` holds the `json` of a body. `record`, `settled`, `ledger`, `silence` and `histogram` count. `script` and `tally` are the misbehaving
//!   server's part, `analytic` is that of `fairload qualify`.
//! - `load`: the load loop. `worker`, `exchange` and `turns` are one thread, which has its `connections`, `timing` and `counting`. `run`
//!   is the controller that moves all threads through the phases and turns of a measurement, `gathering` puts together what they tell,
//!   and `control` is what they say to each other. `outside` reads the files and addresses that a plan names. `stream` is what carries
//!   a connection's bytes, `tls` one that encrypts them; `event`, `measurement` and `output` are what a run hands over.
//! - `peers`: servers to be measured. `null` gives the machine's ceiling, `faulty` and `scripted` misbehave on purpose.
//!   `wire` is no server: it puts a distance between two others.
//! - `sys`: the kernel, thinly. All `unsafe` code is in `sys` and `sys::socket`; `sys::awake` keeps processors from idling.
//! - `cli`: the commands. It alone reads arguments and prints.
//!
//! `core` and `sys` use nothing of the others; `load` and `peers` use `core` and `sys`, and not each other; `cli` uses all.
//! Modules use each other one way. `tests/engine/modules.rs` holds both.

pub mod cli;
pub mod core;
pub mod load;
mod peers;
mod sys;
