//! Tests of stopping a run: by Ctrl+C, by the system, at a gate, in a wait. No process survives.

use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use ralph_testkit::scripted::{Script, hang, say, write};
use ralph_testkit::{Finished, Invocation};

use super::{DONE, Scene, check_end, diligent, normal};

/// How long to wait for an expected event.
const PATIENCE: Duration = Duration::from_secs(60);

/// A running run with its output in files.
pub(super) struct Going {
    child: Child,
    said: PathBuf,
    printed: PathBuf,
}

impl Going {
    pub(super) fn start(scene: &Scene, name: &str, invocation: Invocation) -> Self {
        let (said, printed) = (
            scene.env.beside(&format!("{name}.err")),
            scene.env.beside(&format!("{name}.out")),
        );
        let mut command = invocation.command();
        command
            .stdin(Stdio::null())
            .stderr(File::create(&said).unwrap())
            .stdout(File::create(&printed).unwrap());
        Self {
            child: command.spawn().unwrap(),
            said,
            printed,
        }
    }

    /// Waits until it has printed this.
    #[track_caller]
    pub(super) fn says(&self, text: &str) {
        until(text, || std::fs::read_to_string(&self.said).unwrap().contains(text));
    }

    pub(super) fn signal(&self, signal: &str) {
        let pid = self.child.id().to_string();
        let sent = ralph_process::command("kill")
            .args([&format!("-{signal}"), &pid])
            .status();
        assert!(sent.unwrap().success());
    }

    pub(super) fn end(mut self) -> Finished {
        let status = self.child.wait().unwrap();
        normal(Finished {
            code: status.code(),
            stdout: std::fs::read_to_string(&self.printed).unwrap(),
            stderr: std::fs::read_to_string(&self.said).unwrap(),
        })
    }
}

/// Waits for an expected condition.
#[track_caller]
pub(crate) fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < PATIENCE, "{what} never came");
        std::thread::yield_now();
    }
}

/// Checks that no process with this command line is left.
#[track_caller]
pub(super) fn assert_gone(scene: &Scene, line: &str) {
    let left = scene.env.sh(&format!("ps -eo args | grep -Fx '{line}'")).run();
    assert_eq!(left.stdout, "", "{line}");
}

#[test]
fn signal_stops_agent_and_run_in_order() {
    for signal in ["INT", "TERM", "HUP"] {
        let scene = Scene::new(&Script::new().turn([write("half.txt", "x"), hang()]).turn([say(DONE)]));
        let going = Going::start(&scene, "run", scene.invocation(&["one"]));
        until("half.txt", || scene.env.path("half.txt").exists());
        going.signal(signal);
        check_end(
            &going.end(),
            130,
            &[
                "Stopped on request.\n1 iteration: no task done\n",
                "interrupted: Stopped on request. (1 file changed)\n",
                "Hint: Run `ralph run t-025cc1 --agent [agent]` to continue.\n",
            ],
        );
        assert_eq!(scene.outcomes(), ["interrupted"]);
        assert_eq!(scene.open_tasks(), [("one".to_owned(), "pending".to_owned())]);
        let again = scene.run(&[]);
        assert_eq!(again.code, Some(0), "{again}");
        assert!(!again.stderr.contains("was killed"), "it was settled: {again}");
    }
}

