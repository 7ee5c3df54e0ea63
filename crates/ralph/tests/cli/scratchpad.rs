//! `ralph scratchpad`.

use crate::{changes, env, json, names};

const SCRATCHPAD: &str = ".agent/scratchpad.md";

#[test]
fn appended_texts_start_on_new_lines() {
    let env = env();
    assert_eq!(
        env.ok(["scratchpad", "append", "step 1 is done"]),
        "Added to .agent/scratchpad.md\n"
    );
    let added = env
        .ralph(["scratchpad", "append", "-"])
        .input("## Next\n\n- the login page\n")
        .run();
    assert_eq!(added.code, Some(0), "{added}");
    env.write(SCRATCHPAD, env.read(SCRATCHPAD) + "by hand, without a line break");
    env.ok(["scratchpad", "append", "  - as it is  "]);
    let text = "step 1 is done\n## Next\n\n- the login page\nby hand, without a line break\n  - as it is  \n";
    assert_eq!(env.read(SCRATCHPAD), text);
    assert_eq!(env.ok(["scratchpad", "show"]), text);
    assert_eq!(
        json(&env, &["scratchpad", "show", "--json"]),
        serde_json::json!({"path": SCRATCHPAD, "content": text, "left_out": 0})
    );
}

#[test]
fn budget_keeps_the_end() {
    let env = env();
    env.write(SCRATCHPAD, "an old line\n".repeat(50) + "the newest\n");
    let shown = env.ok(["scratchpad", "show", "--budget", "19"]);
    assert!(
        shown.starts_with("<!-- ") && shown.contains("588 characters"),
        "{shown}"
    );
    assert!(shown.ends_with(" -->\nan old line\nthe newest\n"), "{shown}");
    assert_eq!(
        json(&env, &["scratchpad", "show", "--json", "--budget", "1"]),
        serde_json::json!({"path": SCRATCHPAD, "content": "", "left_out": 611})
    );
    assert_eq!(env.ok(["scratchpad", "show", "--budget", "0"]).len(), 611);
}

#[test]
fn clearing_keeps_the_old_text() {
    let env = env();
    env.ok(["scratchpad", "append", "one"]);
    env.ralph(["scratchpad", "clear"])
        .run()
        .printed(&["Cleared .agent/scratchpad.md\n", ".agent/scratchpad.md.bak.\n"]);
    assert_eq!(
        (env.read(SCRATCHPAD), env.ok(["scratchpad", "show"])),
        (String::new(), String::new())
    );
    assert_eq!(env.read(".agent/scratchpad.md.bak"), "one\n");
    let before = env.tree();
    let again = env.ralph(["scratchpad", "clear"]).run();
    again.printed(&["The scratchpad is empty.\n"]);
    assert_eq!(again.stderr, "");
    assert_eq!(changes(&before, &env.tree()), [""; 0]);
    env.ok(["scratchpad", "append", "two"]);
    let cleared = env.ralph(["scratchpad", "clear"]).run();
    assert!(cleared.stderr.contains("scratchpad.md.bak-2"), "{cleared}");
    assert_eq!(env.read(".agent/scratchpad.md.bak"), "one\n");
}

#[test]
fn reading_creates_no_scratchpad() {
    let env = env();
    assert_eq!(env.ok(["scratchpad", "show"]), "");
    assert_eq!(
        json(&env, &["scratchpad", "show", "--json"]),
        serde_json::json!({"path": SCRATCHPAD, "content": "", "left_out": 0})
    );
    assert_eq!(env.ok(["scratchpad", "clear"]), "The scratchpad is empty.\n");
    assert_eq!(names(&env), [""; 0]);
}

#[test]
fn invalid_text_is_not_appended() {
    let env = env();
    let append = |input: &[u8]| env.ralph(["scratchpad", "append", "-"]).input(input).run();
    append(b" \n").refused(2, &["blank"]);
    append(b"a\0b").refused(2, &["NUL character at byte 1"]);
    let token = format!("ghp_{}", "a1B2".repeat(9));
    for refused in [
        append(b"\xff"),
        append(&vec![b'x'; (4 << 20) + 1]),
        append(token.as_bytes()),
        env.ralph(["scratchpad", "append", "--wrong"]).run(),
        env.ralph(["scratchpad", "append"]).run(),
        env.ralph(["scratchpad", "show", "--budget", "-1"]).run(),
    ] {
        refused.refused(2, &[]);
    }
    assert_eq!(names(&env), [""; 0]);
    env.ok(["scratchpad", "append", &token, "--allow-secret"]);
    assert_eq!(env.read(SCRATCHPAD), format!("{token}\n"));
}

