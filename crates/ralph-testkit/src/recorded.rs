//! Recorded outputs of real tools that failed. The project was mounted at `/home/dev/project`.

/// A recorded output and the command that printed it.
#[derive(Debug, Clone, Copy)]
pub struct Recorded {
    pub name: &'static str,
    pub command: &'static str,
    pub version: &'static str,
    pub exit: u8,
    pub output: &'static str,
}

/// The folder that the project was in.
pub const RECORDED_ROOT: &str = "/home/dev/project";

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

pub const RECORDED: &[Recorded] = recorded! {
    "cargo_missing_dependency", "cargo test", "cargo 1.95.0, rustc 1.95.0", 101;
    "cargo_test_assertion", "cargo test", "cargo 1.95.0, rustc 1.95.0", 101;
    "cargo_test_assertion_moved", "cargo test", "cargo 1.95.0, rustc 1.95.0", 101;
    "cargo_test_backtrace", "RUST_BACKTRACE=1 cargo test", "cargo 1.95.0, rustc 1.95.0", 101;
    "cargo_test_duration", "cargo test duration", "cargo 1.95.0, rustc 1.95.0", 101;
    "cargo_test_duration_again", "cargo test duration", "cargo 1.95.0, rustc 1.95.0", 101;
    "cargo_test_list", "N=1 cargo test list", "cargo 1.95.0, rustc 1.95.0", 101;
    "cargo_test_list_again", "N=1 cargo test list", "cargo 1.95.0, rustc 1.95.0", 101;
    "cargo_test_list_other", "N=2 cargo test list", "cargo 1.95.0, rustc 1.95.0", 101;
    "cargo_test_long", "N=3 cargo test long", "cargo 1.95.0, rustc 1.95.0", 101;
    "cargo_test_long_other", "N=7 cargo test long", "cargo 1.95.0, rustc 1.95.0", 101;
    "cargo_test_missing_file", "cargo test", "cargo 1.95.0, rustc 1.95.0", 101;
    "cargo_test_missing_file_again", "cargo test", "cargo 1.95.0, rustc 1.95.0", 101;
    "cargo_test_other_test", "cargo test", "cargo 1.95.0, rustc 1.95.0", 101;
    "cargo_test_other_value", "cargo test", "cargo 1.95.0, rustc 1.95.0", 101;
    "cargo_test_port", "cargo test port", "cargo 1.95.0, rustc 1.95.0", 101;
    "cargo_test_port_again", "cargo test port", "cargo 1.95.0, rustc 1.95.0", 101;
    "cargo_test_struct", "N=1 cargo test structure", "cargo 1.95.0, rustc 1.95.0", 101;
    "cargo_test_struct_other", "N=2 cargo test structure", "cargo 1.95.0, rustc 1.95.0", 101;
    "cargo_test_temporary", "TMPDIR=/tmp cargo test temporary", "cargo 1.95.0, rustc 1.95.0", 101;
    "cargo_test_temporary_again", "TMPDIR=/tmp cargo test temporary", "cargo 1.95.0, rustc 1.95.0", 101;
    "cargo_test_text", "N=1 cargo test text", "cargo 1.95.0, rustc 1.95.0", 101;
    "cargo_test_text_other", "N=2 cargo test text", "cargo 1.95.0, rustc 1.95.0", 101;
    "cargo_test_tuple", "N=1 cargo test tuple", "cargo 1.95.0, rustc 1.95.0", 101;
    "cargo_test_tuple_other", "N=2 cargo test tuple", "cargo 1.95.0, rustc 1.95.0", 101;
    "cargo_test_two", "cargo test", "cargo 1.95.0, rustc 1.95.0", 101;
    "cargo_test_unwrap", "cargo test", "cargo 1.95.0, rustc 1.95.0", 101;
    "cargo_test_unwrap_backtrace", "RUST_BACKTRACE=1 cargo test unwrap", "cargo 1.95.0, rustc 1.95.0", 101;
    "curl_404", "curl -fsS http://127.0.0.1:8080/users/new", "curl 7.88.1", 22;
    "curl_500", "curl -fsS http://127.0.0.1:8080/users/new", "curl 7.88.1", 22;
    "gcc_build", "gcc cart.c", "gcc 12.2.0", 1;
    "go_build", "go build ./...", "go 1.19.8", 2;
    "go_test_assertion", "go test ./...", "go 1.19.8", 1;
    "go_test_panic", "go test ./...", "go 1.19.8", 1;
    "make_check", "make", "GNU Make 4.3", 2;
    "node_calls_range_error", "node serve.js stamp", "node 20.20.2", 1;
    "node_calls_type_error", "node serve.js total", "node 20.20.2", 1;
    "node_decimals", "TOTAL=12.5 node total.js", "node 20.20.2", 1;
    "node_decimals_other", "TOTAL=13.5 node total.js", "node 20.20.2", 1;
    "node_status_404", "STATUS=404 node status.js", "node 20.20.2", 1;
    "node_status_500", "STATUS=500 node status.js", "node 20.20.2", 1;
    "node_test_assertion", "node --test", "node 20.20.2", 1;
    "node_test_assertion_moved", "node --test", "node 20.20.2", 1;
    "node_test_assertion_spec", "node --test --test-reporter=spec", "node 20.20.2", 1;
    "node_test_list", "N=1 node --test --test-name-pattern=list", "node 20.20.2", 1;
    "node_test_list_again", "N=1 node --test --test-name-pattern=list", "node 20.20.2", 1;
    "node_test_list_other", "N=2 node --test --test-name-pattern=list", "node 20.20.2", 1;
    "node_test_list_spec", "N=1 node --test --test-reporter=spec --test-name-pattern=list", "node 20.20.2", 1;
    "node_test_list_spec_other", "N=2 node --test --test-reporter=spec --test-name-pattern=list", "node 20.20.2", 1;
    "node_test_missing_module", "node --test", "node 20.20.2", 1;
    "node_test_object", "N=1 node --test --test-name-pattern=object", "node 20.20.2", 1;
    "node_test_object_other", "N=2 node --test --test-name-pattern=object", "node 20.20.2", 1;
    "node_test_syntax", "node --test", "node 20.20.2", 1;
    "node_test_two", "node --test", "node 20.20.2", 1;
    "node_test_two_spec", "node --test --test-reporter=spec", "node 20.20.2", 1;
    "node_test_type_error", "node --test", "node 20.20.2", 1;
    "node_test_type_error_spec", "node --test --test-reporter=spec", "node 20.20.2", 1;
    "node_uncaught", "node main.js", "node 20.20.2", 1;
    "pytest_assertion", "pytest test_cart.py", "pytest 9.2.0, Python 3.11.7", 1;
    "pytest_key_error", "pytest test_door.py", "pytest 9.2.0, Python 3.11.7", 1;
    "python_chained", "python3 main.py", "Python 3.11.2", 1;
    "python_http_404", "python3 fetch.py /users/new", "Python 3.11.2", 1;
    "python_http_500", "python3 fetch.py /users/new", "Python 3.11.2", 1;
    "python_key_error", "python3 price.py", "Python 3.11.2", 1;
    "python_log", "python3 shop.py 'price of a cup is negative'", "Python 3.11.2", 1;
    "python_log_again", "python3 shop.py 'price of a cup is negative'", "Python 3.11.2", 1;
    "python_log_other", "python3 shop.py 'no room for plates'", "Python 3.11.2", 1;
    "python_version", "VERSION=1.0.1 python3 version.py", "Python 3.11.2", 1;
    "python_version_other", "VERSION=2.3.4 python3 version.py", "Python 3.11.2", 1;
    "rustc_alone", "rustc main.rs", "rustc 1.95.0", 1;
    "rustc_collect", "cargo build", "cargo 1.95.0, rustc 1.95.0", 101;
    "rustc_missing_module", "cargo test", "cargo 1.95.0, rustc 1.95.0", 101;
    "rustc_syntax", "cargo test", "cargo 1.95.0, rustc 1.95.0", 101;
    "rustc_types", "cargo test", "cargo 1.95.0, rustc 1.95.0", 101;
    "rustc_types_moved", "cargo test", "cargo 1.95.0, rustc 1.95.0", 101;
    "rustc_unknown_name", "cargo test", "cargo 1.95.0, rustc 1.95.0", 101;
    "rustc_unresolved_crate", "cargo test", "cargo 1.95.0, rustc 1.95.0", 101;
    "shell_case", "./check.sh leap_alpha", "bash 5.2.15", 1;
    "shell_case_moved", "./check.sh leap_alpha", "bash 5.2.15", 1;
    "shell_case_numbered", "./check.sh 2100-02-29", "bash 5.2.15", 1;
    "shell_case_numbered_other", "./check.sh 2200-02-29", "bash 5.2.15", 1;
    "shell_case_other", "./check.sh leap_beta", "bash 5.2.15", 1;
    "shell_code_1", "./deploy.sh 1", "bash 5.2.15", 1;
    "shell_code_2", "./deploy.sh 2", "bash 5.2.15", 1;
    "shell_command_not_found", "./build.sh", "bash 5.2.15", 127;
    "shell_command_not_found_moved", "./build.sh", "bash 5.2.15", 127;
    "shell_date_log", "./date_log.sh 'no price of cups'", "bash 5.2.15, date 9.1", 1;
    "shell_date_log_again", "./date_log.sh 'no price of cups'", "bash 5.2.15, date 9.1", 1;
    "shell_log", "./log.sh 'price of cup 17 is negative'", "bash 5.2.15, date 9.1", 1;
    "shell_log_again", "./log.sh 'price of cup 17 is negative'", "bash 5.2.15, date 9.1", 1;
    "shell_log_other", "./log.sh 'no room for plates'", "bash 5.2.15, date 9.1", 1;
    "shell_missing_file", "./build.sh", "bash 5.2.15", 2;
    "shell_named", "./named.sh leap_alpha", "bash 5.2.15", 1;
    "shell_named_other", "./named.sh leap_beta", "bash 5.2.15", 1;
    "shell_quiet_log", "./quiet_log.sh", "bash 5.2.15, date 9.1", 1;
    "shell_quiet_log_again", "./quiet_log.sh", "bash 5.2.15, date 9.1", 1;
    "shell_returned_404", "./check.sh /users/new", "bash 5.2.15", 1;
    "shell_returned_404_elsewhere", "./check.sh /orders/new", "bash 5.2.15", 1;
    "shell_returned_500", "./check.sh /users/new", "bash 5.2.15", 1;
    "shell_served_404", "./served.sh /users/new", "bash 5.2.15", 1;
    "shell_served_404_again", "./served.sh /users/new", "bash 5.2.15", 1;
    "shell_served_500", "./served.sh /users/new", "bash 5.2.15", 1;
    "shell_sh_not_found", "sh -c 'frobnicate --all'", "dash 0.5.12", 127;
    "shell_silent", "./build.sh", "bash 5.2.15", 1;
    "shell_syntax", "./build.sh", "bash 5.2.15", 2;
    "shell_syntax_dash", "dash build.sh", "dash 0.5.12", 2;
    "shell_syslog", "./syslog.sh 'no price of cups'", "bash 5.2.15, logger 2.38.1", 1;
    "shell_syslog_again", "./syslog.sh 'no price of cups'", "bash 5.2.15, logger 2.38.1", 1;
    "shell_tap", "./tap.sh leap_alpha", "bash 5.2.15", 1;
    "shell_tap_other", "./tap.sh leap_beta", "bash 5.2.15", 1;
    "shell_temporary", "./build.sh", "bash 5.2.15", 1;
    "shell_temporary_again", "./build.sh", "bash 5.2.15", 1;
    "shell_unbound", "./build.sh", "bash 5.2.15", 1;
    "tsc_types", "tsc --noEmit --strict cart.ts", "TypeScript 7.0.2", 1;
    "unittest_assertion", "python3 -m unittest", "Python 3.11.2", 1;
    "unittest_assertion_moved", "python3 -m unittest", "Python 3.11.2", 1;
    "unittest_import", "python3 -m unittest", "Python 3.11.2", 1;
    "unittest_long", "N=3 python3 -m unittest test_pairs.Pairs.test_long", "Python 3.11.2", 1;
    "unittest_long_other", "N=7 python3 -m unittest test_pairs.Pairs.test_long", "Python 3.11.2", 1;
    "unittest_missing_file", "python3 -m unittest", "Python 3.11.2", 1;
    "unittest_object", "python3 -m unittest test_pairs.Pairs.test_object", "Python 3.11.2", 1;
    "unittest_object_again", "python3 -m unittest test_pairs.Pairs.test_object", "Python 3.11.2", 1;
    "unittest_syntax", "python3 -m unittest", "Python 3.11.2", 1;
    "unittest_text", "N=1 python3 -m unittest test_pairs.Pairs.test_text", "Python 3.11.2", 1;
    "unittest_text_other", "N=2 python3 -m unittest test_pairs.Pairs.test_text", "Python 3.11.2", 1;
    "unittest_thousands", "EXPECTED=1550 python3 -m unittest", "Python 3.11.2", 1;
    "unittest_thousands_other", "EXPECTED=2550 python3 -m unittest", "Python 3.11.2", 1;
    "unittest_tuple", "N=1 python3 -m unittest test_pairs.Pairs.test_tuple", "Python 3.11.2", 1;
    "unittest_tuple_other", "N=2 python3 -m unittest test_pairs.Pairs.test_tuple", "Python 3.11.2", 1;
    "unittest_type_error", "python3 -m unittest", "Python 3.11.2", 1;
};
