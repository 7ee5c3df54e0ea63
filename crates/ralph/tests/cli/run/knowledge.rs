//! Tests of knowledge entries, from the sigil in one iteration to the prompt of the next.

use ralph_testkit::scripted::{Script, say, write};

use super::{DONE, Scene};
use crate::json;

const FOLDER: &str = ".ralph/knowledge";

/// A project whose agent prints one of these texts per task and is done each time.
fn scene(said: &[&str], tasks: &[&str]) -> Scene {
    let mut script = Script::new();
    for text in said {
        script = script.turn([write("work-{turn}.txt", "work\n"), say(&format!("{text}\n{DONE}"))]);
    }
    let scene = Scene::new(&script);
    for task in tasks {
        assert_eq!(scene.ralph(&["task", "add", task]).run().code, Some(0));
    }
    let ran = scene.run(&["--limit", &tasks.len().to_string()]);
    assert_eq!(ran.code, Some(0), "{ran}");
    scene
}

/// The file names of the entries.
fn names(scene: &Scene) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(scene.env.path(FOLDER))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| !name.starts_with('.'))
        .collect();
    names.sort();
    names
}

fn file(scene: &Scene, name: &str) -> String {
    scene.env.read(&format!("{FOLDER}/{name}"))
}

/// The knowledge section in the prompt of a turn, counted from 1; empty if there is none.
fn project_knowledge(scene: &Scene, turn: usize) -> String {
    let prompt = scene.agent.prompt(turn);
    let Some((_, rest)) = prompt.split_once("## Project Knowledge\n") else {
        return String::new();
    };
    rest.split("\n## ").next().unwrap().to_owned()
}

#[test]
fn knowledge_sigil_becomes_a_file() {
    let said = "<knowledge title=\"Cargo bench requires nightly\" tags=\"Testing, cargo,nightly,testing\">\n\
                Running `cargo bench` needs nightly.\n\nUse `rustup run nightly cargo bench`.\n</knowledge>";
    let scene = scene(&[said], &["Measure the parser"]);
    assert_eq!(names(&scene), ["cargo-bench-requires-nightly.md"]);
    let text = file(&scene, "cargo-bench-requires-nightly.md");
    let header = "---\ntitle: \"Cargo bench requires nightly\"\ntags: [testing, cargo, nightly]\n";
    let created = "created_at: \"2025-01-20T11:20:00Z\"\n---\n";
    let body = "\nRunning `cargo bench` needs nightly.\n\nUse `rustup run nightly cargo bench`.\n";
    assert_eq!(text, format!("{header}{created}{body}"));
}

#[test]
fn entry_names_the_feature_of_its_task() {
    let said = format!("<knowledge title=\"Stems\" tags=\"words\">By hand.</knowledge>\n{DONE}");
    let scene = Scene::new(&Script::new().turn([write("a.txt", "a"), say(&said)]));
    assert_eq!(scene.ralph(&["feature", "create", "search"]).run().code, Some(0));
    let added = scene
        .ralph(&["task", "add", "Stem the words", "--feature", "search"])
        .run();
    assert_eq!(added.code, Some(0), "{added}");
    assert_eq!(scene.run(&["--limit", "1"]).code, Some(0));
    let text = file(&scene, "stems.md");
    assert!(
        text.contains("\ntags: [words]\nfeature: \"search\"\ncreated_at: "),
        "{text}"
    );
    let listed = json(&scene.env, &["knowledge", "list", "--feature", "search", "--json"]);
    assert_eq!(listed[0]["file"], "stems.md");
}

#[test]
fn agent_entry_never_replaces_a_users_file() {
    let said = format!("<knowledge title=\"Docker compose\" tags=\"docker\">One line.</knowledge>\n{DONE}");
    let scene = Scene::new(&Script::new().turn([write("a.txt", "a"), say(&said)]));
    let mine = "---\ntitle: Docker\ntags: [docker, ci]\n---\nFour hundred words of mine.\n";
    scene.env.write(&format!("{FOLDER}/docker.md"), mine);
    let ran = scene.run(&["Any task"]);
    assert_eq!(ran.code, Some(0), "{ran}");
    assert!(file(&scene, "docker-compose.md").ends_with("\nOne line.\n"));
    assert_eq!(file(&scene, "docker.md"), mine);
    let blamed = json(&scene.env, &["blame", "docker-compose.md", "--json"]);
    assert_eq!(
        (&blamed[0]["author"], &blamed[0]["iteration"]),
        (&"agent".into(), &1.into())
    );
}

