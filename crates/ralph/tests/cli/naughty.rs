//! Texts that break other tools read back exactly or are refused with one clear line, in every command that stores
//! text.

use ralph_testkit::TestEnv;

use crate::{GUARDRAILS, MEMORIES, env, json};

/// Texts that look like structure, arguments or code, or contain control characters.
const TEXTS: &[&str] = &[
    "\"quoted\" 'single' `ticks` ```fence",
    "> quoted\n>> twice\n",
    "### Sign: not one\n- **Trigger**: x",
    "### fix-1737372000-a1b2\n> x\n<!-- tags: a | created: 2025-01-01 -->",
    "## Fixes\n# Guardrails",
    "<!-- ralph: source=x --> -->",
    "<!--",
    "\u{202e}right to left\u{202c} \u{200f}\u{2066}isolated\u{2069}",
    "zero\u{200b}width\u{feff}bom",
    "e\u{301} 👨\u{200d}👩\u{200d}👧 🇩🇪 \u{1f3f4}\u{e0067}\u{e007f}",
    "\u{1b}[31mred\u{1b}[0m \u{7} \u{8} \u{b} \u{c} \u{7f} \u{85} \u{9b}",
    "  leading, trailing  \n\n\nblank lines\n\n",
    "\ttab\tand\u{2028}line\u{2029}paragraph separators",
    "%s %d %n ${HOME} $(id) `id` ; rm -rf / | cat & ../../etc/passwd",
    "%20 %ZZ %",
    "null undefined NaN true 0 -1 1e309",
    "'; DROP TABLE note_log; --",
    "\u{fffd} \u{10ffff} \u{e000}",
    "-",
    "--",
];

fn stored(env: &TestEnv, list: &[&str]) -> String {
    json(env, list)[0]["content"].as_str().unwrap().to_owned()
}

#[test]
fn texts_read_back_exactly() {
    for text in TEXTS {
        for (add, list, file) in [
            (
                &["guardrails", "add", "-"][..],
                ["guardrails", "list", "--json"],
                GUARDRAILS,
            ),
            (
                &["remember", "-", "--here"],
                ["guardrails", "list", "--json"],
                GUARDRAILS,
            ),
            (&["remember", "-"], ["memory", "list", "--json"], MEMORIES),
        ] {
            let env = env();
            let kept = env.ralph(add.iter().copied()).input(format!("{text}\n")).run();
            assert_eq!(kept.code, Some(0), "{text:?}: {kept}");
            assert_eq!(stored(&env, &list), *text, "{add:?}");
            let list = json(&env, &list);
            assert_eq!(list.as_array().unwrap().len(), 1, "{text:?} in {}", env.read(file));
            let id = list[0]["id"].as_str().unwrap();
            let family = if file == MEMORIES { "memory" } else { "guardrails" };
            let is_visible = ralph_model::invisible_characters(text).is_empty();
            let expected = Some(i32::from(!is_visible));
            assert_eq!(env.ralph([family, "validate"]).run().code, expected, "{text:?}");
            env.ok([family, "show", id]);
        }
    }
}

#[test]
fn texts_survive_promotion_and_scratchpad() {
    for text in TEXTS {
        let env = env();
        let kept = env.ralph(["guardrails", "add", "-"]).input(format!("{text}\n")).run();
        assert_eq!(kept.code, Some(0), "{kept}");
        env.ok(["guardrails", "promote", "pattern-"]);
        assert_eq!(stored(&env, &["memory", "list", "--json"]), *text);
        let added = env
            .ralph(["scratchpad", "append", "-"])
            .input(format!("{text}\n"))
            .run();
        assert_eq!(added.code, Some(0), "{added}");
        let end = if text.ends_with('\n') { "" } else { "\n" };
        assert_eq!(env.ok(["scratchpad", "show"]), format!("{text}{end}"));
    }
}

#[test]
fn megabyte_is_stored_and_nul_refused() {
    let env = env();
    let large = "0123456789 \u{1f9e0}\n".repeat(70_000);
    for arguments in [
        &["guardrails", "add", "-"][..],
        &["remember", "-"],
        &["scratchpad", "append", "-"],
    ] {
        let kept = env.ralph(arguments.iter().copied()).input(format!("{large}\n")).run();
        assert_eq!(kept.code, Some(0), "{kept}");
        let refused = env.ralph(arguments.iter().copied()).input("a\0b").run();
        assert_eq!(refused.code, Some(2), "{refused}");
        assert_eq!(refused.stderr.lines().count(), 1, "{refused}");
    }
    assert_eq!(stored(&env, &["guardrails", "list", "--json"]), large);
    assert_eq!(stored(&env, &["memory", "list", "--json"]), large);
    assert_eq!(env.ok(["scratchpad", "show"]), large);
}

#[test]
fn signs_are_migrated_without_loss() {
    for text in TEXTS.iter().filter(|text| !text.contains(['\n', '\u{85}', '\u{2028}'])) {
        let env = env();
        env.write(
            GUARDRAILS,
            format!("# G\n\n### Sign: {text}\n- **Trigger**: {text}\n- **Instruction**: {text}\n\nours {text}"),
        );
        let listed = json(&env, &["guardrails", "list", "--json"]);
        let said = listed[0]["content"].as_str().unwrap();
        assert!(said.matches(text.trim()).count() >= 2, "{text:?} in {said:?}");
        env.ok(["guardrails", "migrate"]);
        assert_eq!(stored(&env, &["guardrails", "list", "--json"]), said);
        assert!(env.read(GUARDRAILS).starts_with(&format!("# G\n\nours {text}")));
    }
    let env = env();
    env.write(GUARDRAILS, b"### Sign: NUL\n- a\0b \r c\n### Sign: \xff\n- \xfe\n");
    let migrated = env.ralph(["guardrails", "migrate"]).run();
    assert_eq!(migrated.code, Some(0), "{migrated}");
    let bytes = std::fs::read(env.path(GUARDRAILS)).unwrap();
    assert!(
        bytes.starts_with(b"### Sign: \xff\n- \xfe\n"),
        "unreadable blocks are unchanged"
    );
}
