//! Claude Code, which prints one JSON record a line. How its turn ended is told by the last of them, never by the code
//! that the program ends with, nor by the word `success`: both say so of turns that failed.

mod events;
mod limits;
mod outcome;
mod used;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use ralph_model::config::{CommandLine, Permissions};
use ralph_model::{Clock, Usage, first_line, preview};
use ralph_process::{Ended, HowEnded, Input};
use serde_json::Value;

use crate::allowed::MEMORY_COMMANDS;
use crate::command_words::has_option;
use crate::launch::{Heard, Launch, Listener, end_of_process, launch};
use crate::lenient::read_record;
use crate::newest::{Newest, short};
use crate::{
    Access, Agent, Denial, DriverError, EndOfTurn, RunningTurn, Said, StartError, Turn, TurnEnd, TurnEvent, TurnSink,
};
use events::{Block, Envelope, PlainUsage, RateLimit, ResultRecord, ToolInput};
use used::Used;

/// How much of what a tool is about is told.
const ABOUT_COLUMNS: usize = 200;
/// How much of output that is no record is told.
const GARBAGE_COLUMNS: usize = 200;

/// What makes it look at files and nothing else. In its default mode it asks before it changes anything, and nobody is
/// there to say yes; but what the user's own settings permit it does not ask for, so these tools are taken from it.
const READ_ONLY: &[&str] = &[
    "--permission-mode",
    "default",
    "--disallowedTools",
    "Bash,Edit,MultiEdit,Write,NotebookEdit",
    // No servers but those that the command names: their tools may do anything.
    "--strict-mcp-config",
];

/// Claude Code.
pub struct ClaudeAgent {
    words: Vec<String>,
    clock: Arc<dyn Clock + Send + Sync>,
}

impl ClaudeAgent {
    /// What it is called on record.
    pub(crate) const NAME: &str = "claude";

    /// Claude Code as a command line starts it; what makes it speak in records is added.
    ///
    /// # Errors
    /// When the line names no program.
    pub fn new(command: &CommandLine, clock: Arc<dyn Clock + Send + Sync>) -> Result<Self, DriverError> {
        let words = command.words().ok_or(DriverError::NoProgram)?;
        Ok(Self { words, clock })
    }

    /// Whether the command has an option.
    fn has(&self, option: &str) -> bool {
        has_option(&self.words, option)
    }

    fn words_for(&self, turn: &Turn<'_>) -> Vec<String> {
        let mut words = self.words.clone();
        if !self.has("-p") && !self.has("--print") {
            words.push("-p".to_owned());
        }
        words.extend(["--output-format", "stream-json", "--verbose"].map(String::from));
        words.extend(self.words_about(turn.access).iter().copied().map(String::from));
        words.extend(self.allowing_words(turn));
        if let Some(model) = turn.model.filter(|_| !self.has("--model")) {
            words.extend(["--model", model].map(String::from));
        }
        words
    }
}

impl ClaudeAgent {
    /// The words that say what it may do; none where the command says it already.
    fn words_about(&self, access: Access) -> &'static [&'static str] {
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
    /// The words that let it run ralph's memory commands and what is configured.
    fn allowing_words(&self, turn: &Turn<'_>) -> Vec<String> {
        if turn.access != Access::Work(Permissions::Edit) || self.permissions(Permissions::Edit).is_none() {
            return Vec::new();
        }
        let memory = MEMORY_COMMANDS.iter().map(|verb| format!("Bash(ralph {verb}:*)"));
        let exact = turn.allowed_commands.iter().filter_map(|command| exact_rule(command));
        let option = std::iter::once("--allowedTools".to_owned());
        option.chain(memory).chain(exact).collect()
    }
}

