//! The `ralph` binary.

use std::process::ExitCode;

fn main() -> ExitCode {
    ralph::run(std::env::args_os())
}
