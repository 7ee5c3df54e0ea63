-- What the agent was not allowed to do in an iteration, as a JSON list.
ALTER TABLE journal ADD COLUMN denials TEXT NOT NULL DEFAULT '[]';
