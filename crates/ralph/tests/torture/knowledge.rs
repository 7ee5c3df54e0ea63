//! Tests of concurrent changes to knowledge entries: processes that write at once, are killed, or meet a user who saves
//! the same file.

use std::collections::HashSet;
use std::io::Read;
use std::sync::atomic::{AtomicBool, Ordering};

use ralph_notes::Knowledge;
use ralph_testkit::{Finished, Seed, TestEnv, count};

use super::editor::{save, think};
use super::{PROGRAM, acknowledged, copy_project, under_fault};

const FOLDER: &str = ".ralph/knowledge";

/// Every visible file of the folder, parsed as an entry.
#[track_caller]
fn notes(env: &TestEnv) -> Vec<(String, Knowledge)> {
    let mut notes = Vec::new();
    for entry in std::fs::read_dir(env.path(FOLDER)).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        if name.starts_with('.') {
            let wanted = [".lock", ".gitignore"];
            assert!(wanted.contains(&name.as_str()), "{name} is left behind");
            continue;
        }
        let bytes = std::fs::read(entry.path()).unwrap();
        let torn = |problem| format!("{name} is torn: {problem}");
        let note = Knowledge::parse(&bytes).map_err(torn).unwrap();
        notes.push((name, note));
    }
    notes
}

fn versions(env: &TestEnv, name: &str) -> Vec<String> {
    let shown = env.ok(["knowledge", "show", name, "--history", "--json"]);
    let shown: serde_json::Value = serde_json::from_str(&shown).unwrap();
    let versions = shown["versions"].as_array().unwrap().iter();
    versions
        .map(|version| version["text"].as_str().unwrap().to_owned())
        .collect()
}

fn add(env: &TestEnv, title: &str, tags: &str, text: &str) -> Finished {
    env.ralph(["knowledge", "add", title, text, "--tags", tags])
        .unfixed()
        .run()
}

#[test]
fn concurrent_writers_keep_one_file_per_title() {
    let writers = count("RALPH_SOAK_WRITERS", 32);
    let env = TestEnv::new(PROGRAM);
    // With a database there is an index on disk, which all of them update.
    env.ok(["init"]);
    // Each has its own titles that map to the same file name, and one title is shared by all.
    let own = |number: usize| format!("{number:012b}").replace('0', "!").replace('1', "?");
    let children: Vec<_> = (0..writers)
        .flat_map(|number| {
            let tag = format!("tag-{number}");
            let text = format!("text {number} {}", "word ".repeat(100));
            [own(number), "Shared title".to_owned()].map(|title| {
                env.ralph(["knowledge", "add", &title, &text, "--tags", &tag])
                    .unfixed()
                    .start()
            })
        })
        .collect();
    let mut files = HashSet::new();
    for child in children {
        let output = child.wait_with_output().unwrap();
        let only_waited = String::from_utf8_lossy(&output.stderr)
            .lines()
            .all(|line| line.starts_with("Waiting for "));
        assert!(output.status.success() && only_waited, "{output:?}");
        files.extend(acknowledged(&String::from_utf8(output.stdout).unwrap()));
    }
    assert_eq!(files.len(), writers + 1, "a file for each title");
    let notes = notes(&env);
    assert_eq!(notes.len(), writers + 1);
    let body = |number: usize| format!("text {number} {}", "word ".repeat(100)).trim_end().to_owned();
    for number in 0..writers {
        let found: Vec<_> = notes.iter().filter(|(_, note)| note.title == own(number)).collect();
        assert_eq!(found.len(), 1, "{number}: {found:?}");
        let (_, note) = found[0];
        assert_eq!(
            (&note.body, &note.tags),
            (&body(number), &vec![format!("tag-{number}")])
        );
    }
    let (_, shared) = notes.iter().find(|(name, _)| name == "shared-title.md").unwrap();
    let tags: HashSet<&String> = shared.tags.iter().collect();
    assert_eq!(tags.len(), writers, "every tag is kept: {:?}", shared.tags);
    let texts = versions(&env, "shared-title").into_iter();
    let mut bodies: Vec<String> = texts
        .map(|text| Knowledge::parse(text.as_bytes()).unwrap().body)
        .collect();
    bodies.sort();
    let mut expected: Vec<String> = (0..writers).map(body).collect();
    expected.sort();
    assert_eq!(bodies, expected, "each text is in the log, once");
}

