//! Tests of `ralph completions`.

use insta::assert_snapshot;

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
    assert_snapshot!(env().ralph(["completions", "cmd"]).run(), @"
    exit 2
    --- stderr
    error: invalid value 'cmd' for '<SHELL>'
      [possible values: bash, elvish, fish, powershell, zsh]

    For more information, try '--help'.
    ");
}
