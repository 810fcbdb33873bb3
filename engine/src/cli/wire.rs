//! `fairload wire`: a distance between two processes of this machine.

use std::net::SocketAddr;

use clap::Args;

use crate::cli::serve::{MOST_FILES, resolve};
use crate::core::error::EngineError;
use crate::load::event::Event;
use crate::peers::wire;
use crate::sys;

const MOST_DELAY_US: u64 = 1_000_000;

pub const WIRE_EXAMPLES: &str = "\
The delay is that of a round trip: half of it each way. A new connection waits one round trip more, as a handshake does. Bandwidth and
loss are those of loopback.

Example, a database one millisecond away, on port 6432:
  fairload wire --listen 127.0.0.1:6432 --connect 127.0.0.1:5432 --delay-us 1000

All three may be given several times: the first ones are one wire, the second ones another. It ends on a signal.";

#[derive(Args)]
pub struct WireArgs {
    /// Where to listen, on this machine alone; port 0: any free one
    #[arg(long, value_name = "ADDRESS", required = true)]
    listen: Vec<SocketAddr>,
    /// What each connection is carried to
    #[arg(long, value_name = "HOST:PORT", required = true)]
    connect: Vec<String>,
    /// What is added to each round trip, in µs
    #[arg(long, value_name = "N", required = true, value_parser = clap::value_parser!(u64).range(1..=MOST_DELAY_US))]
    delay_us: Vec<u64>,
}

/// Carries until it is ended from outside. The error is a sentence for a person.
pub fn wire_command(args: &WireArgs) -> Result<u8, EngineError> {
    sys::block_termination();
    sys::raise_open_files(MOST_FILES);
    let count = args.listen.len();
    if args.connect.len() != count || args.delay_us.len() != count {
        return Err(EngineError::Arguments(
            "give --listen, --connect and --delay-us equally often".to_string(),
        ));
    }
    for ((listen, connect), delay_us) in args.listen.iter().zip(&args.connect).zip(&args.delay_us) {
        if !listen.ip().is_loopback() {
            return Err(EngineError::Arguments(format!(
                "{listen} is not of this machine alone; write 127.0.0.1:{}",
                listen.port()
            )));
        }
        let port = wire::start(
            *listen,
            resolve(connect, connect.as_str())?,
            delay_us * 1000,
        )
        .map_err(|error| EngineError::Address(format!("cannot listen on {listen}: {error}")))?;
        Event::Listening { port }.print();
    }
    sys::wait_for_termination();
    Ok(0)
}
