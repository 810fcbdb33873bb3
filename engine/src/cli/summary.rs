//! The result in words, for a person at a terminal.

use std::fmt::Write as _;

use crate::core::config::Config;
use crate::core::histogram::Summary;
use crate::core::outcome::Outcomes;
use crate::core::schedule::Curve;
use crate::load::event::{Event, SecondEvent};
use crate::load::measurement::STAMPS_NOT_ASKED;
use crate::load::output::{Document, Own, Step};

/// One line that is drawn over itself each second while a measurement runs.
pub struct Live {
    warmup_s: Option<f64>,
    window_s: f64,
    curve: Option<Curve>,
}

impl Live {
    pub fn new(config: &Config) -> Live {
        Live {
            warmup_s: config.load.warmup_s,
            window_s: config.window_s,
            curve: config
                .offered
                .as_ref()
                .filter(|_| !config.steps().is_empty())
                .map(|offered| offered.curve.clone()),
        }
    }

    pub fn draw(&self, event: &Event) {
        match event {
            Event::Second(second) => {
                if let Some(line) = self.line(second) {
                    eprint!("\r\x1b[K{line}");
                }
            }
            Event::End { .. } => eprint!("\r\x1b[K"),
            Event::Warning { message } | Event::Error { message, .. } => {
                eprintln!("\r\x1b[K{message}");
            }
            Event::Start { .. }
            | Event::Window { .. }
            | Event::Drain { .. }
            | Event::Held(_)
            | Event::Answers(_)
            | Event::Listening { .. }
            | Event::Awake { .. } => {}
        }
    }

    /// `None`: the second was cut short by the end of its phase, so its counts are no rates.
    fn line(&self, second: &SecondEvent) -> Option<String> {
        let numbers = &second.numbers;
        let elapsed_s = numbers.second + 1;
        let is_warmup = second.phase == "warmup";
        let length_s = if is_warmup {
            self.warmup_s
        } else {
            Some(self.window_s)
        };
        if length_s.is_some_and(|length_s| elapsed_s as f64 > length_s) {
            return None;
        }
        let left = length_s.map_or("open end".to_string(), |length_s| {
            format!("{:.0} s left", length_s - elapsed_s as f64)
        });
        let p99 = numbers.p99_us.map_or("–".to_string(), milliseconds);
        let due = match &self.curve {
            Some(curve) if !is_warmup => {
                let step = curve.steps()[curve.step_at(numbers.second * 1_000_000_000)];
                format!("{:.0} due/s  ", step.rate_per_s)
            }
            _ => String::new(),
        };
        Some(format!(
            "{} {elapsed_s} s, {left}  {due}{} ok/s  p99 {p99}  {} not ok",
            second.phase, numbers.ok, numbers.not_ok
        ))
    }
}

pub fn text(document: &Document, config: &Config) -> String {
    let window = &document.window;
    let seconds = window.duration_us as f64 / 1e6;
    let mut out = headline(config, seconds);
    if window.duration_us > 0 {
        let goodput = window.completed_ok as f64 / seconds;
        let megabytes = window.bytes_received as f64 / seconds / 1e6;
        let _ = writeln!(
            out,
            "\n  {goodput:.0} good answers/s  ({megabytes:.1} MB/s)\n"
        );
    }
    let _ = writeln!(
        out,
        "  {:<12}{:>10}{:>10}{:>10}{:>10}{:>10}{:>10}",
        "", "mean", "p50", "p90", "p99", "p99.9", "max"
    );
    row(&mut out, "latency", &window.latency.ok);
    for (name, histogram) in [
        ("service", &window.service),
        ("send lag", &window.send_lag),
        ("connect", &window.connect),
        (
            "handshake",
            &document.tls.as_ref().map(|tls| tls.handshake.clone()),
        ),
    ] {
        if let Some(histogram) = histogram {
            row(&mut out, name, histogram);
        }
    }
    if let Some(steps) = &window.steps {
        steps_table(&mut out, steps);
    }
    let _ = writeln!(out, "\n  outcomes    {}", outcomes(&window.outcomes));
    for sample in &document.samples {
        let _ = writeln!(
            out,
            "    {}: {}: {}",
            sample.outcome, sample.request, sample.reason
        );
    }
    engine(&mut out, &document.own, window.completed);
    out
}

