//! The command line. This module and its commands alone read arguments and standard input, print, and decide on exit codes.

use std::io::{BufRead, IsTerminal, Write};
use std::process::ExitCode;
use std::sync::mpsc::{Sender, channel};

use clap::{Args, Parser, Subcommand};
use serde_json::json;

use crate::config::Config;
use crate::control::Input;
use crate::output::{Document, Event};
use crate::qualify::{QualifyArgs, qualify_command};
use crate::run::{Measurement, run};
use crate::serve::{FAULTY_EXAMPLES, FaultyArgs, NullArgs, faulty_command, null_command};
use crate::{summary, sys};

const WRONG_INPUT: u8 = 2;
const NOTHING_MEASURED: u8 = 3;
const INTERRUPTED: u8 = 130;

const EXAMPLES: &str = "\
Examples:
  fairload run --url http://127.0.0.1:8080/ping -c 100 -d 10
  fairload run --url 'http://127.0.0.1:8080/tx?aid={int:1..100000}&delta={int:-50..50}' --method POST --warmup 2
  fairload run --url http://127.0.0.1:8080/ping --rate 5000      open loop: latency counts from the due time
  fairload run --url http://127.0.0.1:8080/ping --json           the whole result, for machines
  fairload run --plan -                                          plan and commands on standard input
  fairload null --port 8080                                      a server that costs next to nothing
  fairload faulty SCRIPT.toml                                    a server that misbehaves on purpose
  fairload qualify                                               can this machine measure? takes 36 s

Exit codes: 0 measured, 1 `qualify` missed a known number, 2 wrong input, 3 the server never accepted a connection, 130 interrupted.";

#[derive(Parser)]
#[command(name = "fairload", version, about = "An HTTP load engine that accounts for every request", after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Measure a server, by a plan or by options
    #[command(after_help = EXAMPLES)]
    Run(RunArgs),
    /// Answer every request with 200 and one fixed body: the ceiling of this machine
    Null(NullArgs),
    /// Misbehave as a script says, and write down every request: for tests of clients
    #[command(after_help = FAULTY_EXAMPLES)]
    Faulty(FaultyArgs),
    /// Measure servers whose latencies are known by calculation: can this machine measure?
    #[command(after_help = "Exit codes: 0 it can, 1 it cannot, 2 wrong input.")]
    Qualify(QualifyArgs),
}

#[derive(Args)]
struct RunArgs {
    /// File with a plan as JSON; `-`: the first line of standard input. Further input: one JSON command a line
    #[arg(long, value_name = "FILE", conflicts_with = "url")]
    plan: Option<String>,
    #[command(flatten)]
    direct: DirectArgs,
}

#[derive(Args)]
struct DirectArgs {
    /// What to request: http://HOST:PORT/PATH; may hold slots: {int:1..9} {choice:a|b} {seq}, `{{` for a brace
    #[arg(long)]
    url: Option<String>,
    /// Connections (closed loop: each has one request on its way; with --rate: the most that are opened)
    #[arg(short, long, default_value_t = 10)]
    connections: usize,
    /// Seconds to measure
    #[arg(short, long, default_value_t = 10.0, value_name = "SECONDS")]
    duration: f64,
    /// Seconds of load before the measurement
    #[arg(long, default_value_t = 0.0, value_name = "SECONDS")]
    warmup: f64,
    /// Threads, which share nothing
    #[arg(short, long, default_value_t = 1)]
    threads: usize,
    /// Open loop: requests a second, due at random (Poisson) times whether or not the server keeps up
    #[arg(long, value_name = "PER_SECOND")]
    rate: Option<f64>,
    /// With --rate: due at equal distances instead
    #[arg(long, requires = "rate")]
    constant: bool,
    #[arg(short = 'X', long, default_value = "GET")]
    method: String,
    /// A header, `name: value`; may be given several times
    #[arg(short = 'H', long = "header", value_name = "HEADER")]
    headers: Vec<String>,
    /// The request's body; may hold slots
    #[arg(short, long)]
    body: Option<String>,
    /// The status of a good answer
    #[arg(long, default_value_t = 200, value_name = "STATUS")]
    expect_status: u16,
    /// The body of a good answer, compared every time
    #[arg(long, value_name = "TEXT")]
    expect_body: Option<String>,
    /// Longest wait for an answer
    #[arg(long, default_value_t = 10_000, value_name = "MS")]
    timeout_ms: u64,
    /// A new connection for each request
    #[arg(long)]
    close: bool,
    /// Decides on the values of all slots and on the arrivals
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Print the whole result as JSON on standard output, and events on standard error
    #[arg(long)]
    json: bool,
}

/// How to speak: events and JSON for machines, or a summary for people.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Voice {
    Machine,
    Person,
}

pub fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Run(args) => run_command(args),
        Command::Null(args) => null_command(&args).map_err(|message| (Voice::Machine, message)),
        Command::Qualify(args) => {
            qualify_command(&args).map_err(|message| (Voice::Person, message))
        }
        Command::Faulty(args) => faulty_command(&args).map_err(|message| (Voice::Person, message)),
    };
    match result {
        Ok(code) => ExitCode::from(code),
        Err((voice, message)) => {
            match voice {
                Voice::Machine => print_event(&Event::Error { message }),
                Voice::Person => eprintln!("fairload: {message}"),
            }
            ExitCode::from(WRONG_INPUT)
        }
    }
}

