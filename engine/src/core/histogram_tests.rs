use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use hdrhistogram::serialization::Deserializer;

use super::*;

fn filled(values: impl Iterator<Item = u64>) -> Histogram<u64> {
    let mut histogram = histogram();
    values.for_each(|value| record(&mut histogram, value));
    histogram
}

/// What no histogram can hold is held at its ends: 0 as 1 µs, more than two timeouts as two timeouts.
#[test]
fn ends() {
    let histogram = filled([0, u64::MAX].into_iter());
    assert_eq!((histogram.min(), histogram.len()), (1, 2));
    assert!(histogram.max() >= HIGHEST_US);
}

/// The base64 form, read by another's reader, is the same histogram.
#[test]
fn v2_is_whole() {
    let histogram = filled(1..5000);
    let bytes = BASE64.decode(encode(&histogram)).unwrap();
    let read: Histogram<u64> = Deserializer::new().deserialize(&mut &bytes[..]).unwrap();
    assert_eq!(read, histogram);
}

/// The percentile text has the columns, the last line without a reciprocal, and the footer that plotters look for.
#[test]
fn hgrm() {
    let mut text = Vec::new();
    write_hgrm(&filled((1..=1000).map(|step| step * 100)), &mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines[..3],
        [
            "       Value     Percentile TotalCount 1/(1-Percentile)",
            "",
            "       0.100 0.000000000000          1           1.00"
        ]
    );
    let rows: Vec<Vec<f64>> = lines[2..lines.len() - 3]
        .iter()
        .map(|line| {
            line.split_whitespace()
                .map(|word| word.parse().unwrap())
                .collect()
        })
        .collect();
    assert!(rows.windows(2).all(|pair| pair[0][0] <= pair[1][0]
        && pair[0][1] < pair[1][1]
        && pair[0][2] <= pair[1][2]));
    let last = rows.last().unwrap();
    assert_eq!((last.len(), last[1], last[2]), (3, 1.0, 1000.0));
    let half = rows.iter().find(|row| row[1] == 0.5).unwrap();
    assert!((half[0] - 50.0).abs() < 0.1 && (half[2] - 500.0).abs() < 2.0 && half[3] == 2.0);
    assert_eq!(
        lines[lines.len() - 3..],
        [
            "#[Mean    =       50.052, StdDeviation   =       28.868]",
            "#[Max     =      100.031, Total count    =         1000]",
            "#[Buckets =           17, SubBuckets     =         2048]"
        ]
    );
}

/// A histogram of nothing is a text without rows that make no sense.
#[test]
fn empty_hgrm() {
    let mut text = Vec::new();
    write_hgrm(&histogram(), &mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    assert!(text.contains("Total count    =            0"), "{text}");
    assert!(!text.contains("NaN"), "{text}");
}
