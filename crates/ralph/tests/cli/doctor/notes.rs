//! Tests of doctor's checks of notes files.

use std::os::unix::fs::symlink;

use super::{check, checked_and_fixed, doctor, healthy, only_checked, wrong};
use crate::{GUARDRAILS, MEMORIES, add};

#[test]
fn the_used_one_of_two_files_is_named() {
    let env = healthy();
    env.write("memories.md", "# Memories\n");
    symlink(env.path(GUARDRAILS), env.path("guardrails.md")).unwrap();
    let unused = [
        "warning",
        "memories.md: not read, because .agent/memories.md is used",
        "move its contents to .agent/memories.md",
    ];
    check(&only_checked(&env), 0, &[unused]);
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
    let not_read = |line: &'static str| ["error", line, "fix it in the file"];
    check(
        &only_checked(&env),
        1,
        &[
            [
                "warning",
                ".agent/memories.md:4: duplicate id mem-1-abcd",
                "change the id",
            ],
            not_read(".agent/memories.md:6: \"mem-1\" is not a valid id"),
            not_read(".agent/memories.md:8: \"mem-2\" is not a valid id"),
            not_read(".agent/memories.md:10: \"mem-3\" is not a valid id"),
            not_read(".agent/memories.md:12: \"mem-4\" is not a valid id"),
            ["error", ".agent/memories.md: and 5 more", "`ralph memory validate`"],
            [
                "note",
                ".agent/guardrails.md: 1 Sign has the old guardrail format",
                "`ralph guardrails migrate --dry-run`",
            ],
        ],
    );
}

#[test]
fn binary_files_are_reported() {
    let env = healthy();
    env.write(MEMORIES, b"# Memories\n\xff\xfe\n## Fixes\n### mem-1-abcd\n> fine\n");
    env.write(GUARDRAILS, b"# Guardrails\n\0\n");
    env.write(".agent/scratchpad.md", b"\n\n\x80");
    let remedy = "save the file as UTF-8";
    check(
        &only_checked(&env),
        0,
        &[
            ["warning", ".agent/memories.md:2: this is not UTF-8 text", remedy],
            ["warning", ".agent/guardrails.md:2: this is a NUL character", remedy],
            ["warning", ".agent/scratchpad.md:3: this is not UTF-8 text", remedy],
        ],
    );
    for name in [MEMORIES, GUARDRAILS] {
        std::fs::remove_file(env.path(name)).unwrap();
    }
    std::fs::create_dir(env.path(MEMORIES)).unwrap();
    assert_eq!(env.sh("mkfifo .agent/guardrails.md").run().code, Some(0));
    std::fs::remove_file(env.path(".agent/scratchpad.md")).unwrap();
    let looked = doctor(&env, []).run();
    let remedy = "make it a readable text file";
    check(
        &wrong(&looked),
        1,
        &[
            ["error", ".agent/memories.md: it cannot be read: is a directory", remedy],
            [
                "error",
                ".agent/guardrails.md: it cannot be read: it is not a file",
                remedy,
            ],
        ],
    );
}

#[test]
fn leftovers_are_removed_and_texts_are_kept() {
    let env = healthy();
    std::fs::hard_link(env.path(MEMORIES), env.path(".agent/.memories.md.ralph-new")).unwrap();
    env.write(".agent/.guardrails.md.ralph-new", "what an editor saved");
    env.write(".agent/memories.md.kept", "text of a person");
    env.write(".agent/memories.md.bak-2", "an old file");
    let (looked, fixed) = checked_and_fixed(&env);
    let left = |name: &'static str| ["note", name, "`ralph doctor --fix` removes it now"];
    let [memories, guardrails] = [".agent/.memories.md.ralph-new", ".agent/.guardrails.md.ralph-new"];
    let old = [
        "note",
        ".agent/memories.md.bak-2: a backup",
        "remove it when you no longer need it",
    ];
    let kept = [
        "warning",
        ".agent/memories.md.kept: a version that another program saved",
        "copy what is missing into .agent/memories.md",
    ];
    check(&looked, 0, &[left(memories), old, kept, left(guardrails)]);
    let (findings, warning) = fixed.split_once("Warning: ").unwrap();
    let newly_kept = [
        "warning",
        ".agent/guardrails.md.kept: a version that another program saved",
        "copy what is missing into .agent/guardrails.md",
    ];
    check(
        findings,
        0,
        &[
            ["fixed", memories, "removed leftovers next to .agent/memories.md"],
            ["fixed", guardrails, "removed leftovers next to .agent/guardrails.md"],
            old,
            kept,
            newly_kept,
        ],
    );
    assert!(
        warning.contains("is in [TMP]/project/.agent/guardrails.md.kept"),
        "{warning}"
    );
    assert_eq!(warning.lines().count(), 1, "{warning}");
    assert_eq!(env.read(".agent/guardrails.md.kept"), "what an editor saved");
    assert_eq!(env.read(".agent/memories.md.kept"), "text of a person");
}

