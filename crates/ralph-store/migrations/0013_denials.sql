-- The permissions that were denied to the agent in an iteration, as a JSON list.
ALTER TABLE journal ADD COLUMN denials TEXT NOT NULL DEFAULT '[]';
