//! `fairload qualify`: servers whose latencies are known by calculation, and whether this engine on this machine finds them.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write as _};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;

use clap::Args;
use hdrhistogram::Histogram;
use serde::Serialize;
use serde_json::{Value, json};

use crate::core::analytic;
use crate::core::error::EngineError;
use crate::core::histogram::histogram;
use crate::core::script::{Queue, Stall};
use crate::load::measurement::Measurement;
use crate::load::outside;
use crate::load::run::run;

const CANNOT_MEASURE: u8 = 1;
const SEED: u64 = 7;
const DELAY_MS: f64 = 10.0;
/// Few enough that the server answers all that a stall held up in a few milliseconds, which the calculation leaves out.
const STALL_RATE_PER_S: f64 = 400.0;
/// Slow enough that the tenths of a millisecond that two wake-ups take are small beside it.
const QUEUE_RATE_PER_S: f64 = 250.0;
const QUEUE: Queue = Queue {
    mean_us: 2000.0,
    seed: 11,
};

#[derive(Args)]
pub struct QualifyArgs {
    /// A tenth of the time, 4 s: for a first look, and for tests
    #[arg(long)]
    quick: bool,
    /// Print the findings as one JSON document
    #[arg(long)]
    json: bool,
}

/// One number that is known beforehand, and what was measured.
#[derive(Debug, Clone, Serialize)]
pub struct Check {
    pub name: &'static str,
    pub unit: &'static str,
    pub expected: f64,
    pub measured: f64,
    /// How far off it may be, as a share of what is expected.
    pub tolerance: f64,
    pub holds: bool,
}

/// What the machine reaches or shows where nothing is known beforehand.
#[derive(Debug, Clone, Serialize)]
pub struct Fact {
    pub name: &'static str,
    pub unit: &'static str,
    pub measured: f64,
}

#[derive(Debug, Clone, Default, Serialize)]
pub struct Findings {
    pub checks: Vec<Check>,
    pub facts: Vec<Fact>,
    pub can_measure: bool,
}

/// Measures all known servers one after the other. The error is a sentence for a person.
pub fn qualify_command(args: &QualifyArgs) -> Result<u8, EngineError> {
    let scale = if args.quick { 0.1 } else { 1.0 };
    let mut findings = Findings::default();
    ceiling(&mut findings, scale)?;
    fixed_delay(&mut findings, scale)?;
    stall(&mut findings, scale)?;
    queue(&mut findings, scale)?;
    findings.can_measure = findings.checks.iter().all(|check| check.holds);
    let text = if args.json {
        serde_json::to_string(&findings).expect("findings are plain data") + "\n"
    } else {
        findings.text()
    };
    // Whoever closed the pipe does not want to know.
    let _ = std::io::stdout().write_all(text.as_bytes());
    Ok(if findings.can_measure {
        0
    } else {
        CANNOT_MEASURE
    })
}

fn ceiling(findings: &mut Findings, scale: f64) -> Result<(), EngineError> {
    let server = Server::start(&["null"])?;
    let measured = measure(
        &server,
        json!({"model": "closed", "connections": 100, "window_s": 3.0 * scale}),
    )?;
    let window = measured
        .window
        .ok_or(EngineError::Machine("the window never began".to_string()))?;
    let completed = measured.record.completed_ok as f64;
    let cpu_us = (window.cpu_user_us + window.cpu_system_us) as f64;
    findings.fact(
        "null server: answers",
        "1/s",
        completed * 1e6 / window.duration_us as f64,
    );
    findings.fact(
        "null server: engine CPU per answer",
        "µs",
        cpu_us / completed.max(1.0),
    );
    Ok(())
}

