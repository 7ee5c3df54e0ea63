//! The Claude Code driver, which reads one JSON record per line. The last record decides how the turn ended, not the
//! exit code or the word `success`, which also occur in failed turns.

mod events;
mod limits;
mod outcome;
mod usage_counter;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use ralph_model::config::{CommandLine, Permissions};
use ralph_model::{Clock, Usage, first_line, preview};
use ralph_process::{Ended, ExitReason, Input};
use serde_json::Value;

use crate::allowed::MEMORY_COMMANDS;
use crate::command_words::has_option;
use crate::launch::{Launch, LineOutput, Listener, end_of_process, launch};
use crate::lenient::read_record;
use crate::newest::{Newest, short};
use crate::{
    Access, Agent, Denial, DriverError, EndOfTurn, MessageLog, RunningTurn, StartError, Turn, TurnEnd, TurnEvent,
    TurnSink,
};
use events::{Block, Envelope, PlainUsage, RateLimit, ResultRecord, ToolInput};
use usage_counter::UsageCounter;

const ABOUT_COLUMNS: usize = 200;
const GARBAGE_COLUMNS: usize = 200;

/// Limits the agent to reading. The default mode asks before changes, and no one can answer, but it does not ask for
/// what the user's own settings permit, so these tools are disabled.
const READ_ONLY: &[&str] = &[
    "--permission-mode",
    "default",
    "--disallowedTools",
    "Bash,Edit,MultiEdit,Write,NotebookEdit",
    // Allow only the MCP servers that the command names, because their tools may do anything.
    "--strict-mcp-config",
];

pub struct ClaudeAgent {
    words: Vec<String>,
    clock: Arc<dyn Clock + Send + Sync>,
}

impl ClaudeAgent {
    /// The recorded name.
    pub(crate) const NAME: &str = "claude";

    /// Creates the driver for a command line; adds the options for JSON output.
    ///
    /// # Errors
    /// If the command line names no program.
    pub fn new(command: &CommandLine, clock: Arc<dyn Clock + Send + Sync>) -> Result<Self, DriverError> {
        let words = command.words().ok_or(DriverError::NoProgram)?;
        Ok(Self { words, clock })
    }

    fn has(&self, option: &str) -> bool {
        has_option(&self.words, option)
    }

    fn words_for(&self, turn: &Turn<'_>) -> Vec<String> {
        let mut words = self.words.clone();
        if !self.has("-p") && !self.has("--print") {
            words.push("-p".to_owned());
        }
        words.extend(["--output-format", "stream-json", "--verbose"].map(String::from));
        words.extend(self.access_words(turn.access).iter().copied().map(String::from));
        words.extend(self.allowed_tools_words(turn));
        if let Some(model) = turn.model.filter(|_| !self.has("--model")) {
            words.extend(["--model", model].map(String::from));
        }
        words
    }
}

impl ClaudeAgent {
    /// The options for its permissions; empty if the command sets them.
    fn access_words(&self, access: Access) -> &'static [&'static str] {
        match access {
            Access::ReadOnly if self.can_be_read_only() => READ_ONLY,
            Access::ReadOnly => &[],
            Access::Work(asked) => self
                .permissions(asked)
                .map(|granted| self.permission_words(granted))
                .unwrap_or_default(),
        }
    }
}

impl ClaudeAgent {
    /// The options that allow ralph's memory commands and the configured commands.
    fn allowed_tools_words(&self, turn: &Turn<'_>) -> Vec<String> {
        if turn.access != Access::Work(Permissions::Edit) || self.permissions(Permissions::Edit).is_none() {
            return Vec::new();
        }
        let memory = MEMORY_COMMANDS.iter().map(|verb| format!("Bash(ralph {verb}:*)"));
        let exact = turn.allowed_commands.iter().filter_map(|command| exact_rule(command));
        let option = std::iter::once("--allowedTools".to_owned());
        option.chain(memory).chain(exact).collect()
    }
}

/// The rule that allows exactly this command; `None` if that cannot be expressed.
fn exact_rule(command: &str) -> Option<String> {
    let command = command.trim();
    // Claude Code treats every asterisk as a wildcard, even an escaped one.
    (!command.contains(['*', '\n'])).then(|| {
        let mut rule = String::from("Bash(");
        for character in command.chars() {
            if matches!(character, '\\' | '(' | ')') {
                rule.push('\\');
            }
            rule.push(character);
        }
        rule + ")"
    })
}

impl Agent for ClaudeAgent {
    fn name(&self) -> &str {
        Self::NAME
    }

    /// If the command has one of these options, the user has decided.
    fn permissions(&self, asked: Permissions) -> Option<Permissions> {
        let decided = self.has("--permission-mode") || self.has("--dangerously-skip-permissions");
        (!decided).then_some(asked)
    }

