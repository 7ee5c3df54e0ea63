//! Runs one case: a fresh project, `ralph run` with the real agent, and checks of the result.

use std::process::Stdio;

use ralph_testkit::model::{ModelServer, RecordedRequest};
use serde_json::Value;

use super::RealAgent;
use super::case::{CONTENT, Case, Expected, FILE, GATE, GATE_OUTPUT, MEDDLED_FILE, NOTE, denied_file};
use super::install::Installed;
use super::sandbox::Sandbox;
use crate::child::output;
use crate::programs::Programs;

/// How long a run may take before it is asked to stop, and how long it may take to stop.
const RUN_LIMIT_S: &str = "300";
const STOP_LIMIT_S: &str = "20";
/// The idle limit in the `Cut` case, where some agents retry on their own.
const CUT_IDLE_LIMIT_S: u32 = 120;
/// The number of memories: enough for half of them to be visibly fewer.
const MEMORIES: usize = 40;
const MEMORY: &str = "A quokka sleeps in house number";

/// Runs a case; if it fails, its folder is kept.
pub(super) fn check(agent: &RealAgent, installed: &Installed, case: Case, programs: &Programs) -> Result<(), String> {
    let mut folders = installed.programs().to_vec();
    folders.push(programs.folder().to_owned());
    let sandbox = Sandbox::new(folders)?;
    let task = prepare(agent, case, &sandbox)?;
    let scenarios = case.scenarios(&sandbox.checkout(&task), &sandbox.project());
    let mut run = Run {
        agent,
        case,
        server: ModelServer::start(scenarios).map_err(|error| error.to_string())?,
        sandbox,
        stderr: String::new(),
    };
    run.go().map_err(|why| {
        let stderr = run.stderr.trim().replace('\n', "\n    ");
        let kept = run.sandbox.into_path();
        format!(
            "{why}\n  project kept in {}; stderr of the run:\n    {stderr}",
            kept.display()
        )
    })
}

struct Run<'a> {
    agent: &'a RealAgent,
    case: Case,
    server: ModelServer,
    sandbox: Sandbox,
    stderr: String,
}

/// Prepares a git project with notes, a gate and one task, and returns the id of the task.
fn prepare(agent: &RealAgent, case: Case, sandbox: &Sandbox) -> Result<String, String> {
    let RealAgent {
        program,
        driver,
        patience_s,
        ..
    } = agent;
    // Some agents retry a cut stream silently for a minute before they give up.
    let idle_s = if case == Case::Cut {
        CUT_IDLE_LIMIT_S
    } else {
        *patience_s
    };
    sandbox.write("README.md", "A project.\n")?;
    let note = |n: usize| {
        format!("### mem-17373{n:05}-0000\n> {MEMORY} {n}.\n<!-- tags: quokka | created: 2025-01-20 -->\n\n")
    };
    let notes: String = (0..MEMORIES).map(note).collect();
    sandbox.write(".agent/memories.md", &format!("# Memories\n\n## Context\n\n{notes}"))?;
    sandbox.write(
        ".ralph.toml",
        &format!(
            "[agent]\ncommand = [{program:?}]\nkind = {driver:?}\n\n\
             [verify]\ncommands = [\"{GATE}\"]\n\n\
             [execution]\nverify = {}\n\n\
             [limits]\nidle_time = \"{idle_s}s\"\niteration_time = \"{}s\"\n",
            case == Case::Verified,
            idle_s * 2
        ),
    )?;
    if matches!(case, Case::SetUp | Case::WithoutMemory) {
        output(sandbox.bare("ralph")?.args(["setup", "claude", "--yes"]))?;
    }
    sandbox.put_under_git()?;
    output(sandbox.bare("ralph")?.args(["task", "add", "Make the file"]))
}

/// Checks that every request about the task contains the first memory `wanted` times.
fn check_notes(asked: &[RecordedRequest], wanted: usize) -> Result<(), String> {
    let first = format!("{MEMORY} 1.");
    let about_task = asked.iter().filter(|asked| asked.body.contains("## Assigned Task"));
    let counts: Vec<usize> = about_task.map(|asked| asked.body.matches(&first).count()).collect();
    match !counts.is_empty() && counts.iter().all(|count| *count == wanted) {
        true => Ok(()),
        false => Err(format!(
            "the requests contain the memory {counts:?} times, expected {wanted}"
        )),
    }
}

