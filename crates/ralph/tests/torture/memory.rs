//! Tests of `ralph run` under kills while iterations fail, are refused and teach: every failure has its report, every
//! learning exists once with its iterations, and the counts of learnings match their prompts.

use ralph_testkit::scripted::{Script, if_prompt_contains, run, say, write};
use ralph_testkit::{Seed, TestEnv, count};

use super::runs::Work;
use super::{PROGRAM, under_fault};

const DONE: &str = "<task-done>{task}</task-done>";
const FAILED: &str = "<failure-report>\nwhat_tried: All of {task}.\nwhy_failed: It is too much.\n</failure-report>\
                      <task-failed>{task} too much</task-failed>";
/// Refuses an attempt that leaves this file.
const SETTINGS: &str = "[verify]\ncommands = [\"test ! -e work/bad\"]\n";

/// One learning per turn, about its task and its outcome.
fn learning(how: &str) -> String {
    format!("<learning category=\"pitfall\" tags=\"parts\">What {how} teaches of {{task}} is patience.</learning>\n")
}

/// Every task fails at its first attempt, is refused at its second, and succeeds at its third. If a run was killed
/// while the bad file existed, the gate failed before, and the second attempt may succeed.
fn work() -> Work {
    let env = TestEnv::new(PROGRAM);
    let fails = [
        write("work/{task}.txt", "{turn}\n"),
        say(&(learning("failing") + FAILED)),
    ];
    let is_refused = [write("work/bad", "{task} {turn}\n"), say(&(learning("a gate") + DONE))];
    let works = [
        run("rm -f work/bad"),
        write("work/{task}.txt", "done in {turn}\n"),
        say(&(learning("success") + DONE)),
    ];
    let later = if_prompt_contains("**Attempt at this task**: 2 of", is_refused, works);
    let script = Script::new().turn([if_prompt_contains("**Attempt at this task**: 1 of", fails, [later])]);
    let agent = script.install(&env.beside("agent"));
    env.write(".ralph.toml", SETTINGS);
    Work {
        env,
        agent,
        outcomes: &["done"],
    }
}

/// Finishes all tasks and checks what the iterations left.
#[track_caller]
fn assert_remembered(work: &Work) {
    let last = work.invocation("1000000").run();
    assert!(matches!(last.code, Some(0 | 3)), "{last}");
    let none_of = |what: &str, sql: &str| {
        let found: Vec<i64> = work.query(sql, |row| row.get(0));
        assert!(found.is_empty(), "{what}: {found:?}");
    };
    none_of(
        "tasks that are not done",
        "SELECT seq FROM tasks WHERE status <> 'done'",
    );
    none_of(
        "failures without a report",
        "SELECT id FROM journal WHERE outcome IN ('failed', 'retried', 'blocked')
         AND NOT EXISTS (SELECT 1 FROM failure_reports WHERE journal = id AND signature IS NOT NULL)",
    );
    // An agent may have written its report before the run was killed; that report is kept.
    none_of(
        "reports of what did not fail",
        "SELECT id FROM journal JOIN failure_reports ON journal = id
         WHERE outcome = 'done' OR (outcome = 'interrupted' AND origin = 'ralph')",
    );
    none_of(
        "iterations whose learning is lost, or there twice",
        "SELECT id FROM journal WHERE outcome <> 'interrupted'
         AND (SELECT count(*) FROM learning_sources JOIN learnings ON seq = learning
              WHERE learning_sources.journal = journal.id AND source = 'sigil') <> 1",
    );
    none_of(
        "learnings that are there twice",
        "SELECT max(seq) FROM learnings GROUP BY source, normalized HAVING count(*) > 1",
    );
    none_of(
        "learnings that are not judged by what came of them",
        "SELECT seq FROM learnings WHERE source = 'sigil' AND (status = 'promoted') <> EXISTS (
             SELECT 1 FROM learning_sources JOIN journal ON id = learning_sources.journal
             WHERE learning = seq AND outcome = 'done')
         AND (SELECT count(*) FROM learning_sources WHERE learning = seq) = 1",
    );
    none_of(
        "learnings whose uses are not those that are on record",
        "SELECT seq FROM learnings WHERE use_count <> (
             SELECT count(*) FROM injections JOIN journal ON journal.id = injections.journal
             WHERE entry = learnings.id AND injections.reason = 'shown' AND outcome <> 'interrupted')",
    );
    none_of("what a run left behind", "SELECT iteration FROM iterations");
}

#[test]
fn learnings_and_reports_exist_once_despite_kills() {
    let kills = count("RALPH_SOAK_RUN_KILLS", 12);
    let mut seed = Seed::announced("a run that fails and learns, killed at a call");
    let work = work();
    let mut most = 500;
    let mut came = 0;
    while came < kills {
        work.add_task(&format!("task {came}"));
        let call = 1 + seed.below(most);
        let (finished, killed) = under_fault(&work.env, work.invocation("3"), &format!("kill:{call}"));
        if killed {
            assert_eq!(finished.code, None, "{finished}");
            came += 1;
            most += 1 + most / 20;
        } else {
            assert!(matches!(finished.code, Some(0 | 3 | 4)), "call {call}: {finished}");
            most = call.max(100);
        }
    }
    assert_remembered(&work);
}
