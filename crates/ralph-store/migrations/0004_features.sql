-- Where a feature stands follows from its tasks and is never written down.
ALTER TABLE features DROP COLUMN status;
CREATE INDEX tasks_by_feature ON tasks (feature) WHERE feature IS NOT NULL;
