//! The direct form of `fairload run`: options for one kind of request, as the plan that they stand for.

use crate::core::error::EngineError;
use clap::Args;
use serde_json::{Value, json};

const DEFAULT_DURATION_S: f64 = 10.0;
const DEFAULT_RAMP_STEPS: usize = 10;

#[derive(Args)]
#[group(id = "direct", multiple = true, conflicts_with = "plan")]
pub struct DirectArgs {
    /// What to request: http://HOST:PORT/PATH or https://…; may hold slots, see below
    #[arg(value_name = "URL")]
    target: Option<String>,
    /// The same as an option
    #[arg(long, conflicts_with = "target")]
    url: Option<String>,

    /// Connections (closed loop: each has one request on its way; with --rate: the most that are opened)
    #[arg(short, long, default_value_t = 10, value_name = "N")]
    connections: usize,
    /// How long to measure: 10, 10s, 500ms, 2m
    #[arg(short, long, value_parser = seconds, value_name = "TIME", conflicts_with = "step", help_heading = "Load")]
    duration: Option<f64>,
    /// Each connection pauses so long between an answer and its next request: 5ms; no latency includes it
    #[arg(long, value_parser = seconds, value_name = "TIME", conflicts_with = "rate", help_heading = "Load")]
    think: Option<f64>,
    /// So many requests are sent together on each connection; the next ones follow when all of their answers are there
    #[arg(long, default_value_t = 1, conflicts_with_all = ["rate", "close"], value_name = "N", help_heading = "Load")]
    pipeline: usize,
    /// Load before the measurement, for as long
    #[arg(long, default_value = "0", value_parser = seconds, value_name = "TIME", help_heading = "Load")]
    warmup: f64,
    /// Open loop: so many requests a second are due whether or not the server keeps up; 1000,2000,5000: one rate after the
    /// other; 1000..20000: a ramp
    #[arg(short, long, value_parser = rates, value_name = "RATES", help_heading = "Load")]
    rate: Option<Rates>,
    /// How long each of several rates lasts (default: they share --duration)
    #[arg(long, value_parser = seconds, requires = "rate", value_name = "TIME", help_heading = "Load")]
    step: Option<f64>,
    /// In how many steps a ramp goes, both ends included [default: 10]
    #[arg(long, requires = "rate", value_name = "N", help_heading = "Load")]
    steps: Option<usize>,
    /// Requests are due at equal distances instead of at random (Poisson) times
    #[arg(long, requires = "rate", help_heading = "Load")]
    constant: bool,
    /// A new connection for each request
    #[arg(long, help_heading = "Load")]
    close: bool,
    /// Threads, which share nothing
    #[arg(
        short,
        long,
        default_value_t = 1,
        value_name = "N",
        help_heading = "Load"
    )]
    threads: usize,
    /// Decides on the values of all slots and on the arrivals
    #[arg(long, default_value_t = 1, help_heading = "Load")]
    seed: u64,

    #[arg(
        short = 'X',
        long,
        default_value = "GET",
        help_heading = "Request",
        help = "GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS"
    )]
    method: String,
    /// A header, `name: value`; may hold slots, and be given several times
    #[arg(
        short = 'H',
        long = "header",
        value_name = "HEADER",
        help_heading = "Request"
    )]
    headers: Vec<String>,
    /// The request's body; may hold slots
    #[arg(short, long, help_heading = "Request")]
    body: Option<String>,
    /// Longest wait for an answer
    #[arg(
        long,
        default_value_t = 10_000,
        value_name = "MS",
        help_heading = "Request"
    )]
    timeout_ms: u64,

    /// Certificates in PEM that are believed in place of this machine's authorities
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with = "insecure",
        help_heading = "Request"
    )]
    ca: Option<String>,
    /// Believe every certificate
    #[arg(long, help_heading = "Request")]
    insecure: bool,

    /// The status of a good answer
    #[arg(
        long,
        default_value_t = 200,
        value_name = "STATUS",
        help_heading = "Answer"
    )]
    expect_status: u16,
    /// The content type of a good answer; given several times: one of them
    #[arg(long, value_name = "TYPE", help_heading = "Answer")]
    expect_type: Vec<String>,
    /// A rule for a good answer's JSON: '{"json":{"id":"integer"}}' (docs/engine-protocol.md)
    #[arg(
        long,
        value_name = "RULE",
        conflicts_with = "expect_body",
        help_heading = "Answer"
    )]
    expect_json: Option<String>,
    /// The body of a good answer, compared every time
    #[arg(long, value_name = "TEXT", help_heading = "Answer")]
    expect_body: Option<String>,
    /// Also measure how long answers lay in the kernel before the engine took them: its own part of each latency
    #[arg(long, help_heading = "Output")]
    kernel_timestamps: bool,
}