#[test]
fn kills_lose_no_acknowledged_entry() {
    let kills = count("RALPH_SOAK_KILLS", 20);
    let mut seed = Seed::announced("kills of long notes");
    let env = TestEnv::new(PROGRAM);
    assert_eq!(add(&env, "Before", "before", "Text.").code, Some(0));
    let mut stored: HashSet<String> = HashSet::new();
    for number in 0..kills {
        let title = format!("Number {number}.");
        let mut victims: Vec<_> = (0..3)
            .map(|victim| {
                let tag = format!("{number}-{victim}");
                env.ralph(["knowledge", "add", &title, "Text of a victim.", "--tags", &tag])
                    .unfixed()
                    .start()
            })
            .collect();
        let begin = std::time::Instant::now();
        let moment = std::time::Duration::from_micros(seed.below(20_000) as u64);
        while begin.elapsed() < moment {
            std::hint::spin_loop();
        }
        for victim in &mut victims {
            victim.kill().unwrap();
        }
        for mut victim in victims {
            victim.wait().unwrap();
            let mut stdout = String::new();
            victim.stdout.take().unwrap().read_to_string(&mut stdout).unwrap();
            stored.extend(acknowledged(&stdout));
        }
    }
    let last = add(&env, "After all kills", "after", "Text.");
    assert!(last.code == Some(0) && last.stderr.is_empty(), "{last}");
    let notes = notes(&env);
    for path in &stored {
        let name = path.rsplit('/').next().unwrap();
        assert!(
            notes.iter().any(|(file, _)| file == name),
            "{name} was acknowledged and is lost"
        );
    }
    let titles: HashSet<&str> = notes.iter().map(|(_, note)| note.title.as_str()).collect();
    assert_eq!(titles.len(), notes.len(), "no title has two files");
}

#[test]
fn a_user_saving_during_writes_loses_nothing() {
    // The frontmatter has a size limit, and each save makes it longer.
    let saves = count("RALPH_SOAK_EDITOR_SAVES", 60).min(1_000);
    let mut seed = Seed::announced("editor of a long note");
    let env = TestEnv::new(PROGRAM);
    env.ok(["init"]);
    assert_eq!(add(&env, "Shared", "first", "Text.").code, Some(0));
    let path = env.path(&format!("{FOLDER}/shared.md"));
    let finished = AtomicBool::new(false);
    let others = std::thread::scope(|scope| {
        let (env, finished) = (&env, &finished);
        let agents: Vec<_> = (0..2)
            .map(|agent| scope.spawn(move || write_until(env, agent, finished)))
            .collect();
        for number in 0..saves {
            // The frontmatter belongs to the user and is kept by every writer of the text below it.
            let key = format!("---\nperson_{number}: here\n");
            // The user's text is kept somewhere, too.
            let line = format!("Person's line {number}.\n");
            save(&path, |text| text.replacen("---\n", &key, 1) + &line, &mut seed);
            think(&mut seed);
        }
        finished.store(true, Ordering::SeqCst);
        agents.into_iter().map(|agent| agent.join().unwrap()).sum::<usize>()
    });
    let files = |folder: &str, part: &str| -> Vec<String> {
        std::fs::read_dir(env.path(folder))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.to_string_lossy().contains(part))
            .map(|path| std::fs::read_to_string(path).unwrap())
            .collect()
    };
    let kept = files(FOLDER, "shared.md.kept").concat();
    let replaced = versions(&env, "shared");
    let text = std::fs::read_to_string(&path).unwrap();
    for number in 0..saves {
        let key = format!("\nperson_{number}: here\n");
        assert!(
            text.contains(&key) || kept.contains(&key),
            "save {number} is lost: {text}"
        );
        let line = format!("Person's line {number}.\n");
        let holds = |text: &String| text.contains(&line);
        assert!(
            holds(&text) || holds(&kept) || replaced.iter().any(holds),
            "what was written with save {number} is lost: {text}"
        );
    }
    let between = replaced.iter().filter(|text| text.contains("Person's line")).count();
    eprintln!(
        "{saves} saves, {others} notes of agents, {between} over a save, {} bytes kept beside",
        kept.len()
    );
    assert!(between > 0, "no agent wrote between the person's saves");
    let last = add(&env, "Shared", "last", "The last text.");
    assert_eq!(last.code, Some(0), "{last}");
    let note = Knowledge::parse(&std::fs::read(&path).unwrap()).unwrap();
    assert_eq!(note.body, "The last text.");
    // The agents' own entries are all there: no one else changes those files.
    let names: HashSet<String> = (0..2)
        .flat_map(|agent| (0..2).map(move |number| format!("agent-{agent}-note-{number}.md")))
        .collect();
    for name in names {
        assert!(env.path(&format!("{FOLDER}/{name}")).exists(), "{name} is lost");
    }
}

