//! Tests of reading and writing loop histories.

use super::*;

const EXAMPLE: &str = r#"{
  "loopId": "ralph-001",
  "objective": "Fix failing authentication tests",
  "status": "completed",
  "currentIteration": 3,
  "unknown": {"deep": [1, null]},
  "iterations": [
    {
      "number": 1,
      "status": "completed",
      "duration": 42000,
      "analysis": { "progressMade": true },
      "learnings": ["Write tests first"],
      "filesModified": ["src/auth/login.ts", "test/auth/login.test.ts"]
    },
    {
      "number": 2,
      "status": "failed",
      "duration": 1.5,
      "analysis": { "progressMade": false, "errors": ["SyntaxError: \u0007 bad"], "confidence": 0 },
      "learnings": null,
      "extra": "fine"
    },
    { "status": "running" }
  ]
}"#;

#[test]
fn loop_history_is_read_and_cleaned() {
    let history = read_loop_history(EXAMPLE).unwrap();
    assert_eq!(history.loop_id, "ralph-001");
    let ends: Vec<(u32, PastEnd, bool)> = history
        .iterations
        .iter()
        .map(|iteration| (iteration.number, iteration.end, iteration.progress_made))
        .collect();
    assert_eq!(
        ends,
        [
            (1, PastEnd::Completed, true),
            (2, PastEnd::Failed, false),
            (3, PastEnd::Other, false)
        ]
    );
    let [first, second, _] = &history.iterations[..] else {
        panic!("{history:?}")
    };
    assert_eq!(first.task_type, TaskType::TestFix, "by the objective");
    assert_eq!(
        (first.duration_ms, first.learned.as_slice()),
        (42_000.0, &["Write tests first".to_owned()][..])
    );
    assert_eq!(first.files, ["src/auth/login.ts", "test/auth/login.test.ts"]);
    assert_eq!(second.errors.len(), 1);
    assert!(!second.errors[0].text.contains('\u{7}'), "{second:?}");
}

#[test]
fn invalid_loop_history_is_refused_in_one_line() {
    for (text, expected) in [
        ("", "invalid loop history: EOF while parsing a value at line 1 column 0"),
        ("[]", "invalid loop history: invalid length 0"),
        ("{}", "invalid loop history: missing field `loopId`"),
        (r#"{"loopId": "a"}"#, "invalid loop history: missing field `iterations`"),
        (
            r#"{"loopId": " ", "iterations": []}"#,
            "invalid loop history: loopId is blank",
        ),
        (
            r#"{"loopId": "a", "iterations": [{"duration": "long"}]}"#,
            "invalid loop history: invalid type: string \"long\", expected f64",
        ),
        (
            r#"{"loopId": "a", "iterations": [{"duration": -1}]}"#,
            "invalid loop history: the duration of iteration 1 is -1",
        ),
    ] {
        let error = read_loop_history(text).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
}

#[test]
fn loop_history_round_trips() {
    let mut history = read_loop_history(EXAMPLE).unwrap();
    if let Some(error) = history
        .iterations
        .get_mut(1)
        .and_then(|second| second.errors.first_mut())
    {
        error.signature = Some(Signature::new(7));
    }
    if let Some(first) = history.iterations.first_mut() {
        first.notes = Some("All green.".to_owned());
    }
    let files = write_loop_history(&history, LoopProgress::Over).unwrap();
    assert_eq!(read_loop_history(&files.state).unwrap(), history);
    assert!(
        files.state.contains("\"duration\": 42000,") && files.state.contains("\"duration\": 1.5,"),
        "{}",
        files.state
    );
    let names: Vec<&str> = files.iterations.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        names,
        ["iteration-001.json", "iteration-002.json", "iteration-003.json"]
    );
    let state: serde_json::Value = serde_json::from_str(&files.state).unwrap();
    assert_eq!(state["status"], "failed", "as the last iteration that says anything");
    assert_eq!(state["currentIteration"], 3);
    let first: serde_json::Value = serde_json::from_str(&files.iterations[0].1).unwrap();
    assert_eq!(first, state["iterations"][0]);
    assert_eq!(first["analysis"], serde_json::json!({ "progressMade": true }));
    assert_eq!(
        first["learnings"],
        serde_json::json!(["Write tests first", "All green."])
    );
}

#[test]
fn only_completed_runs_have_status_completed() {
    let history = read_loop_history(EXAMPLE).unwrap();
    let status = |history: &RunHistory, progress: LoopProgress| -> serde_json::Value {
        let files = write_loop_history(history, progress).unwrap();
        let state: serde_json::Value = serde_json::from_str(&files.state).unwrap();
        state["status"].clone()
    };
    assert_eq!(status(&history, LoopProgress::Running), "running");
    let mut first = history.clone();
    first.iterations.truncate(1);
    assert_eq!(status(&first, LoopProgress::Over), "completed");
    assert_eq!(status(&first, LoopProgress::Stopped), "interrupted");
    assert_eq!(status(&history, LoopProgress::Stopped), "failed");
    // One task has failed, and another was done after it.
    let [done, failed] = [PastEnd::Completed, PastEnd::Failed].map(|end| {
        let found = history.iterations.iter().find(|iteration| iteration.end == end);
        found.unwrap().clone()
    });
    let of = |task: &str, iteration: &PastIteration| PastIteration {
        task: Some(task.to_owned()),
        ..iteration.clone()
    };
    let mut tasks = history.clone();
    tasks.iterations = vec![of("a", &failed), of("b", &done)];
    assert_eq!(status(&tasks, LoopProgress::NeedsAttention), "failed");
    assert_eq!(status(&tasks, LoopProgress::Stopped), "interrupted");
    tasks.iterations.push(of("a", &done));
    assert_eq!(
        status(&tasks, LoopProgress::NeedsAttention),
        "interrupted",
        "something else is left"
    );
    let mut interrupted = history;
    interrupted
        .iterations
        .retain(|iteration| iteration.end == PastEnd::Other);
    assert_eq!(interrupted.iterations.len(), 1);
    assert_eq!(status(&interrupted, LoopProgress::Over), "interrupted");
    interrupted.iterations.clear();
    assert_eq!(status(&interrupted, LoopProgress::Over), "interrupted");
}
