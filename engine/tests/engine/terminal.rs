//! What a person sees: the line that moves, the summary, the help, and files for other programs.

use std::fs::File;
use std::io::Read;
use std::os::fd::{FromRawFd, OwnedFd};
use std::process::{Command, Stdio};

use crate::support::{Deed, good, plan, serve, started};

fn fairload(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fairload"));
    command.args(arguments).stdin(Stdio::null());
    command
}

/// Both ends of a new terminal.
fn terminal() -> (File, OwnedFd) {
    let (mut outer, mut inner) = (0, 0);
    let null = std::ptr::null_mut();
    // SAFETY: both numbers are valid for the writes; name, settings and size may be null.
    let result = unsafe { libc::openpty(&mut outer, &mut inner, null, null.cast(), null.cast()) };
    assert_eq!(result, 0);
    // SAFETY: the kernel just made both descriptors, and nothing else owns them.
    unsafe { (File::from_raw_fd(outer), OwnedFd::from_raw_fd(inner)) }
}

/// Runs a command on a terminal; all that it showed there.
fn shown(mut command: Command) -> String {
    let (mut outer, inner) = terminal();
    let mut child = command
        .stdout(inner.try_clone().unwrap())
        .stderr(inner)
        .spawn()
        .unwrap();
    // The command keeps the terminal's inner end open as long as it is there.
    drop(command);
    let mut bytes = Vec::new();
    let mut part = [0; 4096];
    while let Ok(count @ 1..) = outer.read(&mut part) {
        bytes.extend_from_slice(&part[..count]);
    }
    assert_eq!(child.wait().unwrap().code(), Some(0));
    String::from_utf8(bytes).unwrap()
}

/// On a terminal one line moves each second: how long it has lasted and still will, the rate, p99, what is not ok.
#[test]
fn live_line() {
    let server = serve(|_, _| Deed::Answer(good()));
    let url = format!("http://{}/x", server.address);
    let text = shown(fairload(&[
        "run", &url, "-c", "2", "-d", "2.3s", "--warmup", "1.4",
    ]));
    let lines: Vec<&str> = text.split("\r\x1b[K").collect();
    for (line, start) in lines[1..4].iter().zip([
        "warmup 1 s, 0 s left  ",
        "window 1 s, 1 s left  ",
        "window 2 s, 0 s left  ",
    ]) {
        assert!(line.starts_with(start), "{line:?}");
        assert!(
            line.contains(" ok/s  p99 ") && line.contains(" ms  0 not ok"),
            "{line:?}"
        );
    }
    assert!(lines[4].contains("good answers/s"), "{text}");
    assert_eq!(
        lines.len(),
        5,
        "the part of a second at the end is no rate: {text}"
    );
}

/// A curve shows the rate that is due in the line, and its steps in the summary.
#[test]
fn live_line_of_a_curve() {
    let server = serve(|_, _| Deed::Answer(good()));
    let url = format!("http://{}/x", server.address);
    let text = shown(fairload(&["run", &url, "--rate", "50,150", "--step", "1s"]));
    assert!(text.contains("window 1 s, 1 s left  50 due/s  "), "{text}");
    assert!(text.contains("window 2 s, 0 s left  150 due/s  "), "{text}");
    assert!(text.contains("2 steps, 50 to 150 requests/s due"), "{text}");
    let row = text
        .lines()
        .find(|line| line.trim().starts_with("150 "))
        .unwrap();
    // How many were not ok is the machine's affair: one that stands still at the end leaves requests unsent.
    let not_ok = row.split_whitespace().nth(3);
    assert!(
        not_ok.is_some_and(|number| number.parse::<u64>().is_ok()),
        "{row}"
    );
}

/// A plan in a file speaks to people on a terminal, and JSON to everything else.
#[test]
fn a_plan_on_a_terminal() {
    let server = serve(|_, _| Deed::Answer(good()));
    let file = std::env::temp_dir().join(format!("fairload-plan-{}", std::process::id()));
    std::fs::write(&file, plan(server.address).to_string()).unwrap();
    let arguments = ["run", "--plan", file.to_str().unwrap()];
    let text = shown(fairload(&arguments));
    let output = fairload(&arguments).output().unwrap();
    std::fs::remove_file(&file).unwrap();
    assert!(
        text.contains("good answers/s") && !text.contains("\"protocol\""),
        "{text}"
    );
    assert!(output.stdout.starts_with(b"{\"protocol\":1,"));
}

/// `--hgrm` leaves the good answers' percentiles in a file; a place where none can be is told before the load.
#[test]
fn hgrm() {
    let server = serve(|_, _| Deed::Answer(good()));
    let url = format!("http://{}/x", server.address);
    let file = std::env::temp_dir().join(format!("fairload-hgrm-{}", std::process::id()));
    let path = file.to_str().unwrap();
    let output = fairload(&["run", &url, "-d", "200ms", "--json", "--hgrm", path])
        .output()
        .unwrap();
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::remove_file(&file).unwrap();
    let result: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let count = result["window"]["latency"]["ok"]["count"].as_u64().unwrap();
    assert!(
        text.contains(&format!("Total count    = {count:>12}]")),
        "{text}"
    );
    let refused = fairload(&["run", &url, "--hgrm", "/no/such/folder/file"])
        .output()
        .unwrap();
    assert_eq!(refused.status.code(), Some(2));
    assert_eq!(
        String::from_utf8(refused.stderr).unwrap(),
        "fairload: `/no/such/folder/file` cannot be written: No such file or directory (os error 2)\n"
    );
}

/// A result that cannot be written is told of; whoever has closed the pipe does not want it.
#[test]
fn results_that_nobody_gets() {
    let server = serve(|_, _| Deed::Answer(good()));
    let url = format!("http://{}/x", server.address);
    let full = || File::options().write(true).open("/dev/full").unwrap();
    let lacks_room = "cannot be written: No space left on device (os error 28)";
    let output = fairload(&["run", &url, "-d", "100ms", "--hgrm", "/dev/full"])
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert_eq!(said, format!("fairload: `/dev/full` {lacks_room}\n"));
    for voice in [&[][..], &["--json"]] {
        let mut command = fairload(&["run", &url, "-d", "100ms"]);
        command.args(voice).stdout(full()).stderr(Stdio::piped());
        let output = command.spawn().unwrap().wait_with_output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(&format!("the result {lacks_room}")), "{said}");
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        assert_eq!(child.wait().unwrap().code(), Some(0));
    }
}

/// HEAD works from the command line, against the null responder too.
#[test]
fn head() {
    let (mut null, told) = started(&["null", "--body", "some body"]);
    let url = format!("http://127.0.0.1:{}/", told["port"]);
    for close in [&["--json"][..], &["--json", "--close"]] {
        let output = fairload(&["run", &url, "-X", "HEAD", "-d", "200ms"])
            .args(close)
            .output()
            .unwrap();
        let result: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let sent = result["life"]["sent"].as_u64().unwrap();
        assert!(sent > 100);
        assert_eq!(
            result["life"]["outcomes"]["ok"], sent,
            "{}",
            result["samples"]
        );
    }
    drop(null.stdin.take());
    assert_eq!(null.wait().unwrap().code(), Some(0));
}

/// The help shows how to use it, in groups, on lines that fit.
#[test]
fn help() {
    let output = fairload(&["run", "--help"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    for part in [
        "Usage: fairload run",
        "\nLoad:",
        "\nRequest:",
        "\nOutput:",
        "Examples:",
        "--rate 1000..20000 --step 5s",
        "Exit codes:",
    ] {
        assert!(text.contains(part), "{part} is not in {text}");
    }
}
