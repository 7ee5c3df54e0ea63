//! Claude Code in the loop: `ralph run` starts it, parses its output, and settles the task.

use ralph_testkit::model::Scenario;
use serde_json::{Value, json};

use super::Soak;

impl Soak {
    pub(super) fn works_on_a_task(&self) -> Result<(), String> {
        let file = self.project().join("made.txt");
        let content = "made\n".to_owned();
        self.server.play([Scenario::Writes { path: file, content }]);
        self.loop_over("Make the file", 0)?;
        if self.read("made.txt")? != "made\n" {
            return Err("the file does not contain what the model wrote".to_owned());
        }
        let row: Value = self.last_row()?;
        let facts = (
            &row["outcome"],
            &row["model"],
            &row["files_modified"][0],
            &row["usage"]["output_tokens"],
        );
        let expected = (&json!("done"), &json!("sonnet"), &json!("made.txt"), &json!(20));
        if facts == expected && row["usage"]["cost_usd"].as_f64() > Some(0.0) {
            return Ok(());
        }
        Err(format!("the journal says {row}"))
    }

    pub(super) fn names_what_is_denied(&self) -> Result<(), String> {
        let input = json!({ "command": "python3 -c \"open('denied.txt', 'w')\"", "description": "Make a file" });
        let tool = "Bash".to_owned();
        self.server.play([Scenario::Calls { tool, input }]);
        let printed = self.loop_over("Touch the file", 0)?;
        let permit = printed.contains("not allowed: Bash python3") && printed.contains("\"allow\"");
        if permit && !self.project().join("denied.txt").exists() {
            Ok(())
        } else {
            Err(format!("the run printed: {printed}"))
        }
    }

    /// Runs the loop over a new task and returns its standard error.
    fn loop_over(&self, task: &str, code: i32) -> Result<String, String> {
        let mut run = self.bare("ralph")?;
        let ended = run
            .envs(self.model_variables()?)
            .args(["run", task, "--limit", "1", "--model", "sonnet"])
            .output()
            .map_err(|error| format!("cannot start ralph: {error}"))?;
        let printed = String::from_utf8_lossy(&ended.stderr).into_owned();
        match ended.status.code() {
            Some(ended) if ended == code => Ok(printed),
            other => Err(format!("the run exited with {other:?}: {printed}")),
        }
    }

    /// The last journal entry.
    fn last_row(&self) -> Result<Value, String> {
        let rows = self.ralph(&["journal", "list", "--limit", "1", "--json"])?;
        let rows: Value = serde_json::from_str(&rows).map_err(|error| error.to_string())?;
        Ok(rows[0].clone())
    }
}
