//! Outputs of real tools, recorded in a folder that was bound to `/home/dev/project`, as they were printed.

/// An output, with what printed it.
pub(super) struct Recorded {
    pub(super) name: &'static str,
    /// The command.
    pub(super) command: &'static str,
    /// The version of the tool.
    pub(super) version: &'static str,
    pub(super) output: &'static str,
}

/// The output of this name.
#[track_caller]
pub(super) fn recorded(name: &str) -> &'static Recorded {
    RECORDED.iter().find(|recorded| recorded.name == name).expect(name)
}

macro_rules! recorded {
    ($($name:literal, $command:literal, $version:literal;)*) => {
        &[$(Recorded {
            name: $name,
            command: $command,
            version: $version,
            output: include_str!(concat!("recorded/", $name, ".txt")),
        }),*]
    };
}

/// All that were recorded.
pub(super) const RECORDED: &[Recorded] = recorded! {
    "cargo_missing_dependency", "cargo test", "cargo 1.95.0, rustc 1.95.0";
    "cargo_test_assertion", "cargo test", "cargo 1.95.0, rustc 1.95.0";
    "cargo_test_assertion_moved", "cargo test", "cargo 1.95.0, rustc 1.95.0";
    "cargo_test_backtrace", "RUST_BACKTRACE=1 cargo test", "cargo 1.95.0, rustc 1.95.0";
    "cargo_test_missing_file", "cargo test", "cargo 1.95.0, rustc 1.95.0";
    "cargo_test_missing_file_again", "cargo test", "cargo 1.95.0, rustc 1.95.0";
    "cargo_test_other_test", "cargo test", "cargo 1.95.0, rustc 1.95.0";
    "cargo_test_other_value", "cargo test", "cargo 1.95.0, rustc 1.95.0";
    "cargo_test_two", "cargo test", "cargo 1.95.0, rustc 1.95.0";
    "cargo_test_unwrap", "cargo test", "cargo 1.95.0, rustc 1.95.0";
    "gcc_build", "gcc cart.c", "gcc 12.2.0";
    "make_check", "make", "GNU Make 4.3";
    "node_test_assertion", "node --test", "node 20.20.2";
    "node_test_assertion_moved", "node --test", "node 20.20.2";
    "node_test_assertion_spec", "node --test --test-reporter=spec", "node 20.20.2";
    "node_test_missing_module", "node --test", "node 20.20.2";
    "node_test_syntax", "node --test", "node 20.20.2";
    "node_test_two", "node --test", "node 20.20.2";
    "node_test_two_spec", "node --test --test-reporter=spec", "node 20.20.2";
    "node_test_type_error", "node --test", "node 20.20.2";
    "node_test_type_error_spec", "node --test --test-reporter=spec", "node 20.20.2";
    "node_uncaught", "node main.js", "node 20.20.2";
    "python_chained", "python3 main.py", "Python 3.11.2";
    "rustc_alone", "rustc main.rs", "rustc 1.95.0";
    "rustc_collect", "cargo build", "cargo 1.95.0, rustc 1.95.0";
    "rustc_missing_module", "cargo test", "cargo 1.95.0, rustc 1.95.0";
    "rustc_syntax", "cargo test", "cargo 1.95.0, rustc 1.95.0";
    "rustc_types", "cargo test", "cargo 1.95.0, rustc 1.95.0";
    "rustc_types_moved", "cargo test", "cargo 1.95.0, rustc 1.95.0";
    "rustc_unknown_name", "cargo test", "cargo 1.95.0, rustc 1.95.0";
    "rustc_unresolved_crate", "cargo test", "cargo 1.95.0, rustc 1.95.0";
    "shell_command_not_found", "./build.sh", "bash 5.2.15";
    "shell_command_not_found_moved", "./build.sh", "bash 5.2.15";
    "shell_missing_file", "./build.sh", "bash 5.2.15";
    "shell_sh_not_found", "sh -c 'frobnicate --all'", "dash 0.5.12";
    "shell_silent", "./build.sh", "bash 5.2.15";
    "shell_syntax", "./build.sh", "bash 5.2.15";
    "shell_syntax_dash", "dash build.sh", "dash 0.5.12";
    "shell_temporary", "./build.sh", "bash 5.2.15";
    "shell_temporary_again", "./build.sh", "bash 5.2.15";
    "shell_unbound", "./build.sh", "bash 5.2.15";
    "unittest_assertion", "python3 -m unittest", "Python 3.11.2";
    "unittest_assertion_moved", "python3 -m unittest", "Python 3.11.2";
    "unittest_import", "python3 -m unittest", "Python 3.11.2";
    "unittest_missing_file", "python3 -m unittest", "Python 3.11.2";
    "unittest_syntax", "python3 -m unittest", "Python 3.11.2";
    "unittest_type_error", "python3 -m unittest", "Python 3.11.2";
};