    fn permission_words(&self, granted: Permissions) -> &'static [&'static str] {
        match granted {
            Permissions::Edit => &["--permission-mode", "acceptEdits"],
            Permissions::Full => &["--permission-mode", "bypassPermissions"],
        }
    }

    fn can_be_read_only(&self) -> bool {
        self.permissions(Permissions::Edit).is_some()
    }

    fn start(&self, turn: &Turn<'_>, sink: TurnSink) -> Result<Box<dyn RunningTurn>, StartError> {
        let listener = Records::new(Arc::clone(&self.clock));
        let words = self.words_for(turn);
        let input = Input::Whole(turn.prompt.as_bytes().to_vec());
        launch(Launch { words, input }, turn, listener, sink)
    }
}

/// The state read from the records of a turn. Only a few thousand of the newest calls are kept: denials and failures
/// follow soon, and older writes are visible on disk.
pub(crate) struct Records {
    clock: Arc<dyn Clock + Send + Sync>,
    session: Option<String>,
    model: Option<String>,
    messages: MessageLog,
    /// The files named by write calls, with the ids of the calls.
    writes: Newest<(String, PathBuf)>,
    /// The ids of failed calls.
    failed: Newest<String>,
    /// The denial for each call by id, because a denial record contains only the id.
    calls: Newest<(String, Denial)>,
    /// The denied calls by id.
    denied: Newest<(String, Denial)>,
    rejected: Option<RateLimit>,
    /// The name of the last service error.
    error: Option<String>,
    result: Option<ResultRecord>,
    used: UsageCounter,
    /// The first line that is not a record.
    garbage: Option<String>,
}

impl Records {
    pub(crate) fn new(clock: Arc<dyn Clock + Send + Sync>) -> Self {
        Self {
            clock,
            session: None,
            model: None,
            messages: MessageLog::default(),
            writes: Newest::default(),
            failed: Newest::default(),
            calls: Newest::default(),
            denied: Newest::default(),
            rejected: None,
            error: None,
            result: None,
            used: UsageCounter::default(),
            garbage: None,
        }
    }

    fn on_message(&mut self, envelope: Envelope) -> Vec<TurnEvent> {
        // Subagents talk to the agent, not to the user.
        let is_own = envelope.parent_tool_use_id.is_none();
        // A generated message about a service error is not an answer.
        let no_word = envelope.is_api_error_message.then(|| "unknown".to_owned());
        let error = envelope.error.or(no_word);
        let is_answer = error.is_none();
        if is_own {
            self.error = error;
        }
        let Some(message) = envelope.message else {
            return vec![TurnEvent::Alive];
        };
        let usage = message.usage.as_ref().map(PlainUsage::usage);
        // Usage of subagents counts too.
        let used = usage.and_then(|usage| self.used.count(message.id.as_deref(), usage));
        let mut events: Vec<TurnEvent> = used.map(TurnEvent::Used).into_iter().collect();
        for block in message.content.into_blocks() {
            match block {
                Block::Text { text } if is_own && is_answer => {
                    // One message may be split into several records.
                    if message.id.is_none() {
                        self.messages.next_message();
                    }
                    events.extend(self.messages.append(message.id.as_deref(), text));
                }
                Block::ToolUse { id, name, input } => {
                    if is_own {
                        self.messages.tool();
                    }
                    let id = short(&id);
                    if let Some(file) = written_file(&name, &input) {
                        self.writes.push((id.clone(), file));
                    }
                    self.calls.push((id, outcome::denial(&name, &input)));
                    let about = input.about();
                    events.push(TurnEvent::Tool { name, about });
                }
                _ => {}
            }
        }
        if events.is_empty() {
            events.push(TurnEvent::Alive);
        }
        events
    }

    /// Records failed calls, which have not written anything.
    fn on_tool_results(&mut self, envelope: Envelope) {
        let blocks = envelope.message.map(|message| message.content.into_blocks());
        for block in blocks.unwrap_or_default() {
            if let Block::ToolResult {
                tool_use_id,
                is_error: true,
            } = block
            {
                self.failed.push(short(&tool_use_id));
            }
        }
    }

    fn on_result(&mut self, line: &str) -> Vec<TurnEvent> {
        let Ok(mut result) = serde_json::from_str::<ResultRecord>(line) else {
            self.note_garbage(line);
            return vec![TurnEvent::Alive];
        };
        if result.session_id.is_some() {
            self.session.clone_from(&result.session_id);
        }
        result.error = result.error.or_else(|| self.error.clone());
        result.shorten();
        // An empty usage does not reset the total.
        let used = Some(result.usage()).filter(|usage| *usage != Usage::default());
        self.result = Some(result);
        vec![used.map_or(TurnEvent::Alive, TurnEvent::Used)]
    }

    fn note_garbage(&mut self, line: &str) {
        if self.garbage.is_none() && !line.trim().is_empty() {
            self.garbage = Some(preview(line, GARBAGE_COLUMNS));
        }
    }

