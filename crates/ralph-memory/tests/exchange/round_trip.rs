//! Round trip: a store of the earlier tool is imported and exported unchanged, except for later changes.

use std::path::Path;

use jiff::Timestamp;
use ralph_memory::exchange::{FileKind, ForeignFile, compact, csv, exported, markdown, read_learnings};
use ralph_model::config::Promote;
use ralph_model::{Facts, Learning, LearningId, SplitMix64, TaskType, TextFeatures};
use ralph_store::{Judgement, NewLearning, Store};
use ralph_testkit::node;
use serde_json::Value;

use crate::golden::golden;

struct Bench {
    _folder: tempfile::TempDir,
    store: Store,
    bits: SplitMix64,
}

fn now() -> Timestamp {
    "2026-03-01T00:00:00Z".parse().unwrap()
}

impl Bench {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open_or_create(&folder.path().join("progress.db")).unwrap();
        Self {
            _folder: folder,
            store,
            bits: SplitMix64::new(1),
        }
    }

    fn import(&mut self, kind: FileKind, bytes: &[u8]) {
        let read = read_learnings(&ForeignFile::read(kind, bytes).unwrap(), now());
        assert_eq!(read.problems, []);
        let taken = self
            .store
            .import_learnings(&read.learnings, Promote::Auto, &mut self.bits, now());
        assert_eq!(taken.unwrap().len(), read.learnings.len());
    }

    fn export(&self) -> ForeignFile {
        let learnings = self.store.learnings_with_originals().unwrap();
        let learnings = learnings
            .iter()
            .map(|(learning, original)| exported(learning, original.as_deref()));
        ForeignFile::store(learnings.collect(), "2026-02-03T10:30:00Z".parse().unwrap())
    }

    fn learnings(&self) -> Vec<Learning> {
        self.store.learnings().unwrap()
    }
}

#[test]
fn unchanged_store_is_exported_byte_for_byte() {
    for name in ["plain.json", "numbers.json", "texts.json", "keys.json", "empty.json"] {
        let mut bench = Bench::new();
        let bytes = golden(name);
        bench.import(FileKind::Store, &bytes);
        assert_eq!(
            bench.export().text(),
            String::from_utf8(bytes.clone()).unwrap(),
            "{name}"
        );
        // A second import changes nothing.
        bench.import(FileKind::Store, &bytes);
        assert_eq!(bench.export().text().as_bytes(), bytes, "{name}");
    }
}

#[test]
fn later_changes_are_patched_in_place() {
    let mut bench = Bench::new();
    bench.import(FileKind::Store, &golden("keys.json"));
    let mut learning = bench.learnings().pop().unwrap();
    learning.content = "Say it better".to_owned();
    learning.use_count = 4;
    learning.success_rate = 0.6;
    learning.source_loops = vec!["run-1".to_owned()];
    let (_, original) = bench.store.learnings_with_originals().unwrap().pop().unwrap();
    insta::assert_snapshot!(
        compact(&exported(&learning, original.as_deref())),
        @r#"{"successRate":0.6,"useCount":4,"type":"strategy","id":"learn-shuffled","content":{"iterations":2,"description":"Say it better","tool":"hammer"},"sourceLoops":["run-1"],"taskType":"feature","confidence":0.7,"updatedAt":"2026-03-01T00:00:00.000Z","createdAt":"2026-02-01T15:00:00.000Z","owner":{"team":"blue","since":2024}}"#
    );
}

#[test]
fn staging_area_is_imported_with_statuses() {
    let mut bench = Bench::new();
    bench.import(FileKind::Staging, &golden("staging.json"));
    let standing: Vec<String> = bench
        .learnings()
        .iter()
        .map(|learning| {
            let reason = learning.reason.clone().unwrap_or_default();
            format!("{} {} {reason}", learning.content, learning.status)
        })
        .collect();
    assert_eq!(
        standing,
        [
            "Draw the interface first pending ",
            "Modules end in .mjs validated ",
            "Hope for the best rejected Confidence too low (< 0.3)"
        ]
    );
}

#[test]
fn bad_entries_are_reported_and_others_imported() {
    let entries = r#"[7, {"id": "a"}, {"id": "b", "type": "hunch"}, {"id": "c", "type": "strategy", "taskType": "feature", "content": {"description": "Look"}}]"#;
    let list = ralph_memory::exchange::parse(entries.as_bytes()).unwrap();
    let Value::Array(list) = list else {
        unreachable!("it is a list");
    };
    let read = read_learnings(&ForeignFile::store(list, now()), now());
    let told: Vec<String> = read
        .problems
        .iter()
        .map(|problem| format!("{} {:?} {}", problem.number, problem.id, problem.why))
        .collect();
    assert_eq!(
        told,
        [
            "1 None it is a number instead of an object",
            "2 Some(\"a\") Missing required fields",
            "3 Some(\"b\") Invalid type: hunch",
        ]
    );
    assert_eq!(read.learnings.len(), 1);
}

