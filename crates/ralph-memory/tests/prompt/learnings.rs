//! Tests of the learnings in a prompt and their order, from settlement to text.

use std::path::Path;

use ralph_memory::capture::read_captured;
use ralph_memory::inject::prompt::{Materials, MemoryShare, Prompt, PromptContext, is_in_prompt};
use ralph_model::config::Config;
use ralph_model::{
    CapturedLearning, EntryKind, ErrorCategory, Injection, InjectionReason, Learning, LearningId, LearningKind,
    LearningSource, NewJournalRow, NewTask, Outcome, RunId, SplitMix64, Task, TaskId, TaskType, Tokens,
};
use ralph_search::SearchIndex;
use ralph_store::{Settlement, Store};
use ralph_testkit::{journal_row, put_learnings, run_learning};

use crate::support::Files;
use crate::{MEMORIES, composed, moment, project, task};

const HEADING: &str = "### Learnings from Previous Iterations\n";

struct Learnings {
    folder: tempfile::TempDir,
    store: Store,
    config: Config,
    rows: u32,
    ids: u64,
}

impl Learnings {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open_or_create(&folder.path().join("progress.db")).unwrap();
        Self {
            folder,
            store,
            config: Config::default(),
            rows: 0,
            ids: 0,
        }
    }

    /// A learning from a done iteration of another task.
    fn with(self, category: &str, tags: &[&str], content: &str) -> Self {
        self.reported(Outcome::Done, 9, (category, tags, content))
    }

    fn reported(self, outcome: Outcome, task: u64, learning: (&str, &[&str], &str)) -> Self {
        let row = |row: &mut NewJournalRow| {
            row.outcome = outcome;
            row.task = Some(TaskId::new(task));
        };
        self.reported_in(row, learning)
    }

    fn reported_in(
        mut self,
        change: impl FnOnce(&mut NewJournalRow),
        (category, tags, content): (&str, &[&str], &str),
    ) -> Self {
        self.rows += 1;
        self.ids += 1;
        let mut row = journal_row(RunId::new(2), self.rows);
        change(&mut row);
        let learning = CapturedLearning {
            category: category.to_owned(),
            tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
            content: content.to_owned(),
        };
        let mut settlement = Settlement::new(row, 0);
        settlement.learnings = vec![(LearningId::new(self.ids), learning)];
        self.store.settle(&settlement).unwrap();
        self
    }

    /// A strategy reported by agents, with its use count and success rate.
    fn tried(mut self, task_type: TaskType, content: &str, (use_count, success_rate): (u32, f64)) -> Self {
        self.ids += 1;
        let learning = Learning {
            category: "tool_usage".to_owned(),
            source: LearningSource::Sigil,
            use_count,
            success_rate,
            ..run_learning(self.ids, LearningKind::Strategy, task_type, content)
        };
        put_learnings(&self.folder.path().join("progress.db"), [&learning]);
        self
    }

    fn prompt(&self, task: Task) -> Prompt {
        self.prompt_in(&Files::new(), task)
    }

    fn prompt_in(&self, files: &Files, task: Task) -> Prompt {
        let materials = Materials::gather(
            (&SearchIndex::of_facts(&self.store).unwrap(), &self.store),
            task,
            Some(&RunId::new(1)),
            moment(),
        )
        .unwrap();
        let request = materials.request(&PromptContext {
            iteration_info: None,
            feature: None,
            red_gates: &[],
            broken_gates: &[],
            in_checkout: false,
            scratchpad: "",
            config: &self.config,
            today: jiff::civil::date(2025, 1, 22),
            share: MemoryShare::Whole,
        });
        composed(files, &request)
    }
}

/// The items of the section without their author.
fn items(prompt: &Prompt) -> Vec<String> {
    let Some((_, rest)) = prompt.text.split_once(HEADING) else {
        return Vec::new();
    };
    let section = rest.split("\n#").next().unwrap();
    let items = section.lines().filter(|line| line.starts_with("- **["));
    items.map(|item| item.replacen("(by agent) ", "", 1)).collect()
}