    fn end(&self, ended: &Ended) -> TurnEnd {
        // Once there is a result, the turn is over, however the process ended.
        if let Some(result) = &self.result {
            return outcome::end_of(result, self.rejected.as_ref(), self.clock.now());
        }
        match ended.how {
            ExitReason::Stopped | ExitReason::TimedOut => return TurnEnd::Stopped,
            ExitReason::OutputLimit => return TurnEnd::OutputLimit,
            ExitReason::Exited(_) | ExitReason::Signalled(_) => {}
        }
        match (end_of_process(ended), &self.garbage) {
            (TurnEnd::Finished, Some(line)) => {
                TurnEnd::Garbage(format!("it printed a line that is not a record: {line}"))
            }
            (TurnEnd::Finished, None) => TurnEnd::Garbage("it ended without a result record".to_owned()),
            (crash, _) => crash,
        }
    }

    /// The denials of the last record, or else those seen during the turn, without duplicates.
    fn denials(&mut self) -> Vec<Denial> {
        let listed = self
            .result
            .as_mut()
            .map(|result| std::mem::take(&mut result.permission_denials));
        for call in listed.unwrap_or_default() {
            let denial = outcome::denial(&call.tool_name, &call.tool_input);
            self.denied.push((short(&call.tool_use_id), denial));
        }
        let mut denials: Vec<Denial> = Vec::new();
        for (id, denial) in std::mem::take(&mut self.denied) {
            self.failed.push(id);
            if !denials.contains(&denial) {
                denials.push(denial);
            }
        }
        denials
    }

    /// The files written by calls that are not known to have failed.
    fn writes(&mut self) -> Vec<PathBuf> {
        let failed: BTreeSet<String> = std::mem::take(&mut self.failed).into_iter().collect();
        std::mem::take(&mut self.writes)
            .into_iter()
            .filter(|(call, _)| call.is_empty() || !failed.contains(call))
            .map(|(_, file)| file)
            .collect()
    }
}

impl Listener for Records {
    fn on_line(&mut self, line: &str) -> LineOutput {
        let Some(envelope) = read_record::<Envelope>(line) else {
            self.note_garbage(line);
            return vec![TurnEvent::Alive].into();
        };
        match (envelope.kind.as_str(), envelope.subtype.as_deref()) {
            ("system", Some("init")) => {
                self.session = envelope.session_id;
                self.model = envelope.model;
            }
            ("system", Some("permission_denied")) => {
                let id = envelope.tool_use_id.unwrap_or_default();
                if let Some(denial) = self.calls.get(&id) {
                    self.denied.push((short(&id), denial.clone()));
                }
            }
            ("assistant", _) => return self.on_message(envelope).into(),
            ("user", _) => self.on_tool_results(envelope),
            ("rate_limit_event", _) => {
                // If the limit allows requests again, it has been waited for.
                self.rejected = envelope.rate_limit_info.filter(RateLimit::is_rejected);
            }
            ("result", _) => return self.on_result(line).into(),
            _ => {}
        }
        vec![TurnEvent::Alive].into()
    }

    fn conclude(&mut self, ended: Ended) -> EndOfTurn {
        let end = self.end(&ended);
        let denials = self.denials();
        let result = self.result.take();
        let (messages, before_last_tool, left_out) = self.messages.take();
        EndOfTurn {
            end,
            messages,
            before_last_tool,
            left_out,
            denials,
            usage: result
                .as_ref()
                .map(ResultRecord::usage)
                .filter(|usage| *usage != Usage::default())
                .unwrap_or_else(|| self.used.sum()),
            session: self.session.take(),
            model: self.model.take(),
            writes: self.writes(),
            hint: None,
            stderr_tail: ended.stderr_tail,
            left_running: ended.left,
        }
    }
}

pub(crate) fn is_record(value: &Value) -> bool {
    let has = |key| value.get(key).is_some_and(Value::is_string);
    has("type") && has("session_id")
}

/// Parses a Claude Code error message about a usage limit or an exhausted budget; `None` if its form is unknown.
#[must_use]
pub fn claude_usage_limit(message: &str, now: jiff::Timestamp) -> Option<TurnEnd> {
    let spent = limits::read(message, now)?;
    let message = message.to_owned();
    Some(match spent {
        limits::Spent::Usage { resets_at } => TurnEnd::UsageLimit { resets_at, message },
        limits::Spent::Money => TurnEnd::Billing(message),
    })
}

/// The file named by a call of a writing tool.
fn written_file(tool: &str, input: &ToolInput) -> Option<PathBuf> {
    matches!(tool, "Write" | "Edit" | "MultiEdit" | "NotebookEdit")
        .then(|| input.path())
        .flatten()
        .map(PathBuf::from)
}

impl ToolInput {
    /// The subject of a call: a path, a command, or a query.
    fn about(&self) -> String {
        let about = self.path().or(self.command()).or_else(|| self.first_text());
        preview(first_line(about.unwrap_or_default()), ABOUT_COLUMNS)
    }
}

#[cfg(test)]
mod ends_tests;
#[cfg(test)]
mod tests;
