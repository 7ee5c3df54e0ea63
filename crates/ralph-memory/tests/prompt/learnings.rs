//! Which lessons stand in a prompt, and in which order: from the settlement that kept them to the text.

use std::path::Path;

use ralph_memory::capture::read_captured;
use ralph_memory::inject::prompt::{Circumstances, Materials, MemoryShare, Prompt, stands_in};
use ralph_model::config::Config;
use ralph_model::{
    CapturedLearning, EntryKind, ErrorCategory, Injection, InjectionReason, Learning, LearningId, LearningKind,
    LearningSource, NewJournalRow, NewTask, Outcome, RunId, SplitMix64, Task, TaskId, TaskType, Tokens,
};
use ralph_store::{Settlement, Store, journal_terms};
use ralph_testkit::{journal_row, known_lesson, put_lessons};

use crate::support::Files;
use crate::{MEMORIES, composed, moment, project, task};

const HEADING: &str = "### Learnings from Previous Iterations\n";

struct Lessons {
    folder: tempfile::TempDir,
    store: Store,
    config: Config,
    rows: u32,
    ids: u64,
}

impl Lessons {
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

    /// A lesson of an iteration that was done at another task.
    fn with(self, category: &str, tags: &[&str], content: &str) -> Self {
        self.told(Outcome::Done, 9, (category, tags, content))
    }

    fn told(self, outcome: Outcome, task: u64, lesson: (&str, &[&str], &str)) -> Self {
        let row = |row: &mut NewJournalRow| {
            row.outcome = outcome;
            row.task = Some(TaskId::new(task));
        };
        self.told_in(row, lesson)
    }