fn fixed_delay(findings: &mut Findings, scale: f64) -> Result<(), EngineError> {
    let server = Server::start(&[
        "faulty",
        "--script",
        &format!("[answer]\ndelay_ms = {DELAY_MS}"),
    ])?;
    let measured = measure(
        &server,
        json!({"model": "closed", "connections": 10, "window_s": 3.0 * scale}),
    )?;
    let latency = good(&measured);
    findings.check("10 ms delay: p50", "ms", DELAY_MS, ms(&latency, 0.5), 0.05);
    findings.check("10 ms delay: p99", "ms", DELAY_MS, ms(&latency, 0.99), 0.2);
    Ok(())
}

fn stall(findings: &mut Findings, scale: f64) -> Result<(), EngineError> {
    let stall = Stall {
        every_s: 5.0 * scale,
        for_ms: 500.0 * scale,
    };
    let script = format!(
        "stall = {{every_s = {:?}, for_ms = {:?}}}",
        stall.every_s, stall.for_ms
    );
    let window_s = 2.0 * stall.every_s;
    let late_ms = stall.for_ms / 5.0;
    let shapes = [
        json!({"model": "open", "arrivals": "constant", "rate_per_s": STALL_RATE_PER_S, "connections": 2000, "window_s": window_s}),
        json!({"model": "closed", "connections": 10, "window_s": window_s}),
    ];
    let mut seen = Vec::new();
    for shape in shapes {
        let server = Server::start(&["faulty", "--script", &script])?;
        let latency = good(&measure(&server, shape)?);
        let late = latency.count_between((late_ms * 1000.0) as u64 + 1, latency.high()) as f64;
        seen.push((
            ms(&latency, 0.99),
            100.0 * late / latency.len().max(1) as f64,
        ));
    }
    let expected = analytic::stall_quantile_ms(stall, 0.99);
    // Requests are due one step apart, so no quantile is known better than that: it matters to the short stalls of `--quick`.
    let step_ms = 1000.0 / STALL_RATE_PER_S;
    findings.check(
        "stall of a tenth of the time, open loop: p99",
        "ms",
        expected,
        seen[0].0,
        f64::max(0.02, step_ms / expected),
    );
    let expected = 100.0 * analytic::late_share(stall, late_ms);
    findings.check(
        "stall of a tenth of the time, open loop: late answers",
        "%",
        expected,
        seen[0].1,
        0.02,
    );
    findings.fact("the same stalls, closed loop: p99", "ms", seen[1].0);
    findings.fact("the same stalls, closed loop: late answers", "%", seen[1].1);
    Ok(())
}

fn queue(findings: &mut Findings, scale: f64) -> Result<(), EngineError> {
    let script = format!(
        "queue = {{mean_us = {:?}, seed = {}}}",
        QUEUE.mean_us, QUEUE.seed
    );
    let server = Server::start(&["faulty", "--script", &script])?;
    let window_s = 10.0 * scale;
    let shape = json!({"model": "open", "rate_per_s": QUEUE_RATE_PER_S, "connections": 500, "window_s": window_s});
    let measured = measure(&server, shape)?;
    let latency = good(&measured);
    let times = analytic::queue_times_us(SEED, QUEUE_RATE_PER_S, window_s, QUEUE);
    let steady_ms =
        |quantile| analytic::mm1_quantile_us(QUEUE_RATE_PER_S, QUEUE.mean_us, quantile) / 1000.0;
    let expected = |quantile| analytic::quantile(&times, quantile) / 1000.0;
    findings.check(
        "M/M/1, half busy: p50",
        "ms",
        expected(0.5),
        ms(&latency, 0.5),
        0.15,
    );
    findings.check(
        "M/M/1, half busy: p99",
        "ms",
        expected(0.99),
        ms(&latency, 0.99),
        0.1,
    );
    findings.fact(
        "M/M/1 in its steady state, by calculation: p50",
        "ms",
        steady_ms(0.5),
    );
    findings.fact(
        "M/M/1 in its steady state, by calculation: p99",
        "ms",
        steady_ms(0.99),
    );
    if let Some(lag) = &measured.record.send_lag {
        findings.fact("send lag, open loop: p99", "ms", ms(lag, 0.99));
    }
    Ok(())
}

