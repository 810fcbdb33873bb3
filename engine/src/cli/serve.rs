//! The commands that last until they are ended: `fairload null`, `fairload faulty` and `fairload awake`.

use std::io::{Read, Write};
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::mpsc::channel;

use clap::Args;

use crate::core::error::EngineError;
use crate::core::script::Script;
use crate::load::event::Event;
use crate::peers::faulty::Faulty;
use crate::peers::null;
use crate::sys::{self, awake};

pub const MOST_FILES: u64 = 1 << 20;

#[derive(Args)]
pub struct NullArgs {
    #[command(flatten)]
    place: Place,
    #[arg(long, default_value_t = 1)]
    threads: usize,
    #[arg(long, default_value = r#"{"ok":true,"message":"OK"}"#)]
    body: String,
    #[arg(long, default_value = "application/json; charset=utf-8")]
    content_type: String,
}

pub const FAULTY_EXAMPLES: &str = "\
A script is TOML. Every key may be left out; what no rule is for is answered with 200 and the body `good`.
  about = \"of each ten answers two are 503 and one is cut off by a reset\"
  [[rule]]
  on = {every = 10, from = 3, to = 5}        requests are numbered from 0, in the order of their arrival
  outcome = \"shed\"                           what a client that counts exactly must call it
  status = 503
  [[rule]]
  on = {every = 10, from = 7}
  outcome = \"reset\"
  cut = 60                                   only the first 60 bytes are sent
  then = \"reset\"                             or `keep`, `close`, `hang`
Also: body, content_type, headers, framing (`length`, `chunked`, `close`), length (a wrong one), informational, raw, delay_ms,
pieces and gap_ms; [answer] for all other requests; [stall] every_s, for_ms; [queue] mean_us, seed; [refuse] every, from, to.

Examples:
  fairload faulty tests/faults/bursts-of-503.toml --port 7100
  fairload faulty --script 'stall = {every_s = 5, for_ms = 500}'

It ends when its standard input closes or on a signal, and prints what it saw as one JSON document.";

#[derive(Args)]
pub struct FaultyArgs {
    /// File with the script
    #[arg(value_name = "SCRIPT", required_unless_present = "script")]
    file: Option<String>,
    /// The script itself
    #[arg(long, value_name = "TOML", conflicts_with = "file")]
    script: Option<String>,
    #[command(flatten)]
    place: Place,
    /// Write down each request on its own too
    #[arg(long)]
    list: bool,
}

#[derive(Args)]
struct Place {
    #[arg(long, default_value = "127.0.0.1")]
    host: String,
    /// 0: any free port
    #[arg(long, default_value_t = 0)]
    port: u16,
}

impl Place {
    fn address(&self) -> Result<SocketAddr, EngineError> {
        resolve(&self.host, (self.host.as_str(), self.port))
    }

    fn cannot_listen(&self, error: &std::io::Error) -> EngineError {
        EngineError::Address(format!(
            "cannot listen on {}:{}: {error}",
            self.host, self.port
        ))
    }
}

/// The first address of a place, which errors call by the name `shown`.
pub fn resolve(shown: &str, place: impl ToSocketAddrs) -> Result<SocketAddr, EngineError> {
    let mut addresses = place
        .to_socket_addrs()
        .map_err(|error| EngineError::Address(format!("`{shown}` has no address: {error}")))?;
    addresses
        .next()
        .ok_or_else(|| EngineError::Address(format!("`{shown}` has no address")))
}

/// Answers until it is ended from outside. The error is a sentence for a person.
pub fn null_command(args: &NullArgs) -> Result<u8, EngineError> {
    sys::block_termination();
    if !(1..=256).contains(&args.threads) {
        return Err(EngineError::Arguments(format!(
            "--threads is {}; write 1 to 256",
            args.threads
        )));
    }
    let address = args.place.address()?;
    sys::raise_open_files(MOST_FILES);
    let port = null::start(address, args.threads, &args.content_type, &args.body)
        .map_err(|error| args.place.cannot_listen(&error))?;
    Event::Listening { port }.print();
    wait_for_the_end();
    Ok(0)
}

pub const AWAKE_EXAMPLES: &str = "\
It spins on every processor that it may use, at a priority (SCHED_IDLE) below everything else, so that no processor is ever idle:
one that idles in a virtual machine is taken away, and comes back when the neighbours let it. It yields to all ordinary threads,
as long as the kernel does not share out the processors by session: see kernel.sched_autogroup_enabled and a cgroup's cpu.idle.

Example, beside a measurement:
  fairload awake & fairload run http://127.0.0.1:8080/ping; kill %1

It ends when its standard input closes or on a signal.";

/// Keeps the processors from idling until it is ended from outside. The error is a sentence for a person.
pub fn awake_command() -> Result<u8, EngineError> {
    sys::block_termination();
    let processors = awake::start().map_err(|error| {
        EngineError::Machine(format!("the processors cannot be kept awake: {error}"))
    })?;
    Event::Awake { processors }.print();
    wait_for_the_end();
    Ok(0)
}

/// Misbehaves until it is ended from outside, then prints what it saw. The error is a sentence for a person.
pub fn faulty_command(args: &FaultyArgs) -> Result<u8, EngineError> {
    sys::block_termination();
    let text = match (&args.file, &args.script) {
        (Some(file), _) => std::fs::read_to_string(file).map_err(|error| {
            EngineError::File(format!("script `{file}` cannot be read: {error}"))
        })?,
        (None, script) => script.clone().unwrap_or_default(),
    };
    let script = Script::parse(&text)?;
    let address = args.place.address()?;
    sys::raise_open_files(MOST_FILES);
    let server = Faulty::new(address, script, args.list)
        .map_err(|error| args.place.cannot_listen(&error))?;
    Event::Listening {
        port: server.port(),
    }
    .print();
    let stopper = server.stopper();
    std::thread::spawn(move || {
        wait_for_the_end();
        stopper.stop();
    });
    let tally = serde_json::to_string(&server.run()).expect("a tally is plain data") + "\n";
    // Whoever closed the pipe does not want the tally.
    let _ = std::io::stdout().write_all(tally.as_bytes());
    Ok(0)
}

/// Returns on SIGINT, SIGTERM, or when standard input ends.
fn wait_for_the_end() {
    let (sender, receiver) = channel();
    let ended = sender.clone();
    std::thread::spawn(move || {
        let mut rest = Vec::new();
        let _ = std::io::stdin().lock().read_to_end(&mut rest);
        ended.send(())
    });
    std::thread::spawn(move || {
        sys::wait_for_termination();
        sender.send(())
    });
    let _ = receiver.recv();
}