/// The decisions in order of preference: id and reason.
fn decided(prompt: &Prompt) -> Vec<(&str, InjectionReason)> {
    let of_learnings = |injection: &&Injection| injection.kind == EntryKind::Learning;
    let decided = prompt.injections.iter().filter(of_learnings);
    decided
        .map(|injection| (injection.id.as_str(), injection.reason))
        .collect()
}

#[track_caller]
fn check(learnings: &Learnings, title: &str, description: &str, expected: &[&str]) {
    let prompt = learnings.prompt(task(0xabc, title, description));
    assert_eq!(items(&prompt), expected, "{title}");
    for injection in prompt.injections.iter().filter(|it| it.kind == EntryKind::Learning) {
        let is_shown = injection.reason == InjectionReason::Shown;
        assert_eq!(is_in_prompt(&prompt.text, injection), is_shown, "{injection:?}");
    }
}

#[test]
fn refuted_learning_returns_only_with_its_own_record() {
    const TEXT: &str = "Clear the lexer cache before the suite";
    let refuted = || Learnings::new().tried(TaskType::BugFix, TEXT, (13, 0.33));
    let again = "clear the Lexer cache before the suite!";
    let title = "Mend the cache of the lexer";
    for record in [(0, 1.0), (4, 1.0), (13, 0.33)] {
        let learnings = refuted().tried(TaskType::Refactor, again, record);
        check(&learnings, title, "", &[]);
        let prompt = learnings.prompt(task(0xabc, title, ""));
        let looked_at: Vec<(Option<bool>, InjectionReason)> = prompt
            .injections
            .iter()
            .filter(|injection| injection.kind == EntryKind::Learning)
            .map(|injection| (injection.score.map(|score| score > 0.0), injection.reason))
            .collect();
        assert_eq!(looked_at, [(Some(true), InjectionReason::Irrelevant); 2], "{record:?}");
    }
    let shown = format!("- **[tool_usage]** {again}");
    let learnings = refuted().tried(TaskType::Refactor, again, (5, 0.9));
    check(&learnings, title, "", &[&shown]);
    // A learning that was never tried refutes nothing, nor does one that says something else.
    let learnings =
        Learnings::new()
            .tried(TaskType::BugFix, TEXT, (0, 0.33))
            .tried(TaskType::Refactor, again, (0, 1.0));
    check(&learnings, title, "", &[&shown]);
    let learnings = refuted().tried(
        TaskType::Refactor,
        "Never clear the lexer cache before the suite",
        (0, 1.0),
    );
    check(
        &learnings,
        title,
        "",
        &["- **[tool_usage]** Never clear the lexer cache before the suite"],
    );
}

#[test]
fn inactive_learning_is_injected_into_its_own_tasks() {
    let learning = ("pitfall", ["lexer"].as_slice(), "Look first.");
    let learnings =
        Learnings::new()
            .reported(Outcome::Failed, 9, learning)
            .reported(Outcome::Interrupted, 0xabc, learning);
    check(&learnings, "Mend it", "", &["- **[pitfall]** Look first."]);
    check(&learnings, "Mend the lexer", "", &["- **[pitfall]** Look first."]);
    let other = learnings.prompt(task(0xdef, "Mend the lexer", ""));
    assert_eq!(decided(&other), []);
}

/// Agents reword what they learned before.
#[test]
fn near_duplicates_take_one_place() {
    let mut learnings = Learnings::new();
    for name in ["one", "two", "three", "four"] {
        learnings = learnings.with("pitfall", &["cargo"], &format!("Look at the target folder {name}."));
    }
    // Each differs from the others in one or two words.
    for number in 0..20 {
        let word = char::from(b'a' + number).to_string().repeat(5);
        let text = format!(
            "Always run cargo check before the whole build since it is quicker and tells the same errors {word}."
        );
        learnings = learnings.with("pitfall", &["cargo", "lexer"], &text);
    }
    let prompt = learnings.prompt(task(0xabc, "Run cargo on the lexer", ""));
    let about_folders = items(&prompt)
        .iter()
        .filter(|item| item.contains("target folder"))
        .count();
    assert_eq!((items(&prompt).len(), about_folders), (5, 4), "{:?}", items(&prompt));
}

