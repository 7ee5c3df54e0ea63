//! A database as it was before iterations had a memory: rows of every table, in every form.

/// Titles of tasks, and what kind of work they are.
pub(super) const TITLES: &[(&str, &str)] = &[
    ("Fix failing authentication tests", "test-fix"),
    ("Implement the search", "feature"),
    ("Crashes on empty input", "bug-fix"),
    ("Refactor the parser", "refactor"),
    ("Write the guide", "documentation"),
    ("Inspect the latest release", "general"),
    ("", "general"),
    ("数据库 'quoted\" \\ ; -- DROP TABLE journal", "general"),
];

/// The lesson that grows until it fills the memory of a connection.
pub(super) const GIANT: &str = "learn-00000009";

/// The rows. Lessons have every status, and tags that no version wrote.
pub(super) const FILL: &str = r#"
PRAGMA foreign_keys = ON;
INSERT INTO note_files (id, worktree, path, inode, size, mtime_ns, ctime_ns, head) VALUES
    (1, '', 'memories.md', 7, 70, 700, 7000, NULL), (2, 'wt', 'guardrails.md', 8, 80, 800, 8000, 'abc');
INSERT INTO note_log (file, at, note, action, kind, content, tags, created, extra) VALUES
    (1, '2025-01-20T12:00:00.000Z', 'mem-1-abcd', 'added', 'fix', 'kept', 'a', '2025-01-20', '[]'),
    (2, '2025-01-20T13:00:00.000Z', 'fix-1-abcd', 'vanished', 'decision', 'gone', '', '2025-01-20', '[["k","v"]]');
INSERT INTO features (id, name, created_at, updated_at) VALUES
    ('f-00000a', 'search', '2025-01-20T12:00:00.000Z', '2025-01-20T12:00:00.000Z');
INSERT INTO runs (id, kind, agent, agent_session, goal, worktree, branch, "commit", host, pid, pid_started, baseline,
                  started_at, heartbeat, ended_at, end_reason, end_code) VALUES
    ('run-00000001', 'loop', 'claude', 's', 'all tasks', '', 'main', 'abc', 'here', 1, 2, '{}',
     '2025-01-20T12:00:00.000Z', '2025-01-20T12:00:00.000Z', '2025-01-20T13:00:00.000Z', 'All is done.', 0),
    ('run-00000002', 'session', 'codex', NULL, '', 'wt', NULL, NULL, 'there', 3, 4, NULL,
     '2025-01-20T12:00:00.000Z', '2025-01-20T12:00:00.000Z', NULL, NULL, NULL);
INSERT INTO tasks (id, title, description, status, kind, priority, parent, feature, retries_used, attempts, claimed_by,
                   lease_until, fence, behind_failed, done_worktree, done_commit, dirty_before, created_at, updated_at)
VALUES
    ('t-00000a', 'Find', 'words', 'in_progress', 'once', 5, NULL, 'f-00000a', 1, 3, 'run-00000002',
     '2025-01-20T12:02:00.000Z', 9, 0, NULL, NULL, '["a.rs"]', '2025-01-20T12:00:00.000Z', '2025-01-20T13:00:00.000Z'),
    ('t-00000b', 'Done', '', 'done', 'once', 1, 't-00000a', NULL, 0, 1, NULL, NULL, 1, 0, '', 'abc', NULL,
     '2025-01-20T12:00:00.000Z', '2025-01-20T13:00:00.000Z'),
    ('t-00000c', 'Failed', '', 'failed', 'once', 1, NULL, NULL, 3, 4, NULL, NULL, 4, 0, NULL, NULL, NULL,
     '2025-01-20T12:00:00.000Z', '2025-01-20T13:00:00.000Z'),
    ('t-00000d', 'Blocked', '', 'blocked', 'prompt_loop', 1, NULL, NULL, 0, 0, NULL, NULL, 0, 1, NULL, NULL, NULL,
     '2025-01-20T12:00:00.000Z', '2025-01-20T13:00:00.000Z'),
    ('t-00000e', 'Pending', '', 'pending', 'once', 1, NULL, NULL, 0, 0, NULL, NULL, 0, 0, NULL, NULL, NULL,
     '2025-01-20T12:00:00.000Z', '2025-01-20T13:00:00.000Z');
