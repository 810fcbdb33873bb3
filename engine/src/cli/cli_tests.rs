use super::*;

/// Every command line option is well formed, and none contradicts another.
#[test]
fn options_are_sound() {
    use clap::CommandFactory;
    Cli::command().debug_assert();
}

/// A plan on standard input is a program's; otherwise people get words unless they ask for JSON.
#[test]
fn voices() {
    let voice = |line: &str, terminal| {
        let Command::Run(args) = Cli::parse_from(line.split(' ')).command else {
            panic!("not `run`")
        };
        args.voice(terminal)
    };
    let rows = [
        ("fairload run http://h", [Voice::Person, Voice::Person]),
        (
            "fairload run http://h --json",
            [Voice::Machine, Voice::Machine],
        ),
        ("fairload run --plan -", [Voice::Machine, Voice::Machine]),
        ("fairload run --plan p", [Voice::Machine, Voice::Person]),
        (
            "fairload run --plan p --json",
            [Voice::Machine, Voice::Machine],
        ),
    ];
    for (line, expected) in rows {
        assert!(
            [false, true].map(|terminal| voice(line, terminal)) == expected,
            "{line}"
        );
    }
}
