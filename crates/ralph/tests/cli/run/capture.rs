//! Tests that secrets of an agent never reach the disk, and control characters never reach the terminal.

use std::path::Path;

use ralph_testkit::scripted::{Script, exit, raw, run, say, say_error, say_in_chunks, think, write};

use super::{DONE, Scene};

/// Letters and digits without any pattern.
fn random(length: usize, seed: u64) -> String {
    const SIGNS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let sign = |_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let place = usize::try_from(state % SIGNS.len() as u64).unwrap();
        char::from(SIGNS[place])
    };
    (0..length).map(sign).collect()
}

/// Secrets of three kinds, generated so that none is in this file, and the parts to search for.
fn secrets() -> ([String; 3], Vec<String>) {
    let (anthropic, github) = (random(90, 1), random(36, 2));
    let body: Vec<String> = (3..9).map(|seed| random(64, seed)).collect();
    let dashes = "-".repeat(5);
    let key = format!(
        "{dashes}BEGIN RSA PRIVATE KEY{dashes}\n{}\n{dashes}END RSA PRIVATE KEY{dashes}",
        body.join("\n")
    );
    let found_by = [vec![anthropic.clone(), github.clone()], body].concat();
    (
        [
            format!("{}oat01-{anthropic}", "sk-ant-"),
            format!("{}{github}", "ghp_"),
            key,
        ],
        found_by,
    )
}

/// The files below a folder that contain one of these texts.
fn holding(folder: &Path, texts: &[String]) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if path.is_dir() && !path.is_symlink() {
            found.extend(holding(&path, texts));
        } else if let Ok(bytes) = std::fs::read(&path) {
            let content = String::from_utf8_lossy(&bytes);
            let holds = |text: &String| content.contains(text.as_str());
            if !path.is_symlink() && texts.iter().any(holds) {
                found.push(path.display().to_string());
            }
        }
    }
    found
}

/// All channels of an agent, each with a secret.
fn indiscreet(secrets: &[String; 3]) -> String {
    let [anthropic, github, key] = secrets;
    format!(
        "the key is {anthropic}\n{key}\n\
         <journal>used {github}\n{key}</journal>\n\
         <knowledge tags=\"keys\" title=\"The keys {anthropic}\">They are {github} and\n{key}</knowledge>\n\
         <learning category=\"pitfall\" tags=\"{github}\">never print {anthropic}</learning>\n\
         <failure-report>\nwhat_tried: {github}\nwhy_failed: {anthropic}\nrelevant_files: {github}\nstack_trace: {key}\n</failure-report>\n\
         <retry-suggestion>with {github}</retry-suggestion><memory-used>{github}</memory-used>\n\
         <next-model>{github}</next-model>\n"
    )
}

#[test]
fn printed_secrets_are_nowhere_on_disk() {
    let (secrets, found_by) = secrets();
    let said = indiscreet(&secrets);
    let [anthropic, github, key] = &secrets;
    let script = Script::new()
        .turn([
            say(&said),
            write("config.env", &said),
            say("<task-failed>{task} no key, only {turn}</task-failed>"),
        ])
        .turn([
            say_in_chunks(&said, 97),
            say(&format!("<task-failed>{{task}} {github} {key}</task-failed>")),
        ])
        .turn([say_error(&format!("panic with {anthropic}")), exit(3)])
        .turn([say(&format!("<task-done>{github}</task-done>"))]);
    let scene = Scene::new(&script);
    scene.env.git(["init", "--quiet"]);
    scene.env.write("../token", format!("export TOKEN={github}\n"));
    scene.env.write(
        ".ralph.toml",
        "[verify]\ncommands = [\"cat ../token; test -e config.env\"]\n",
    );
    let finished = scene.run(&["one", "--trust"]);
    assert_eq!(finished.code, Some(4), "{finished}");
    assert_eq!(scene.agent.turns(), 4);
    assert!(scene.env.path(".ralph/knowledge").read_dir().unwrap().next().is_some());
    assert_eq!(holding(&scene.env.path(".ralph"), &found_by), [""; 0]);
    let printed = format!("{}{}", finished.stdout, finished.stderr);
    for secret in &found_by {
        assert!(!printed.contains(secret.as_str()), "{printed}");
    }
    assert!(scene.agent.prompt(2).contains("[secret: "), "{}", scene.agent.prompt(2));
}

