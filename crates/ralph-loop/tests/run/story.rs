//! What one run learned is in the prompt of the next and decides how the one after it ends.

use ralph_memory::inject::prompt::MemoryShare;
use ralph_model::TaskStatus;
use ralph_testkit::scripted::{Action, append, if_prompt_contains, say, write};

use crate::bench::{Dialect, Project};

const DONE: &str = "<task-done>{task}</task-done>";

/// The trap: an agent that does not know the port is taken uses it.
fn serve() -> Action {
    if_prompt_contains("use 8081", [write("port.txt", "8081")], [write("port.txt", "8080")])
}

/// Run 1 falls into the trap and records it, in a file and in tags.
fn first_run() -> Vec<Action> {
    let memory = "# Memories\n\n## Fixes\n\n### mem-1763290800-00a1\n> Port 8080 is taken by the proxy, use 8081.\n<!-- tags: port | created: 2026-11-16 -->\n";
    vec![
        serve(),
        append(".agent/memories.md", memory),
        say("<journal>The proxy of the server listens on the port already.</journal>"),
        say(
            "<knowledge tags=\"server\" title=\"The server and its proxy\">The proxy sits in front of the server.</knowledge>",
        ),
        say(DONE),
    ]
}

fn project(dialect: Dialect) -> Project {
    let mut project = Project::new(dialect, [first_run()])
        .in_git()
        .gated(&["test ! -e port.txt || grep 8081 port.txt"]);
    project.config.limits.iterations = Some(1);
    project
}

#[test]
fn memory_from_run_1_reaches_run_2_and_decides_run_3() {
    for dialect in [Dialect::Plain, Dialect::Claude] {
        let mut project = project(dialect);
        let task = project.task("Start the server behind its proxy");
        assert_eq!(project.run().code(), 4);
        assert_eq!(project.status(&task), TaskStatus::Pending);

        // Run 2 gets everything in its prompt but does nothing.
        project.play([vec![say("I have only looked.")]]);
        assert_eq!(project.run().code(), 4);
        let prompt = project.agent.prompt(1);
        for part in [
            "Port 8080 is taken by the proxy, use 8081.",
            "## Retry Information",
            "The proxy of the server listens on the port already.",
        ] {
            assert!(prompt.contains(part), "{part:?} is missing in {prompt}");
        }
        let row = project.journal().pop().unwrap();
        let shown = project.store().injections(row.id).unwrap();
        assert!(
            shown.iter().any(|entry| entry.injection.id == "mem-1763290800-00a1"),
            "{shown:?}"
        );

        // Run 3 follows its prompt.
        project.play([vec![
            serve(),
            say("<memory-used>mem-1763290800-00a1</memory-used>"),
            say(DONE),
        ]]);
        let ran = project.run();
        assert_eq!((ran.code(), project.status(&task)), (0, TaskStatus::Done));
        assert_eq!(project.read("port.txt"), "8081");
        let row = project.journal().pop().unwrap();
        let used = project.store().injections(row.id).unwrap();
        assert!(
            used.iter()
                .any(|entry| entry.used && entry.injection.id == "mem-1763290800-00a1")
        );
        assert!(
            project
                .read(".ralph/knowledge/the-server-and-its-proxy.md")
                .contains("in front of")
        );
    }
}

#[test]
fn every_run_falls_into_the_trap_without_memory() {
    let mut project = project(Dialect::Plain);
    let task = project.task("Start the server behind its proxy");
    project.run();
    project.share = MemoryShare::None;
    // Every retry prompt has the gate's failure; only the memory is missing.
    project.play([vec![serve(), append("tries.txt", "x"), say(DONE)]]);
    for _ in 0..2 {
        assert_eq!(project.run().code(), 4);
    }
    assert!(
        !project.agent.prompt(1).contains("use 8081"),
        "{}",
        project.agent.prompt(1)
    );
    assert_eq!(
        (project.status(&task), project.read("port.txt").as_str()),
        (TaskStatus::Pending, "8080")
    );
}