INSERT INTO dependencies (task, after) VALUES ('t-00000d', 't-00000c');
INSERT INTO task_log (task, at, text) VALUES ('t-00000a', '2025-01-20T12:00:00.000Z', 'A person said something.');
INSERT INTO iterations (run, iteration, task, task_title, feature, attempt, fence, phase, model, rationale, marker,
                        agent_pid, agent_started, claimed_at, started_at, before, injections, end) VALUES
    ('run-00000002', 4, 't-00000a', 'Find', 'f-00000a', 3, 9, 'ended', 'opus', 'why', 'marker', 5, 6,
     '2025-01-20T12:00:00.000Z', '2025-01-20T12:00:01.000Z', '{}', '[]', '{}');
INSERT INTO journal (id, run_id, iteration, task_id, task_title, feature_id, attempt, outcome, stop_reason, reason, model,
                     model_rationale, duration_ms, cost_usd, input_tokens, output_tokens, files_modified, changed_nothing,
                     notes, difficulty, error_category, malformed_sigils, created_at, terms, imported) VALUES
    (1, 'run-00000001', 1, 't-00000a', 'Find', 'f-00000a', 1, 'done', 'task_done', '', 'opus', 'asked for', 5, 0.5, 10, 20,
     '["src/lib.rs"]', 0, 'notes', 'hard', NULL, 0, '2025-01-20T12:00:00.000Z', 'find note', 0),
    (2, 'run-00000001', 2, 't-00000b', 'Done', NULL, 1, 'failed', 'task_failed', 'why', NULL, '', 5, 0.25, 0, 0,
     '[]', 1, NULL, 'blocked', 'test_failure', 3, '2025-01-20T12:00:00.000Z', 'done', 0),
    (3, 'run-00000001', 3, 't-00000b', 'Done', NULL, 2, 'retried', 'gate_refused', 'why', 'haiku', '', 5, 0, 0, 0,
     '[]', 0, NULL, NULL, NULL, 0, '2025-01-20T12:00:00.000Z', '', 0),
    (4, 'run-00000001', 4, 't-00000b', 'Done', NULL, 3, 'blocked', 'context_overflow', 'why', NULL, '', 5, 0, 0, 0,
     '[]', 0, NULL, NULL, NULL, 0, '2025-01-20T12:00:00.000Z', 'done', 0),
    (5, 'run-00000001', 5, 't-00000b', 'Done', NULL, 4, 'interrupted', 'ctrl_c', '', NULL, '', 5, 0, 0, 0,
     '[]', 0, 'guidance', NULL, NULL, 0, '2025-01-20T12:00:00.000Z', 'done guidanc', 0),
    (6, 'old-run', 1, 'x', 'Elsewhere', NULL, 1, 'failed', 'imported', '', NULL, '', 5, 1.5, 0, 0,
     '[]', 0, NULL, NULL, NULL, 0, '2024-01-20T12:00:00.000Z', 'elsewher', 1);
INSERT INTO failure_reports (journal, task, what_tried, why_failed, category, relevant_files, error_output, suggestion)
VALUES
    (2, 't-00000b', 'this', 'that', 'test_failure', '["src/lib.rs"]', 'assertion failed', 'the other way'),
    (3, 't-00000b', '', 'a gate refused', 'unknown', '[]', NULL, 'try once more'),
    (4, NULL, ' ', 'too long', 'timeout', '[]', NULL, NULL);