#[test]
fn secrets_in_agent_records_are_nowhere_on_disk() {
    let (secrets, found_by) = secrets();
    let [anthropic, github, _] = &secrets;
    let denials = serde_json::json!([
        {"tool_name": "Bash", "tool_use_id": "1", "tool_input": {"command": format!("TOKEN={github} curl -H {anthropic}")}},
        {"tool_name": github, "tool_use_id": "2", "tool_input": {"url": format!("https://x/?token={github}")}},
    ]);
    let result = serde_json::json!({
        "type": "result", "subtype": "success", "is_error": false, "result": indiscreet(&secrets),
        "permission_denials": denials,
    });
    let script = Script::new().speaking_claude().turn([
        say(&indiscreet(&secrets)),
        write("keys.txt", github),
        raw(&result.to_string()),
    ]);
    let scene = Scene::new(&script);
    scene.env.write(
        crate::USER_CONFIG,
        "[agent]\nkind = \"claude\"\n[execution]\nmax_retries = 0\n",
    );
    let finished = scene.run(&["one"]);
    assert_eq!(finished.code, Some(4), "{finished}");
    assert_eq!(holding(&scene.env.path(".ralph"), &found_by), [""; 0]);
    for secret in &found_by {
        assert!(!finished.stderr.contains(secret.as_str()), "{finished}");
    }
}

#[test]
fn secrets_in_user_files_are_not_copied() {
    let (secrets, found_by) = secrets();
    let [anthropic, github, key] = &secrets;
    let all = format!("{anthropic} {github}\n{key}\n");
    let entry = format!("# Memories\n\n## Patterns\n\n### mem-1737372000-a1b2\n> it is {github}\n");
    let script = Script::new().turn([
        write(".agent/memories.md", &format!("{entry}>\n> and {anthropic}\n")),
        write("work.txt", "x"),
        say("<promise>COMPLETE</promise>"),
    ]);
    let scene = Scene::new(&script);
    let env = &scene.env;
    env.git(["init", "--quiet"]);
    env.git(["checkout", "--quiet", "-b", &format!("try/{github}")]);
    env.write("PROMPT.md", format!("Use {all}"));
    env.write(".agent/memories.md", &entry);
    env.write(".agent/scratchpad.md", &all);
    env.write(
        ".ralph/knowledge/keys.md",
        format!("---\ntitle: Keys\ntags: [use]\n---\nUse {all}"),
    );
    env.write(
        ".ralph.toml",
        format!("[verify]\ncommands = [\"test -n {github}\"]\n[limits]\niterations = 1\n"),
    );
    let finished = scene.run(&["PROMPT.md", "--trust", "--json"]);
    assert_eq!(scene.agent.turns(), 1, "{finished}");
    let prompt = scene.agent.prompt(1);
    let printed = format!("{}{}", finished.stdout, finished.stderr);
    for secret in &found_by {
        assert!(!prompt.contains(secret.as_str()), "{prompt}");
        assert!(!printed.contains(secret.as_str()), "{printed}");
    }
    let mut found = holding(&env.path(".ralph"), &found_by);
    // The user's files, one of them moved, and their index, which can be deleted.
    let are_the_users = ["/knowledge/keys.md", "/scratchpad.md", "/index.db"];
    found.retain(|file| !are_the_users.iter().any(|end| file.ends_with(end)));
    assert_eq!(found, [""; 0]);
    assert!(
        env.read(".agent/memories.md").contains(github),
        "the file is the user's"
    );
    let dry = scene.run(&["PROMPT.md", "--dry-run"]);
    for secret in &found_by {
        assert!(!dry.to_string().contains(secret.as_str()), "{dry}");
    }
}

#[test]
fn secrets_in_feature_files_are_not_in_the_prompt() {
    let (secrets, found_by) = secrets();
    let scene = Scene::new(&super::diligent());
    let env = &scene.env;
    env.ok(["feature", "create", "search"]);
    for file in ["spec.md", "plan.md"] {
        env.write(&format!(".ralph/features/search/{file}"), secrets.join("\n"));
    }
    env.ok(["task", "add", "one", "--feature", "search"]);
    let finished = scene.run(&["search"]);
    assert_eq!(finished.code, Some(0), "{finished}");
    for secret in &found_by {
        assert!(
            !scene.agent.prompt(1).contains(secret.as_str()),
            "{}",
            scene.agent.prompt(1)
        );
    }
}

/// The characters of a secret that may survive where a channel cuts it.
const LONGEST_PIECE: usize = 12;

