-- A small project: a feature whose parent task has two parts, one done and one being worked on; a task that waits for it;
-- one that has failed; and four iterations.
INSERT INTO features (id, name, status, created_at, updated_at) VALUES
    ('f-0a0b0c', 'search', 'running', '2026-02-18T09:00:00.123456789+00:00', '2026-02-18T10:00:00+00:00');
INSERT INTO tasks (id, parent_id, title, description, status, priority, created_at, updated_at, claimed_by, feature_id,
                   task_type, retry_count, max_retries, verification_status) VALUES
    ('t-aaaaaa', NULL, 'Search the notes', 'All of it.', 'in_progress', 1, '2026-02-18T09:01:00+00:00',
     '2026-02-18T09:30:00+00:00', NULL, 'f-0a0b0c', 'feature', 0, 3, NULL),
    ('t-bbbbbb', 't-aaaaaa', 'Cut words', '', 'done', 1, '2026-02-18T09:02:00+00:00', '2026-02-18T09:20:00+00:00', NULL,
     'f-0a0b0c', 'feature', 1, 3, 'passed'),
    ('t-cccccc', 't-aaaaaa', 'Rank what is found', NULL, 'in_progress', 2, '2026-02-18T09:03:00+00:00',
     '2026-02-18T09:30:00+00:00', 'agent-12345678', 'f-0a0b0c', 'feature', 2, 3, 'failed'),
    ('t-dddddd', NULL, 'Show what was found', '', 'blocked', 0, '2026-02-18T09:04:00+00:00', '2026-02-18T09:04:00+00:00',
     NULL, 'f-0a0b0c', 'feature', 0, 3, NULL),
    ('t-1a2b3c4d', NULL, 'Mend the build', '', 'failed', 3, '2026-02-24T09:05:00+00:00', '2026-02-24T09:40:00+00:00', NULL,
     NULL, 'standalone', 3, 3, NULL);
INSERT INTO dependencies (blocker_id, blocked_id) VALUES ('t-aaaaaa', 't-dddddd'), ('t-bbbbbb', 't-cccccc');
INSERT INTO task_logs (task_id, message, timestamp) VALUES
    ('t-bbbbbb', 'Verification failed: no tests', '2026-02-18T09:15:00+00:00'),
    ('t-cccccc', 'User guidance: use BM25', '2026-02-18T09:25:00+00:00');
INSERT INTO journal (run_id, iteration, task_id, feature_id, outcome, model, duration_secs, cost_usd, files_modified, notes,
                     created_at) VALUES
    ('run-1a2b3c4d', 1, 't-bbbbbb', 'f-0a0b0c', 'retried', 'sonnet', 12.5, 0.0042, '["src/words.rs"]',
     'The tokenizer splits at dashes.', '2026-02-18T09:15:00+00:00'),
    ('run-1a2b3c4d', 2, 't-bbbbbb', 'f-0a0b0c', 'done', 'opus', 60, 0.5, '["src/words.rs","tests/words.rs"]', NULL,
     '2026-02-18T09:20:00+00:00'),
    ('run-1a2b3c4d', 3, 't-cccccc', 'f-0a0b0c', 'failed', NULL, NULL, 0.0, NULL, 'Ranking needs counts first.',
     '2026-02-18T09:30:00+00:00'),
    ('run-5e6f7a8b', 1, 't-1a2b3c4d', NULL, 'blocked', 'haiku', 3.25, 0.0, '[]', 'gcc is missing: «ld: cannot find -lz»',
     '2026-02-24T09:40:00+00:00');
