//! A clock that jumps by a day during an iteration: claims and order survive.

use ralph_loop::state::{Effect, End};
use ralph_store::{RunProcess, Store};
use ralph_testkit::scripted::{say, write};

use crate::bench::{Probe, Project};

const DAY: i64 = 24 * 60 * 60;

#[test]
fn live_run_keeps_its_claim_when_the_clock_jumps() {
    for jump in [DAY, -DAY] {
        let turn = vec![write("a.txt", "x"), say("<task-done>{task}</task-done>")];
        let project = Project::plain([turn]);
        for title in ["A", "B"] {
            project.task(title);
        }
        let (clock, database) = (project.clock(), project.root().join(".ralph/progress.db"));
        let mut jumped = false;
        let ran = project.run_with(Probe::with_hook(move |effect| {
            if matches!(effect, Effect::Spawn) && !jumped {
                jumped = true;
                clock.jump(jump);
                // As a run in another worktree would release claims of dead runs.
                let mut store = Store::open_or_create(&database).unwrap();
                let now = ralph_model::Clock::now(&*clock);
                let freed = store.free_dead_claims(&RunProcess::is_alive, now).unwrap();
                assert_eq!(freed, [], "after a jump of {jump} s");
            }
            None
        }));
        assert_eq!((ran.end, ran.iterations), (Some(End::Complete), 2), "{jump}");
        assert_eq!(project.story(), ["A done: task_done", "B done: task_done"]);
        let overview = project.store().overview(0, "").unwrap();
        assert_eq!(overview.last_run.unwrap().begun.id, ran.run);
        // A later run is still the last one after the clock was set back.
        project.clock().jump(-2 * DAY);
        project.task("C");
        let later = project.run();
        let overview = project.store().overview(0, "").unwrap();
        assert_eq!(overview.last_run.unwrap().begun.id, later.run);
        assert_eq!(project.journal().pop().unwrap().row.task_title, "C");
    }
}
