//! The command line. This module and its commands alone read arguments and standard input, print results, and decide on exit codes.

mod burn;
mod direct;
mod qualify;
mod serve;
mod summary;
mod wire;

use std::fs::File;
use std::io::{BufRead, BufWriter, ErrorKind, IsTerminal, Write};
use std::process::ExitCode;
use std::sync::mpsc::{Sender, channel};

use clap::{Args, Parser, Subcommand};

use crate::cli::burn::{BURN_EXAMPLES, BurnArgs, burn_command};
use crate::cli::direct::DirectArgs;
use crate::cli::qualify::{QualifyArgs, qualify_command};
use crate::cli::serve::{
    AWAKE_EXAMPLES, FAULTY_EXAMPLES, FaultyArgs, NullArgs, awake_command, faulty_command,
    null_command,
};
use crate::cli::wire::{WIRE_EXAMPLES, WireArgs, wire_command};
use crate::core::config::Config;
use crate::core::error::EngineError;
use crate::core::histogram::write_hgrm;
use crate::load::Input;
use crate::load::event::Event;
use crate::load::measurement::Measurement;
use crate::load::output::Document;
use crate::load::outside;
use crate::load::run::run;
use crate::sys;

const WRONG_INPUT: u8 = 2;
const NOTHING_MEASURED: u8 = 3;
const INTERRUPTED: u8 = 130;

const COMMANDS: &str = "\
Examples:
  fairload run http://127.0.0.1:8080/ping -c 100 -d 10s          measure a server
  fairload null --port 8080                                      a server that costs next to nothing
  fairload faulty SCRIPT.toml                                    a server that misbehaves on purpose
  fairload qualify                                               can this machine measure? takes 36 s
  fairload awake                                                 keep a virtual machine's processors from idling
  fairload burn --share 0.05 …                                   slow a server down by a known share
  fairload wire --connect 127.0.0.1:5432 --delay-us 1000 …       put a distance between two of them

`fairload run --help` has more.

Exit codes: 0 measured, 1 `qualify` missed a known number, 2 wrong input, 3 the server never accepted a connection, 130 interrupted.";

const RUN_EXAMPLES: &str = "\
Examples:
  100 connections, each with one request on its way, for 10 seconds:
      fairload run http://127.0.0.1:8080/ping -c 100
  5000 requests a second, come what may; latency counts from the moment at which each was due:
      fairload run http://127.0.0.1:8080/ping --rate 5000
  The same with 16 requests sent at once on each connection:
      fairload run http://127.0.0.1:8080/plaintext -c 100 --pipeline 16
  Where does it break? Ten steps from 1000 to 20000 a second, 5 s each:
      fairload run http://127.0.0.1:8080/ping -c 500 --rate 1000..20000 --step 5s
  Other values in each request, and a look at every answer:
      fairload run 'http://127.0.0.1:8080/pay?to={int:1..100000}&amount={int:1..50}' -X POST --expect-body ok
      fairload run 'http://127.0.0.1:8080/find?q={file:words.txt}' --warmup 2s
      fairload run http://127.0.0.1:8080/users -X POST -H 'content-type: application/json' -b '{{\"name\":\"{file:names.txt}\"}'
  For plotters of HdrHistograms, and for programs:
      fairload run http://127.0.0.1:8080/ping --hgrm ping.hgrm
      fairload run http://127.0.0.1:8080/ping --json | jq .window.latency.ok.p99_us