impl Findings {
    fn check(
        &mut self,
        name: &'static str,
        unit: &'static str,
        expected: f64,
        measured: f64,
        tolerance: f64,
    ) {
        let holds = (measured - expected).abs() <= tolerance * expected;
        self.checks.push(Check {
            name,
            unit,
            expected,
            measured,
            tolerance,
            holds,
        });
    }

    fn fact(&mut self, name: &'static str, unit: &'static str, measured: f64) {
        self.facts.push(Fact {
            name,
            unit,
            measured,
        });
    }

    fn text(&self) -> String {
        let mut out = format!(
            "  {:<56}{:>10}{:>10}{:>8}  allowed\n",
            "", "known", "measured", "off"
        );
        for check in &self.checks {
            let off = format!("{:+.1} %", 100.0 * (check.measured / check.expected - 1.0));
            let verdict = if check.holds { "" } else { "  does not hold" };
            let name = format!("{}, {}", check.name, check.unit);
            let _ = writeln!(
                out,
                "  {name:<56}{:>10.2}{:>10.2}{off:>8}  ±{:.0} %{verdict}",
                check.expected,
                check.measured,
                check.tolerance * 100.0
            );
        }
        out.push('\n');
        for fact in &self.facts {
            let name = format!("{}, {}", fact.name, fact.unit);
            let _ = writeln!(out, "  {name:<56}{:>10}{:>10.2}", "", fact.measured);
        }
        let wrong = self.checks.iter().filter(|check| !check.holds).count();
        let verdict = match wrong {
            0 => "This machine can measure: all known latencies were found.".to_string(),
            _ => format!(
                "This machine cannot measure now: {wrong} of {} known numbers were missed. Is something else running?",
                self.checks.len()
            ),
        };
        out + "\n" + &verdict + "\n"
    }
}

/// The good answers' latencies of the only kind of request.
fn good(measured: &Measurement) -> Histogram<u64> {
    measured
        .record
        .kinds
        .first()
        .map_or_else(histogram, |kind| kind.latency_ok.clone())
}

fn ms(histogram: &Histogram<u64>, quantile: f64) -> f64 {
    histogram.value_at_quantile(quantile) as f64 / 1000.0
}

fn measure(server: &Server, load: Value) -> Result<Measurement, EngineError> {
    let mut plan = json!({
        "protocol": 1, "seed": SEED, "target": {"host": "127.0.0.1", "port": server.port}, "load": load,
        "requests": [{"kind": "request", "method": "GET", "path": "/", "expect": {"status": 200}}]
    });
    plan["load"]["warmup_s"] = json!(0);
    let config = outside::config(&plan.to_string())?;
    let (sender, receiver) = channel();
    let measurement = run(config, &sender, &receiver, &mut |_| {})?;
    measurement.record.check_identities()?;
    Ok(measurement)
}

/// A server in a process of its own, so that its work is not on the engine's account; it ends with this value.
struct Server {
    child: Child,
    port: u64,
}

impl Server {
    fn start(arguments: &[&str]) -> Result<Server, EngineError> {
        let failed = |error: std::io::Error| {
            EngineError::Machine(format!(
                "a server for the measurement cannot be started: {error}"
            ))
        };
        let mut child = Command::new(std::env::current_exe().map_err(failed)?)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        let mut line = String::new();
        if let Some(stderr) = child.stderr.take() {
            BufReader::new(stderr)
                .read_line(&mut line)
                .map_err(failed)?;
        }
        let event: Value = serde_json::from_str(&line).unwrap_or_default();
        match event["port"].as_u64() {
            Some(port) => Ok(Server { child, port }),
            None => Err(EngineError::Machine(format!(
                "a server for the measurement did not start: {}",
                line.trim()
            ))),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        // It ends by itself now; if it cannot be waited for, it is gone already.
        let _ = self.child.wait();
    }
}