/// What stands behind `--rate`.
#[derive(Debug, Clone, PartialEq)]
enum Rates {
    One(f64),
    List(Vec<f64>),
    Ramp(f64, f64),
}

impl DirectArgs {
    /// The plan as JSON; the error is one sentence for a person.
    pub fn plan(&self) -> Result<String, EngineError> {
        let url = self.target.as_deref().or(self.url.as_deref());
        let url = url.ok_or(EngineError::Arguments(
            "give a URL or --plan; `fairload run --help` shows examples".to_string(),
        ))?;
        let (target, path) = split_url(url)?;
        let headers: Vec<(&str, &str)> = self
            .headers
            .iter()
            .map(|header| {
                header
                    .split_once(':')
                    .map(|(name, value)| (name.trim(), value.trim()))
            })
            .collect::<Option<_>>()
            .ok_or(EngineError::Arguments(
                "a header has no colon; write `name: value`".to_string(),
            ))?;
        let plan = json!({
            "protocol": 1,
            "seed": self.seed,
            "target": self.with_tls(target)?,
            "load": self.load()?,
            "requests": [{
                "kind": "request", "method": self.method, "path": path, "headers": headers, "body": self.body,
                "expect": {
                    "status": self.expect_status, "content_type": self.expect_type, "body": self.expected_body()?
                }
            }]
        });
        Ok(plan.to_string())
    }

    fn expected_body(&self) -> Result<Value, EngineError> {
        match (&self.expect_body, &self.expect_json) {
            (Some(text), _) => Ok(json!({"exact": text})),
            (None, Some(rule)) => serde_json::from_str(rule).map_err(|error| {
                EngineError::Arguments(format!("--expect-json is not JSON: {error}"))
            }),
            (None, None) => Ok(Value::Null),
        }
    }

    /// The target with the options of TLS, which belong to https alone.
    fn with_tls(&self, mut target: Value) -> Result<Value, EngineError> {
        match target.get_mut("tls") {
            Some(tls) => *tls = json!({"ca": self.ca, "insecure": self.insecure}),
            None if self.ca.is_some() || self.insecure => {
                return Err(EngineError::Arguments(
                    "--ca and --insecure belong to a url that begins with `https://`".to_string(),
                ));
            }
            None => {}
        }
        Ok(target)
    }

