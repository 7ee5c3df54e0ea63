//! Outputs of real tools that failed, as they printed them. They were recorded in a folder that was bound to
//! `/home/dev/project`.

/// An output, with what printed it.
#[derive(Debug, Clone, Copy)]
pub struct Recorded {
    /// What it is called here.
    pub name: &'static str,
    /// The command that printed it.
    pub command: &'static str,
    /// The version of the tool.
    pub version: &'static str,
    /// Its exit code.
    pub exit: u8,
    /// What was printed.
    pub output: &'static str,
}

/// The folder that the project was in.
pub const RECORDED_ROOT: &str = "/home/dev/project";

/// The output of this name.
#[must_use]
pub fn recorded(name: &str) -> Recorded {
    let found = RECORDED.iter().find(|recorded| recorded.name == name);
    *found.unwrap_or_else(|| panic!("nothing is recorded as {name}"))
}

macro_rules! recorded {
    ($($name:literal, $command:literal, $version:literal, $exit:literal;)*) => {
        &[$(Recorded {
            name: $name,
            command: $command,
            version: $version,
            exit: $exit,
            output: include_str!(concat!("recorded/", $name, ".txt")),
        }),*]
    };
}

/// All that were recorded.
pub const RECORDED: &[Recorded] = recorded! {
    "cargo_missing_dependency", "cargo test", "cargo 1.95.0, rustc 1.95.0", 101;
    "cargo_test_assertion", "cargo test", "cargo 1.95.0, rustc 1.95.0", 101;
    "cargo_test_assertion_moved", "cargo test", "cargo 1.95.0, rustc 1.95.0", 101;
    "cargo_test_backtrace", "RUST_BACKTRACE=1 cargo test", "cargo 1.95.0, rustc 1.95.0", 101;
    "cargo_test_missing_file", "cargo test", "cargo 1.95.0, rustc 1.95.0", 101;
    "cargo_test_missing_file_again", "cargo test", "cargo 1.95.0, rustc 1.95.0", 101;
    "cargo_test_other_test", "cargo test", "cargo 1.95.0, rustc 1.95.0", 101;
    "cargo_test_other_value", "cargo test", "cargo 1.95.0, rustc 1.95.0", 101;
    "cargo_test_two", "cargo test", "cargo 1.95.0, rustc 1.95.0", 101;
    "cargo_test_unwrap", "cargo test", "cargo 1.95.0, rustc 1.95.0", 101;
    "gcc_build", "gcc cart.c", "gcc 12.2.0", 1;
    "make_check", "make", "GNU Make 4.3", 2;
    "node_test_assertion", "node --test", "node 20.20.2", 1;
    "node_test_assertion_moved", "node --test", "node 20.20.2", 1;
    "node_test_assertion_spec", "node --test --test-reporter=spec", "node 20.20.2", 1;
    "node_test_missing_module", "node --test", "node 20.20.2", 1;
    "node_test_syntax", "node --test", "node 20.20.2", 1;
    "node_test_two", "node --test", "node 20.20.2", 1;
    "node_test_two_spec", "node --test --test-reporter=spec", "node 20.20.2", 1;
    "node_test_type_error", "node --test", "node 20.20.2", 1;
    "node_test_type_error_spec", "node --test --test-reporter=spec", "node 20.20.2", 1;
    "node_uncaught", "node main.js", "node 20.20.2", 1;
    "python_chained", "python3 main.py", "Python 3.11.2", 1;
    "rustc_alone", "rustc main.rs", "rustc 1.95.0", 1;
    "rustc_collect", "cargo build", "cargo 1.95.0, rustc 1.95.0", 101;
    "rustc_missing_module", "cargo test", "cargo 1.95.0, rustc 1.95.0", 101;
    "rustc_syntax", "cargo test", "cargo 1.95.0, rustc 1.95.0", 101;
    "rustc_types", "cargo test", "cargo 1.95.0, rustc 1.95.0", 101;
    "rustc_types_moved", "cargo test", "cargo 1.95.0, rustc 1.95.0", 101;
    "rustc_unknown_name", "cargo test", "cargo 1.95.0, rustc 1.95.0", 101;
    "rustc_unresolved_crate", "cargo test", "cargo 1.95.0, rustc 1.95.0", 101;
    "shell_command_not_found", "./build.sh", "bash 5.2.15", 127;
    "shell_command_not_found_moved", "./build.sh", "bash 5.2.15", 127;
    "shell_missing_file", "./build.sh", "bash 5.2.15", 2;
    "shell_sh_not_found", "sh -c 'frobnicate --all'", "dash 0.5.12", 127;
    "shell_silent", "./build.sh", "bash 5.2.15", 1;
    "shell_syntax", "./build.sh", "bash 5.2.15", 2;
    "shell_syntax_dash", "dash build.sh", "dash 0.5.12", 2;
    "shell_temporary", "./build.sh", "bash 5.2.15", 1;
    "shell_temporary_again", "./build.sh", "bash 5.2.15", 1;
    "shell_unbound", "./build.sh", "bash 5.2.15", 1;
    "unittest_assertion", "python3 -m unittest", "Python 3.11.2", 1;
    "unittest_assertion_moved", "python3 -m unittest", "Python 3.11.2", 1;
    "unittest_import", "python3 -m unittest", "Python 3.11.2", 1;
    "unittest_missing_file", "python3 -m unittest", "Python 3.11.2", 1;
    "unittest_syntax", "python3 -m unittest", "Python 3.11.2", 1;
    "unittest_type_error", "python3 -m unittest", "Python 3.11.2", 1;
};