Slots, in the path, in headers and in the body: {int:1..9} uniform · {int:1..9!=name} but not slot `name` · {low:1..9} and {high:1..9} two numbers
in order · {choice:a|b} · {file:PATH} a line of a file, escaped for where it stands · {seq} 1, 2, 3 … · {{ is a brace · {name=…}
names a slot, for `--expect-json '{\"json\":{\"id\":{\"slot\":\"name\"}}}'`. The same seed gives the same requests.

Exit codes: 0 measured, 2 wrong input, 3 the server never accepted a connection, 130 interrupted.";

#[derive(Parser)]
#[command(name = "fairload", version, about = "An HTTP load engine that accounts for every request", after_help = COMMANDS)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Measure a server, by a plan or by options
    #[command(after_help = RUN_EXAMPLES)]
    Run(Box<RunArgs>),
    /// Answer every request with 200 and one fixed body: the ceiling of this machine
    Null(NullArgs),
    /// Misbehave as a script says, and write down every request: for tests of clients
    #[command(after_help = FAULTY_EXAMPLES)]
    Faulty(FaultyArgs),
    /// Measure servers whose latencies are known by calculation: can this machine measure?
    #[command(after_help = "Exit codes: 0 it can, 1 it cannot, 2 wrong input.")]
    Qualify(QualifyArgs),
    /// Keep this virtual machine's processors from idling while something is measured
    #[command(after_help = AWAKE_EXAMPLES)]
    Awake,
    /// Slow a server down by a known share of its CPU, from inside of its cgroup: a positive control
    #[command(after_help = BURN_EXAMPLES)]
    Burn(BurnArgs),
    /// Put a distance between two processes: carry their bytes, and let each round trip take so much longer
    #[command(after_help = WIRE_EXAMPLES)]
    Wire(WireArgs),
}

#[derive(Args)]
struct RunArgs {
    #[command(flatten)]
    direct: DirectArgs,
    /// Instead of a URL: a file with a plan as JSON; `-`: the first line of standard input. Further input: one JSON command a line
    #[arg(long, value_name = "FILE", help_heading = "Plan")]
    plan: Option<String>,
    /// Print the whole result as JSON on standard output, and events on standard error
    #[arg(long, help_heading = "Output")]
    json: bool,
    /// Write the latencies of the good answers to this file, as percentiles that HdrHistogram's plotters read (in ms)
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    hgrm: Option<String>,
}

/// How to speak: events and JSON for machines, or a summary for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Voice {
    Machine,
    Person,
}

pub fn main() -> ExitCode {
    let command = Cli::parse().command;
    let voice = command.voice();
    let result = match command {
        Command::Run(args) => run_command(&args, voice),
        Command::Null(args) => null_command(&args),
        Command::Qualify(args) => qualify_command(&args),
        Command::Faulty(args) => faulty_command(&args),
        Command::Awake => awake_command(),
        Command::Burn(args) => burn_command(&args),
        Command::Wire(args) => wire_command(&args),
    };
    ExitCode::from(result.unwrap_or_else(|error| voice.tell(&error)))
}

impl Command {
    fn voice(&self) -> Voice {
        match self {
            Command::Run(args) => args.voice(std::io::stdout().is_terminal()),
            Command::Null(_) => Voice::Machine,
            _ => Voice::Person,
        }
    }
}

impl Voice {
    /// Says why nothing came of it; the exit code.
    fn tell(self, error: &EngineError) -> u8 {
        match self {
            Voice::Machine => Event::error(error).print(),
            Voice::Person => eprintln!("fairload: {error}"),
        }
        match error {
            EngineError::Unreachable(_) => NOTHING_MEASURED,
            _ => WRONG_INPUT,
        }
    }
}

impl RunArgs {
    /// `terminal`: standard output is one.
    fn voice(&self, terminal: bool) -> Voice {
        let is_programs = match self.plan.as_deref() {
            Some("-") => true,
            Some(_) => !terminal,
            None => false,
        };
        if self.json || is_programs {
            Voice::Machine
        } else {
            Voice::Person
        }
    }

    fn config(&self, commands: &Sender<Input>) -> Result<Config, EngineError> {
        let Some(source) = &self.plan else {
            return outside::config(&self.direct.plan()?);
        };
        let config = outside::config(&read_plan(source)?)?;
        listen_to_commands(commands.clone());
        Ok(config)
    }

