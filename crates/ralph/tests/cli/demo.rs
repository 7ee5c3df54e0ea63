//! `ralph demo`.

use crate::{MEMORIES, SAMPLE, env, names, sample};

#[test]
fn the_tour_shows_a_restore_and_leaves_nothing_behind() {
    let env = env();
    let tour = env.ralph(["demo"]).run();
    assert_eq!((tour.code, tour.stderr.as_str()), (Some(0), ""), "{tour}");
    let fix = "mem-1737372000-910a";
    for line in [
        "$ ralph init".to_owned(),
        "created .ralph.toml".to_owned(),
        format!("Memory stored: {fix}"),
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
