//! One case: a fresh project, `ralph run` with the real agent, and what became of it.

use std::process::Stdio;

use ralph_testkit::model::{Asked, ModelServer};
use serde_json::Value;

use super::RealAgent;
use super::case::{CONTENT, Case, Expected, FILE, GATE, GATE_OUTPUT, MEDDLED, NOTE, denied_file};
use super::install::Installed;
use super::place::Place;
use crate::child::output;
use crate::programs::Programs;

/// How long a run may take, in seconds, after which it is asked to stop; and how long that may take.
const RUN_LIMIT_S: &str = "300";
const STOP_LIMIT_S: &str = "20";
/// How long an agent may be silent where it tries again by itself, in seconds.
const CUT_PATIENCE_S: u32 = 120;
/// How many memories there are: so many that half of them are fewer.
const MEMORIES: usize = 40;
const MEMORY: &str = "A quokka sleeps in house number";

/// Runs a case; where it fails, its folder is kept.
pub(super) fn check(agent: &RealAgent, installed: &Installed, case: Case, programs: &Programs) -> Result<(), String> {
    let mut folders = installed.programs().to_vec();
    folders.push(programs.folder().to_owned());
    let place = Place::new(folders)?;
    let task = prepare(agent, case, &place)?;
    let scenarios = case.scenarios(&place.checkout(&task), &place.project());
    let mut run = Run {
        agent,
        case,
        server: ModelServer::start(scenarios).map_err(|error| error.to_string())?,
        place,
        said: String::new(),
    };
    run.go().map_err(|why| {
        let said = run.said.trim().replace('\n', "\n    ");
        let kept = run.place.keep();
        format!("{why}\n  it is kept in {}; the run said:\n    {said}", kept.display())
    })
}

struct Run<'a> {
    agent: &'a RealAgent,
    case: Case,
    server: ModelServer,
    place: Place,
    said: String,
}

/// A project under git with notes, one task and a gate; the id of the task.
fn prepare(agent: &RealAgent, case: Case, place: &Place) -> Result<String, String> {
    let RealAgent {
        program,
        driver,
        patience_s,
        ..
    } = agent;
    // Some try again for a minute without a word when a stream is cut, and only then give up.
    let idle_s = if case == Case::Cut { CUT_PATIENCE_S } else { *patience_s };
    place.write("README.md", "A project.\n")?;
    let note = |n: usize| {
        format!("### mem-17373{n:05}-0000\n> {MEMORY} {n}.\n<!-- tags: quokka | created: 2025-01-20 -->\n\n")
    };
    let notes: String = (0..MEMORIES).map(note).collect();
    place.write(".agent/memories.md", &format!("# Memories\n\n## Context\n\n{notes}"))?;
    place.write(
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
        output(place.bare("ralph")?.args(["setup", "claude", "--yes"]))?;
    }
    place.put_under_git()?;
    output(place.bare("ralph")?.args(["task", "add", "Make the file"]))
}

/// Every request about the task has the first memory `wanted` times.
fn has_notes(asked: &[Asked], wanted: usize) -> Result<(), String> {
    let first = format!("{MEMORY} 1.");
    let about_task = asked.iter().filter(|asked| asked.body.contains("## Assigned Task"));
    let counts: Vec<usize> = about_task.map(|asked| asked.body.matches(&first).count()).collect();
    match !counts.is_empty() && counts.iter().all(|count| *count == wanted) {
        true => Ok(()),
        false => Err(format!(
            "the requests had the memory {counts:?} times, and {wanted} is wanted"
        )),
    }
}