/// An agent that ignores signals and has a child in its own session.
fn stubborn(scene: &Scene, seconds: [u32; 2]) -> String {
    let [own, apart] = seconds;
    let text =
        format!("#!/bin/sh\ntrap '' TERM INT HUP\nsetsid sleep {apart} &\nsleep {own} &\n: > started\nwait\nwait\n");
    scene.env.write("../stubborn.sh", text);
    let path = scene.env.beside("stubborn.sh");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn fault_29_stubborn_agent_is_killed_with_its_children() {
    let scene = Scene::new(&diligent());
    let agent = stubborn(&scene, [32_001, 32_002]);
    let going = Going::start(&scene, "run", scene.ralph(&["run", "--agent", &agent, "one"]));
    until("started", || scene.env.path("started").exists());
    going.signal("INT");
    let finished = going.end();
    assert_eq!(finished.code, Some(130), "{finished}");
    assert_eq!(scene.outcomes(), ["interrupted"]);
    assert_gone(&scene, "sleep 32001");
    assert_gone(&scene, "sleep 32002");
}

#[test]
fn second_signal_does_not_wait_for_a_stubborn_agent() {
    let scene = Scene::new(&diligent());
    let agent = stubborn(&scene, [32_003, 32_004]);
    let going = Going::start(&scene, "run", scene.ralph(&["run", "--agent", &agent, "one"]));
    until("started", || scene.env.path("started").exists());
    going.signal("INT");
    going.signal("INT");
    going.signal("TERM");
    let finished = going.end();
    assert_eq!(finished.code, Some(130), "{finished}");
    assert_gone(&scene, "sleep 32003");
    assert_gone(&scene, "sleep 32004");
    // After a second it ends even if the iteration is not settled; the next run settles it.
    let again = scene.run(&[]);
    assert_eq!(again.code, Some(0), "{again}");
    assert_eq!(scene.outcomes(), ["interrupted", "done"]);
}

/// The capacity of a pipe.
const PIPE: usize = 64 << 10;

#[test]
fn second_signal_ends_a_run_with_a_full_pipe() {
    let scene = Scene::new(&Script::new().turn([write("half.txt", "x"), hang()]));
    let (mut reader, mut writer) = std::io::pipe().unwrap();
    let mut command = scene.invocation(&["one"]).command();
    command.stdin(Stdio::null()).stdout(Stdio::null());
    let mut child = command.stderr(writer.try_clone().unwrap()).spawn().unwrap();
    let mut said = String::new();
    while !said.ends_with("from memory\n") {
        let mut bytes = [0; 1 << 10];
        let length = reader.read(&mut bytes).unwrap();
        said.push_str(std::str::from_utf8(&bytes[..length]).unwrap());
    }
    until("half.txt", || scene.env.path("half.txt").exists());
    writer.write_all(&[b'x'; PIPE]).unwrap();
    // Two equal pending signals may be merged.
    for signal in ["-INT", "-TERM"] {
        let pid = child.id().to_string();
        let sent = ralph_process::command("kill").args([signal, &pid]).status();
        assert!(sent.unwrap().success());
    }
    until("the end", || child.try_wait().unwrap().is_some());
    assert_eq!(child.wait().unwrap().code(), Some(130));
}

#[test]
fn stopped_gate_does_not_judge_the_work() {
    let scene = Scene::new(&Script::new().turn([write("work.txt", "x"), say(DONE)]));
    let gate = "[verify]\ncommands = [\"test ! -e work.txt || { : > at-the-gate; sleep 32005; }\"]\n";
    scene.env.write(".ralph.toml", gate);
    let going = Going::start(&scene, "run", scene.invocation(&["one", "--trust"]));
    until("at-the-gate", || scene.env.path("at-the-gate").exists());
    going.signal("INT");
    let gate = "gate was stopped: test ! -e work.txt";
    check_end(
        &going.end(),
        130,
        &[
            "Stopped on request.\n1 iteration: no task done\n",
            gate,
            "interrupted: Stopped on request",
        ],
    );
    assert_eq!(scene.outcomes(), ["interrupted"]);
    assert_eq!(scene.open_tasks(), [("one".to_owned(), "pending".to_owned())]);
    assert_gone(&scene, "sleep 32005");
}

#[test]
fn stopped_first_gate_leaves_no_iteration() {
    let scene = Scene::new(&diligent());
    let gate = "[verify]\ncommands = [\": > at-the-gate; sleep 32006\"]\n";
    scene.env.write(".ralph.toml", gate);
    let going = Going::start(&scene, "run", scene.invocation(&["one", "--trust"]));
    until("at-the-gate", || scene.env.path("at-the-gate").exists());
    going.signal("TERM");
    let finished = going.end();
    assert_eq!(finished.code, Some(130), "{finished}");
    assert_eq!((scene.outcomes().len(), scene.agent.turns()), (0, 0));
    assert_gone(&scene, "sleep 32006");
}

#[test]
fn stopped_commit_hook_leaves_the_task_open() {
    let scene = Scene::new(&Script::new().turn([write("work.txt", "x"), say(DONE)]));
    scene.env.write(".ralph.toml", "[git]\ncommit = \"task\"\n");
    let git = "git init -q && git config user.name T && git config user.email t@example.com";
    assert_eq!(scene.env.sh(git).run().code, Some(0));
    let hook = "#!/bin/sh\ntrap '' TERM INT\n: > ../at-the-hook\nsleep 32011\n";
    scene.env.write(".git/hooks/pre-commit", hook);
    let path = scene.env.path(".git/hooks/pre-commit");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    let going = Going::start(&scene, "run", scene.invocation(&["one"]));
    until("at-the-hook", || scene.env.beside("at-the-hook").exists());
    going.signal("INT");
    let finished = going.end();
    assert_eq!(finished.code, Some(130), "{finished}");
    assert_eq!(scene.outcomes(), ["interrupted"]);
    assert_eq!(scene.open_tasks(), [("one".to_owned(), "pending".to_owned())]);
    assert_gone(&scene, "sleep 32011");
    // The commit left nothing behind, and the next run makes it.
    std::fs::remove_file(&path).unwrap();
    let again = scene.run(&[]);
    assert_eq!(again.code, Some(0), "{again}");
    let log = scene.env.sh("git log --format=%s").run();
    assert_eq!(log.stdout, "one\n", "{log}");
}

#[test]
fn second_signal_ends_a_stuck_file_scan() {
    let scene = Scene::new(&diligent());
    let git = "#!/bin/sh\ntrap '' TERM INT\n: > \"$0.began\"\nsetsid sleep 32012\n";
    scene.env.write("../bin/git", git);
    let program = scene.env.beside("bin/git");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    scene.env.write(".git/HEAD", "ref: refs/heads/main\n");
    let path = format!("{}:/usr/bin:/bin", scene.env.beside("bin").display());
    let going = Going::start(&scene, "run", scene.invocation(&["one"]).env("PATH", path));
    until("git", || scene.env.beside("bin/git.began").exists());
    going.signal("INT");
    going.signal("TERM");
    let finished = going.end();
    assert_eq!(finished.code, Some(130), "{finished}");
    assert!(finished.stderr.contains("picks up unfinished work"), "{finished}");
    assert_gone(&scene, "sleep 32012");
    std::fs::remove_dir_all(scene.env.path(".git")).unwrap();
    let again = scene.run(&[]);
    assert_eq!(
        (again.code, scene.outcomes()),
        (Some(0), vec!["done".to_owned()]),
        "{again}"
    );
}

#[test]
fn fault_11_killed_run_is_cleaned_up_by_the_next() {
    let scene = Scene::new(&diligent());
    let agent = stubborn(&scene, [32_007, 32_008]);
    let going = Going::start(&scene, "run", scene.ralph(&["run", "--agent", &agent, "one"]));
    until("started", || scene.env.path("started").exists());
    going.signal("KILL");
    assert_eq!(going.end().code, None);
    scene.run(&[]).printed(&[
        "2 iterations: 1 task done\n",
        "run-658eec67 was killed during iteration 1",
        "Stopped 3 leftover processes from that run",
        "interrupted: ralph was killed while the agent was working",
        "iteration 1: one",
        "with 1 entry from memory",
        "done (1 file changed)",
    ]);
    assert_eq!(scene.outcomes(), ["interrupted", "done"]);
    assert_gone(&scene, "sleep 32007");
    assert_gone(&scene, "sleep 32008");
}

#[test]
fn agent_output_survives_a_killed_run() {
    let said = "<journal>tried the cache</journal><learning category=\"pitfall\">Look first.</learning>\
        <knowledge tags=\"ports\" title=\"Ports\">8080 is taken.</knowledge><task-done>{task}</task-done>";
    for claude in [false, true] {
        let script = if claude {
            Script::new().speaking_claude()
        } else {
            Script::new()
        };
        let scene = Scene::new(&script.turn([say(said), write("b.txt", "x"), hang()]).turn([say(DONE)]));
        let kind = if claude { "[agent]\nkind = \"claude\"\n" } else { "" };
        scene.env.write(".ralph.toml", kind);
        let going = Going::start(&scene, "run", scene.invocation(&["one", "--trust"]));
        let transcript = scene.env.path(".ralph/runs/run-658eec67/001/transcript.jsonl");
        until("the transcript", || {
            std::fs::read_to_string(&transcript).is_ok_and(|text| text.contains("8080"))
        });
        going.signal("KILL");
        assert_eq!(going.end().code, None);
        // The next agent finds what that one left.
        let again = scene.ralph(&["run", "--agent", "true", "--limit", "1"]).run();
        assert_eq!(again.code, Some(4), "{again}");
        let rows = crate::json(&scene.env, &["journal", "list", "--json"]);
        let row = rows
            .as_array()
            .unwrap()
            .iter()
            .find(|row| row["outcome"] == "interrupted");
        assert_eq!(row.unwrap()["notes"], "tried the cache", "claude: {claude}, {again}");
        assert!(scene.env.read(".ralph/knowledge/ports.md").contains("8080 is taken."));
        assert_eq!(scene.open_tasks(), [("one".to_owned(), "pending".to_owned())]);
    }
}

#[test]
fn run_killed_at_a_gate_repeats_only_the_gate() {
    let scene = Scene::new(&Script::new().turn([write("work.txt", "x"), say(DONE)]));
    let gate = "[verify]\ncommands = [\"test ! -e work.txt || test -e go-on || { : > at-the-gate; sleep 32009; }\"]\n";
    scene.env.write(".ralph.toml", gate);
    let going = Going::start(&scene, "run", scene.invocation(&["one", "--trust"]));
    until("at-the-gate", || scene.env.path("at-the-gate").exists());
    going.signal("KILL");
    assert_eq!(going.end().code, None);
    scene.env.write("go-on", "");
    let again = scene.run(&[]);
    again.printed(&[
        "1 iteration: 1 task done\n",
        "run-658eec67 was killed during iteration 1",
        "Stopped 2 leftover processes from that run",
        "gate passed: test ! -e work.txt",
        "done (3 files changed)",
    ]);
    assert_eq!(again.stderr.matches("gate passed").count(), 1, "{again}");
    assert_eq!(scene.outcomes(), ["done"]);
    assert_eq!(scene.agent.turns(), 1);
    assert_gone(&scene, "sleep 32009");
}