fn run_command(args: RunArgs) -> Result<u8, (Voice, String)> {
    sys::block_termination();
    let (sender, receiver) = channel();
    let voice = if args.plan.is_some() || args.direct.json {
        Voice::Machine
    } else {
        Voice::Person
    };
    let fail = |message| (voice, message);
    let config = match &args.plan {
        Some(source) => {
            let config = Config::parse(&read_plan(source).map_err(fail)?).map_err(fail)?;
            listen_to_commands(sender.clone());
            config
        }
        None => Config::parse(&direct_plan(&args.direct).map_err(fail)?).map_err(fail)?,
    };
    let interrupts = sender.clone();
    std::thread::spawn(move || {
        loop {
            sys::wait_for_termination();
            if interrupts.send(Input::Interrupt).is_err() {
                return;
            }
        }
    });
    let live = voice == Voice::Person && std::io::stderr().is_terminal();
    let mut on_event = |event: &Event| match voice {
        Voice::Machine => print_event(event),
        Voice::Person if live => summary::live(event),
        Voice::Person => {}
    };
    let measurement = run(config, &sender, &receiver, &mut on_event).map_err(fail)?;
    // A wrong sum is a fault of the engine: better no result than one that lies.
    if let Err(sentence) = measurement.record.check_identities() {
        panic!("the engine lost count: {sentence}");
    }
    Ok(report(&measurement, voice))
}

fn report(measurement: &Measurement, voice: Voice) -> u8 {
    let document = Document::new(measurement);
    let text = match voice {
        Voice::Machine => serde_json::to_string(&document).expect("a result is plain data") + "\n",
        Voice::Person => summary::text(&document, &measurement.config),
    };
    // Whoever closed the pipe does not want the result.
    let _ = std::io::stdout().write_all(text.as_bytes());
    if measurement.interrupted {
        return INTERRUPTED;
    }
    if measurement.connected {
        return 0;
    }
    let message = format!(
        "{} never accepted a connection; is the server running there?",
        measurement.config.address
    );
    match voice {
        Voice::Machine => print_event(&Event::Error { message }),
        Voice::Person => eprintln!("fairload: {message}"),
    }
    NOTHING_MEASURED
}

pub(crate) fn print_event(event: &Event) {
    let line = serde_json::to_string(event).expect("an event is plain data") + "\n";
    let _ = std::io::stderr().write_all(line.as_bytes());
}

fn read_plan(source: &str) -> Result<String, String> {
    let mut plan = String::new();
    if source != "-" {
        return std::fs::read_to_string(source)
            .map_err(|error| format!("plan `{source}` cannot be read: {error}"));
    }
    std::io::stdin()
        .lock()
        .read_line(&mut plan)
        .map_err(|error| format!("the plan on standard input cannot be read: {error}"))?;
    if plan.trim().is_empty() {
        return Err("standard input ended before a plan; write it as one line of JSON".to_string());
    }
    Ok(plan)
}

fn listen_to_commands(sender: Sender<Input>) {
    std::thread::spawn(move || {
        for line in std::io::stdin()
            .lock()
            .lines()
            .map_while(Result::ok)
            .filter(|line| !line.trim().is_empty())
        {
            if sender.send(parse_command(&line)).is_err() {
                return;
            }
        }
    });
}

fn parse_command(line: &str) -> Input {
    let command = serde_json::from_str::<serde_json::Value>(line).ok();
    match command
        .as_ref()
        .and_then(|command| command["command"].as_str())
    {
        Some("measure") => Input::Measure,
        Some("stop") => Input::Stop,
        _ => Input::BadCommand(format!(
            "`{line}` is no command; write {{\"command\":\"measure\"}} or {{\"command\":\"stop\"}}"
        )),
    }
}

/// The direct form, as the plan that it stands for.
fn direct_plan(args: &DirectArgs) -> Result<String, String> {
    let missing = "give --url or --plan; `fairload run --help` shows examples";
    let url = args.url.as_deref().ok_or(missing)?;
    let rest = url
        .strip_prefix("http://")
        .ok_or_else(|| format!("url `{url}` does not start with `http://`"))?;
    let (authority, path) = rest
        .find(['/', '?'])
        .map_or((rest, "/"), |at| rest.split_at(at));
    let path = if path.starts_with('?') {
        format!("/{path}")
    } else {
        path.to_string()
    };
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (
            host,
            port.parse::<u16>()
                .map_err(|_| format!("url `{url}`: `{port}` is no port"))?,
        ),
        _ => (authority, 80),
    };
    let headers: Vec<(&str, &str)> = args
        .headers
        .iter()
        .map(|header| {
            header
                .split_once(':')
                .map(|(name, value)| (name.trim(), value.trim()))
        })
        .collect::<Option<_>>()
        .ok_or("a header has no colon; write `name: value`")?;
    let model = if args.rate.is_some() {
        "open"
    } else {
        "closed"
    };
    let arrivals = args
        .rate
        .map(|_| if args.constant { "constant" } else { "poisson" });
    let plan = json!({
        "protocol": 1,
        "seed": args.seed,
        "target": {"host": host, "port": port},
        "load": {
            "model": model, "connections": args.connections, "threads": args.threads, "keep_alive": !args.close,
            "warmup_s": args.warmup, "window_s": args.duration, "timeout_ms": args.timeout_ms,
            "rate_per_s": args.rate, "arrivals": arrivals
        },
        "requests": [{
            "kind": "request", "method": args.method, "path": path, "headers": headers, "body": args.body,
            "expect": {
                "status": args.expect_status,
                "body": args.expect_body.as_ref().map(|text| json!({"exact": text}))
            }
        }]
    });
    Ok(plan.to_string())
}

#[cfg(test)]
#[path = "cli_tests.rs"]
mod tests;