/// The user saves the file while the gates run, before the iteration is settled.
#[test]
fn user_edits_before_settlement_are_kept() {
    let said = format!("<knowledge title=\"Docker\" tags=\"docker, compose\">One line.</knowledge>\n{DONE}");
    let scene = Scene::new(&Script::new().turn([write("a.txt", "a"), say(&said)]));
    let mine = "---\ntitle: Docker\ntags: [docker]\n---\nMine.\n";
    scene.env.write(&format!("{FOLDER}/docker.md"), mine);
    // The gates also run before the first iteration.
    let saves = "test ! -f a.txt || { sed -i 's/^tags: .*/mood: calm\\ntags: [docker, ci]/' .ralph/knowledge/docker.md && \
                 echo Later. >> .ralph/knowledge/docker.md; }";
    let gates = format!("[verify]\ncommands = [{saves:?}]\n");
    scene.env.write(".ralph.toml", gates);
    let ran = scene.run(&["Any task", "--trust"]);
    assert_eq!(ran.code, Some(0), "{ran}");
    let saved = "---\ntitle: Docker\nmood: calm\ntags: [docker, ci]\n---\nMine.\nLater.\n";
    assert_eq!(file(&scene, "docker.md"), saved);
    assert_eq!(names(&scene), ["docker-2.md", "docker.md"]);
}

#[test]
fn incomplete_entries_are_dropped() {
    let said = "<knowledge tags=\"a\">no title</knowledge>\n\
                <knowledge title=\"No tags\">text</knowledge>\n\
                <knowledge title=\"Blank tags\" tags=\" , \">text</knowledge>\n\
                <knowledge title=\"No text\" tags=\"a\">  </knowledge>\n\
                <knowledge title=\"Whole\" tags=\"a\">text</knowledge>";
    let scene = scene(&[said], &["Any task"]);
    assert_eq!(names(&scene), ["whole.md"]);
    assert_eq!(scene.outcomes(), ["done"]);
}

#[test]
fn entries_of_one_turn_get_their_own_files() {
    let said = "<knowledge title=\"One\" tags=\"a\">1</knowledge> and <knowledge tags='b' title='Two'>2</knowledge>";
    let scene = scene(&[said], &["Any task"]);
    assert_eq!(names(&scene), ["one.md", "two.md"]);
}

#[test]
fn long_body_is_cut_and_marked() {
    let said = format!(
        "<knowledge title=\"Long\" tags=\"a\">{}</knowledge>",
        "word ".repeat(600)
    );
    let scene = scene(&[&said], &["Any task"]);
    let text = file(&scene, "long.md");
    assert!(text.ends_with("word word [truncated]\n"), "{text}");
    assert_eq!(text.matches("word").count(), 500);
}

#[test]
fn same_title_replaces_the_text_and_adds_tags() {
    let scene = scene(
        &[
            "<knowledge title=\"SQLite WAL mode\" tags=\"database,sqlite\">Old.</knowledge>",
            "<knowledge title=\"sqlite wal MODE\" tags=\"sqlite,concurrency\">New.</knowledge>",
        ],
        &["First task", "Second task"],
    );
    assert_eq!(names(&scene), ["sqlite-wal-mode.md"]);
    let text = file(&scene, "sqlite-wal-mode.md");
    let header = "---\ntitle: \"SQLite WAL mode\"\ntags: [database, sqlite, concurrency]\ncreated_at: ";
    assert!(text.starts_with(header) && text.ends_with("\n---\n\nNew.\n"), "{text}");
}

