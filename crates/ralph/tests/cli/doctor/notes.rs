//! What doctor says of the files of notes.

use std::os::unix::fs::symlink;

use insta::assert_snapshot;

use super::{doctor, healthy, looked_and_fixed, only_looked, wrong};
use crate::{GUARDRAILS, MEMORIES, add};

#[test]
fn of_two_files_the_one_that_is_used_is_named() {
    let env = healthy();
    env.write("memories.md", "# Memories\n");
    symlink(env.path(GUARDRAILS), env.path("guardrails.md")).unwrap();
    assert_snapshot!(only_looked(&env), @"
    exit 0
      warning  memories.md: it is not read, because .agent/memories.md is used
               → move what it says to .agent/memories.md, and remove it
    ");
}

#[test]
fn what_validate_reports_is_reported_and_cut_short() {
    let env = healthy();
    let broken: String = (1..=9).map(|n| format!("### mem-{n}\n> x\n")).collect();
    env.write(
        MEMORIES,
        format!("## Fixes\n### mem-1-abcd\n> a\n### mem-1-abcd\n> b\n{broken}"),
    );
    env.write(GUARDRAILS, "### Sign: Care\n- **Trigger**: x\n- **Instruction**: y\n");
    assert_snapshot!(only_looked(&env), @r#"
    exit 1
      warning  .agent/memories.md:4: the id mem-1-abcd stands here a second time
               → give one of them another id, or remove it, in the file
      error    .agent/memories.md:6: "mem-1" is not a valid id, so this block is not read
               → mend it in the file
      error    .agent/memories.md:8: "mem-2" is not a valid id, so this block is not read
               → mend it in the file
      error    .agent/memories.md:10: "mem-3" is not a valid id, so this block is not read
               → mend it in the file
      error    .agent/memories.md:12: "mem-4" is not a valid id, so this block is not read
               → mend it in the file
      error    .agent/memories.md: and 5 more
               → `ralph memory validate` lists all
      note     .agent/guardrails.md: 1 Sign has the old form of guardrails, which can be read but not changed
               → `ralph guardrails migrate --dry-run`
    "#);
}

#[test]
fn files_that_are_no_text_are_named() {
    let env = healthy();
    env.write(MEMORIES, b"# Memories\n\xff\xfe\n## Fixes\n### mem-1-abcd\n> fine\n");
    env.write(GUARDRAILS, b"# Guardrails\n\0\n");
    env.write(".agent/scratchpad.md", b"\n\n\x80");
    assert_snapshot!(only_looked(&env), @"
    exit 0
      warning  .agent/memories.md:2: this is not UTF-8 text
               → save the file as UTF-8; what is not text may be shown wrongly, and is kept as it is
      warning  .agent/guardrails.md:2: this is a NUL, which no text holds
               → save the file as UTF-8; what is not text may be shown wrongly, and is kept as it is
      warning  .agent/scratchpad.md:3: this is not UTF-8 text
               → save the file as UTF-8; what is not text may be shown wrongly, and is kept as it is
    ");
    for name in [MEMORIES, GUARDRAILS] {
        std::fs::remove_file(env.path(name)).unwrap();
    }
    std::fs::create_dir(env.path(MEMORIES)).unwrap();
    assert_eq!(env.sh("mkfifo .agent/guardrails.md").run().code, Some(0));
    std::fs::remove_file(env.path(".agent/scratchpad.md")).unwrap();
    let looked = doctor(&env, []).run();
    assert_snapshot!(wrong(&looked), @"
    exit 1
      error    .agent/memories.md: it cannot be read: is a directory
               → put a file of text there that you may read
      error    .agent/guardrails.md: it cannot be read: it is not a file
               → put a file of text there that you may read
    ");
}

#[test]
fn what_killed_processes_left_is_cleared_away_and_texts_are_kept() {
    let env = healthy();
    std::fs::hard_link(env.path(MEMORIES), env.path(".agent/.memories.md.ralph-new")).unwrap();
    env.write(".agent/.guardrails.md.ralph-new", "what an editor saved");
    env.write(".agent/memories.md.kept", "text of a person");
    env.write(".agent/memories.md.bak-2", "an old file");
    let (looked, fixed) = looked_and_fixed(&env);
    assert_snapshot!(looked, @"
    exit 0
      note     .agent/.memories.md.ralph-new: a process that was killed left this; the next change clears it away
               → `ralph doctor --fix` does so now
      note     .agent/memories.md.bak-2: this is the file as it was before it was made anew
               → remove it when you do not need it any more
      warning  .agent/memories.md.kept: this is what somebody saved at the same time as ralph, and nobody has merged it
               → take over into .agent/memories.md what is missing there, and remove it
      note     .agent/.guardrails.md.ralph-new: a process that was killed left this; the next change clears it away
               → `ralph doctor --fix` does so now
    ");
    assert_snapshot!(fixed, @"
    exit 0
      mended   .agent/.memories.md.ralph-new: a process that was killed left this; the next change clears it away
               → cleared away what was left beside .agent/memories.md
      mended   .agent/.guardrails.md.ralph-new: a process that was killed left this; the next change clears it away
               → cleared away what was left beside .agent/guardrails.md
      note     .agent/memories.md.bak-2: this is the file as it was before it was made anew
               → remove it when you do not need it any more
      warning  .agent/memories.md.kept: this is what somebody saved at the same time as ralph, and nobody has merged it
               → take over into .agent/memories.md what is missing there, and remove it
      warning  .agent/guardrails.md.kept: this is what somebody saved at the same time as ralph, and nobody has merged it
               → take over into .agent/guardrails.md what is missing there, and remove it
    Warning: Somebody saved the file at the same time, and that text could not be merged; it is kept in [TMP]/project/.agent/guardrails.md.kept.
    ");
    assert_eq!(env.read(".agent/guardrails.md.kept"), "what an editor saved");
    assert_eq!(env.read(".agent/memories.md.kept"), "text of a person");
}

#[test]
fn notes_that_vanished_are_named() {
    let env = healthy();
    let first = add(&env, "one");
    env.write(MEMORIES, "# Memories\n");
    assert_snapshot!(only_looked(&env), @"
    exit 0
      warning  .agent/memories.md: 1 note is gone without having been deleted: mem-1737372000-910a
               → `ralph memory restore --list` lists them, `ralph memory restore ID` brings one back
    ");
    // Once it was reported it is only worth a note.
    env.ok(["memory", "list"]);
    assert_snapshot!(only_looked(&env), @"
    exit 0
      note     .agent/memories.md: 1 note is gone without having been deleted: mem-1737372000-910a
               → `ralph memory restore --list` lists them, `ralph memory restore ID` brings one back
    ");
    env.ok(["memory", "restore", &first]);
    assert_eq!(only_looked(&env), "exit 0\n\n");
}

#[test]
fn what_text_merges_leave_in_a_file_is_named() {
    let env = healthy();
    env.write(
        MEMORIES,
        "## Fixes\n<<<<<<< ours\n### mem-1-abcd\n> one\n=======\n### mem-2-abcd\n> two\n>>>>>>> theirs\n",
    );
    assert_snapshot!(only_looked(&env), @"
    exit 1
      error    .agent/memories.md:2: a conflict of a merge was left in the file, and what stands in it may be read wrongly or not at all; settle it and remove the marker lines
               → mend it in the file
    ");
}

#[test]
fn a_conflict_that_nobody_settled_comes_with_the_command_that_settles_it() {
    let env = healthy();
    let entry =
        |id: &str, extra: &str| format!("### {id}\n> {id} it is\n<!-- tags:  | created: 2025-01-01 -->\n{extra}\n");
    let two = entry("mem-1-abcd", "") + &entry("mem-2-abcd", "<!-- ralph: conflicts=mem-1-abcd -->\n");
    env.write(MEMORIES, format!("## Fixes\n\n{two}"));
    assert_snapshot!(only_looked(&env), @"
    exit 0
      warning  .agent/memories.md:7: mem-2-abcd and mem-1-abcd say different things since a merge; delete one, or supersede it
               → `ralph memory delete mem-2-abcd`, or the other one; to keep both, remove its `conflicts=` in the file
    ");
    env.ok(["memory", "delete", "mem-2-abcd"]);
    assert_snapshot!(only_looked(&env), @"exit 0");
}

#[test]
fn a_huge_file_and_a_deep_folder_are_no_trouble() {
    let env = healthy();
    let entries: String = (0..4_000)
        .map(|n| format!("### mem-{n}-abcd\n> note {n} says {}\n", "words ".repeat(20)))
        .collect();
    env.write(MEMORIES, format!("## Fixes\n{entries}"));
    env.ok(["memory", "search", "says"]);
    let looked = doctor(&env, []).run();
    assert_eq!(wrong(&looked), "exit 0\n\n");
    assert!(looked.stdout.contains("4000 memories"), "{looked}");
    let deep = env.path(&"deep/".repeat(500));
    std::fs::create_dir_all(&deep).unwrap();
    assert_eq!(wrong(&doctor(&env, []).folder(&deep).run()), "exit 0\n\n");
}

#[test]
fn files_among_the_long_notes_that_are_none_are_named_with_what_mends_them() {
    let env = healthy();
    env.write(".ralph/knowledge/good.md", "---\ntitle: Good\ntags: [a]\n---\nText.\n");
    assert_eq!(only_looked(&env), "exit 0\n\n");
    env.write(".ralph/knowledge/picture.png", "x");
    env.write(".ralph/knowledge/plain.md", "# Plain\n");
    env.write(".ralph/knowledge/tagless.md", "---\ntitle: Tagless\n---\n");
    env.write(".ralph/knowledge/anchor.md", "---\ntitle: &a Anchor\ntags: [x]\n---\n");
    assert_snapshot!(only_looked(&env), @"
    exit 0
      warning  .ralph/knowledge/anchor.md: it is skipped: its frontmatter cannot be read: anchors (`&name`) are not read at line 2, column 11
               → mend it there; a value with `: ` or ` #` in it goes in quotes
      warning  .ralph/knowledge/plain.md: it is skipped: it does not begin with frontmatter between two lines `---`
               → begin it with `---`, `title: WHAT IT IS ABOUT`, `tags: [WORD]` and `---`, each on a line of its own; or give it another ending than .md
      warning  .ralph/knowledge/tagless.md: it is skipped: its frontmatter has no tags
               → begin it with `---`, `title: WHAT IT IS ABOUT`, `tags: [WORD]` and `---`, each on a line of its own; or give it another ending than .md
    ");
    for broken in ["anchor", "plain", "tagless"] {
        std::fs::remove_file(env.path(&format!(".ralph/knowledge/{broken}.md"))).unwrap();
    }
    let long = format!("---\ntitle: Long\ntags: [a]\nabout: {}\n---\n", "x".repeat(70_000));
    env.write(".ralph/knowledge/long.md", long);
    env.write(
        ".ralph/knowledge/latin.md",
        b"---\ntitle: Latin\ntags: [a]\n---\n\xff\n",
    );
    env.write(
        ".ralph/knowledge/twice.md",
        "---\ntitle: One\ntitle: Two\ntags: [a]\n---\n",
    );
    env.write(".ralph/knowledge/huge.md", "x".repeat(5 << 20));
    assert_snapshot!(only_looked(&env), @"
    exit 0
      warning  .ralph/knowledge/huge.md: it is skipped: it has more than 4 MiB
               → make several notes of it, or give it another ending than .md
      warning  .ralph/knowledge/latin.md: it is skipped: it is not UTF-8
               → save it as UTF-8
      warning  .ralph/knowledge/long.md: it is skipped: its frontmatter has more than 64 KiB
               → move what is long below the second line `---`
      warning  .ralph/knowledge/twice.md: it is skipped: its frontmatter cannot be read: the key `title` stands there twice at line 3, column 1
               → mend it there; a value with `: ` or ` #` in it goes in quotes
    ");
    for number in 0..30 {
        env.write(&format!(".ralph/knowledge/bad-{number:02}.md"), "x");
    }
    let shown = only_looked(&env);
    assert!(
        shown.contains(".ralph/knowledge: 14 more files are skipped\n"),
        "{shown}"
    );
}
