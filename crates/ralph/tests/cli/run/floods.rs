//! Tests that an agent with endless output needs no more memory than a brief one.

use ralph_testkit::scripted::Script;
use serde_json::json;

use super::Scene;

/// The peak memory of the process, in KiB. The unoptimized program itself takes about 30 MiB.
const MOST_KIBIBYTES: u64 = 80 << 10;

/// 100 MB in every bad form: one line, a JSON line of the maximum length, half of one, invalid UTF-8, zeros, many short
/// lines, errors.
const FLOOD: &str = r#"
x() { head -c "$1" /dev/zero | tr '\0' "$2"; }
x 40000000 x; echo
printf '{"type":"assistant","message":{"content":"'; x 8000000 y; printf '"}}\n'
printf '{"type":"assistant","message":{"content":"'; x 8000000 z; printf '\n'
head -c 3000000 /dev/urandom; echo
head -c 20000000 /dev/zero; echo
yes 'a line' | head -c 1000000; echo
yes 'an error' | head -c 20000000 >&2
"#;

/// How an agent of this kind reports that it is done.
fn last_words(kind: &str, task: &str) -> String {
    let done = format!("<task-done>{task}</task-done>");
    if kind == "command" {
        return done;
    }
    let said = json!({"type": "text", "text": done});
    let said = json!({"type": "assistant", "session_id": "s", "message": {"id": "m", "content": [said]}});
    let end = json!({"type": "result", "subtype": "success", "is_error": false, "session_id": "s", "result": "done"});
    format!("{said}\n{end}")
}

#[test]
fn output_floods_do_not_fill_memory() {
    let scene = Scene::new(&Script::new());
    for kind in ["command", "claude"] {
        // The gate runs after all output was read, and its parent is ralph itself.
        let gate = format!("[verify]\ncommands = [\"grep VmHWM /proc/$PPID/status > {kind}\"]\n");
        let settings =
            format!("{gate}[limits]\noutput_bytes = 0\n[agent]\nkind = \"{kind}\"\n[execution]\nverify = false\n");
        scene.env.write(".ralph.toml", settings);
        assert_eq!(scene.ralph(&["task", "add", kind]).run().code, Some(0));
        let tasks = crate::json(&scene.env, &["task", "list", "--json"]);
        let last_words = last_words(kind, tasks[0]["id"].as_str().unwrap());
        scene.env.write(
            "agent.sh",
            format!("touch made-by-{kind}\n{FLOOD}cat <<'END'\n{last_words}\nEND\n"),
        );
        let finished = scene.ralph(&["run", "--trust", "--agent", "sh agent.sh"]).run();
        assert_eq!(finished.code, Some(0), "{finished}");
        let peak = scene.env.read(kind);
        let kibibytes: u64 = peak.split_whitespace().nth(1).unwrap().parse().unwrap();
        assert!(kibibytes < MOST_KIBIBYTES, "{kind}: {kibibytes} KiB\n{finished}");
    }
    assert_eq!(scene.outcomes(), ["done", "done"]);
}