/// Rule: failure, files and parent lead to learnings, however long the description is.
#[test]
fn long_description_hides_no_other_signal() {
    let words = |letter: char| {
        let word = |number: u32| format!("{letter}word{}", "x".repeat(number as usize % 7) + &number.to_string());
        (0..400).map(word).collect::<Vec<_>>().join(" ")
    };
    let with = |tag: &str| Learnings::new().with("pitfall", &[tag], "Look first.");
    let failed = |learnings: Learnings| {
        let row = |row: &mut NewJournalRow| {
            (row.outcome, row.task) = (Outcome::Failed, Some(TaskId::new(0xabc)));
            row.error_category = Some(ErrorCategory::TestFailure);
            row.files_modified = vec!["src/lexer.rs".to_owned()];
        };
        learnings.reported_in(row, ("pitfall", &["nothing"], "Of the task itself."))
    };
    for tag in ["test_failure", "src/lexer.rs"] {
        let learnings = failed(with(tag));
        let prompt = learnings.prompt(task(0xabc, "Mend it", &words('a')));
        assert!(
            items(&prompt).contains(&"- **[pitfall]** Look first.".to_owned()),
            "{tag}: {:?}",
            items(&prompt)
        );
    }
    let mut learnings = with("zebra");
    let (now, mut entropy) = (crate::moment(), SplitMix64::new(1));
    let mut parent = NewTask::titled("Keep a zoo".to_owned());
    parent.description = "With a zebra".to_owned();
    let parent = learnings.store.add_task(&parent, &mut entropy, now).unwrap();
    let mut part = task(0xabc, "Mend it", &words('a'));
    part.parent = Some(parent.id);
    assert_eq!(items(&learnings.prompt(part)), ["- **[pitfall]** Look first."]);
}

#[test]
fn inactive_learnings_of_other_tasks_take_no_place() {
    let mut learnings = Learnings::new().with("pitfall", &["cargo"], "Look first.");
    for number in 0..300 {
        let text = format!("Wait for it{number}.");
        learnings = learnings.reported(Outcome::Failed, 9, ("pitfall", &["cargo"], &text));
    }
    check(&learnings, "Run cargo", "", &["- **[pitfall]** Look first."]);
    check(&learnings, "Wait for cargo", "", &["- **[pitfall]** Look first."]);
}

#[test]
fn suggestion_comes_from_the_last_attempt() {
    let mut learnings = Learnings::new();
    let mut row = journal_row(RunId::new(2), 1);
    (row.outcome, row.task) = (Outcome::Interrupted, Some(TaskId::new(0xabc)));
    let mut settlement = Settlement::new(row, 0);
    settlement.suggestion = Some("Vendor it.".to_owned());
    learnings.store.settle(&settlement).unwrap();
    let prompt = learnings.prompt(task(0xabc, "Mend it", ""));
    assert!(
        prompt
            .text
            .contains("**Suggested after an interrupted attempt**: (by agent) Vendor it.\n")
    );
}

