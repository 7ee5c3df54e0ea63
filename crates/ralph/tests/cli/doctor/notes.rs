//! Tests of doctor's checks of notes files.

use std::os::unix::fs::symlink;

use insta::assert_snapshot;

use super::{checked_and_fixed, doctor, healthy, only_checked, wrong};
use crate::{GUARDRAILS, MEMORIES, add};

#[test]
fn the_used_one_of_two_files_is_named() {
    let env = healthy();
    env.write("memories.md", "# Memories\n");
    symlink(env.path(GUARDRAILS), env.path("guardrails.md")).unwrap();
    assert_snapshot!(only_checked(&env), @"
    exit 0
      warning  memories.md: not read, because .agent/memories.md is used
               → move its contents to .agent/memories.md, then remove it
    ");
}

#[test]
fn problems_of_validate_are_reported_up_to_a_limit() {
    let env = healthy();
    let broken: String = (1..=9).map(|n| format!("### mem-{n}\n> x\n")).collect();
    env.write(
        MEMORIES,
        format!("## Fixes\n### mem-1-abcd\n> a\n### mem-1-abcd\n> b\n{broken}"),
    );
    env.write(GUARDRAILS, "### Sign: Care\n- **Trigger**: x\n- **Instruction**: y\n");
    assert_snapshot!(only_checked(&env), @r#"
    exit 1
      warning  .agent/memories.md:4: duplicate id mem-1-abcd
               → edit the file: change the id of one of them, or remove it
      error    .agent/memories.md:6: "mem-1" is not a valid id, so this block is not read
               → fix it in the file
      error    .agent/memories.md:8: "mem-2" is not a valid id, so this block is not read
               → fix it in the file
      error    .agent/memories.md:10: "mem-3" is not a valid id, so this block is not read
               → fix it in the file
      error    .agent/memories.md:12: "mem-4" is not a valid id, so this block is not read
               → fix it in the file
      error    .agent/memories.md: and 5 more
               → `ralph memory validate` lists all
      note     .agent/guardrails.md: 1 Sign has the old guardrail format, which can be read but not edited
               → `ralph guardrails migrate --dry-run`
    "#);
}

#[test]
fn binary_files_are_reported() {
    let env = healthy();
    env.write(MEMORIES, b"# Memories\n\xff\xfe\n## Fixes\n### mem-1-abcd\n> fine\n");
    env.write(GUARDRAILS, b"# Guardrails\n\0\n");
    env.write(".agent/scratchpad.md", b"\n\n\x80");
    assert_snapshot!(only_checked(&env), @"
    exit 0
      warning  .agent/memories.md:2: this is not UTF-8 text
               → save the file as UTF-8; invalid bytes are kept but may be shown wrongly
      warning  .agent/guardrails.md:2: this is a NUL character, which text cannot contain
               → save the file as UTF-8; invalid bytes are kept but may be shown wrongly
      warning  .agent/scratchpad.md:3: this is not UTF-8 text
               → save the file as UTF-8; invalid bytes are kept but may be shown wrongly
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
               → make it a readable text file
      error    .agent/guardrails.md: it cannot be read: it is not a file
               → make it a readable text file
    ");
}

#[test]
fn leftovers_are_removed_and_texts_are_kept() {
    let env = healthy();
    std::fs::hard_link(env.path(MEMORIES), env.path(".agent/.memories.md.ralph-new")).unwrap();
    env.write(".agent/.guardrails.md.ralph-new", "what an editor saved");
    env.write(".agent/memories.md.kept", "text of a person");
    env.write(".agent/memories.md.bak-2", "an old file");
    let (looked, fixed) = checked_and_fixed(&env);
    assert_snapshot!(looked, @"
    exit 0
      note     .agent/.memories.md.ralph-new: left by a killed process; the next change removes it
               → `ralph doctor --fix` removes it now
      note     .agent/memories.md.bak-2: a backup from before the file was recreated
               → remove it when you no longer need it
      warning  .agent/memories.md.kept: a version that another program saved at the same time as ralph; it was not merged
               → copy what is missing into .agent/memories.md, then remove it
      note     .agent/.guardrails.md.ralph-new: left by a killed process; the next change removes it
               → `ralph doctor --fix` removes it now
    ");
    assert_snapshot!(fixed, @"
    exit 0
      fixed    .agent/.memories.md.ralph-new: left by a killed process; the next change removes it
               → removed leftovers next to .agent/memories.md
      fixed    .agent/.guardrails.md.ralph-new: left by a killed process; the next change removes it
               → removed leftovers next to .agent/guardrails.md
      note     .agent/memories.md.bak-2: a backup from before the file was recreated
               → remove it when you no longer need it
      warning  .agent/memories.md.kept: a version that another program saved at the same time as ralph; it was not merged
               → copy what is missing into .agent/memories.md, then remove it
      warning  .agent/guardrails.md.kept: a version that another program saved at the same time as ralph; it was not merged
               → copy what is missing into .agent/guardrails.md, then remove it
    Warning: Another program saved the file at the same time. Its version could not be merged and is in [TMP]/project/.agent/guardrails.md.kept.
    ");
    assert_eq!(env.read(".agent/guardrails.md.kept"), "what an editor saved");
    assert_eq!(env.read(".agent/memories.md.kept"), "text of a person");
}

#[test]
fn missing_notes_are_reported() {
    let env = healthy();
    let first = add(&env, "one");
    env.write(MEMORIES, "# Memories\n");
    assert_snapshot!(only_checked(&env), @"
    exit 0
      warning  .agent/memories.md: 1 note is missing but not deleted: mem-1737372000-910a
               → `ralph memory restore --list` lists them, `ralph memory restore ID` restores one
    ");
    // Once reported, it is only a note.
    env.ok(["memory", "list"]);
    assert_snapshot!(only_checked(&env), @"
    exit 0
      note     .agent/memories.md: 1 note is missing but not deleted: mem-1737372000-910a
               → `ralph memory restore --list` lists them, `ralph memory restore ID` restores one
    ");
    env.ok(["memory", "restore", &first]);
    assert_eq!(only_checked(&env), "exit 0\n\n");
}

#[test]
fn merge_markers_are_reported() {
    let env = healthy();
    env.write(
        MEMORIES,
        "## Fixes\n<<<<<<< ours\n### mem-1-abcd\n> one\n=======\n### mem-2-abcd\n> two\n>>>>>>> theirs\n",
    );
    assert_snapshot!(only_checked(&env), @"
    exit 1
      error    .agent/memories.md:2: unresolved merge conflict, which may hide entries; resolve it and remove the marker lines
               → fix it in the file
    ");
}

#[test]
fn open_conflicts_come_with_the_command_to_settle_them() {
    let env = healthy();
    let entry =
        |id: &str, extra: &str| format!("### {id}\n> {id} it is\n<!-- tags:  | created: 2025-01-01 -->\n{extra}\n");
    let two = entry("mem-1-abcd", "") + &entry("mem-2-abcd", "<!-- ralph: conflicts=mem-1-abcd -->\n");
    env.write(MEMORIES, format!("## Fixes\n\n{two}"));
    assert_snapshot!(only_checked(&env), @"
    exit 0
      warning  .agent/memories.md:7: mem-2-abcd and mem-1-abcd conflict since a merge; delete or supersede one of them
               → `ralph memory delete mem-2-abcd`, or the other one; to keep both, remove its `conflicts=` in the file
    ");
    env.ok(["memory", "delete", "mem-2-abcd"]);
    assert_snapshot!(only_checked(&env), @"exit 0");
}

#[test]
fn a_huge_file_and_a_deep_folder_are_fine() {
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
fn invalid_knowledge_files_are_reported_with_a_remedy() {
    let env = healthy();
    env.write(".ralph/knowledge/good.md", "---\ntitle: Good\ntags: [a]\n---\nText.\n");
    assert_eq!(only_checked(&env), "exit 0\n\n");
    env.write(".ralph/knowledge/picture.png", "x");
    env.write(".ralph/knowledge/plain.md", "# Plain\n");
    env.write(".ralph/knowledge/tagless.md", "---\ntitle: Tagless\n---\n");
    env.write(".ralph/knowledge/anchor.md", "---\ntitle: &a Anchor\ntags: [x]\n---\n");
    assert_snapshot!(only_checked(&env), @"
    exit 0
      warning  .ralph/knowledge/anchor.md: skipped: its frontmatter cannot be read: anchors (`&name`) are not supported at line 2, column 11
               → fix the file; quote values that contain `: ` or ` #`
      warning  .ralph/knowledge/plain.md: skipped: it does not start with frontmatter between `---` lines
               → start it with the lines `---`, `title: TITLE`, `tags: [TAG]` and `---`; or change its extension from .md
      warning  .ralph/knowledge/tagless.md: skipped: its frontmatter has no tags
               → start it with the lines `---`, `title: TITLE`, `tags: [TAG]` and `---`; or change its extension from .md
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
    assert_snapshot!(only_checked(&env), @"
    exit 0
      warning  .ralph/knowledge/huge.md: skipped: it is larger than 4 MiB
               → split it into several entries, or change its extension from .md
      warning  .ralph/knowledge/latin.md: skipped: it is not UTF-8
               → save it as UTF-8
      warning  .ralph/knowledge/long.md: skipped: its frontmatter is larger than 64 KiB
               → move long text below the second `---` line
      warning  .ralph/knowledge/twice.md: skipped: its frontmatter cannot be read: duplicate key `title` at line 3, column 1
               → fix the file; quote values that contain `: ` or ` #`
    ");
    for number in 0..30 {
        env.write(&format!(".ralph/knowledge/bad-{number:02}.md"), "x");
    }
    let shown = only_checked(&env);
    assert!(
        shown.contains(".ralph/knowledge: 14 more files are skipped\n"),
        "{shown}"
    );
}
