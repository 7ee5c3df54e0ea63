-- What lessons rest on: who told one is told apart from what it was drawn from, and work under a red gate proves nothing.

-- Whether a lesson was drawn from the row, and nobody told it there. Until now only those that nobody had told were drawn.
ALTER TABLE learning_sources ADD COLUMN drawn INTEGER NOT NULL DEFAULT 0;
UPDATE learning_sources SET drawn = 1 WHERE learning IN (SELECT seq FROM learnings WHERE source = 'extracted');
-- Whether a gate was red at the end as it had been before, so that nobody knows whether the work is good.
ALTER TABLE journal ADD COLUMN still_red INTEGER NOT NULL DEFAULT 0;
-- Lessons of agents that nobody has judged: every iteration asks for them, and must not read all that people handed in.
CREATE INDEX learnings_unjudged ON learnings (seq) WHERE status = 'pending' AND source = 'sigil';
-- Estimates are the same by the work that they are about, of which there are few; without this all lessons would be read.
CREATE INDEX learnings_estimates ON learnings (task_type) WHERE kind = 'estimate';
