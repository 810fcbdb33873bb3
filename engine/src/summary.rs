//! The result in words, for a person at a terminal.

use std::fmt::Write as _;

use crate::config::Config;
use crate::output::{Document, Event, Histogram, Outcomes};

/// One line that is drawn over itself each second.
pub fn live(event: &Event) {
    match event {
        Event::Second(second) => {
            let numbers = &second.numbers;
            let p99 = numbers.p99_us.map_or("–".to_string(), milliseconds);
            eprint!(
                "\r\x1b[K{} {:>3} s  {:>8} ok/s  p99 {p99}",
                second.phase,
                numbers.second + 1,
                numbers.ok
            );
            if numbers.not_ok > 0 {
                eprint!("  {} not ok", numbers.not_ok);
            }
        }
        Event::End { .. } => eprint!("\r\x1b[K"),
        Event::Warning { message } | Event::Error { message } => eprintln!("\r\x1b[K{message}"),
        Event::Start { .. }
        | Event::Window { .. }
        | Event::Drain { .. }
        | Event::Listening { .. } => {}
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
    ] {
        if let Some(histogram) = histogram {
            row(&mut out, name, histogram);
        }
    }
    let _ = writeln!(out, "\n  outcomes    {}", outcomes(&window.outcomes));
    for sample in &document.samples {
        let _ = writeln!(
            out,
            "    {}: {}: {}",
            sample.outcome, sample.request, sample.reason
        );
    }
    if let (Some(user), Some(system)) = (document.own.cpu_user_us, document.own.cpu_system_us) {
        let each = (user + system) as f64 / window.completed.max(1) as f64;
        let _ = writeln!(
            out,
            "  engine      {each:.1} µs of CPU per answer; {}",
            document.own.evidence
        );
    }
    if document.own.generator_limited {
        let _ = writeln!(
            out,
            "  The engine may have been the bottleneck: give it more threads, or take the numbers as its own limit."
        );
    }
    out
}

fn headline(config: &Config, seconds: f64) -> String {
    let kept = if config.load.keep_alive {
        "kept alive"
    } else {
        "one request each"
    };
    let loaded = match config.load.rate_per_s {
        Some(rate) => format!(
            "{rate} requests/s due, at most {} connections",
            config.load.connections
        ),
        None => format!("{} connections", config.load.connections),
    };
    format!("{}  {loaded}, {kept}, {seconds:.1} s\n", config.address)
}

fn row(out: &mut String, name: &str, histogram: &Histogram) {
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
