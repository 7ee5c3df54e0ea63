//! A clock that jumps by a day in the middle of an iteration: nobody loses a claim, nothing comes out of order.

use ralph_loop::is_alive;
use ralph_loop::state::{Effect, End};
use ralph_store::Store;
use ralph_testkit::scripted::{say, write};

use crate::bench::{Project, Seen};

const DAY: i64 = 24 * 60 * 60;

#[test]
fn a_live_run_keeps_its_claim_when_the_clock_jumps() {
    for jump in [DAY, -DAY] {
        let turn = vec![write("a.txt", "x"), say("<task-done>{task}</task-done>")];
        let project = Project::plain([turn]);
        for title in ["A", "B"] {
            project.task(title);
        }
        let (clock, database) = (project.clock(), project.root().join(".ralph/progress.db"));
        let mut jumped = false;
        let ran = project.run_with(Seen::doing(move |effect| {
            if matches!(effect, Effect::Spawn) && !jumped {
                jumped = true;
                clock.jump(jump);
                // As a run in another worktree looks for claims of the dead.
                let mut store = Store::open_or_create(&database).unwrap();
                let host = ralph_process::host();
                let now = ralph_model::Clock::now(&*clock);
                let freed = store
                    .free_dead_claims(&|process| is_alive(process, &host), now)
                    .unwrap();
                assert_eq!(freed, [], "after a jump of {jump} s");
            }
            None
        }));
        assert_eq!((ran.end, ran.iterations), (Some(End::Complete), 2), "{jump}");
        assert_eq!(project.story(), ["A done: task_done", "B done: task_done"]);
        let overview = project.store().overview(0, "").unwrap();
        assert_eq!(overview.last_run.unwrap().begun.id, ran.run);
        // A later run is the last one, also when the clock was set back before it.
        project.clock().jump(-2 * DAY);
        project.task("C");
        let later = project.run();
        let overview = project.store().overview(0, "").unwrap();
        assert_eq!(overview.last_run.unwrap().begun.id, later.run);
        assert_eq!(project.journal().pop().unwrap().row.task_title, "C");
    }
}