/// Writes the shared entry, and sometimes one of its own, until the user has finished; returns how often.
fn write_until(env: &TestEnv, agent: usize, finished: &AtomicBool) -> usize {
    let mut number = 0;
    while number < 4 || !finished.load(Ordering::SeqCst) {
        let (title, tag) = match number % 2 {
            0 => ("Shared".to_owned(), format!("agent-{agent}")),
            _ => {
                let own = (number / 2) % 2;
                (format!("Agent {agent}, note {own}"), format!("agent-{agent}-{own}"))
            }
        };
        let run = add(env, &title, &tag, &format!("Text {number} of agent {agent}."));
        let is_busy = run.stderr.contains("another program keeps it open for writing");
        let gave_up = run.stderr.contains("its file keeps changing");
        assert!(run.code == Some(0) || is_busy || gave_up, "{run}");
        number += 1;
    }
    number
}

#[test]
fn an_entry_is_complete_or_unchanged_after_any_failure() {
    let text = |env: &TestEnv| std::fs::read_to_string(env.path(&format!("{FOLDER}/shared.md"))).ok();
    let kinds = [
        |call: usize| format!("fail:{call}:{}", libc::EIO),
        |call| format!("full:{call}"),
        |call| format!("kill:{call}"),
    ];
    for fault in kinds {
        for existing in [None, Some("Old text.")] {
            let base = TestEnv::new(PROGRAM);
            assert_eq!(add(&base, "Other", "other", "Other.").code, Some(0));
            if let Some(body) = existing {
                assert_eq!(add(&base, "Shared", "old", body).code, Some(0));
            }
            let mut call = 1;
            loop {
                let env = TestEnv::new(PROGRAM);
                copy_project(&base.project(), &env.project());
                let before = text(&env);
                let invocation = env.ralph(["knowledge", "add", "Shared", "New text.", "--tags", "new"]);
                let (finished, came) = under_fault(&env, invocation, &fault(call));
                if !came {
                    assert_eq!(finished.code, Some(0), "{finished}");
                    break;
                }
                let after = text(&env);
                let is_new = after.as_ref().is_some_and(|text| text.contains("\nNew text.\n"));
                assert!(is_new || after == before, "{}: {after:?}, {finished}", fault(call));
                assert!(
                    is_new || finished.code != Some(0),
                    "{}: acknowledged and not there",
                    fault(call)
                );
                let again = add(&env, "Shared", "new", "New text.");
                assert_eq!(again.code, Some(0), "{}: {again}", fault(call));
                assert_eq!(notes(&env).len(), 2, "{}", fault(call));
                let is_kept = before
                    .as_ref()
                    .is_none_or(|before| versions(&env, "shared").contains(before));
                assert!(is_kept, "{}: the old text is lost", fault(call));
                call += 1;
            }
            assert!(call > 4, "only {call} calls were reached");
        }
    }
}