/// The rule that lets it run exactly this command; none where it has no such rule.
fn exact_rule(command: &str) -> Option<String> {
    let command = command.trim();
    // It takes every asterisk for a wildcard, however it is written.
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

    /// Who writes one of these options into the command has decided.
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

/// What the records of a turn have said so far. Of its calls the newest thousands are kept: one that is denied or fails is
/// answered soon, and what an older one has written is seen on disk.
pub(crate) struct Records {
    clock: Arc<dyn Clock + Send + Sync>,
    session: Option<String>,
    model: Option<String>,
    said: Said,
    /// The files that write calls name, each with the call's id.
    writes: Newest<(String, PathBuf)>,
    /// The calls that failed, by their ids.
    failed: Newest<String>,
    /// What every tool call would be as a denial, by the call's id: a record that denies one tells no more than that id.
    calls: Newest<(String, Denial)>,
    /// The denied calls, by their ids.
    denied: Newest<(String, Denial)>,
    rejected: Option<RateLimit>,
    /// The program's word for the error of the service that came last.
    error: Option<String>,
    result: Option<ResultRecord>,
    used: Used,
    /// The first line that is no record.
    garbage: Option<String>,
}

impl Records {
    pub(crate) fn new(clock: Arc<dyn Clock + Send + Sync>) -> Self {
        Self {
            clock,
            session: None,
            model: None,
            said: Said::default(),
            writes: Newest::default(),
            failed: Newest::default(),
            calls: Newest::default(),
            denied: Newest::default(),
            rejected: None,
            error: None,
            result: None,
            used: Used::default(),
            garbage: None,
        }
    }

    fn hear_message(&mut self, envelope: Envelope) -> Vec<TurnEvent> {
        // What a subagent says is said to the agent, not to us.
        let is_own = envelope.parent_tool_use_id.is_none();
        // A message of the program about an error of the service is nobody's answer.
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
        // What a subagent uses is used, too.
        let used = usage.and_then(|usage| self.used.count(message.id.as_deref(), usage));
        let mut told: Vec<TurnEvent> = used.map(TurnEvent::Used).into_iter().collect();
        for block in message.content.into_blocks() {
            match block {
                Block::Text { text } if is_own && is_answer => {
                    // One message may come in several records.
                    if message.id.is_none() {
                        self.said.next_message();
                    }
                    told.extend(self.said.tell(message.id.as_deref(), text));
                }
                Block::ToolUse { id, name, input } => {
                    if is_own {
                        self.said.tool();
                    }
                    let id = short(&id);
                    if let Some(file) = written_file(&name, &input) {
                        self.writes.push((id.clone(), file));
                    }
                    self.calls.push((id, outcome::denial(&name, &input)));
                    let about = input.about();
                    told.push(TurnEvent::Tool { name, about });
                }
                _ => {}
            }
        }
        if told.is_empty() {
            told.push(TurnEvent::Alive);
        }
        told
    }

    /// What the tools answered: a call that failed has written nothing.
    fn hear_answers(&mut self, envelope: Envelope) {
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

    fn hear_result(&mut self, line: &str) -> Vec<TurnEvent> {
        let Ok(mut result) = serde_json::from_str::<ResultRecord>(line) else {
            self.note_garbage(line);
            return vec![TurnEvent::Alive];
        };
        if result.session_id.is_some() {
            self.session.clone_from(&result.session_id);
        }
        result.error = result.error.or_else(|| self.error.clone());
        result.shorten();
        // One that tells nothing takes nothing back.
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
        // Whatever made the process end after that, the turn was over.
        if let Some(result) = &self.result {
            return outcome::end_of(result, self.rejected.as_ref(), self.clock.now());
        }
        match ended.how {
            HowEnded::Stopped | HowEnded::TimedOut => return TurnEnd::Stopped,
            HowEnded::OutputLimit => return TurnEnd::OutputLimit,
            HowEnded::Exited(_) | HowEnded::Signalled(_) => {}
        }
        match (end_of_process(ended), &self.garbage) {
            (TurnEnd::Finished, Some(line)) => TurnEnd::Garbage(format!("it printed what is no record: {line}")),
            (TurnEnd::Finished, None) => TurnEnd::Garbage("it ended without a result record".to_owned()),
            (crash, _) => crash,
        }
    }

    /// The last record lists what was denied; without one, what was told on the way counts. The same wish is told once.
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

    /// The files that were written by calls of which nobody says that they failed.
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
    fn hear(&mut self, line: &str) -> Heard {
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
            ("assistant", _) => return self.hear_message(envelope).into(),
            ("user", _) => self.hear_answers(envelope),
            ("rate_limit_event", _) => {
                // A limit that was rejected and is allowed again was waited for.
                self.rejected = envelope.rate_limit_info.filter(RateLimit::is_rejected);
            }
            ("result", _) => return self.hear_result(line).into(),
            _ => {}
        }
        vec![TurnEvent::Alive].into()
    }

    fn conclude(&mut self, ended: Ended) -> EndOfTurn {
        let end = self.end(&ended);
        let denials = self.denials();
        let result = self.result.take();
        let (messages, before_last_tool, left_out) = self.said.take();
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

/// Whether something is a record of a session.
pub(crate) fn is_record(value: &Value) -> bool {
    let has = |key| value.get(key).is_some_and(Value::is_string);
    has("type") && has("session_id")
}

/// The usage limit that a message of Claude Code's about an error tells of, or that what was paid for is used up; none when
/// it is not of a known form.
#[must_use]
pub fn claude_usage_limit(message: &str, now: jiff::Timestamp) -> Option<TurnEnd> {
    let spent = limits::read(message, now)?;
    let message = message.to_owned();
    Some(match spent {
        limits::Spent::Usage { resets_at } => TurnEnd::UsageLimit { resets_at, message },
        limits::Spent::Money => TurnEnd::Billing(message),
    })
}

/// The file that a call of a writing tool names.
fn written_file(tool: &str, input: &ToolInput) -> Option<PathBuf> {
    matches!(tool, "Write" | "Edit" | "MultiEdit" | "NotebookEdit")
        .then(|| input.path())
        .flatten()
        .map(PathBuf::from)
}

impl ToolInput {
    /// What a call is about: a path, a command, or what it asks for.
    fn about(&self) -> String {
        let about = self.path().or(self.command()).or_else(|| self.first_text());
        preview(first_line(about.unwrap_or_default()), ABOUT_COLUMNS)
    }
}

#[cfg(test)]
mod ends_tests;
#[cfg(test)]
mod tests;
