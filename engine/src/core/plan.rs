//! The plan as it is received: the first half of `docs/engine-protocol.md`.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer};

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    pub protocol: u32,
    pub seed: u64,
    pub target: Target,
    pub load: Load,
    /// Rows that requests draw, by the table's name.
    #[serde(default)]
    pub data: BTreeMap<String, Data>,
    pub requests: Vec<Request>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Data {
    pub columns: Vec<String>,
    pub rows: Vec<Vec<serde_json::Value>>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Target {
    pub host: String,
    pub port: u16,
    /// `None`: plain HTTP.
    pub tls: Option<Tls>,
}

/// How a target is spoken to by TLS.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Tls {
    /// What its certificate must be for; `None`: the target's host.
    pub name: Option<String>,
    /// A file of certificates in PEM that are believed in place of this machine's authorities.
    pub ca: Option<String>,
    /// Every certificate is believed.
    pub insecure: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Model {
    Closed,
    Open,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Arrivals {
    Poisson,
    Constant,
}

/// Whether the load begins at once or with the first `go`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Begin {
    #[default]
    Running,
    Held,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Load {
    pub model: Model,
    pub connections: usize,
    #[serde(default = "one_thread")]
    pub threads: usize,
    #[serde(default = "yes")]
    pub keep_alive: bool,
    /// `None`: until the command `measure`.
    pub warmup_s: Option<f64>,
    /// `None`: as long as all `steps` together.
    pub window_s: Option<f64>,
    #[serde(default = "ten_seconds")]
    pub timeout_ms: u64,
    pub rate_per_s: Option<f64>,
    pub arrivals: Option<Arrivals>,
    pub steps: Option<Vec<Step>>,
    /// Histogram of the time from the kernel's receipt of bytes to their handling.
    #[serde(default)]
    pub kernel_timestamps: bool,
    #[serde(default)]
    pub begin: Begin,
    /// Closed loop: each connection pauses so long between an answer and its next request.
    #[serde(default)]
    pub think_ms: f64,
    /// Closed loop: so many requests are sent together on each connection.
    #[serde(default = "one_request")]
    pub pipeline: usize,
    /// Something is made to go wrong in the window: its tenths are told, and answers 5xx are of unknown fate.
    #[serde(default)]
    pub fault: bool,
}

/// One stretch of the window at one rate.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    pub rate_per_s: f64,
    pub duration_s: f64,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    pub kind: String,
    #[serde(default = "weight_one")]
    pub weight: u32,
    pub method: String,
    pub path: String,
    #[serde(default)]
    pub headers: Vec<(String, String)>,
    pub body: Option<String>,
    pub expect: Expect,
    #[serde(default)]
    pub ledger: Vec<LedgerEntry>,
    /// When each good answer came is told at the end, with what these slots held. `None`: it is not.
    pub log: Option<Vec<String>>,
    /// What is kept of good answers: a name, and its place in the JSON body.
    #[serde(default)]
    pub keep: BTreeMap<String, String>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expect {
    /// Each of them is right.
    #[serde(deserialize_with = "one_or_more")]
    pub status: Vec<u16>,
    /// Each of them is right; none: any is.
    #[serde(default, deserialize_with = "none_or_more")]
    pub content_type: Vec<String>,
    /// Rules by the header's name.
    #[serde(default)]
    pub headers: BTreeMap<String, serde_json::Value>,
    pub length: Option<usize>,
    /// Read by `core::expect`: `exact`, `bytes`, `table`, or a rule of `core::rule`.
    pub body: Option<serde_json::Value>,
    #[serde(default = "every_answer")]
    pub check_one_in: u64,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bytes {
    pub base64: String,
    /// The `content-encoding` that they come with.
    #[serde(default)]
    pub coding: Option<String>,
}

/// Whole answers by the value of a slot.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    pub slot: String,
    pub rows: BTreeMap<String, serde_json::Value>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LedgerEntry {
    pub name: String,
    pub account: String,
    pub add: String,
}

/// A number, or a list of numbers.
fn one_or_more<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u16>, D::Error> {
    #[derive(Deserialize)]
    #[serde(
        untagged,
        expecting = "`expect.status` is neither a status nor a list of them"
    )]
    enum Statuses {
        One(u16),
        Several(Vec<u16>),
    }
    Ok(match Statuses::deserialize(deserializer)? {
        Statuses::One(status) => vec![status],
        Statuses::Several(statuses) => statuses,
    })
}

/// Nothing, a text, or a list of texts.
fn none_or_more<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(
        untagged,
        expecting = "`expect.content_type` is neither a text nor a list of them"
    )]
    enum Types {
        One(String),
        Several(Vec<String>),
    }
    Ok(match Option::deserialize(deserializer)? {
        None => Vec::new(),
        Some(Types::One(one)) => vec![one],
        Some(Types::Several(several)) => several,
    })
}

fn one_thread() -> usize {
    1
}

fn one_request() -> usize {
    1
}

fn yes() -> bool {
    true
}

fn ten_seconds() -> u64 {
    10_000
}

fn weight_one() -> u32 {
    1
}

fn every_answer() -> u64 {
    1
}