#[test]
fn similar_title_and_tags_are_the_same_entry() {
    let scene = scene(
        &[
            "<knowledge title=\"WAL mode\" tags=\"sqlite,wal\">First.</knowledge>",
            "<knowledge title=\"WAL mode for readers\" tags=\"sqlite,wal,readers\">Second.</knowledge>",
            "<knowledge title=\"WAL mode for writers\" tags=\"writers,locks,sqlite\">Third.</knowledge>",
            "<knowledge title=\"Modes\" tags=\"sqlite,wal,readers\">Fourth.</knowledge>",
        ],
        &["Task one", "Task two", "Task three", "Task four"],
    );
    assert_eq!(names(&scene), ["modes.md", "wal-mode-for-writers.md", "wal-mode.md"]);
    let text = file(&scene, "wal-mode.md");
    assert!(
        text.contains("title: \"WAL mode\"\ntags: [sqlite, wal, readers]\n"),
        "{text}"
    );
    assert!(text.ends_with("\n\nSecond.\n"), "{text}");
}

#[test]
fn fault_7_quotes_and_dashes_in_titles_round_trip() {
    let scene = scene(
        &[
            "<knowledge title='The \"main\" loop: --- #1' tags=\"loop\">It loops.</knowledge>",
            "<knowledge title=\"---\" tags=\"dashes\">Three.</knowledge>",
            "nothing more",
        ],
        &["Task one", "Task two", "Mend the loop"],
    );
    assert_eq!(names(&scene), ["note.md", "the-main-loop-1.md"]);
    let listed = scene.ralph(&["knowledge", "list", "--json"]).run();
    assert_eq!(listed.stderr, "", "nothing is skipped");
    let listed: serde_json::Value = serde_json::from_str(&listed.stdout).unwrap();
    assert_eq!(listed[0]["title"], "---");
    assert_eq!(listed[1]["title"], "The \"main\" loop: --- #1");
    assert!(project_knowledge(&scene, 3).contains("> The \"main\" loop: --- #1\n"));
}

#[test]
fn later_task_reads_entries_with_a_shared_tag() {
    let scene = scene(
        &[
            "<knowledge title=\"Cargo bench requires nightly\" tags=\"testing,cargo,nightly\">\
             Use `rustup run nightly cargo bench`.</knowledge>\
             <knowledge title=\"Colours\" tags=\"css\">They are hex.</knowledge>",
            "nothing more",
        ],
        &["Measure the parser", "Run the benchmarks of cargo, please"],
    );
    assert_eq!(project_knowledge(&scene, 1), "", "nothing was known then");
    let shown = project_knowledge(&scene, 2);
    let heading = "### cargo-bench-requires-nightly.md\n_Tags: testing, cargo, nightly | by: agent_\n\n";
    let entry = format!("{heading}> Cargo bench requires nightly\n>\n> Use `rustup run nightly cargo bench`.");
    assert!(shown.contains(&entry), "{shown}");
    assert_eq!(shown.matches("### ").count(), 1, "{shown}");
}

#[test]
fn user_files_are_read_if_they_have_frontmatter() {
    let script = Script::new().turn([write("a.txt", "a"), say(DONE)]);
    let scene = Scene::new(&script);
    let mine = "---\ntitle: Ports\ntags: [docker]\nmood: good\n---\n8080 is taken.\n";
    scene.env.write(&format!("{FOLDER}/mine.md"), mine);
    scene
        .env
        .write(&format!("{FOLDER}/other.md"), "# docker\n\nNo frontmatter.\n");
    assert_eq!(scene.ralph(&["task", "add", "Start docker"]).run().code, Some(0));
    assert_eq!(scene.run(&[]).code, Some(0));
    let shown = project_knowledge(&scene, 1);
    assert!(
        shown.contains("### Ports\n_Tags: docker | by: human_\n\n8080 is taken."),
        "{shown}"
    );
    assert!(!shown.contains("No frontmatter"), "{shown}");
    assert_eq!(file(&scene, "mine.md"), mine, "reading changes nothing");
}

#[test]
fn prompt_explains_where_rules_belong() {
    let scene = scene(&["nothing"], &["Any task"]);
    let prompt = scene.agent.prompt(1);
    let (_, memory) = prompt.split_once("\n## Memory\n").unwrap();
    for part in ["AGENTS.md or CLAUDE.md", ".claude/skills/NAME/SKILL.md", "<knowledge "] {
        assert!(memory.contains(part), "{part} in {memory}");
    }
    assert!(!scene.env.path("CLAUDE.md").exists(), "it is the agent's to write");
}