INSERT INTO learnings (id, kind, category, task_type, content, tags, confidence, success_rate, use_count, source,
                       source_loops, task, journal, status, reason, superseded_by, created_at, updated_at) VALUES
    ('learn-00000001', 'strategy', 'testing_strategy', NULL, 'Run the tests with ONE thread: they share a port.',
     '["cargo test","port"]', 0.5, 1.0, 0, 'sigil', '["run-00000001"]', 't-00000a', 1, 'pending', NULL, NULL,
     '2025-01-20T12:00:00.000Z', '2025-01-20T12:00:00.000Z'),
    ('learn-00000002', 'antipattern', 'pitfall', NULL, 'failed', '[]', 0.5, 0.0, 0, 'sigil', '["run-00000001"]',
     't-00000b', 2, 'pending', NULL, NULL, '2025-01-20T12:00:00.000Z', '2025-01-20T12:00:00.000Z'),
    ('learn-00000003', 'strategy', 'other', NULL, 'retried', '["the"]', 0.5, 1.0, 0, 'sigil', '[]', 't-00000b', 3,
     'pending', NULL, NULL, '2025-01-20T12:00:00.000Z', '2025-01-20T12:00:00.000Z'),
    ('learn-00000004', 'convention', 'code_structure', NULL, 'blocked', '["front-end","frontend","front-end"]', 0.5, 1.0,
     0, 'sigil', '[]', 't-00000b', 4, 'pending', NULL, NULL, '2025-01-20T12:00:00.000Z', '2025-01-20T12:00:00.000Z'),
    ('learn-00000005', 'strategy', 'mine', NULL, 'interrupted', '["src/a.rs","src/b.rs"]', 0.5, 1.0, 0, 'sigil', '[]',
     't-00000b', 5, 'pending', NULL, NULL, '2025-01-20T12:00:00.000Z', '2025-01-20T12:00:00.000Z'),
    ('learn-00000006', 'estimate', 'other', 'feature', 'of nobody', '[]', 0.7, 1.0, 2, 'human', '[]', NULL, NULL,
     'pending', NULL, NULL, '2025-01-20T12:00:00.000Z', '2025-01-20T12:00:00.000Z'),
    ('learn-00000007', 'strategy', 'other', NULL, 'validated', '[]', 0.5, 1.0, 0, 'extracted', '[]', NULL, 1, 'validated',
     NULL, NULL, '2025-01-20T12:00:00.000Z', '2025-01-20T12:00:00.000Z'),
    ('learn-00000008', 'strategy', 'other', NULL, 'rejected', '[]', 0.5, 1.0, 0, 'imported', '[]', NULL, 1, 'rejected',
     'too short', NULL, '2025-01-20T12:00:00.000Z', '2025-01-20T12:00:00.000Z'),
    ('learn-00000009', 'strategy', 'other', 'bug-fix', '', '[]', 0.5, 1.0, 0, 'sigil', '[]', NULL, 2, 'promoted', NULL, NULL,
     '2025-01-20T12:00:00.000Z', '2025-01-20T12:00:00.000Z'),
    ('learn-0000000a', 'strategy', 'other', NULL, 'pruned', '[]', 0.5, 1.0, 0, 'sigil', '[]', NULL, 1, 'pruned', NULL,
     'learn-00000001', '2025-01-20T12:00:00.000Z', '2025-01-20T12:00:00.000Z'),
    ('learn-0000000b', 'strategy', 'other', NULL, 'kept', 'not JSON', 0.5, 1.0, 0, 'sigil', '[]', NULL, 1, 'pending', NULL,
     NULL, '2025-01-20T12:00:00.000Z', '2025-01-20T12:00:00.000Z'),
    ('learn-0000000c', 'strategy', 'other', NULL, 'Zeile' || char(10) || 'ä "quoted" \ ' || char(0) || ' 数据库', '[1, 2]',
     0.5, 1.0, 0, 'sigil', '[]', NULL, 1, 'pending', NULL, NULL, '2025-01-20T12:00:00.000Z', '2025-01-20T12:00:00.000Z'),
    ('learn-0000000d', 'strategy', 'other', NULL, '?!', '{"a": "b"}', 0.5, 1.0, 0, 'sigil', '[]', NULL, 1, 'pending', NULL,
     NULL, '2025-01-20T12:00:00.000Z', '2025-01-20T12:00:00.000Z'),
    ('learn-0000000e', 'strategy', 'other', NULL, 'odd', '["a\"b\\", "x\u0000y", "数据库", "", "a,b|c"]', 0.5, 1.0, 0,
     'sigil', '[]', NULL, 1, 'pending', NULL, NULL, '2025-01-20T12:00:00.000Z', '2025-01-20T12:00:00.000Z'),
    ('learn-0000000f', 'strategy', 'other', NULL, 'not UTF-8: ' || CAST(x'ff' AS TEXT), CAST(x'5b22ff225d' AS TEXT), 0.5, 1.0,
     0, 'sigil', '[]', NULL, 1, 'pending', NULL, NULL, '2025-01-20T12:00:00.000Z', '2025-01-20T12:00:00.000Z');