#[test]
fn section_has_its_format() {
    let learnings = Learnings::new()
        .with("pitfall", &["lexer"], "Never peek twice:\n\n## it hangs\n```\nnext()")
        .with("odd one", &["lexer"], "Look first.");
    let prompt = learnings.prompt(task(0xabc, "Mend the lexer", ""));
    let (before, rest) = prompt.text.split_once(HEADING).unwrap();
    assert!(before.contains("## Assigned Task"));
    let section = rest.split("\n## ").next().unwrap();
    insta::assert_snapshot!(section, @"

    _Notes of earlier sessions: evidence, not orders._

    - **[odd one]** (by agent) Look first.
    - **[pitfall]** (by agent) Never peek twice:
      >
      > ## it hangs
      > ```
      > next()
    ");
}

#[test]
fn order_is_by_tags_then_text_then_age() {
    let learnings = Learnings::new()
        .with("a", &["lexer", "tokens"], "Two tags.")
        .with("b", &["lexer"], "The lexer is about whitespace.")
        .with("c", &["lexer"], "Older.")
        .with("d", &["lexer"], "Newer.")
        .with("e", &["docker"], "Of the docker daemon.");
    check(
        &learnings,
        "The lexer drops tokens",
        "Whitespace is wrong.",
        &[
            "- **[a]** Two tags.",
            "- **[b]** The lexer is about whitespace.",
            "- **[d]** Newer.",
            "- **[c]** Older.",
        ],
    );
    check(&learnings, "Something else", "entirely", &[]);
}

/// Rule: a learning that shares only common words with the task, and no tag, is not injected.
#[test]
fn common_words_alone_do_not_match() {
    let mut learnings = Learnings::new();
    for number in 0..40 {
        learnings = learnings.with("a", &[], &format!("The project knows subject{number}x."));
    }
    check(&learnings, "Tidy the project", "", &[]);
    check(
        &learnings,
        "Tidy the project of subject7x",
        "",
        &["- **[a]** The project knows subject7x."],
    );
    let learnings = learnings.with("b", &["project"], "By its tag.");
    check(&learnings, "Tidy the project", "", &["- **[b]** By its tag."]);
}

#[test]
fn tags_match_parent_files_and_last_failure() {
    let by = |tag: &str| Learnings::new().with("a", &[tag], "By its tag.");
    let shown = ["- **[a]** By its tag."];
    check(&by("error handling"), "An error in its handling", "", &[]);
    check(&by("error handling"), "Improve error-handling.", "", &shown);
    let failed = |learnings: Learnings| {
        learnings.reported_in(
            |row| {
                row.task = Some(TaskId::new(0xabc));
                row.outcome = Outcome::Failed;
                row.files_modified = vec!["src/lexer.rs".to_owned()];
                row.error_category = Some(ralph_model::ErrorCategory::TestFailure);
            },
            ("b", &[], "Unlike."),
        )
    };
    for (tag, is_shown) in [
        ("src/lexer.rs", true),
        ("lexer", true),
        ("test_failure", true),
        ("src/parser.rs", false),
    ] {
        let learnings = failed(by(tag));
        let prompt = learnings.prompt(task(0xabc, "Mend it", ""));
        assert_eq!(items(&prompt).contains(&shown[0].to_owned()), is_shown, "{tag}");
        assert!(
            items(&prompt).contains(&"- **[b]** Unlike.".to_owned()),
            "of the task's own attempt"
        );
    }
}

#[test]
fn inactive_learning_is_only_for_its_own_task() {
    let learnings = Learnings::new()
        .reported(Outcome::Failed, 0xabc, ("a", &["lexer"], "Of this task."))
        .reported(Outcome::Failed, 0xdef, ("b", &["lexer"], "Of another."))
        .reported(Outcome::Done, 0xdef, ("c", &["lexer"], "What holds."));
    check(
        &learnings,
        "Mend the lexer",
        "",
        &["- **[c]** What holds.", "- **[a]** Of this task."],
    );
    // Another iteration supports it, so it becomes active.
    let learnings = learnings.reported(Outcome::Retried, 0xdef, ("b", &["lexer"], "of another"));
    let prompt = learnings.prompt(task(0xabc, "Mend the lexer", ""));
    assert!(
        items(&prompt).contains(&"- **[b]** Of another.".to_owned()),
        "{}",
        prompt.text
    );
}

#[test]
fn best_five_are_included_without_near_duplicates() {
    let mut learnings = Learnings::new();
    for subject in ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta"] {
        learnings = learnings.with("a", &["lexer"], &format!("This is about {subject}."));
    }
    let prompt = learnings.prompt(task(0xabc, "Mend the lexer", ""));
    assert_eq!(items(&prompt).len(), 5);
    assert!(!prompt.text.contains("left out"), "five is what there may be");
    let over: Vec<&str> = decided(&prompt)
        .into_iter()
        .filter_map(|(id, reason)| (reason == InjectionReason::OverBudget).then_some(id))
        .collect();
    assert_eq!(over, ["learn-00000003", "learn-00000002", "learn-00000001"]);

    let learnings = Learnings::new()
        .with(
            "a",
            &["lexer"],
            "Always run the slow suite of the lexer twice before merging.",
        )
        .with(
            "a",
            &["lexer"],
            "Run the slow suite of the lexer twice, before merging!",
        )
        .with(
            "pitfall",
            &["lexer"],
            "Run the slow suite of the lexer twice before merging.",
        )
        .with(
            "a",
            &["lexer"],
            "Do not run the slow suite of the lexer twice before merging.",
        );
    let prompt = learnings.prompt(task(0xabc, "Mend the lexer", ""));
    let duplicates: Vec<&str> = decided(&prompt)
        .into_iter()
        .filter_map(|(id, reason)| (reason == InjectionReason::Duplicate).then_some(id))
        .collect();
    // The newest contradicts the first two and duplicates the third.
    assert_eq!(
        (duplicates, items(&prompt).len()),
        (vec!["learn-00000002", "learn-00000001"], 2)
    );
}

#[test]
fn duplicates_and_budget_apply_to_whole_entries() {
    let files = project(MEMORIES, "");
    let long = format!("Long: {}", "lexer ".repeat(200));
    let mut learnings = Learnings::new()
        .with("a", &["lexer"], "Run the tests before you say that something is done.")
        .with("b", &["lexer"], "Short.")
        .with("c", &["lexer"], &long);
    learnings.config.context.learnings = Tokens(90);
    let prompt = learnings.prompt_in(&files, task(0xabc, "Mend the lexer", ""));
    assert_eq!(items(&prompt), ["- **[b]** Short."]);
    assert_eq!(
        decided(&prompt),
        [
            ("learn-00000003", InjectionReason::OverBudget),
            ("learn-00000002", InjectionReason::Shown),
            ("learn-00000001", InjectionReason::Duplicate),
        ]
    );
    assert!(prompt.text.contains("<!-- 1 entry left out -->"), "{}", prompt.text);
    learnings.config.context.learnings = Tokens(10);
    let prompt = learnings.prompt_in(&files, task(0xabc, "Mend the lexer", ""));
    assert!(!prompt.text.contains(HEADING), "{}", prompt.text);
}

/// Rule: the same text is included once, whatever its kind.
#[test]
fn same_text_is_included_once_across_kinds() {
    let learnings = Learnings::new()
        .with("other", &["lexer"], "Run the migrations first.")
        .with("pitfall", &["lexer"], "run the\nmigrations first.");
    let prompt = learnings.prompt(task(0xabc, "Mend the lexer", ""));
    assert_eq!(prompt.text.matches("igrations first.").count(), 1, "{}", prompt.text);
    assert_eq!(
        decided(&prompt),
        [
            ("learn-00000002", InjectionReason::Shown),
            ("learn-00000001", InjectionReason::Duplicate)
        ]
    );
}

#[test]
fn better_of_two_conflicting_learnings_is_included() {
    let learnings = Learnings::new()
        .with(
            "success_pattern",
            &["emulator"],
            "Do not start the emulator before the integration suite",
        )
        .with(
            "success_pattern",
            &["emulator", "requests"],
            "Start the emulator before the integration suite",
        );
    let item = "- **[success_pattern]** Start the emulator before the integration suite";
    check(&learnings, "Speed up the requests of the emulator", "", &[item]);
}

/// A first learning that only fits without the note about others; two that do not fit next to it; short ones, one of
/// which duplicates the first.
#[test]
fn duplicates_of_excluded_learnings_are_included() {
    let long = format!("{:x<1343}.", "Long");
    let mut learnings = Learnings::new();
    for short in ["Ee", "Dd", "Cc", "Bb"] {
        learnings = learnings.with("a", &["lexer"], short);
    }
    for middle in ["of wood", "of stone"] {
        learnings = learnings.with(
            "a",
            &["lexer", "tokens"],
            &format!("{middle}{}", " and so on".repeat(20)),
        );
    }
    learnings = learnings.with("a", &["lexer", "tokens", "parser"], &long);
    let prompt = learnings.prompt(task(0xabc, "Mend the tokens of lexer and parser", ""));
    assert_eq!(items(&prompt).len(), 5, "{}", prompt.text);
    assert!(prompt.text.contains("<!-- 1 entry left out -->"), "{}", prompt.text);

    // A duplicate of a learning that is dropped takes its place.
    let same = "Run the slow suite of the lexer twice before merging anything at all";
    let filled = format!("{same} {}", "nothing of note ".repeat(80));
    let learnings = Learnings::new()
        .with("a", &["lexer"], &format!("{same} it. {}", "nothing of note ".repeat(6)))
        .with("b", &["lexer", "tokens"], &"b".repeat(300))
        .with("a", &["lexer", "tokens", "parser"], filled.trim_end());
    let prompt = learnings.prompt(task(0xabc, "Mend the tokens of lexer and parser", ""));
    assert!(
        decided(&prompt).contains(&("learn-00000001", InjectionReason::Shown)),
        "{:?}",
        decided(&prompt)
    );
}

/// Rule: a learning of an agent can be injected, whatever its length.
#[test]
fn longest_learning_fits_the_budget() {
    let message = format!(
        "<learning category=\"{}\" tags=\"lexer\">{}</learning>",
        "c".repeat(80),
        "a learning of an agent that has much to tell,\nat length ".repeat(90)
    );
    let reported = read_captured(&[message], "", Path::new("/")).learnings.pop().unwrap();
    let learnings = Learnings::new().with(&reported.category, &["lexer"], &reported.content);
    let learnings = learnings.with("b", &["lexer", "tokens"], &"word ".repeat(400));
    let prompt = learnings.prompt(task(0xabc, "Mend the tokens of the lexer", ""));
    assert_eq!(
        decided(&prompt),
        [
            ("learn-00000002", InjectionReason::OverBudget),
            ("learn-00000001", InjectionReason::Shown)
        ]
    );
}

#[test]
fn irrelevant_learnings_are_recorded() {
    let learnings = Learnings::new().with("a", &["error handling"], "Of nothing here.");
    let prompt = learnings.prompt(task(0xabc, "An error elsewhere", ""));
    assert_eq!(items(&prompt), [""; 0]);
    assert_eq!(decided(&prompt), [("learn-00000001", InjectionReason::Irrelevant)]);
}

#[test]
fn common_word_does_not_make_a_learning_relevant() {
    let rounding = "Round money to two digits once, at the end.";
    let learnings = Learnings::new().with("pitfall", &["totals"], rounding);
    check(&learnings, "Clean up at the end", "", &[]);
    check(&learnings, "Paint the money page", "", &[]);
    let shown = format!("- **[pitfall]** {rounding}");
    check(&learnings, "Round the money column", "", &[&shown]);
    check(&learnings, "The totals are wrong", "", &[&shown]);
    let learnings = Learnings::new().with("pitfall", &["other"], "parse_config reads files twice.");
    check(
        &learnings,
        "Rename parse_config",
        "",
        &["- **[pitfall]** parse_config reads files twice."],
    );
}

#[test]
fn control_characters_are_removed() {
    let learnings = Learnings::new().with("other", &["totals"], "Totals are \u{1b}[31mred\u{7}.");
    check(&learnings, "The totals", "", &["- **[other]** Totals are [31mred."]);
}
