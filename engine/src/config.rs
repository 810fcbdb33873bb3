//! The plan as it is needed: every limit is checked here, nothing later can be wrong.

use std::net::{SocketAddr, ToSocketAddrs};

use crate::plan::{Arrivals, Load, Model, Plan, Target};
use crate::random;
use crate::request::Request;

const MAX_CONNECTIONS: usize = 100_000;
const MAX_THREADS: usize = 256;
const MAX_SECONDS: f64 = 86_400.0;

#[derive(Debug)]
pub struct Config {
    pub seed: u64,
    pub address: SocketAddr,
    pub load: Load,
    pub arrivals: Option<Arrivals>,
    pub requests: Vec<Request>,
    total_weight: u64,
}

impl Config {
    /// Parses and checks a plan; the error is one sentence for a person.
    pub fn parse(json: &str) -> Result<Config, String> {
        let plan: Plan = serde_json::from_str(json)
            .map_err(|error| format!("the plan cannot be read: {error}"))?;
        Config::new(plan)
    }

    pub fn new(plan: Plan) -> Result<Config, String> {
        if plan.protocol != 1 {
            return Err(format!(
                "the plan speaks protocol {}, this engine speaks 1",
                plan.protocol
            ));
        }
        check_load(&plan.load)?;
        let arrivals = check_model(&plan.load)?;
        let address = resolve(&plan.target)?;
        let host = host_header(&plan.target);
        let compile = |request| {
            Request::compile(request, &host, plan.load.keep_alive)
                .map_err(|error| format!("request `{}`: {error}", request.kind))
        };
        let requests = plan
            .requests
            .iter()
            .map(compile)
            .collect::<Result<Vec<_>, _>>()?;
        let total_weight: u64 = requests
            .iter()
            .map(|request| u64::from(request.weight))
            .sum();
        if total_weight == 0 {
            return Err("the plan has no request with a weight above 0".to_string());
        }
        Ok(Config {
            seed: plan.seed,
            address,
            load: plan.load,
            arrivals,
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

    /// Connections of thread `thread`: the first threads take one more where they do not divide evenly.
    pub fn connections_of(&self, thread: usize) -> usize {
        let (connections, threads) = (self.load.connections, self.load.threads);
        connections / threads + usize::from(thread < connections % threads)
    }
}

fn check_load(load: &Load) -> Result<(), String> {
    if !(1..=MAX_CONNECTIONS).contains(&load.connections) {
        return Err(format!(
            "`load.connections` is {}; write 1 to {MAX_CONNECTIONS}",
            load.connections
        ));
    }
    if !(1..=MAX_THREADS).contains(&load.threads) || load.threads > load.connections {
        let most = MAX_THREADS.min(load.connections);
        return Err(format!(
            "`load.threads` is {}; write 1 to {most} (a thread needs a connection)",
            load.threads
        ));
    }
    if !(load.window_s > 0.0 && load.window_s <= MAX_SECONDS) {
        return Err(format!(
            "`load.window_s` is {}; write seconds above 0, up to {MAX_SECONDS}",
            load.window_s
        ));
    }
    if load
        .warmup_s
        .is_some_and(|seconds| !(0.0..=MAX_SECONDS).contains(&seconds))
    {
        return Err(format!(
            "`load.warmup_s` is {}; write seconds from 0 to {MAX_SECONDS}, or null",
            load.warmup_s.unwrap_or_default()
        ));
    }
    if !(1..=60_000).contains(&load.timeout_ms) {
        return Err(format!(
            "`load.timeout_ms` is {}; write 1 to 60000",
            load.timeout_ms
        ));
    }
    Ok(())
}

fn check_model(load: &Load) -> Result<Option<Arrivals>, String> {
    match (load.model, load.rate_per_s) {
        (Model::Closed, None) if load.arrivals.is_none() => Ok(None),
        (Model::Closed, _) => Err(
            "`load.rate_per_s` and `load.arrivals` belong to the model `open`; leave them out"
                .to_string(),
        ),
        (Model::Open, Some(rate)) if rate > 0.0 && rate <= 10_000_000.0 => {
            Ok(Some(load.arrivals.unwrap_or(Arrivals::Poisson)))
        }
        (Model::Open, Some(rate)) => Err(format!(
            "`load.rate_per_s` is {rate}; write a number above 0, up to 10000000"
        )),
        (Model::Open, None) => Err("the model `open` needs `load.rate_per_s`".to_string()),
    }
}

fn resolve(target: &Target) -> Result<SocketAddr, String> {
    let Target { host, port } = target;
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let addresses: Vec<SocketAddr> = (host, *port)
        .to_socket_addrs()
        .map_err(|error| format!("`target.host` `{host}` has no address: {error}"))?
        .collect();
    // IPv4 first: `localhost` often names both, and servers under test mostly listen on 127.0.0.1.
    let first = addresses
        .iter()
        .find(|address| address.is_ipv4())
        .or(addresses.first());
    first
        .copied()
        .ok_or_else(|| format!("`target.host` `{host}` has no address"))
}

fn host_header(target: &Target) -> String {
    let brackets = target.host.contains(':') && !target.host.starts_with('[');
    let host = if brackets {
        format!("[{}]", target.host)
    } else {
        target.host.clone()
    };
    if target.port == 80 {
        host
    } else {
        format!("{host}:{}", target.port)
    }
}

#[cfg(test)]
#[path = "config_tests.rs"]
mod tests;