#[test]
fn missing_notes_are_reported() {
    let env = healthy();
    let first = add(&env, "one");
    env.write(MEMORIES, "# Memories\n");
    let missing = format!(".agent/memories.md: 1 note is missing but not deleted: {first}");
    check(
        &only_checked(&env),
        0,
        &[["warning", &missing, "`ralph memory restore ID`"]],
    );
    // Once reported, it is only a note.
    env.ok(["memory", "list"]);
    check(
        &only_checked(&env),
        0,
        &[["note", &missing, "`ralph memory restore ID`"]],
    );
    env.ok(["memory", "restore", &first]);
    check(&only_checked(&env), 0, &[]);
}

#[test]
fn merge_markers_are_reported() {
    let env = healthy();
    env.write(
        MEMORIES,
        "## Fixes\n<<<<<<< ours\n### mem-1-abcd\n> one\n=======\n### mem-2-abcd\n> two\n>>>>>>> theirs\n",
    );
    let conflict = [
        "error",
        ".agent/memories.md:2: unresolved merge conflict",
        "fix it in the file",
    ];
    check(&only_checked(&env), 1, &[conflict]);
}

#[test]
fn open_conflicts_come_with_the_command_to_settle_them() {
    let env = healthy();
    let entry =
        |id: &str, extra: &str| format!("### {id}\n> {id} it is\n<!-- tags:  | created: 2025-01-01 -->\n{extra}\n");
    let two = entry("mem-1-abcd", "") + &entry("mem-2-abcd", "<!-- ralph: conflicts=mem-1-abcd -->\n");
    env.write(MEMORIES, format!("## Fixes\n\n{two}"));
    let conflict = [
        "warning",
        ".agent/memories.md:7: mem-2-abcd and mem-1-abcd conflict since a merge",
        "`ralph memory delete mem-2-abcd`",
    ];
    check(&only_checked(&env), 0, &[conflict]);
    env.ok(["memory", "delete", "mem-2-abcd"]);
    check(&only_checked(&env), 0, &[]);
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
    check(&wrong(&looked), 0, &[]);
    assert!(looked.stdout.contains("4000 memories"), "{looked}");
    let deep = env.path(&"deep/".repeat(500));
    std::fs::create_dir_all(&deep).unwrap();
    check(&wrong(&doctor(&env, []).folder(&deep).run()), 0, &[]);
}

#[test]
fn invalid_knowledge_files_are_reported_with_a_remedy() {
    let env = healthy();
    env.write(".ralph/knowledge/good.md", "---\ntitle: Good\ntags: [a]\n---\nText.\n");
    env.write(".ralph/knowledge/picture.png", "x");
    check(&only_checked(&env), 0, &[]);
    let unclear = "its frontmatter cannot be read";
    let frontmatter = "start it with the lines `---`, `title: TITLE`, `tags: [TAG]` and `---`";
    let long = format!("---\ntitle: Long\ntags: [a]\nabout: {}\n---\n", "x".repeat(70_000));
    let huge = "x".repeat(5 << 20);
    let invalid: [(&str, &[u8], &str, &str); 7] = [
        (
            "anchor",
            b"---\ntitle: &a Anchor\ntags: [x]\n---\n",
            unclear,
            "quote values",
        ),
        ("huge", huge.as_bytes(), "it is larger than 4 MiB", "split it"),
        (
            "latin",
            b"---\ntitle: Latin\ntags: [a]\n---\n\xff\n",
            "it is not UTF-8",
            "save it as UTF-8",
        ),
        (
            "long",
            long.as_bytes(),
            "its frontmatter is larger than 64 KiB",
            "below the second `---` line",
        ),
        ("plain", b"# Plain\n", "it does not start with frontmatter", frontmatter),
        (
            "tagless",
            b"---\ntitle: Tagless\n---\n",
            "its frontmatter has no tags",
            frontmatter,
        ),
        (
            "twice",
            b"---\ntitle: One\ntitle: Two\ntags: [a]\n---\n",
            unclear,
            "fix the file",
        ),
    ];
    let messages = invalid.map(|(name, bytes, problem, _)| {
        env.write(&format!(".ralph/knowledge/{name}.md"), bytes);
        format!(".ralph/knowledge/{name}.md: skipped: {problem}")
    });
    let remedies = invalid.map(|(_, _, _, remedy)| remedy);
    let findings: Vec<[&str; 3]> = (messages.iter().zip(remedies))
        .map(|(message, remedy)| ["warning", message.as_str(), remedy])
        .collect();
    check(&only_checked(&env), 0, &findings);
    for number in 0..27 {
        env.write(&format!(".ralph/knowledge/bad-{number:02}.md"), "x");
    }
    let shown = only_checked(&env);
    assert!(
        shown.contains(".ralph/knowledge: 14 more files are skipped\n"),
        "{shown}"
    );
}