/// All pieces of these texts longer than that.
fn pieces(texts: &[String]) -> Vec<String> {
    let parts = |text: &String| {
        let starts = 0..=text.len() - LONGEST_PIECE;
        starts
            .map(|at| text.get(at..at + LONGEST_PIECE).unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    texts.iter().flat_map(parts).collect()
}

#[test]
fn no_piece_of_a_secret_survives_in_any_channel() {
    let (secrets, found_by) = secrets();
    let pieces = pieces(&found_by);
    let [anthropic, github, key] = &secrets;
    let said = indiscreet(&secrets);
    let script = Script::new()
        .speaking_claude()
        .turn([
            think(&said),
            run("cat ../token"),
            write(&format!("notes-{github}.txt"), &said),
            say_in_chunks(&said, 211),
            say(&format!("<task-failed>{{task}} {github} {key}</task-failed>")),
        ])
        .turn([
            say_in_chunks(&said, 13),
            say_error(&format!("{}{anthropic}\n{key}\n", "x".repeat(100_000))),
            exit(3),
        ])
        .turn([write("done.txt", github), say(DONE)]);
    let scene = Scene::new(&script);
    scene.env.git(["init", "--quiet"]);
    scene.env.write("../token", format!("export TOKEN={github}\n{key}\n"));
    // The token spans the end of the kept head of the output, the key the start of its kept tail.
    let filler = |bytes: usize| "a line of the output\n".repeat(bytes / 21);
    scene.env.write(
        "../output",
        format!(
            "{}{github}\n{}{key}\n{}",
            filler(16_384),
            filler(90_000),
            filler(48_900)
        ),
    );
    scene.env.write(
        ".ralph.toml",
        "[agent]\nkind = \"claude\"\n[execution]\nmax_retries = 2\n[verify]\ncommands = [\"cat ../output; test ! -e done.txt\"]\n",
    );
    let finished = scene.run(&["one", "--trust", "--json"]);
    assert_eq!(finished.code, Some(4), "{finished}");
    // The second run backs up the database of the first.
    let dropped = scene.env.sh("find ../home -name backups -exec rm -r {} +").run();
    assert_eq!(dropped.code, Some(0), "{dropped}");
    scene.run(&["two", "--trust"]);
    let backups = scene.env.sh("find ../home -path '*backups/*'").run();
    assert_ne!(backups.stdout, "", "there is no backup to look into");
    for folder in [".ralph", ".agent", "../home", "../tmp"] {
        if scene.env.path(folder).is_dir() {
            assert_eq!(holding(&scene.env.path(folder), &pieces), [""; 0]);
        }
    }
    for printed in [&finished.stdout, &finished.stderr] {
        let piece = pieces.iter().find(|piece| printed.contains(piece.as_str()));
        assert_eq!(piece, None, "{printed}");
    }
    let masked = ["notes-[secret: github].txt".to_owned()];
    let runs = holding(&scene.env.path(".ralph/runs"), &masked);
    assert!(runs.iter().any(|file| file.ends_with("001/result.json")), "{runs:?}");
    assert!(runs.iter().any(|file| file.ends_with("001/diff.patch")), "{runs:?}");
}

#[test]
fn control_characters_of_an_agent_do_not_reach_the_terminal() {
    let hostile = "\u{1b}]0;owned\u{7}\u{1b}[2J\u{9b}31m\rx\u{8}";
    let result = serde_json::json!({
        "type": "result", "subtype": "success", "is_error": false, "result": "",
        "permission_denials": [{"tool_name": hostile, "tool_use_id": "1", "tool_input": {"command": hostile}}],
    });
    let script = Script::new()
        .speaking_claude()
        .turn([write(&format!("a{}b", "\u{1b}[31m"), hostile), say(&format!("{hostile}<next-model>{hostile}</next-model><knowledge tags=\"x\" title=\"a{hostile}\">b</knowledge><task-failed>{{task}} {hostile}</task-failed>")), raw(&result.to_string())])
        .turn([say(&format!("<task-done>{hostile}</task-done>")), raw(&result.to_string())])
        .turn([say_error(hostile), exit(1)])
        .turn([write("c.txt", "x"), say(DONE)]);
    let scene = Scene::new(&script);
    scene.env.write(
        crate::USER_CONFIG,
        "[agent]\nkind = \"claude\"\nmodels = [\"a\", \"b\"]\n",
    );
    let finished = scene.run(&[&format!("one {hostile}")]);
    assert_eq!(finished.code, Some(0), "{finished}");
    let all = format!("{}{}", finished.stdout, finished.stderr);
    let obeyed: Vec<char> = all.chars().filter(|c| c.is_control() && *c != '\n').collect();
    assert!(obeyed.is_empty(), "{all:?}");
}