#[test]
fn configured_and_existing_paths_are_used() {
    let env = env();
    env.write("scratchpad.md", "in the root\n");
    assert_eq!(env.ok(["scratchpad", "show"]), "in the root\n");
    env.write(".ralph/agent/scratchpad.md", "the other tool's\n");
    assert_eq!(env.ok(["scratchpad", "show"]), "the other tool's\n");
    env.write(".ralph.toml", "[scratchpad]\npath = \"docs/now.md\"\n");
    assert_eq!(env.ok(["scratchpad", "append", "x"]), "Added to docs/now.md\n");
    assert_eq!(env.read("docs/now.md"), "x\n");
    env.ok(["init"]);
    let ignored = env.read(".gitignore");
    for line in [
        "docs/now.md",
        "docs/now.md.bak*",
        "docs/now.md.lock",
        "docs/.now.md.ralph-*",
    ] {
        assert!(ignored.lines().any(|other| other == line), "{line} in {ignored}");
    }
}

#[test]
fn it_is_never_committed_even_without_init() {
    let env = env();
    env.git(["init", "--quiet"]);
    env.ok(["scratchpad", "append", "one"]);
    env.ok(["scratchpad", "clear"]);
    env.ok(["scratchpad", "append", "two"]);
    assert_eq!(env.git(["status", "--porcelain", "--untracked-files=all"]), "");
}

#[test]
fn invalid_utf8_and_large_files_work() {
    let env = env();
    let mut bytes = b"caf\xe9\n".to_vec();
    bytes.extend("a line of forty characters, more or less\n".repeat(200_000).bytes());
    env.write(SCRATCHPAD, &bytes);
    env.ok(["scratchpad", "append", "the end"]);
    bytes.extend(b"the end\n");
    assert_eq!(
        std::fs::read(env.path(SCRATCHPAD)).unwrap(),
        bytes,
        "existing bytes are unchanged"
    );
    let shown = env.ok(["scratchpad", "show", "--budget", "100"]);
    assert!(
        shown.ends_with("less\nthe end\n") && shown.chars().count() <= 400,
        "{shown}"
    );
    assert!(env.ok(["scratchpad", "show"]).starts_with("caf\u{fffd}\n"));
}

#[test]
fn concurrent_appends_lose_nothing() {
    let env = env();
    let texts: Vec<String> = (0..12).map(|number| format!("line {number}")).collect();
    let runs: Vec<_> = texts
        .iter()
        .map(|text| env.ralph(["scratchpad", "append", text]).start())
        .collect();
    for run in runs {
        assert!(run.wait_with_output().unwrap().status.success());
    }
    let text = env.read(SCRATCHPAD);
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    let mut expected: Vec<&str> = texts.iter().map(String::as_str).collect();
    expected.sort_unstable();
    assert_eq!(lines, expected);
}

#[test]
fn complete_run_moves_it_to_its_folder() {
    let env = env();
    env.ok(["scratchpad", "append", "step 2 of 5"]);
    let done = "touch made.txt; grep -o 't-[0-9a-f]\\{6\\}' | head -1 | sed 's/.*/<task-done>&<\\/task-done>/'";
    let stuck = "cat > /dev/null; echo I do not know.";
    let agent = |script: &str| format!("sh -c \"{script}\"");
    let task = env.ok(["task", "add", "do it"]).trim().to_owned();
    let run = |script: &str| {
        let run = env.ralph(["run", &task, "--agent", &agent(script)]);
        // Each run needs its own id.
        let run = run.env("RALPH_SEED", script.len().to_string());
        run.env("RALPH_VERIFY_COMMANDS", "[\"true\"]").run()
    };
    assert_eq!(run(stuck).code, Some(4));
    assert_eq!(env.ok(["scratchpad", "show"]), "step 2 of 5\n");
    env.ok(["task", "reset", &task]);
    assert_eq!(run(done).code, Some(0));
    assert_eq!(env.ok(["scratchpad", "show"]), "");
    let kept = env
        .tree()
        .into_iter()
        .find(|(name, _)| name.starts_with(".ralph/runs/") && name.ends_with("scratchpad.md"));
    assert_eq!(kept.unwrap().1, b"step 2 of 5\n");
}