impl Run<'_> {
    fn go(&mut self) -> Result<(), String> {
        let code = self.run()?;
        let expected = (self.agent.differs)(self.case).unwrap_or_else(|| self.case.expected());
        let asked = self.server.take_asked();
        if asked.is_empty() {
            return Err("the model was not asked at all".to_owned());
        }
        // First what would do harm.
        self.place.nothing_is_left_running()?;
        self.nobody_is_connected()?;
        // A wait may be one of seconds.
        let waits = self.json(&["status", "--json"])?["runs"]["pauses"].clone();
        self.is_settled(code, &expected)?;
        Self::is_waited_for(&waits, &expected)?;
        match self.case {
            Case::Works => self.has_worked(),
            Case::Verified => self.was_looked_at(&asked),
            Case::Permitted => self.was_permitted(&asked),
            Case::SetUp => has_notes(&asked, 1),
            Case::WithoutMemory => has_notes(&asked, 0),
            Case::Overflow => self.has_less_memory(&asked),
            Case::Denied if std::path::Path::new(&denied_file(&self.place.project())).exists() => {
                Err("the file that nobody permitted is there".to_owned())
            }
            _ => Ok(()),
        }
    }

    /// Runs the loop, and gives its exit code.
    fn run(&mut self) -> Result<i32, String> {
        let variables = (self.agent.set_up)(&self.place, &self.server.url())?;
        let mut run = self.place.bare("timeout")?;
        let ended = run
            .args([&format!("--kill-after={STOP_LIMIT_S}"), RUN_LIMIT_S])
            .args(["ralph", "run", "--trust", "--limit", self.case.iterations()])
            .args(self.case.arguments())
            .envs(variables)
            .stdout(Stdio::piped())
            .output()
            .map_err(|error| format!("cannot start ralph: {error}"))?;
        self.said = String::from_utf8_lossy(&ended.stderr).into_owned();
        self.place.write("../run.log", &self.said)?;
        ended
            .status
            .code()
            .ok_or_else(|| format!("ralph was ended by a signal: {}", ended.status))
    }

    /// Compares the exit code, the journal, the task and what was told.
    fn is_settled(&self, code: i32, expected: &Expected) -> Result<(), String> {
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
                "the journal says {found:?}, not {:?}; reasons: {reasons:?}",
                expected.rows
            ));
        }
        if code != expected.code {
            return Err(format!("the run ended with exit code {code}, not {}", expected.code));
        }
        let task = self.json(&["task", "list", "--all", "--json"])?[0].clone();
        let status = if expected.code == 0 { "done" } else { "pending" };
        if task["status"] != status || task["retries_used"].as_u64() != Some(expected.attempts) {
            return Err(format!("the task is {task}"));
        }
        match expected.told.iter().find(|text| !self.said.contains(**text)) {
            Some(text) => Err(format!("the run did not say {text:?}")),
            None => Ok(()),
        }
    }

    /// The next run waits after a failure of the service, for the reason that is on record, and after nothing else.
    fn is_waited_for(waits: &Value, expected: &Expected) -> Result<(), String> {
        let stop = expected.rows.last().map(|(_, stop)| *stop);
        let wanted = stop.filter(|stop| matches!(*stop, "transient" | "usage_limit"));
        match (waits[0]["reason"].as_str(), wanted) {
            (found, wanted) if found == wanted => Ok(()),
            _ => Err(format!("the next run waits for {waits}, and {wanted:?} is wanted")),
        }
    }

    /// The file is there, and what the agent tells of the session is on record.
    fn has_worked(&self) -> Result<(), String> {
        let held = self.place.read(FILE)?;
        if held != CONTENT {
            return Err(format!("the file holds {held:?}"));
        }
        let rows = self.rows()?;
        let row = rows.first().cloned().unwrap_or_default();
        if row["files_modified"] != serde_json::json!([FILE]) {
            return Err(format!("the journal names other files: {row}"));
        }
        let folder = format!(".ralph/runs/{}/001", row["run"].as_str().unwrap_or_default());
        let result: Value = serde_json::from_str(&self.place.read(&format!("{folder}/result.json"))?)
            .map_err(|error| error.to_string())?;
        if !result["session"].is_string() {
            return Err(format!("the session has no name: {result}"));
        }
        let told = self.agent.tells_usage == (row["usage"]["output_tokens"].as_u64() > Some(0));
        if told {
            Ok(())
        } else {
            Err(format!("what it used is {}", row["usage"]))
        }
    }

    /// The note is stored, and the model got the output of the gate.
    fn was_permitted(&self, asked: &[Asked]) -> Result<(), String> {
        let notes = self.place.read(".agent/memories.md")?;
        if !notes.contains(NOTE) {
            return Err("the note is not stored".to_owned());
        }
        match asked.iter().any(|asked| asked.body.contains(GATE_OUTPUT)) {
            true => Ok(()),
            false => Err("the gate was not run".to_owned()),
        }
    }

    /// The second prompt holds fewer memories than the first, but some.
    fn has_less_memory(&self, asked: &[Asked]) -> Result<(), String> {
        let counts: Vec<usize> = asked.iter().map(|asked| asked.body.matches(MEMORY).count()).collect();
        let first = counts.iter().copied().max().unwrap_or_default();
        let last = counts.last().copied().unwrap_or_default();
        if 0 < last && last < first {
            Ok(())
        } else {
            Err(format!("the requests held so many memories: {counts:?}"))
        }
    }

    /// A second session had a prompt of its own, and could not write what it wanted to.
    fn was_looked_at(&self, asked: &[Asked]) -> Result<(), String> {
        if !asked.iter().any(|asked| asked.body.contains("# Verification")) {
            return Err("nobody was asked to look at the work".to_owned());
        }
        if self.place.project().join(MEDDLED).exists() {
            return Err(format!("the session that was to change nothing has written {MEDDLED}"));
        }
        Ok(())
    }

    /// Nobody speaks to the model any more; whoever did would have escaped the look at the processes.
    fn nobody_is_connected(&self) -> Result<(), String> {
        /// The state of a connection that is open.
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

    /// The rows of the journal, the first one first.
    fn rows(&self) -> Result<Vec<Value>, String> {
        let rows = self.json(&["journal", "list", "--json"])?;
        let mut rows = rows.as_array().cloned().unwrap_or_default();
        rows.sort_by_key(|row| row["id"].as_i64());
        Ok(rows)
    }

    fn json(&self, arguments: &[&str]) -> Result<Value, String> {
        let text = output(self.place.bare("ralph")?.args(arguments))?;
        serde_json::from_str(&text).map_err(|error| format!("{arguments:?} gave no JSON: {error}"))
    }
}
