//! Tests of `ralph man`.

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
fn unknown_commands_and_folders_are_refused() {
    let command = env().ralph(["man", "task", "paint"]).run();
    command.refused(2, &["unknown command `ralph task paint`", "`ralph help`"]);
    let folder = env().ralph(["man", "--folder", "nowhere"]).run();
    folder.refused(1, &["cannot write into nowhere: No such file or directory"]);
}