    /// Opened before the load: whoever cannot have the file shall not wait for it.
    fn hgrm_file(&self) -> Result<Option<(File, &str)>, EngineError> {
        let Some(path) = self.hgrm.as_deref() else {
            return Ok(None);
        };
        match File::create(path) {
            Ok(file) => Ok(Some((file, path))),
            Err(error) => Err(cannot_be_written(&format!("`{path}`"), &error)),
        }
    }
}

fn run_command(args: &RunArgs, voice: Voice) -> Result<u8, EngineError> {
    sys::block_termination();
    let (sender, receiver) = channel();
    let config = args.config(&sender)?;
    let hgrm = args.hgrm_file()?;
    listen_to_signals(sender.clone());
    let live = (voice == Voice::Person && std::io::stderr().is_terminal())
        .then(|| summary::Live::new(&config));
    let mut on_event = |event: &Event| match (voice, &live) {
        (Voice::Machine, _) => event.print(),
        (Voice::Person, Some(live)) => live.draw(event),
        (Voice::Person, None) => {}
    };
    let measurement = run(config, &sender, &receiver, &mut on_event)?;
    // A wrong sum is a fault of the engine: better no result than one that lies.
    measurement
        .record
        .check_identities()
        .map_err(|error| error.within("the engine lost count"))?;
    let code = report(&measurement, voice);
    if let Some((file, path)) = hgrm {
        let mut out = BufWriter::new(file);
        write_hgrm(&measurement.record.latency_ok(), &mut out)
            .and_then(|()| out.flush())
            .map_err(|error| cannot_be_written(&format!("`{path}`"), &error))?;
    }
    code
}

fn report(measurement: &Measurement, voice: Voice) -> Result<u8, EngineError> {
    let document = Document::new(measurement);
    let text = match voice {
        Voice::Machine => serde_json::to_string(&document).expect("a result is plain data") + "\n",
        Voice::Person => summary::text(&document, &measurement.config),
    };
    let mut out = std::io::stdout();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        // Whoever closed the pipe does not want the result.
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            return Err(cannot_be_written("the result", &error));
        }
        _ => {}
    }
    if measurement.interrupted {
        return Ok(INTERRUPTED);
    }
    // Where nothing was due yet, nobody has asked the server.
    if measurement.connected || measurement.record.life_sent == 0 {
        return Ok(0);
    }
    Err(never_connected(measurement))
}

fn never_connected(measurement: &Measurement) -> EngineError {
    let address = measurement.config.address;
    let first = measurement.record.samples.first();
    EngineError::Unreachable(match (&measurement.record.handshakes, first) {
        (Some(_), Some(sample)) => format!("{address}: {}", sample.reason),
        _ => format!("{address} never accepted a connection; is the server running there?"),
    })
}

fn cannot_be_written(what: &str, error: &std::io::Error) -> EngineError {
    EngineError::File(format!("{what} cannot be written: {error}"))
}

fn read_plan(source: &str) -> Result<String, EngineError> {
    let mut plan = String::new();
    if source != "-" {
        return std::fs::read_to_string(source).map_err(|error| {
            EngineError::File(format!("plan `{source}` cannot be read: {error}"))
        });
    }
    std::io::stdin()
        .lock()
        .read_line(&mut plan)
        .map_err(|error| {
            EngineError::File(format!(
                "the plan on standard input cannot be read: {error}"
            ))
        })?;
    if plan.trim().is_empty() {
        return Err(EngineError::File(
            "standard input ended before a plan; write it as one line of JSON".to_string(),
        ));
    }
    Ok(plan)
}

fn listen_to_signals(sender: Sender<Input>) {
    std::thread::spawn(move || {
        loop {
            sys::wait_for_termination();
            if sender.send(Input::Interrupt).is_err() {
                return;
            }
        }
    });
}

fn listen_to_commands(sender: Sender<Input>) {
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().split(b'\n').map_while(Result::ok) {
            let line = String::from_utf8_lossy(&line);
            if !line.trim().is_empty() && sender.send(Input::parse(line.trim())).is_err() {
                return;
            }
        }
    });
}

#[cfg(test)]
#[path = "cli_tests.rs"]
mod tests;
