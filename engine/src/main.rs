use std::process::ExitCode;

fn main() -> ExitCode {
    fairload::cli::main()
}
