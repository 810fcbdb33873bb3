//! The golden plans and commands that the lab writes, as the engine understands them.

use fairload::core::plan::{Arrivals, Begin, Tls};
use fairload::core::schedule::Curve;
use fairload::load::Input;

use crate::golden::{config, read};

/// Every golden plan is understood, with each field where it belongs.
#[test]
fn golden_plans() {
    let full = config("plan.json");
    let load = &full.load;
    assert_eq!(
        (full.seed, full.address.to_string().as_str()),
        (7, "127.0.0.1:8080")
    );
    assert_eq!(
        (load.connections, load.threads, load.timeout_ms),
        (100, 2, 9000)
    );
    assert_eq!(
        (load.warmup_s, load.window_s, load.keep_alive),
        (Some(3.0), Some(10.5), false)
    );
    let kinds: Vec<_> = full
        .requests
        .iter()
        .map(|request| (request.kind.as_str(), request.weight))
        .collect();
    assert_eq!(
        kinds,
        [
            ("transfer", 4),
            ("time", 1),
            ("lookup", 2),
            ("lookup/unknown", 3)
        ]
    );
    let refusing: Vec<bool> = full
        .requests
        .iter()
        .map(|request| request.expect.refuses())
        .collect();
    assert_eq!(refusing, [false, false, false, true]);
    assert_eq!(full.requests[0].ledger.len(), 2);
    assert!(full.load.fault && !config("plan-minimal.json").load.fault);
    assert_eq!(full.requests[1].expect.check_one_in, 20);
    let contract = config("plan-contract.json");
    assert_eq!(contract.load.pipeline, 16);
    let keeps: Vec<bool> = contract
        .requests
        .iter()
        .map(|request| !request.keep.is_empty())
        .collect();
    assert_eq!(keeps, [false, false, true, false, false]);
    let once: Vec<_> = contract
        .requests
        .iter()
        .map(|request| request.draws.map(|draws| (draws.kind, draws.once)))
        .collect();
    assert_eq!(once, [None, None, None, Some((2, false)), Some((2, true))]);
    assert!(contract.requests[0].expect.has_headers() && !full.requests[0].expect.has_headers());
    let open = config("plan-open.json");
    let offered = open.offered.unwrap();
    assert_eq!(offered.arrivals, Arrivals::Constant);
    assert_eq!(offered.curve, Curve::flat(5000.0));
    let steps = config("plan-steps.json");
    let rows: Vec<(f64, u64)> = steps
        .steps()
        .iter()
        .map(|step| (step.rate_per_s, step.duration_ns))
        .collect();
    assert_eq!(
        rows,
        [
            (1000.0, 2_000_000_000),
            (2500.5, 1_500_000_000),
            (500.0, 500_000_000)
        ]
    );
    assert_eq!((steps.window_s, steps.load.kernel_timestamps), (4.0, true));
    assert_eq!(config("plan-minimal.json").load.warmup_s, None);
    let tls = Tls {
        name: Some("shop.example".to_string()),
        ca: Some("authority.pem".to_string()),
        insecure: false,
    };
    assert_eq!(config("plan-tls.json").tls, Some(tls));
    assert_eq!(config("plan-minimal.json").tls, None);
    let begins = ["plan-minimal.json", "plan-held.json"].map(|name| config(name).load.begin);
    assert_eq!(begins, [Begin::Running, Begin::Held]);
}

/// Every golden command is understood; a wrong one is answered with a sentence.
#[test]
fn golden_commands() {
    let read: Vec<Input> = read("commands.json").lines().map(Input::parse).collect();
    assert!(matches!(
        read[..],
        [
            Input::Measure { window_s: None },
            Input::Measure {
                window_s: Some(16.0)
            },
            Input::Hold,
            Input::Go { requests: None },
            Input::Go {
                requests: Some(2000)
            },
            Input::Stop,
        ]
    ));
    let rows = [
        (
            r#"{"command":"measure","window_s":0}"#,
            "is 0; write seconds above 0, up to 86400",
        ),
        (
            r#"{"command":"measure","window_s":"long"}"#,
            "is \"long\"; write seconds above 0",
        ),
        (
            r#"{"command":"go","requests":0}"#,
            "is 0; write a whole number above 0",
        ),
        (r#"{"command":"dance"}"#, "is not a command"),
        ("hold", "is not a command"),
    ];
    for (line, part) in rows {
        let Input::BadCommand(sentence) = Input::parse(line) else {
            panic!("{line} was understood");
        };
        assert!(sentence.contains(part), "{sentence}");
    }
}
