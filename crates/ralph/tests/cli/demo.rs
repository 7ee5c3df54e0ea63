//! `ralph demo`.

use crate::{MEMORIES, SAMPLE, env, names, sample};

#[test]
fn the_tour_shows_what_there_is_and_leaves_nothing_behind() {
    let env = env();
    let tour = env.ralph(["demo"]).run();
    assert_eq!((tour.code, tour.stderr.as_str()), (Some(0), ""), "{tour}");
    let fix = "mem-1737372000-910a";
    for line in [
        "$ ralph init".to_owned(),
        "created .ralph.toml".to_owned(),
        format!("Memory stored: {fix}"),
        "Kept as a fix; --type overrides.".to_owned(),
        "Kept as a decision; --type overrides.".to_owned(),
        "Guardrail stored: pattern-1737372000-910a".to_owned(),
        "$ ralph recall 'the team for billing'".to_owned(),
        "mem-1760000000-cafe  context  2025-10-09        The billing service belongs to team Falcon.".to_owned(),
        "$ ralph guardrails promote pattern-1737372000-910a".to_owned(),
        "Warning: 4 notes are gone from .agent/memories.md without having been deleted; an old version of the file may \
         have been saved over it."
            .to_owned(),
        format!("$ ralph memory restore {fix}"),
        format!("Memory restored: {fix}"),
        "$ ralph memory prime --budget 200 --for 'the database does not answer'".to_owned(),
        "> ECONNREFUSED on port 5432: the database is down; `docker compose up -d`".to_owned(),
    ] {
        assert!(tour.stdout.lines().any(|shown| shown == line), "{line}\nin\n{tour}");
    }
    assert_eq!(env.left_behind(), [""; 0]);
    assert_eq!(names(&env), [""; 0]);
}

#[test]
fn the_tour_stays_in_its_own_folder() {
    // A temporary folder inside a project, and a setting that leads to a file of the person's.
    let env = sample();
    let temporary = env.path("tmp");
    std::fs::create_dir(&temporary).unwrap();
    let tour = env
        .ralph(["demo"])
        .env("TMPDIR", &temporary)
        .env("RALPH_MEMORIES_PATH", env.path(MEMORIES))
        .run();
    assert_eq!(tour.code, Some(0), "{tour}");
    assert_eq!(names(&env), [".agent/", MEMORIES, "tmp/"]);
    assert_eq!(env.read(MEMORIES), SAMPLE);
}