#[test]
fn javascript_accepts_exports() {
    let mut bench = Bench::new();
    bench.import(FileKind::Store, &golden("texts.json"));
    let own = NewLearning {
        category: "pitfall".to_owned(),
        content: "The cache \"hides\" the fault 🙈".to_owned(),
        tags: vec!["cache".to_owned()],
        task_type: Some(TaskType::BugFix),
        features: TextFeatures::default(),
    };
    bench.store.add_learning(&own, &mut bench.bits, now()).unwrap();
    let file = bench.export();
    assert!(ForeignFile::read(FileKind::Store, file.text().as_bytes()).is_ok());
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/exchange/verify.mjs");
    let Some(told) = node(&script, &[], &file.text()) else {
        return;
    };
    let ids: Vec<String> = bench
        .learnings()
        .iter()
        .map(|learning| learning.id.to_string())
        .collect();
    let own = ids.last().unwrap();
    assert_eq!(
        told.trim_end(),
        format!(
            r#"{{"version":"1.0.0","lastUpdated":"2026-02-03T10:30:00.000Z","ids":["learn-texts","{own}"],"stats":{{"totalLearnings":2,"byType":{{"strategy":1,"antipattern":1,"estimate":0,"convention":0}},"byTaskType":{{"bug-fix":2}}}}}}"#
        )
    );
}

#[test]
fn csv_and_markdown_exports() {
    let mut bench = Bench::new();
    bench.import(FileKind::Store, &golden("plain.json"));
    let learnings = bench.learnings();
    insta::assert_snapshot!(csv(learnings.iter()), @r"
    id,type,taskType,confidence,successRate,useCount,createdAt
    learn-one,strategy,bug-fix,0.85,0.9,5,2026-02-01T15:00:00.000Z
    learn-two,antipattern,bug-fix,0.85,0,5,2026-02-01T15:00:00.000Z
    learn-three,estimate,test-fix,0.6,0.9,5,2026-02-01T15:00:00.000Z
    learn-four,convention,general,0.85,1,5,2026-02-01T15:00:00.000Z
    ");
    insta::assert_snapshot!(markdown(&learnings.iter().collect::<Vec<_>>()), @r"
    # Learnings

    ## Strategies

    - Reproduce the fault before fixing it (effectiveness: 85%)
      `learn-one` · bug-fix · confidence 0.85 · success 0.90 · used 5 times

    ## Anti-patterns

    - Avoid: editing generated files
      `learn-two` · bug-fix · confidence 0.85 · success 0.00 · used 5 times

    ## Estimates

    - test-fix tasks of medium complexity: about 3 iterations, 45 s each
      `learn-three` · test-fix · confidence 0.60 · success 0.90 · used 5 times

    ## Conventions

    - Tests stand beside what they test
      Examples: src/a.test.ts, src/b.test.ts
      `learn-four` · general · confidence 0.85 · success 1.00 · used 5 times
    ");
}

#[test]
fn export_has_the_current_status() {
    let mut bench = Bench::new();
    bench.import(FileKind::Staging, &golden("staging.json"));
    let waiting = bench.export();
    assert_eq!(waiting.text().matches(r#""status":"#).count(), 3);
    // Another project imports them, and a user there activates them.
    let mut elsewhere = Bench::new();
    elsewhere.import(FileKind::Store, waiting.text().as_bytes());
    assert_eq!(elsewhere.export().text(), waiting.text(), "each stays where it stood");
    let ids: Vec<LearningId> = elsewhere.learnings().into_iter().map(|learning| learning.id).collect();
    elsewhere
        .store
        .judge_learnings(&ids, Judgement::Promote, now())
        .unwrap();
    let promoted = elsewhere.export().text();
    assert!(
        !promoted.contains("status") && !promoted.contains("rejectionReason"),
        "{promoted}"
    );
    // Another tool's status is left alone.
    let foreign = r#"{"id":"a","type":"strategy","taskType":"general","content":"Look","status":"active"}"#;
    assert!(compact(&exported(&elsewhere.learnings()[0], Some(foreign))).contains(r#""status":"active""#));
}

#[test]
fn user_changes_are_exported() {
    let mut bench = Bench::new();
    bench.import(FileKind::Store, &golden("plain.json"));
    let mut learnings = bench.store.learnings_with_originals().unwrap().into_iter();
    let (mut strategy, original) = learnings.next().unwrap();
    strategy.tags = vec!["parser".to_owned(), "fixtures".to_owned()];
    strategy.category = "tool_usage".to_owned();
    let told = compact(&exported(&strategy, original.as_deref()));
    assert!(
        told.contains(r#""tags":["parser","fixtures"],"category":"tool_usage""#),
        "{told}"
    );
    // If another learning already has its id, it is exported under ours.
    strategy.foreign_id = None;
    let told = compact(&exported(&strategy, original.as_deref()));
    assert!(
        told.contains(strategy.id.as_str()) && !told.contains("learn-one"),
        "{told}"
    );
    // An estimate is derived from its numbers until a user rewords it.
    let (mut estimate, original) = learnings.nth(1).unwrap();
    for original in [None, original.as_deref()] {
        estimate.content = "test-fix tasks of medium complexity".to_owned();
        assert!(!compact(&exported(&estimate, original)).contains("description"));
        estimate.content = "Login tests take long".to_owned();
        let told = compact(&exported(&estimate, original));
        assert!(told.contains(r#""description":"Login tests take long""#), "{told}");
    }
}

#[test]
fn estimate_exports_its_sample_count() {
    let mut bench = Bench::new();
    bench.import(FileKind::Store, &golden("plain.json"));
    let (mut learning, original) = bench.store.learnings_with_originals().unwrap().remove(2);
    let Some(Facts::Estimate { sampled, .. }) = &mut learning.facts else {
        unreachable!("it is an estimate");
    };
    assert_eq!(*sampled, 3, "by how sure it is");
    *sampled = 12;
    for original in [None, original.as_deref()] {
        let file = ForeignFile::store(vec![exported(&learning, original)], now());
        let mut elsewhere = Bench::new();
        elsewhere.import(FileKind::Store, file.text().as_bytes());
        assert_eq!(elsewhere.learnings()[0].facts, learning.facts);
    }
}