/// What the engine knows of itself.
fn engine(out: &mut String, own: &Own, completed: u64) {
    if let (Some(user), Some(system)) = (own.cpu_user_us, own.cpu_system_us) {
        let each = (user + system) as f64 / completed.max(1) as f64;
        let _ = writeln!(
            out,
            "  engine      {each:.1} µs of CPU per answer; {}",
            own.evidence
        );
    }
    let time = |us: Option<u64>| us.map_or("–".to_string(), milliseconds);
    match (&own.receive_lag, &own.receive_lag_missing) {
        (Some(lag), _) => {
            let (p50, p99) = (time(lag.p50_us), time(lag.p99_us));
            let _ = writeln!(
                out,
                "              answers lay in the kernel for {p50} (p50), {p99} (p99)"
            );
        }
        (None, Some(reason)) if reason != STAMPS_NOT_ASKED => {
            let _ = writeln!(out, "              receive lag unknown: {reason}");
        }
        _ => {}
    }
    if own.generator_limited {
        let _ = writeln!(
            out,
            "  The engine may have been the bottleneck: give it more threads, or take the numbers as its own limit."
        );
    }
}

fn headline(config: &Config, seconds: f64) -> String {
    let kept = if config.load.keep_alive {
        "kept alive"
    } else {
        "one request each"
    };
    let connections = config.load.connections;
    let loaded = match (&config.offered, config.steps()) {
        (None, _) if config.load.think_ms > 0.0 => {
            let think_ms = config.load.think_ms;
            format!("{connections} connections, each with pauses of {think_ms} ms")
        }
        (None, _) => format!("{connections} connections"),
        (Some(offered), []) => {
            let rate = offered.curve.highest_per_s();
            format!("{rate} requests/s due, at most {connections} connections")
        }
        (Some(_), steps) => {
            let (first, last) = (steps[0].rate_per_s, steps[steps.len() - 1].rate_per_s);
            let count = steps.len();
            format!(
                "{count} steps, {first:.0} to {last:.0} requests/s due, at most {connections} connections"
            )
        }
    };
    format!("{}  {loaded}, {kept}, {seconds:.1} s\n", config.address)
}

fn row(out: &mut String, name: &str, histogram: &Summary) {
    let _ = write!(out, "  {name:<12}");
    let mean = histogram.mean_us.map(|mean| mean.round() as u64);
    let values = [
        mean,
        histogram.p50_us,
        histogram.p90_us,
        histogram.p99_us,
        histogram.p999_us,
        histogram.max_us,
    ];
    for value in values {
        let _ = write!(out, "{:>10}", value.map_or("–".to_string(), milliseconds));
    }
    out.push('\n');
}

fn steps_table(out: &mut String, steps: &[Step]) {
    let _ = writeln!(
        out,
        "\n  {:>12}{:>10}{:>10}{:>10}{:>10}{:>10}{:>10}",
        "rate", "offered/s", "ok/s", "not ok", "p50", "p99", "lag p99"
    );
    for step in steps {
        let rate =
            |per_s: Option<f64>| per_s.map_or("–".to_string(), |per_s| format!("{per_s:.0}"));
        let time = |us: Option<u64>| us.map_or("–".to_string(), milliseconds);
        let latency = &step.latency.ok;
        let _ = writeln!(
            out,
            "  {:>12.0}{:>10}{:>10}{:>10}{:>10}{:>10}{:>10}",
            step.rate_per_s,
            rate(step.offered_per_s),
            rate(step.achieved_per_s),
            step.due - step.outcomes.ok,
            time(latency.p50_us),
            time(latency.p99_us),
            time(step.send_lag.p99_us)
        );
    }
}

fn milliseconds(us: u64) -> String {
    match us {
        0..10_000 => format!("{:.2} ms", us as f64 / 1e3),
        10_000..1_000_000 => format!("{:.1} ms", us as f64 / 1e3),
        _ => format!("{:.2} s", us as f64 / 1e6),
    }
}

fn outcomes(outcomes: &Outcomes) -> String {
    let mut parts = vec![format!("{} ok", outcomes.ok)];
    let named = [
        (outcomes.shed, "shed (503)"),
        (outcomes.wrong_body, "wrong body"),
        (outcomes.timeout, "timeout"),
        (outcomes.connect, "not connected"),
        (outcomes.reset, "reset"),
        (outcomes.malformed, "malformed"),
        (outcomes.unsent, "unsent"),
        (outcomes.in_flight, "in flight"),
    ];
    parts.extend(
        outcomes
            .status
            .iter()
            .map(|(code, count)| format!("{count} status {code}")),
    );
    parts.extend(
        named
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, name)| format!("{count} {name}")),
    );
    parts.join(", ")
}