    fn told_in(
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

    /// A strategy that agents told at a kind of work, with how often it stood in a prompt and succeeded.
    fn tried(mut self, task_type: TaskType, content: &str, (use_count, success_rate): (u32, f64)) -> Self {
        self.ids += 1;
        let learning = Learning {
            category: "tool_usage".to_owned(),
            source: LearningSource::Sigil,
            use_count,
            success_rate,
            ..known_lesson(self.ids, LearningKind::Strategy, task_type, content)
        };
        let terms = journal_terms(&learning.content);
        put_lessons(&self.folder.path().join("progress.db"), [(&learning, terms)]);
        self
    }

    fn prompt(&self, task: Task) -> Prompt {
        self.prompt_in(&Files::new(), task)
    }

    fn prompt_in(&self, files: &Files, task: Task) -> Prompt {
        let materials = Materials::gather(&self.store, task, Some(&RunId::new(1)), moment()).unwrap();
        let request = materials.request(&Circumstances {
            round: None,
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

/// The items of the section, without who wrote them.
fn items(prompt: &Prompt) -> Vec<String> {
    let Some((_, rest)) = prompt.text.split_once(HEADING) else {
        return Vec::new();
    };
    let section = rest.split("\n#").next().unwrap();
    let items = section.lines().filter(|line| line.starts_with("- **["));
    items.map(|item| item.replacen("(by agent) ", "", 1)).collect()
}

/// What was decided, in the order of preference: id and reason.
fn decided(prompt: &Prompt) -> Vec<(&str, InjectionReason)> {
    let of_lessons = |injection: &&Injection| injection.kind == EntryKind::Learning;
    let decided = prompt.injections.iter().filter(of_lessons);
    decided
        .map(|injection| (injection.id.as_str(), injection.reason))
        .collect()
}

#[track_caller]
fn check(lessons: &Lessons, title: &str, description: &str, expected: &[&str]) {
    let prompt = lessons.prompt(task(0xabc, title, description));
    assert_eq!(items(&prompt), expected, "{title}");
    for injection in prompt.injections.iter().filter(|it| it.kind == EntryKind::Learning) {
        let is_shown = injection.reason == InjectionReason::Shown;
        assert_eq!(stands_in(&prompt.text, injection), is_shown, "{injection:?}");
    }
}

#[test]
fn what_was_refuted_comes_back_in_the_same_words_only_with_a_record_of_its_own() {
    const TEXT: &str = "Clear the lexer cache before the suite";
    let refuted = || Lessons::new().tried(TaskType::BugFix, TEXT, (13, 0.33));
    let again = "clear the Lexer cache before the suite!";
    let title = "Mend the cache of the lexer";
    for record in [(0, 1.0), (4, 1.0), (13, 0.33)] {
        let lessons = refuted().tried(TaskType::Refactor, again, record);
        check(&lessons, title, "", &[]);
        let prompt = lessons.prompt(task(0xabc, title, ""));
        let looked_at: Vec<(Option<bool>, InjectionReason)> = prompt
            .injections
            .iter()
            .filter(|injection| injection.kind == EntryKind::Learning)
            .map(|injection| (injection.score.map(|score| score > 0.0), injection.reason))
            .collect();
        assert_eq!(looked_at, [(Some(true), InjectionReason::Irrelevant); 2], "{record:?}");
    }
    let shown = format!("- **[tool_usage]** {again}");
    let lessons = refuted().tried(TaskType::Refactor, again, (5, 0.9));
    check(&lessons, title, "", &[&shown]);
    // What was never tried refutes nothing, and neither does what says something else.
    let lessons = Lessons::new()
        .tried(TaskType::BugFix, TEXT, (0, 0.33))
        .tried(TaskType::Refactor, again, (0, 1.0));
    check(&lessons, title, "", &[&shown]);
    let lessons = refuted().tried(
        TaskType::Refactor,
        "Never clear the lexer cache before the suite",
        (0, 1.0),
    );
    check(
        &lessons,
        title,
        "",
        &["- **[tool_usage]** Never clear the lexer cache before the suite"],
    );
}

#[test]
fn a_lesson_that_waits_is_read_by_every_task_that_told_it() {
    let lesson = ("pitfall", ["lexer"].as_slice(), "Look first.");
    let lessons = Lessons::new()
        .told(Outcome::Failed, 9, lesson)
        .told(Outcome::Interrupted, 0xabc, lesson);
    check(&lessons, "Mend it", "", &["- **[pitfall]** Look first."]);
    check(&lessons, "Mend the lexer", "", &["- **[pitfall]** Look first."]);
    let other = lessons.prompt(task(0xdef, "Mend the lexer", ""));
    assert_eq!(decided(&other), []);
}

/// Agents reword what they learned before.
#[test]
fn a_lesson_that_is_told_in_many_ways_takes_one_place() {
    let mut lessons = Lessons::new();
    for name in ["one", "two", "three", "four"] {
        lessons = lessons.with("pitfall", &["cargo"], &format!("Look at the target folder {name}."));
    }
    // Each differs from the others in a word or two.
    for number in 0..20 {
        let word = char::from(b'a' + number).to_string().repeat(5);
        let text = format!(
            "Always run cargo check before the whole build since it is quicker and tells the same errors {word}."
        );
        lessons = lessons.with("pitfall", &["cargo", "lexer"], &text);
    }
    let prompt = lessons.prompt(task(0xabc, "Run cargo on the lexer", ""));
    let about_folders = items(&prompt)
        .iter()
        .filter(|item| item.contains("target folder"))
        .count();
    assert_eq!((items(&prompt).len(), about_folders), (5, 4), "{:?}", items(&prompt));
}

/// The rule: how it failed, its files and its parent lead to lessons, however much else is said about a task.
#[test]
fn a_long_description_hides_no_other_sign_of_a_task() {
    let words = |letter: char| {
        let word = |number: u32| format!("{letter}word{}", "x".repeat(number as usize % 7) + &number.to_string());
        (0..400).map(word).collect::<Vec<_>>().join(" ")
    };
    let with = |tag: &str| Lessons::new().with("pitfall", &[tag], "Look first.");
    let failed = |lessons: Lessons| {
        let row = |row: &mut NewJournalRow| {
            (row.outcome, row.task) = (Outcome::Failed, Some(TaskId::new(0xabc)));
            row.error_category = Some(ErrorCategory::TestFailure);
            row.files_modified = vec!["src/lexer.rs".to_owned()];
        };
        lessons.told_in(row, ("pitfall", &["nothing"], "Of the task itself."))
    };
    for tag in ["test_failure", "src/lexer.rs"] {
        let lessons = failed(with(tag));
        let prompt = lessons.prompt(task(0xabc, "Mend it", &words('a')));
        assert!(
            items(&prompt).contains(&"- **[pitfall]** Look first.".to_owned()),
            "{tag}: {:?}",
            items(&prompt)
        );
    }
    let mut lessons = with("zebra");
    let (now, mut entropy) = (crate::moment(), SplitMix64::new(1));
    let mut parent = NewTask::titled("Keep a zoo".to_owned());
    parent.description = "With a zebra".to_owned();
    let parent = lessons.store.add_task(&parent, &mut entropy, now).unwrap();
    let mut part = task(0xabc, "Mend it", &words('a'));
    part.parent = Some(parent.id);
    assert_eq!(items(&lessons.prompt(part)), ["- **[pitfall]** Look first."]);
}

#[test]
fn lessons_that_wait_elsewhere_take_nobodys_place() {
    let mut lessons = Lessons::new().with("pitfall", &["cargo"], "Look first.");
    for number in 0..300 {
        let text = format!("Wait for it{number}.");
        lessons = lessons.told(Outcome::Failed, 9, ("pitfall", &["cargo"], &text));
    }
    check(&lessons, "Run cargo", "", &["- **[pitfall]** Look first."]);
    check(&lessons, "Wait for cargo", "", &["- **[pitfall]** Look first."]);
}

#[test]
fn a_suggestion_comes_from_the_last_attempt_also_if_it_was_interrupted() {
    let mut lessons = Lessons::new();
    let mut row = journal_row(RunId::new(2), 1);
    (row.outcome, row.task) = (Outcome::Interrupted, Some(TaskId::new(0xabc)));
    let mut settlement = Settlement::new(row, 0);
    settlement.suggestion = Some("Vendor it.".to_owned());
    lessons.store.settle(&settlement).unwrap();
    let prompt = lessons.prompt(task(0xabc, "Mend it", ""));
    assert!(
        prompt
            .text
            .contains("**Suggested after one that was interrupted**: (by agent) Vendor it.\n")
    );
}

#[test]
fn the_section_has_its_form() {
    let lessons = Lessons::new()
        .with("pitfall", &["lexer"], "Never peek twice:\n\n## it hangs\n```\nnext()")
        .with("odd one", &["lexer"], "Look first.");
    let prompt = lessons.prompt(task(0xabc, "Mend the lexer", ""));
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
fn most_tags_first_then_the_best_text_then_the_newest() {
    let lessons = Lessons::new()
        .with("a", &["lexer", "tokens"], "Two tags.")
        .with("b", &["lexer"], "The lexer is about whitespace.")
        .with("c", &["lexer"], "Older.")
        .with("d", &["lexer"], "Newer.")
        .with("e", &["docker"], "Of the docker daemon.");
    check(
        &lessons,
        "The lexer drops tokens",
        "Whitespace is wrong.",
        &[
            "- **[a]** Two tags.",
            "- **[b]** The lexer is about whitespace.",
            "- **[d]** Newer.",
            "- **[c]** Older.",
        ],
    );
    check(&lessons, "Something else", "entirely", &[]);
}

/// The rule: a lesson that shares only common words with the task, and no tag, is not shown.
#[test]
fn what_shares_only_common_words_is_not_shown() {
    let mut lessons = Lessons::new();
    for number in 0..40 {
        lessons = lessons.with("a", &[], &format!("The project knows subject{number}x."));
    }
    check(&lessons, "Tidy the project", "", &[]);
    check(
        &lessons,
        "Tidy the project of subject7x",
        "",
        &["- **[a]** The project knows subject7x."],
    );
    let lessons = lessons.with("b", &["project"], "By its tag.");
    check(&lessons, "Tidy the project", "", &["- **[b]** By its tag."]);
}

#[test]
fn tags_match_the_parent_files_of_attempts_and_the_last_failure() {
    let by = |tag: &str| Lessons::new().with("a", &[tag], "By its tag.");
    let shown = ["- **[a]** By its tag."];
    check(&by("error handling"), "An error in its handling", "", &[]);
    check(&by("error handling"), "Improve error-handling.", "", &shown);
    let failed = |lessons: Lessons| {
        lessons.told_in(
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
        let lessons = failed(by(tag));
        let prompt = lessons.prompt(task(0xabc, "Mend it", ""));
        assert_eq!(items(&prompt).contains(&shown[0].to_owned()), is_shown, "{tag}");
        assert!(
            items(&prompt).contains(&"- **[b]** Unlike.".to_owned()),
            "of the task's own attempt"
        );
    }
}

#[test]
fn what_waits_is_shown_to_its_own_task_alone() {
    let lessons = Lessons::new()
        .told(Outcome::Failed, 0xabc, ("a", &["lexer"], "Of this task."))
        .told(Outcome::Failed, 0xdef, ("b", &["lexer"], "Of another."))
        .told(Outcome::Done, 0xdef, ("c", &["lexer"], "What holds."));
    check(
        &lessons,
        "Mend the lexer",
        "",
        &["- **[c]** What holds.", "- **[a]** Of this task."],
    );
    // Another iteration supports it, so it holds for all.
    let lessons = lessons.told(Outcome::Retried, 0xdef, ("b", &["lexer"], "of another"));
    let prompt = lessons.prompt(task(0xabc, "Mend the lexer", ""));
    assert!(
        items(&prompt).contains(&"- **[b]** Of another.".to_owned()),
        "{}",
        prompt.text
    );
}

#[test]
fn the_best_five_stand_and_near_duplicates_once() {
    let mut lessons = Lessons::new();
    for number in 0..8 {
        lessons = lessons.with("a", &["lexer"], &format!("Lesson {number} is about subject{number}x."));
    }
    let prompt = lessons.prompt(task(0xabc, "Mend the lexer", ""));
    assert_eq!(items(&prompt).len(), 5);
    assert!(!prompt.text.contains("left out"), "five is what there may be");
    let over: Vec<&str> = decided(&prompt)
        .into_iter()
        .filter_map(|(id, reason)| (reason == InjectionReason::OverBudget).then_some(id))
        .collect();
    assert_eq!(over, ["learn-00000003", "learn-00000002", "learn-00000001"]);

    let lessons = Lessons::new()
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
    let prompt = lessons.prompt(task(0xabc, "Mend the lexer", ""));
    let duplicates: Vec<&str> = decided(&prompt)
        .into_iter()
        .filter_map(|(id, reason)| (reason == InjectionReason::Duplicate).then_some(id))
        .collect();
    // The newest denies what the first two say, and warns of the same as the third.
    assert_eq!(
        (duplicates, items(&prompt).len()),
        (vec!["learn-00000002", "learn-00000001"], 2)
    );
}

#[test]
fn a_fact_stands_once_and_the_budget_holds_for_whole_entries() {
    let files = project(MEMORIES, "");
    let long = format!("Long: {}", "lexer ".repeat(200));
    let mut lessons = Lessons::new()
        .with("a", &["lexer"], "Run the tests before you say that something is done.")
        .with("b", &["lexer"], "Short.")
        .with("c", &["lexer"], &long);
    lessons.config.context.learnings = Tokens(90);
    let prompt = lessons.prompt_in(&files, task(0xabc, "Mend the lexer", ""));
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
    lessons.config.context.learnings = Tokens(10);
    let prompt = lessons.prompt_in(&files, task(0xabc, "Mend the lexer", ""));
    assert!(!prompt.text.contains(HEADING), "{}", prompt.text);
}

/// The rule: a fact stands once, whatever kind of lesson it was told as.
#[test]
fn the_same_words_stand_once_whatever_kind_of_lesson_they_are() {
    let lessons = Lessons::new()
        .with("other", &["lexer"], "Run the migrations first.")
        .with("pitfall", &["lexer"], "run the\nmigrations first.");
    let prompt = lessons.prompt(task(0xabc, "Mend the lexer", ""));
    assert_eq!(prompt.text.matches("igrations first.").count(), 1, "{}", prompt.text);
    assert_eq!(
        decided(&prompt),
        [
            ("learn-00000002", InjectionReason::Shown),
            ("learn-00000001", InjectionReason::Duplicate)
        ]
    );
}

/// A reason that only one of them gives does not hide that the other says the contrary.
#[test]
fn of_two_that_contradict_each_other_the_better_one_stands_whatever_its_reason() {
    let lessons = Lessons::new()
        .with(
            "success_pattern",
            &["emulator"],
            "Do not start the emulator before the integration suite",
        )
        .with(
            "success_pattern",
            &["emulator", "requests"],
            "Start the emulator before the integration suite, or every request hangs",
        );
    let item = "- **[success_pattern]** Start the emulator before the integration suite, or every request hangs";
    check(&lessons, "Speed up the requests of the emulator", "", &[item]);
}

/// A first lesson that fits only where nothing has to be said of others; two that do not fit beside it; short ones, of which
/// one says what the first one does.
#[test]
fn no_more_than_five_stand_and_none_is_gone_for_one_that_does_not_stand() {
    let long = format!("{:x<1343}.", "Long");
    let mut lessons = Lessons::new();
    for short in ["Ee", "Dd", "Cc", "Bb"] {
        lessons = lessons.with("a", &["lexer"], short);
    }
    for middle in ["of wood", "of stone"] {
        lessons = lessons.with(
            "a",
            &["lexer", "tokens"],
            &format!("{middle}{}", " and so on".repeat(20)),
        );
    }
    lessons = lessons.with("a", &["lexer", "tokens", "parser"], &long);
    let prompt = lessons.prompt(task(0xabc, "Mend the tokens of lexer and parser", ""));
    assert_eq!(items(&prompt).len(), 5, "{}", prompt.text);
    assert!(prompt.text.contains("<!-- 1 entry left out -->"), "{}", prompt.text);

    // What is the same as one that has to make room stands in its place.
    let same = "Run the slow suite of the lexer twice before merging anything at all";
    let filled = format!("{same} {}", "nothing of note ".repeat(80));
    let lessons = Lessons::new()
        .with("a", &["lexer"], &format!("{same} it. {}", "nothing of note ".repeat(6)))
        .with("b", &["lexer", "tokens"], &"b".repeat(300))
        .with("a", &["lexer", "tokens", "parser"], filled.trim_end());
    let prompt = lessons.prompt(task(0xabc, "Mend the tokens of lexer and parser", ""));
    assert!(
        decided(&prompt).contains(&("learn-00000001", InjectionReason::Shown)),
        "{:?}",
        decided(&prompt)
    );
}

/// The rule: what an agent says as a lesson can be shown, however much it says.
#[test]
fn the_longest_lesson_of_an_agent_has_room() {
    let said = format!(
        "<learning category=\"{}\" tags=\"lexer\">{}</learning>",
        "c".repeat(80),
        "a lesson of an agent that has much to tell,\nat length ".repeat(90)
    );
    let told = read_captured(&[said], "", Path::new("/")).learnings.pop().unwrap();
    let lessons = Lessons::new().with(&told.category, &["lexer"], &told.content);
    let lessons = lessons.with("b", &["lexer", "tokens"], &"word ".repeat(400));
    let prompt = lessons.prompt(task(0xabc, "Mend the tokens of the lexer", ""));
    assert_eq!(
        decided(&prompt),
        [
            ("learn-00000002", InjectionReason::OverBudget),
            ("learn-00000001", InjectionReason::Shown)
        ]
    );
}

#[test]
fn what_has_nothing_to_do_with_the_task_is_told_of() {
    let lessons = Lessons::new().with("a", &["error handling"], "Of nothing here.");
    let prompt = lessons.prompt(task(0xabc, "An error elsewhere", ""));
    assert_eq!(items(&prompt), [""; 0]);
    assert_eq!(decided(&prompt), [("learn-00000001", InjectionReason::Irrelevant)]);
}

#[test]
fn one_everyday_word_makes_no_lesson_fit() {
    let rounding = "Round money to two digits once, at the end.";
    let lessons = Lessons::new().with("pitfall", &["totals"], rounding);
    check(&lessons, "Clean up at the end", "", &[]);
    check(&lessons, "Paint the money page", "", &[]);
    let shown = format!("- **[pitfall]** {rounding}");
    check(&lessons, "Round the money column", "", &[&shown]);
    check(&lessons, "The totals are wrong", "", &[&shown]);
    let lessons = Lessons::new().with("pitfall", &["other"], "parse_config reads files twice.");
    check(
        &lessons,
        "Rename parse_config",
        "",
        &["- **[pitfall]** parse_config reads files twice."],
    );
}

#[test]
fn no_control_character_of_a_lesson_reaches_an_agent() {
    let lessons = Lessons::new().with("other", &["totals"], "Totals are \u{1b}[31mred\u{7}.");
    check(&lessons, "The totals", "", &["- **[other]** Totals are [31mred."]);
}