impl Run<'_> {
    fn go(&mut self) -> Result<(), String> {
        let code = self.run()?;
        let expected = (self.agent.differs)(self.case).unwrap_or_else(|| self.case.expected());
        let asked = self.server.take_requests();
        if asked.is_empty() {
            return Err("the model got no requests".to_owned());
        }
        // Check for leftovers first.
        self.sandbox.check_no_processes_left()?;
        self.check_no_connections()?;
        // Read the pauses now: a wait may last only seconds.
        let waits = self.json(&["status", "--json"])?["runs"]["pauses"].clone();
        self.check_settled(code, &expected)?;
        Self::check_next_wait(&waits, &expected)?;
        match self.case {
            Case::Works => self.check_work(),
            Case::Verified => self.check_verified(&asked),
            Case::Permitted => self.check_permitted(&asked),
            Case::SetUp => check_notes(&asked, 1),
            Case::WithoutMemory => check_notes(&asked, 0),
            Case::Overflow => self.check_reduced_memory(&asked),
            Case::Denied if std::path::Path::new(&denied_file(&self.sandbox.project())).exists() => {
                Err("the denied command created its file".to_owned())
            }
            _ => Ok(()),
        }
    }

    /// Runs the loop and returns its exit code.
    fn run(&mut self) -> Result<i32, String> {
        let variables = (self.agent.set_up)(&self.sandbox, &self.server.url())?;
        let mut run = self.sandbox.bare("timeout")?;
        let ended = run
            .args([&format!("--kill-after={STOP_LIMIT_S}"), RUN_LIMIT_S])
            .args(["ralph", "run", "--trust", "--limit", self.case.iterations()])
            .args(self.case.arguments())
            .envs(variables)
            .stdout(Stdio::piped())
            .output()
            .map_err(|error| format!("cannot start ralph: {error}"))?;
        self.stderr = String::from_utf8_lossy(&ended.stderr).into_owned();
        self.sandbox.write("../run.log", &self.stderr)?;
        ended
            .status
            .code()
            .ok_or_else(|| format!("ralph was killed by a signal: {}", ended.status))
    }

    /// Compares the exit code, the journal, the task and the output.
    fn check_settled(&self, code: i32, expected: &Expected) -> Result<(), String> {
        let rows = self.rows()?;
        let word = |row: &Value, key: &str| row[key].as_str().unwrap_or_default().to_owned();
        let found: Vec<(String, String)> = rows
            .iter()
            .map(|row| (word(row, "outcome"), word(row, "stop")))
            .collect();
        let same = found.iter().map(|(outcome, stop)| (outcome.as_str(), stop.as_str()));
        if !same.eq(expected.rows.iter().copied()) {
            let reasons: Vec<String> = rows.iter().map(|row| word(row, "reason")).collect();
            return Err(format!(
                "the journal has {found:?}, expected {:?}; reasons: {reasons:?}",
                expected.rows
            ));
        }
        if code != expected.code {
            return Err(format!("the run exited with code {code}, expected {}", expected.code));
        }
        let task = self.json(&["task", "list", "--all", "--json"])?[0].clone();
        let status = if expected.code == 0 { "done" } else { "pending" };
        if task["status"] != status || task["retries_used"].as_u64() != Some(expected.attempts) {
            return Err(format!("the task is {task}"));
        }
        match expected.printed.iter().find(|text| !self.stderr.contains(**text)) {
            Some(text) => Err(format!("the run did not print {text:?}")),
            None => Ok(()),
        }
    }

    /// The next run waits only after a service failure, for the recorded reason.
    fn check_next_wait(waits: &Value, expected: &Expected) -> Result<(), String> {
        let stop = expected.rows.last().map(|(_, stop)| *stop);
        let wanted = stop.filter(|stop| matches!(*stop, "transient" | "usage_limit"));
        match (waits[0]["reason"].as_str(), wanted) {
            (found, wanted) if found == wanted => Ok(()),
            _ => Err(format!("the next run waits for {waits}, expected {wanted:?}")),
        }
    }

    /// The file exists, and session and usage are recorded.
    fn check_work(&self) -> Result<(), String> {
        let content = self.sandbox.read(FILE)?;
        if content != CONTENT {
            return Err(format!("the file contains {content:?}"));
        }
        let rows = self.rows()?;
        let row = rows.first().cloned().unwrap_or_default();
        if row["files_modified"] != serde_json::json!([FILE]) {
            return Err(format!("the journal has the wrong files: {row}"));
        }
        let folder = format!(".ralph/runs/{}/001", row["run"].as_str().unwrap_or_default());
        let result: Value = serde_json::from_str(&self.sandbox.read(&format!("{folder}/result.json"))?)
            .map_err(|error| error.to_string())?;
        if !result["session"].is_string() {
            return Err(format!("the result has no session: {result}"));
        }
        let as_expected = self.agent.tells_usage == (row["usage"]["output_tokens"].as_u64() > Some(0));
        if as_expected {
            Ok(())
        } else {
            Err(format!("the recorded usage is {}", row["usage"]))
        }
    }

    /// The memory is stored, and the model got the output of the gate.
    fn check_permitted(&self, asked: &[RecordedRequest]) -> Result<(), String> {
        let notes = self.sandbox.read(".agent/memories.md")?;
        if !notes.contains(NOTE) {
            return Err("the memory is not stored".to_owned());
        }
        match asked.iter().any(|asked| asked.body.contains(GATE_OUTPUT)) {
            true => Ok(()),
            false => Err("the gate was not run".to_owned()),
        }
    }

    /// The second prompt has fewer memories than the first, but some.
    fn check_reduced_memory(&self, asked: &[RecordedRequest]) -> Result<(), String> {
        let counts: Vec<usize> = asked.iter().map(|asked| asked.body.matches(MEMORY).count()).collect();
        let first = counts.iter().copied().max().unwrap_or_default();
        let last = counts.last().copied().unwrap_or_default();
        if 0 < last && last < first {
            Ok(())
        } else {
            Err(format!("unexpected numbers of memories in the requests: {counts:?}"))
        }
    }

    /// The verifier had its own prompt and could not write its file.
    fn check_verified(&self, asked: &[RecordedRequest]) -> Result<(), String> {
        if !asked.iter().any(|asked| asked.body.contains("# Verification")) {
            return Err("the verifier was not run".to_owned());
        }
        if self.sandbox.project().join(MEDDLED_FILE).exists() {
            return Err(format!("the read-only session wrote {MEDDLED_FILE}"));
        }
        Ok(())
    }

    /// No connection to the model is open: a process with one would have escaped the process check.
    fn check_no_connections(&self) -> Result<(), String> {
        /// The state of an open connection.
        const ESTABLISHED: &str = "01";
        let port: u16 = self
            .server
            .url()
            .rsplit(':')
            .next()
            .and_then(|port| port.parse().ok())
            .unwrap_or_default();
        let table =
            std::fs::read_to_string("/proc/net/tcp").map_err(|error| format!("cannot read /proc/net/tcp: {error}"))?;
        let to_the_model = format!(":{port:04X}");
        let open = table.lines().filter(|line| {
            let mut words = line.split_whitespace().skip(2);
            words.next().is_some_and(|remote| remote.ends_with(&to_the_model)) && words.next() == Some(ESTABLISHED)
        });
        match open.count() {
            0 => Ok(()),
            many => Err(format!("{many} connections to the model are still open")),
        }
    }

    /// The journal entries, oldest first.
    fn rows(&self) -> Result<Vec<Value>, String> {
        let rows = self.json(&["journal", "list", "--json"])?;
        let mut rows = rows.as_array().cloned().unwrap_or_default();
        rows.sort_by_key(|row| row["id"].as_i64());
        Ok(rows)
    }

    fn json(&self, arguments: &[&str]) -> Result<Value, String> {
        let text = output(self.sandbox.bare("ralph")?.args(arguments))?;
        serde_json::from_str(&text).map_err(|error| format!("{arguments:?} did not print JSON: {error}"))
    }
}