INSERT INTO injections (journal, kind, entry, digest, section, rank, tokens, score, reason, used) VALUES
    (1, 'memory', 'mem-1-abcd', -5, 'memories', 1, 12, 0.5, 'shown', 1),
    (1, 'knowledge', 'Title', 5, 'knowledge', 2, 12, NULL, 'over_budget', 0),
    (2, 'journal', '1', 5, 'journal', 1, 12, NULL, 'irrelevant', 0);
INSERT INTO outbox (worktree, journal, kind, payload, state, created_at) VALUES
    ('', 1, 'knowledge', '{}', 'queued', '2025-01-20T12:00:00.000Z'),
    ('wt', 2, 'knowledge', '{}', 'done', '2025-01-20T12:00:00.000Z');
INSERT INTO looks (worktree, journal, at) VALUES ('', 2, '2025-01-20T12:00:00.000Z');
INSERT INTO pauses (agent, reason, until, times, said, run, created_at) VALUES
    ('claude', 'usage_limit', '2025-01-20T12:00:00.000Z', 2, 'Later.', 'run-00000001', '2025-01-20T12:00:00.000Z');
INSERT INTO imported (tool, kind, foreign_id, made_at, id) VALUES ('refound', 'task', 'x', '', 't-00000a');
"#;

/// Rows of what came with iteration memory, and what had happened to lessons until the next step.
pub(super) const LATER_FILL: &str = r#"
UPDATE journal SET tags = '["src/lib.rs"]', task_type = 'bug-fix' WHERE id = 1;
UPDATE failure_reports SET gate = 'cargo test', gate_end = 'exit 1', signature = 'same-again' WHERE journal = 2;
UPDATE failure_reports SET signature = 'another', shortened_at = '2025-01-21T12:00:00.000Z' WHERE journal = 3;
UPDATE learnings SET use_count = 4, successes = 1, last_used_at = '2025-01-21T12:00:00.000Z', status = 'promoted'
    WHERE id = 'learn-00000001';
UPDATE learnings SET use_count = 3, successes = 2, status = 'promoted', restored_at = '2025-01-21T12:00:00.000Z'
    WHERE id = 'learn-00000002';
UPDATE learnings SET examples = '["said otherwise"]', success_rate = 0.25 WHERE id = 'learn-00000003';
UPDATE learnings SET pruned_from = 'promoted' WHERE id = 'learn-0000000a';
-- Told again by an iteration that failed, and never where it failed.
INSERT INTO learning_sources SELECT seq, 3 FROM learnings WHERE id = 'learn-00000001';
INSERT INTO lifecycle (step, journal, at) VALUES ('merge', 2, '2025-01-21T12:00:00.000Z');
"#;

/// Rows of what came with semantic memory.
pub(super) const LATEST_FILL: &str = r#"
UPDATE runs SET asks = 'What now?' WHERE id = 'run-00000001';
UPDATE learnings SET facts = '{}', hash = 'of another time', foreign_id = 'strat-1', original = '{}', quiet_showings = 2
    WHERE id = 'learn-00000001';
INSERT INTO learning_versions (learning, kind, category, content, tags, until)
    SELECT seq, kind, category, 'said before', '[]', '2025-01-22T12:00:00.000Z' FROM learnings WHERE id = 'learn-00000001';
INSERT INTO settled_conflicts VALUES ('learn-00000001', 'learn-00000003', '2025-01-22T12:00:00.000Z');
INSERT INTO extractions VALUES ('run-00000001', '2025-01-22T12:00:00.000Z', 5, 4, 1, 3, 0);
INSERT INTO learning_sources SELECT seq, 4 FROM learnings WHERE id = 'learn-00000007';
"#;
