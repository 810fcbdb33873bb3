//! Histograms of times: 3 significant digits from 1 µs to 120 s, and the forms in which they are handed over.

use std::io;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer, V2DeflateSerializer};
use serde::Serialize;

/// Two timeouts of 60 s: an open-loop request may wait one for a connection and one for its answer.
const HIGHEST_US: u64 = 120_000_000;
/// Lines for each halving of the distance to 100 %, as in HdrHistogram's own printouts.
const TICKS_PER_HALF_DISTANCE: u32 = 5;
const SUB_BUCKETS: u32 = 2048;

pub fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, HIGHEST_US, 3)
        .expect("1 µs to 120 s with 3 digits is a valid range")
}

pub fn record(histogram: &mut Histogram<u64>, value_us: u64) {
    // Timeouts keep values inside the bounds; only an engine that was itself stopped for a minute reaches the upper one.
    histogram.saturating_record(value_us.max(1));
}

pub fn add(mine: &mut Histogram<u64>, others: &Histogram<u64>) {
    mine.add(others).expect("no histogram has wider bounds");
}

pub fn quantile(histogram: &Histogram<u64>, quantile: f64) -> Option<u64> {
    (!histogram.is_empty()).then(|| histogram.value_at_quantile(quantile))
}

/// HdrHistogram V2, deflated, in base64.
pub fn encode(histogram: &Histogram<u64>) -> String {
    let mut bytes = Vec::new();
    V2DeflateSerializer::new()
        .serialize(histogram, &mut bytes)
        .expect("writing to memory does not fail");
    BASE64.encode(bytes)
}

/// HISTOGRAM of `docs/engine-protocol.md`.
#[derive(Debug, Clone, Serialize)]
pub struct Summary {
    pub count: u64,
    pub min_us: Option<u64>,
    pub mean_us: Option<f64>,
    pub max_us: Option<u64>,
    pub p50_us: Option<u64>,
    pub p75_us: Option<u64>,
    pub p90_us: Option<u64>,
    pub p95_us: Option<u64>,
    pub p99_us: Option<u64>,
    pub p999_us: Option<u64>,
    pub v2: String,
}

impl From<&Histogram<u64>> for Summary {
    fn from(histogram: &Histogram<u64>) -> Summary {
        let some = !histogram.is_empty();
        Summary {
            count: histogram.len(),
            min_us: some.then(|| histogram.min()),
            mean_us: some.then(|| histogram.mean()),
            max_us: some.then(|| histogram.max()),
            p50_us: quantile(histogram, 0.5),
            p75_us: quantile(histogram, 0.75),
            p90_us: quantile(histogram, 0.9),
            p95_us: quantile(histogram, 0.95),
            p99_us: quantile(histogram, 0.99),
            p999_us: quantile(histogram, 0.999),
            v2: encode(histogram),
        }
    }
}

/// Writes the percentile text (`.hgrm`) that HdrHistogram's plotters read; values in milliseconds.
pub fn write_hgrm(histogram: &Histogram<u64>, out: &mut dyn io::Write) -> io::Result<()> {
    let ms = |us: f64| us / 1000.0;
    writeln!(
        out,
        "{:>12} {:>14} {:>10} {:>14}\n",
        "Value", "Percentile", "TotalCount", "1/(1-Percentile)"
    )?;
    let mut total = 0;
    for step in histogram.iter_quantiles(TICKS_PER_HALF_DISTANCE) {
        total += step.count_since_last_iteration();
        let (value, share) = (
            ms(step.value_iterated_to() as f64),
            step.quantile_iterated_to(),
        );
        write!(out, "{value:>12.3} {share:>14.12} {total:>10}")?;
        if share < 1.0 {
            writeln!(out, " {:>14.2}", 1.0 / (1.0 - share))?;
        } else {
            writeln!(out)?;
        }
    }
    let (mean, deviation) = (ms(histogram.mean()), ms(histogram.stdev()));
    writeln!(
        out,
        "#[Mean    = {mean:>12.3}, StdDeviation   = {deviation:>12.3}]"
    )?;
    let (max, count) = (ms(histogram.max() as f64), histogram.len());
    writeln!(
        out,
        "#[Max     = {max:>12.3}, Total count    = {count:>12}]"
    )?;
    let buckets = histogram.buckets();
    writeln!(
        out,
        "#[Buckets = {buckets:>12}, SubBuckets     = {SUB_BUCKETS:>12}]"
    )
}

#[cfg(test)]
#[path = "histogram_tests.rs"]
mod tests;
