//! The plan as it is needed: every limit is checked here, nothing later can be wrong.

use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::sync::Arc;

use crate::core::data::Supply;
use crate::core::error::EngineError;
use crate::core::lines::{self, Lines};
use crate::core::plan::{self, Arrivals, Load, Model, Plan, Target, Tls};
use crate::core::random;
use crate::core::request::{Draws, Request};
use crate::core::schedule::{Curve, Step};

const MAX_CONNECTIONS: usize = 100_000;
const MAX_THREADS: usize = 256;
const MAX_PIPELINE: usize = 1_000;
pub const MAX_SECONDS: f64 = 86_400.0;
const MAX_THINK_MS: f64 = 60_000.0;
const RATES_PER_S: RangeInclusive<f64> = 0.001..=10_000_000.0;
/// Each keeps histograms of its own.
const MAX_STEPS: usize = 100;

#[derive(Debug)]
pub struct Config {
    pub seed: u64,
    /// Decides whose body is compared. It is no part of a plan, so that no server can foresee it.
    check_seed: u64,
    pub address: SocketAddr,
    /// Of the target, as the plan names it.
    pub host: String,
    /// `None`: plain HTTP.
    pub tls: Option<Tls>,
    pub load: Load,
    pub window_s: f64,
    /// Open loop only.
    pub offered: Option<Offered>,
    pub requests: Vec<Request>,
    total_weight: u64,
}

/// What the open loop sends, whether or not the server keeps up.
#[derive(Debug, Clone, PartialEq)]
pub struct Offered {
    pub arrivals: Arrivals,
    pub curve: Curve,
}

/// What a plan does not hold: the files and addresses that it names, and a number that nobody else knows.
pub struct Outside<'a> {
    pub lines: &'a dyn Fn(&str) -> Result<Lines, EngineError>,
    pub resolve: &'a dyn Fn(&Target) -> Result<SocketAddr, EngineError>,
    pub secret: u64,
}

impl Config {
    /// Parses and checks a plan; the error is one sentence for a person.
    pub fn parse(json: &str, outside: &Outside) -> Result<Config, EngineError> {
        let plan: Plan = serde_json::from_str(lines::unmarked(json))
            .map_err(|error| EngineError::Plan(format!("the plan cannot be read: {error}")))?;
        Config::new(plan, outside)
    }

    fn new(plan: Plan, outside: &Outside) -> Result<Config, EngineError> {
        if plan.protocol != 1 {
            return Err(EngineError::Plan(format!(
                "the plan speaks protocol {}, this engine speaks 1",
                plan.protocol
            )));
        }
        check_load(&plan.load)?;
        let offered = offered(&plan.load)?;
        let window_s = window_s(&plan.load)?;
        check_tls(&plan.target)?;
        let address = (outside.resolve)(&plan.target)?;
        let host = host_header(&plan.target);
        let supply = Arc::new(Supply::compile(&plan)?);
        let compile = |request| {
            Request::compile(request, &host, plan.load.keep_alive, outside.lines, &supply)
                .map_err(|error| error.within(format_args!("request `{}`", request.kind)))
        };
        let mut requests = plan
            .requests
            .iter()
            .map(compile)
            .collect::<Result<Vec<_>, _>>()?;
        find_fillers(&mut requests)?;
        let total_weight: u64 = requests
            .iter()
            .map(|request| u64::from(request.weight))
            .sum();
        if total_weight == 0 {
            return Err(EngineError::Plan(
                "the plan has no request with a weight above 0".to_string(),
            ));
        }
        Ok(Config {
            seed: plan.seed,
            check_seed: outside.secret,
            address,
            host: plan.target.host,
            tls: plan.target.tls,
            load: plan.load,
            window_s,
            offered,
            requests,
            total_weight,
        })
    }

    /// Which kind of request has this number.
    pub fn kind_of(&self, number: u64) -> usize {
        if self.requests.len() == 1 {
            return 0;
        }
        let mut ticket = random::below(
            random::bits(self.seed, number, random::MIX),
            self.total_weight,
        );
        for (kind, request) in self.requests.iter().enumerate() {
            match ticket.checked_sub(u64::from(request.weight)) {
                Some(rest) => ticket = rest,
                None => return kind,
            }
        }
        unreachable!("a ticket is smaller than the sum of the weights")
    }

