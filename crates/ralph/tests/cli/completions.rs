//! Tests of `ralph completions`.

use crate::env;

#[test]
fn each_shell_gets_the_commands() {
    let env = env();
    for shell in ["bash", "zsh", "fish"] {
        let script = env.ok(["completions", shell]);
        assert!(
            script.contains("memory") && script.contains("supersedes"),
            "{shell}: {script}"
        );
    }
    let checked = env
        .sh("\"$RALPH\" completions bash > c.sh && bash -n c.sh && echo fine")
        .run();
    assert_eq!(
        (checked.code, checked.stdout.as_str()),
        (Some(0), "fine\n"),
        "{checked}"
    );
}

#[test]
fn unknown_shells_are_refused() {
    let refused = env().ralph(["completions", "cmd"]).run();
    refused.refused(2, &["invalid value 'cmd'", "bash, elvish, fish, powershell, zsh"]);
}
