-- What format 4 adds: indexes.
CREATE INDEX idx_tasks_status_priority_created ON tasks (status, priority, created_at);
CREATE INDEX idx_tasks_parent ON tasks (parent_id);
CREATE INDEX idx_tasks_feature ON tasks (feature_id, status, priority, created_at);
CREATE INDEX idx_dependencies_blocked ON dependencies (blocked_id);
CREATE INDEX idx_task_logs_task ON task_logs (task_id, timestamp);
PRAGMA user_version = 4;