    /// Whether the body of the answer to request `number` is compared.
    pub fn is_checked(&self, kind: usize, number: u64) -> bool {
        let one_in = self.requests[kind].expect.check_one_in;
        one_in == 1
            || random::below(random::bits(self.check_seed, number, random::CHECK), one_in) == 0
    }

    /// The steps of the window that are told apart in the result.
    pub fn steps(&self) -> &[Step] {
        match &self.offered {
            Some(offered) if self.load.steps.is_some() => offered.curve.steps(),
            _ => &[],
        }
    }

    /// Connections of thread `thread`: the first threads take one more where they do not divide evenly.
    pub fn connections_of(&self, thread: usize) -> usize {
        let (connections, threads) = (self.load.connections, self.load.threads);
        connections / threads + usize::from(thread < connections % threads)
    }
}

/// Finds the kind that keeps what each request names, and refuses circles: such requests could never be sent.
fn find_fillers(requests: &mut [Request]) -> Result<(), EngineError> {
    for index in 0..requests.len() {
        requests[index].draws = requests[index].slots.kept_from().and_then(|from| {
            let kind = requests.iter().position(|one| one.kind == from.kind)?;
            let once = from.once;
            Some(Draws { kind, once })
        });
    }
    for request in &*requests {
        let (mut next, mut steps) = (request.draws, 0);
        while let Some(draws) = next {
            if steps == requests.len() {
                return Err(EngineError::Plan(format!(
                    "request `{}` waits for answers that wait for its own",
                    request.kind
                )));
            }
            (next, steps) = (requests[draws.kind].draws, steps + 1);
        }
    }
    Ok(())
}

fn check_load(load: &Load) -> Result<(), EngineError> {
    if !(1..=MAX_CONNECTIONS).contains(&load.connections) {
        return Err(EngineError::Plan(format!(
            "`load.connections` is {}; write 1 to {MAX_CONNECTIONS}",
            load.connections
        )));
    }
    if !(1..=MAX_THREADS).contains(&load.threads) || load.threads > load.connections {
        let most = MAX_THREADS.min(load.connections);
        return Err(EngineError::Plan(format!(
            "`load.threads` is {}; write 1 to {most} (a thread needs a connection)",
            load.threads
        )));
    }
    if load
        .warmup_s
        .is_some_and(|seconds| !(0.0..=MAX_SECONDS).contains(&seconds))
    {
        return Err(EngineError::Plan(format!(
            "`load.warmup_s` is {}; write seconds from 0 to {MAX_SECONDS}, or null",
            load.warmup_s.unwrap_or_default()
        )));
    }
    if !(1..=60_000).contains(&load.timeout_ms) {
        return Err(EngineError::Plan(format!(
            "`load.timeout_ms` is {}; write 1 to 60000",
            load.timeout_ms
        )));
    }
    if !(0.0..=MAX_THINK_MS).contains(&load.think_ms) {
        return Err(EngineError::Plan(format!(
            "`load.think_ms` is {}; write 0 to {MAX_THINK_MS}",
            load.think_ms
        )));
    }
    if !(1..=MAX_PIPELINE).contains(&load.pipeline) {
        return Err(EngineError::Plan(format!(
            "`load.pipeline` is {}; write 1 to {MAX_PIPELINE}",
            load.pipeline
        )));
    }
    if load.pipeline > 1 && (load.model == Model::Open || !load.keep_alive) {
        return Err(EngineError::Plan(
            "`load.pipeline` belongs to the model `closed` and kept connections; leave it out"
                .to_string(),
        ));
    }
    if load.think_ms > 0.0 && load.model == Model::Open {
        return Err(EngineError::Plan(
            "`load.think_ms` belongs to the model `closed`; leave it out".to_string(),
        ));
    }
    Ok(())
}

fn check_tls(target: &Target) -> Result<(), EngineError> {
    match &target.tls {
        Some(tls) if tls.insecure && tls.ca.is_some() => Err(EngineError::Plan(
            "`target.tls` has `ca` and `insecure`; leave one of them out".to_string(),
        )),
        _ => Ok(()),
    }
}

/// Whether a window can last so many seconds.
pub fn is_window(seconds: f64) -> bool {
    seconds > 0.0 && seconds <= MAX_SECONDS
}

