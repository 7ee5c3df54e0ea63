//! The `ralph` command: hands the arguments over and returns the exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    ralph::run(std::env::args_os())
}
