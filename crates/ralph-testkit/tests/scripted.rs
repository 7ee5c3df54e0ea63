//! Tests of the scripted agent as a program.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::io::Write;
use std::path::Path;
use std::process::{Child, Output, Stdio};

use ralph_testkit::scripted::{
    Script, ScriptedAgent, append, exit, if_prompt_contains, kill, run, say, say_in_chunks, write,
};

const PROMPT: &str = "# Work\n\n## Assigned Task\n\n- ID: `t-00002a`\n\n## More\n\nt-00002b: use port 8081\n";

fn begin(agent: &ScriptedAgent, folder: &Path, prompt: &str) -> Child {
    let words = agent.words();
    let mut child = ralph_process::command(&words[0])
        .args(&words[1..])
        .arg("--flag")
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(prompt.as_bytes()).unwrap();
    child
}

fn play(agent: &ScriptedAgent, folder: &Path, prompt: &str) -> Output {
    begin(agent, folder, prompt).wait_with_output().unwrap()
}

#[test]
fn script_is_played_turn_by_turn_and_prompts_are_recorded() {
    let folder = tempfile::tempdir().unwrap();
    let agent = Script::new()
        .turn([
            write("sub/a.txt", "{task}"),
            append("sub/a.txt", "!"),
            say("one {task}"),
            exit(3),
        ])
        .turn([
            if_prompt_contains("use port 8081", [say_in_chunks("knows ü", 20)], [say("forgot")]),
            run("echo hidden > b.txt"),
        ])
        .install(&folder.path().join("agent"));

    let first = play(&agent, folder.path(), PROMPT);
    assert_eq!(String::from_utf8(first.stdout).unwrap(), "one t-00002a\n");
    assert_eq!(first.status.code(), Some(3));
    assert_eq!(
        std::fs::read_to_string(folder.path().join("sub/a.txt")).unwrap(),
        "t-00002a!"
    );
    for (prompt, said) in [(PROMPT, "knows ü\n"), ("nothing", "forgot\n")] {
        let output = play(&agent, folder.path(), prompt);
        assert_eq!(String::from_utf8(output.stdout).unwrap(), said);
        assert!(output.status.success());
    }
    assert_eq!(agent.prompts(), [PROMPT, PROMPT, "nothing"]);
    assert_eq!(agent.call(2).arguments, ["--flag"]);
    assert_eq!(
        std::fs::read_to_string(folder.path().join("b.txt")).unwrap(),
        "hidden\n"
    );
}

#[test]
fn concurrent_agents_get_separate_turns() {
    let folder = tempfile::tempdir().unwrap();
    let agent = Script::new()
        .turn([say("{turn}")])
        .install(&folder.path().join("agent"));
    let children: Vec<Child> = (0..8).map(|_| begin(&agent, folder.path(), "x")).collect();
    let mut said: Vec<String> = children
        .into_iter()
        .map(|child| String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap())
        .collect();
    said.sort();
    assert_eq!(said.concat(), "1\n2\n3\n4\n5\n6\n7\n8\n");
    assert_eq!(agent.turns(), 8);
}

#[test]
fn signal_skips_the_remaining_actions() {
    let folder = tempfile::tempdir().unwrap();
    let agent = Script::new()
        .turn([kill(9), say("never")])
        .install(&folder.path().join("agent"));
    let output = play(&agent, folder.path(), "x");
    assert_eq!((output.status.code(), output.stdout), (None, Vec::new()));
}