    fn load(&self) -> Result<Value, EngineError> {
        let duration_s = self.duration.unwrap_or(DEFAULT_DURATION_S);
        let mut load = json!({
            "model": "open", "connections": self.connections, "threads": self.threads, "keep_alive": !self.close,
            "warmup_s": self.warmup, "timeout_ms": self.timeout_ms, "kernel_timestamps": self.kernel_timestamps,
            "arrivals": if self.constant { "constant" } else { "poisson" },
            "think_ms": self.think.unwrap_or_default() * 1000.0, "pipeline": self.pipeline
        });
        let is_ramp = matches!(self.rate, Some(Rates::Ramp(..)));
        if self.steps.is_some() && !is_ramp {
            return Err(EngineError::Arguments(
                "--steps divides a ramp; write --rate 1000..20000".to_string(),
            ));
        }
        let rates = match &self.rate {
            None | Some(Rates::One(_)) if self.step.is_some() => {
                return Err(EngineError::Arguments(
                    "--step is for several rates; write --rate 1000,2000 or --rate 1000..20000"
                        .to_string(),
                ));
            }
            None => {
                load["model"] = json!("closed");
                load["arrivals"] = Value::Null;
                load["window_s"] = json!(duration_s);
                return Ok(load);
            }
            Some(Rates::One(rate)) => {
                load["rate_per_s"] = json!(rate);
                load["window_s"] = json!(duration_s);
                return Ok(load);
            }
            Some(Rates::List(rates)) => rates.clone(),
            Some(Rates::Ramp(from, to)) => {
                ramp(*from, *to, self.steps.unwrap_or(DEFAULT_RAMP_STEPS))?
            }
        };
        let step_s = self.step.unwrap_or(duration_s / rates.len() as f64);
        let step = |rate| json!({"rate_per_s": rate, "duration_s": step_s});
        load["steps"] = rates.into_iter().map(step).collect();
        Ok(load)
    }
}

fn ramp(from: f64, to: f64, steps: usize) -> Result<Vec<f64>, EngineError> {
    if !(2..=100).contains(&steps) {
        return Err(EngineError::Arguments(format!(
            "--steps is {steps}; write 2 to 100"
        )));
    }
    let share = |step: usize| step as f64 / (steps - 1) as f64;
    Ok((0..steps)
        .map(|step| from + (to - from) * share(step))
        .collect())
}

fn rates(text: &str) -> Result<Rates, EngineError> {
    let number = |part: &str| {
        finite(part, 1.0).ok_or_else(|| {
            EngineError::Arguments(format!(
                "`{part}` is no rate; write 1000, 1000,2000,5000 or 1000..20000"
            ))
        })
    };
    if let Some((from, to)) = text.split_once("..") {
        return Ok(Rates::Ramp(number(from)?, number(to)?));
    }
    let list = text.split(',').map(number).collect::<Result<Vec<_>, _>>()?;
    Ok(match list[..] {
        [rate] => Rates::One(rate),
        _ => Rates::List(list),
    })
}

/// A time with or without a unit, in seconds.
fn seconds(text: &str) -> Result<f64, EngineError> {
    let units = [("ms", 0.001), ("s", 1.0), ("m", 60.0), ("h", 3600.0)];
    let (digits, factor) = units
        .iter()
        .find_map(|(unit, factor)| Some((text.strip_suffix(unit)?, *factor)))
        .unwrap_or((text, 1.0));
    finite(digits, factor).ok_or_else(|| {
        EngineError::Arguments(format!("`{text}` is no time; write 10, 10s, 500ms or 2m"))
    })
}

/// So many times a factor. JSON has no other numbers, and a plan without one has another meaning.
fn finite(digits: &str, factor: f64) -> Option<f64> {
    let number = digits.trim().parse::<f64>().ok()? * factor;
    number.is_finite().then_some(number)
}

/// The target and the path of a URL; a target by https has `tls`.
fn split_url(url: &str) -> Result<(Value, String), EngineError> {
    let (usual, rest) = match (url.strip_prefix("http://"), url.strip_prefix("https://")) {
        (Some(rest), _) => (80, rest),
        (_, Some(rest)) => (443, rest),
        _ => {
            return Err(EngineError::Arguments(format!(
                "url `{url}` does not start with `http://` or `https://`"
            )));
        }
    };
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
                .map_err(|_| EngineError::Arguments(format!("url `{url}`: `{port}` is no port")))?,
        ),
        _ => (authority, usual),
    };
    let mut target = json!({"host": host, "port": port});
    if usual == 443 {
        target["tls"] = json!({});
    }
    Ok((target, path))
}

#[cfg(test)]
#[path = "direct_tests.rs"]
mod tests;
