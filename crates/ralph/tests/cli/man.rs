//! Tests of `ralph man`.

use insta::assert_snapshot;

use crate::env;

#[test]
fn every_command_has_a_page() {
    let env = env();
    let page = env.ok(["man", "task", "restore"]);
    assert!(page.contains(".SH NAME\nralph\\-task\\-restore"), "{page}");
    assert!(env.ok(["man"]).contains("ralph\\-task(1)"));
    env.ok(["man", "--folder", "."]);
    assert!(env.path("ralph-task-restore.1").exists() && env.path("ralph.1").exists());
}

#[test]
fn unknown_commands_are_refused() {
    assert_snapshot!(env().ralph(["man", "task", "paint"]).run(), @"
    exit 2
    --- stderr
    Error: unknown command `ralph task paint`
    Hint: `ralph help` lists the commands
    ");
    assert_snapshot!(env().ralph(["man", "--folder", "nowhere"]).run(), @"
    exit 1
    --- stderr
    Error: cannot write into nowhere: No such file or directory (os error 2)
    ");
}