fn window_s(load: &Load) -> Result<f64, EngineError> {
    let seconds = match (&load.steps, load.window_s) {
        (Some(_), Some(_)) => {
            return Err(EngineError::Plan(
                "`load.window_s` is as long as all of `load.steps`; leave it out".to_string(),
            ));
        }
        (Some(steps), None) => steps.iter().map(|step| step.duration_s).sum(),
        (None, Some(seconds)) => seconds,
        (None, None) => return Err(EngineError::Plan("`load.window_s` is missing".to_string())),
    };
    if is_window(seconds) {
        return Ok(seconds);
    }
    let name = load.steps.as_ref().map_or(
        "`load.window_s`",
        |_| "the sum of all `duration_s` of `load.steps`",
    );
    Err(EngineError::Plan(format!(
        "{name} is {seconds}; write seconds above 0, up to {MAX_SECONDS}"
    )))
}

fn offered(load: &Load) -> Result<Option<Offered>, EngineError> {
    let curve = match (load.model, load.rate_per_s, &load.steps) {
        (Model::Closed, None, None) if load.arrivals.is_none() => return Ok(None),
        (Model::Closed, ..) => {
            return Err(
                EngineError::Plan("`load.rate_per_s`, `load.steps` and `load.arrivals` belong to the model `open`; leave them out".to_string()),
            );
        }
        (Model::Open, Some(rate), None) => {
            check_rate("load.rate_per_s", rate)?;
            Curve::flat(rate)
        }
        (Model::Open, None, Some(steps)) => Curve::new(check_steps(steps)?),
        (Model::Open, Some(_), Some(_)) => {
            return Err(EngineError::Plan(
                "`load.rate_per_s` and `load.steps` exclude each other".to_string(),
            ));
        }
        (Model::Open, None, None) => {
            return Err(EngineError::Plan(
                "the model `open` needs `load.rate_per_s` or `load.steps`".to_string(),
            ));
        }
    };
    let arrivals = load.arrivals.unwrap_or(Arrivals::Poisson);
    Ok(Some(Offered { arrivals, curve }))
}

fn check_steps(steps: &[plan::Step]) -> Result<Vec<Step>, EngineError> {
    if !(1..=MAX_STEPS).contains(&steps.len()) {
        return Err(EngineError::Plan(format!(
            "`load.steps` has {} steps; write 1 to {MAX_STEPS}",
            steps.len()
        )));
    }
    let check = |(index, step): (usize, &plan::Step)| {
        check_rate(&format!("load.steps[{index}].rate_per_s"), step.rate_per_s)?;
        if !(step.duration_s >= 0.1 && step.duration_s <= MAX_SECONDS) {
            return Err(EngineError::Plan(format!(
                "`load.steps[{index}].duration_s` is {}; write seconds from 0.1 to {MAX_SECONDS}",
                step.duration_s
            )));
        }
        Ok(Step {
            rate_per_s: step.rate_per_s,
            duration_ns: (step.duration_s * 1e9) as u64,
        })
    };
    steps.iter().enumerate().map(check).collect()
}

fn check_rate(name: &str, rate_per_s: f64) -> Result<(), EngineError> {
    if RATES_PER_S.contains(&rate_per_s) {
        return Ok(());
    }
    let (least, most) = (RATES_PER_S.start(), RATES_PER_S.end());
    Err(EngineError::Plan(format!(
        "`{name}` is {rate_per_s}; write {least} to {most} requests/s"
    )))
}

fn host_header(target: &Target) -> String {
    let brackets = target.host.contains(':') && !target.host.starts_with('[');
    let host = if brackets {
        format!("[{}]", target.host)
    } else {
        target.host.clone()
    };
    let usual = if target.tls.is_some() { 443 } else { 80 };
    if target.port == usual {
        host
    } else {
        format!("{host}:{}", target.port)
    }
}

/// For tests: no file, and one address for every name.
#[cfg(test)]
pub const NOWHERE: Outside = Outside {
    lines: &|path| Err(EngineError::Plan(format!("file `{path}` is not there"))),
    resolve: &|target| Ok(SocketAddr::from(([127, 0, 0, 1], target.port))),
    secret: 1,
};

#[cfg(test)]
#[path = "config_tests.rs"]
mod tests;
