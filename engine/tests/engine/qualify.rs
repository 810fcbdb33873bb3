//! `fairload qualify` from outside. Whether its checks hold is the machine's business; what it checks is not.

use std::process::Command;

use serde_json::Value;

/// The known numbers are those of the calculation, each verdict follows from its own row, and the exit code from all of them.
#[test]
fn findings() {
    let output = Command::new(env!("CARGO_BIN_EXE_fairload"))
        .args(["qualify", "--quick", "--json"])
        .output()
        .unwrap();
    let findings: Value = serde_json::from_slice(&output.stdout).unwrap();
    let checks = findings["checks"].as_array().unwrap();
    let number = |row: &Value, field: &str| row[field].as_f64().unwrap();
    for check in checks {
        let off = (number(check, "measured") - number(check, "expected")).abs();
        let allowed = number(check, "tolerance") * number(check, "expected");
        assert_eq!(check["holds"], off <= allowed, "{check}");
    }
    let all = checks.iter().all(|check| check["holds"] == true);
    assert_eq!(findings["can_measure"], all);
    assert_eq!(output.status.code(), Some(if all { 0 } else { 1 }));
    let expected: Vec<f64> = checks
        .iter()
        .take(4)
        .map(|check| number(check, "expected"))
        .collect();
    for (expected, known) in expected.iter().zip([10.0, 10.0, 45.0, 8.0]) {
        assert!((expected - known).abs() < 1e-9, "{expected} {known}");
    }
    let facts = findings["facts"].as_array().unwrap();
    assert_eq!(facts[0]["name"], "null server: answers"); // how many is the machine's business: a busy one gives none in time
    // No answer of a fixed delay is early, and in open loop a stall is seen at its full length, however noisy the machine.
    assert!(number(&checks[0], "measured") >= 10.0, "{findings}");
    assert!(number(&checks[3], "measured") >= 7.0, "{findings}");
}
