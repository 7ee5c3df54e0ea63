//! The known ACP agents: the arguments that make each speak ACP, and how it selects a model and permissions.
//!
//! | program | words | model | read-only | `edit` | `full` |
//! |---|---|---|---|---|---|
//! | gemini | `--acp --skip-trust` | `-m` | mode `plan`, else `default` | mode `autoEdit` | mode `yolo` |
//! | qwen | `--acp` | `-m` | mode `plan`, else `default` | mode `auto-edit` | mode `yolo` |
//! | opencode | `acp` | in the session | forbidden by `OPENCODE_PERMISSION` | asks by the same variable | as its own settings say |
//! | copilot | `--acp` | in the session | `--deny-tool` for writing and commands | asks, and is answered | the same |
//! | claude-agent-acp | | in the session | mode `default`, else `plan`, without the tools that change anything | mode `acceptEdits` | mode `bypassPermissions` (not offered to root) |
//! | codex-acp | | in the session | mode `read-only` | mode `agent` | mode `agent-full-access` |
//! | any other | | in the session | mode `read-only` or `plan`, if it is offered | any of these modes, if it is offered | the same |
//!
//! Modes that are not offered are not requested, but a read-only turn never runs in another mode. In every mode,
//! `permission.rs` answers the agent's permission requests.
//!
//! A user's own settings may permit an agent what it would otherwise ask for. So a read-only turn either disables these
//! tools regardless of the settings, or uses a mode that ignores them. In Claude Code's `plan` mode the agent gets
//! to end with a plan, but a verdict is needed, so that mode is the second choice. MCP tools are disabled only for
//! claude-agent-acp; the others keep those that the user's settings permit by name.
//!
//! Under `edit`, all of them except codex-acp ask before a command, which is refused unless it is one of ralph's memory
//! commands, a gate, a check, or in `[agent] allow`. The sandbox of codex-acp runs all commands, but they can write
//! only to the project and the system's temporary files. Whatever the user's own agent settings permit by name (a
//! command, an MCP tool), the agent does without asking. What an unknown program asks for is not known.

use std::borrow::Cow;
use std::ffi::OsString;

use ralph_agent::{Access, has_option, program_name};
use ralph_model::config::Permissions;
use serde_json::{Map, Value, json};

/// A kind of agent and how to start it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AcpAgentKind {
    program: &'static str,
    /// The arguments that make it speak ACP, each with older spellings.
    words: &'static [&'static [&'static str]],
    /// The options that name a model, preferred one first; empty if it is chosen in the session.
    model_options: &'static [&'static str],
    /// The modes that change nothing, or nothing without asking, best first.
    read_only_modes: &'static [&'static str],
    /// The options that disable tools that change anything.
    read_only_words: &'static [&'static str],
    /// The tools to disable in the settings that Claude Code gets with the session.
    disabled_tools: &'static [&'static str],
    edit_modes: &'static [&'static str],
    full_modes: &'static [&'static str],
    /// The options by which a user sets permissions.
    deciding_options: &'static [&'static str],
    /// Variables that are set unless the user has set them.
    environment: &'static [(&'static str, &'static str)],
    /// Whether its permission requests have the command only in the title of the call.
    titles_are_commands: bool,
    /// The variable with permission rules, and the tools that must ask.
    permission_variable: Option<(&'static str, &'static [AskingTool])>,
}

/// A tool that must ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AskingTool {
    /// The tool's rules are patterns.
    ByPattern(&'static str),
    /// The tool has a single rule.
    Single(&'static str),
}

/// Allow only a few retries, not many minutes of them: the loop waits better.
const FEW_RETRIES: &[(&str, &str)] = &[("CLAUDE_CODE_MAX_RETRIES", "2")];

/// On many systems a login shell resets PATH, and then `ralph` is not found.
const NO_LOGIN_SHELL: &[(&str, &str)] = &[("CODEX_CONFIG", r#"{"allow_login_shell":false}"#)];

/// The tools with which Claude Code can change anything.
const WRITING_TOOLS: &[&str] = &["Bash", "Edit", "MultiEdit", "Write", "NotebookEdit"];

const SPEAKERS: &[AcpAgentKind] = &[
    AcpAgentKind {
        words: &[&["--acp", "--experimental-acp"], &["--skip-trust"]],
        model_options: &["-m", "--model"],
        read_only_modes: &["plan", "default"],
        edit_modes: &["autoEdit", "auto_edit"],
        full_modes: &["yolo"],
        deciding_options: &["--approval-mode", "--yolo", "-y"],
        titles_are_commands: true,
        ..AcpAgentKind::any("gemini")
    },
    AcpAgentKind {
        words: &[&["--acp", "--experimental-acp"]],
        model_options: &["-m", "--model"],
        read_only_modes: &["plan", "default"],
        edit_modes: &["auto-edit", "autoEdit"],
        full_modes: &["yolo"],
        deciding_options: &["--approval-mode", "--yolo", "-y"],
        ..AcpAgentKind::any("qwen")
    },
    AcpAgentKind {
        words: &[&["acp"]],
        edit_modes: &[],
        full_modes: &[],
        // By default it does these without asking. The variable overrides its settings files.
        permission_variable: Some((
            "OPENCODE_PERMISSION",
            &[
                AskingTool::ByPattern("bash"),
                AskingTool::Single("webfetch"),
                AskingTool::Single("websearch"),
            ],
        )),
        ..AcpAgentKind::any("opencode")
    },
    AcpAgentKind {
        words: &[&["--acp"]],
        read_only_words: &["--deny-tool=write", "--deny-tool=shell"],
        edit_modes: &[],
        full_modes: &[],
        deciding_options: &["--allow-all-tools", "--allow-all", "--yolo"],
        ..AcpAgentKind::any("copilot")
    },
    AcpAgentKind {
        read_only_modes: &["default", "plan"],
        disabled_tools: WRITING_TOOLS,
        edit_modes: &["acceptEdits"],
        full_modes: &["bypassPermissions"],
        environment: FEW_RETRIES,
        ..AcpAgentKind::any("claude-agent-acp")
    },
    AcpAgentKind {
        read_only_modes: &["default", "plan"],
        disabled_tools: WRITING_TOOLS,
        edit_modes: &["acceptEdits"],
        full_modes: &["bypassPermissions"],
        environment: FEW_RETRIES,
        ..AcpAgentKind::any("claude-code-acp")
    },
    AcpAgentKind {
        read_only_modes: &["read-only"],
        edit_modes: &["agent", "auto"],
        full_modes: &["agent-full-access", "full-access"],
        environment: NO_LOGIN_SHELL,
        ..AcpAgentKind::any("codex-acp")
    },
];

impl AcpAgentKind {
    /// An unknown program.
    const fn any(program: &'static str) -> Self {
        Self {
            program,
            words: &[],
            model_options: &[],
            read_only_modes: &[],
            read_only_words: &[],
            disabled_tools: &[],
            edit_modes: &["acceptEdits", "autoEdit", "auto-edit", "agent"],
            full_modes: &["bypassPermissions", "yolo", "agent-full-access"],
            deciding_options: &[],
            environment: &[],
            titles_are_commands: false,
            permission_variable: None,
        }
    }

    /// The kind of agent that these words start.
    pub(crate) fn of(words: &[String]) -> Self {
        let program = program_name(words);
        let known = SPEAKERS.iter().find(|speaker| speaker.program == program);
        known.copied().unwrap_or(Self {
            read_only_modes: &["read-only", "plan"],
            ..Self::any("")
        })
    }

    /// The words to start it for a turn: the user's, plus what is missing.
    pub(crate) fn words_for(&self, words: &[String], model: Option<&str>, allowed: Access) -> Vec<String> {
        let mut words = words.to_vec();
        for wanted in self.words {
            if wanted.iter().any(|word| has(&words, word)) {
                continue;
            }
            let Some(word) = wanted.first() else { continue };
            // A subcommand goes first.
            let place = if word.starts_with('-') { words.len() } else { 1 };
            words.insert(place.min(words.len()), (*word).to_owned());
        }
        if let (Some(model), Some(option)) = (model, self.model_options.first())
            && !self.names_a_model(&words)
        {
            words.extend([(*option).to_owned(), model.to_owned()]);
        }
        if allowed == Access::ReadOnly {
            words.extend(self.read_only_words.iter().copied().map(String::from));
        }
        words
    }

    /// The model to choose in the session; `None` if the arguments name it.
    pub(crate) fn model_in_session(&self, model: Option<&str>) -> Option<String> {
        model.filter(|_| self.model_options.is_empty()).map(str::to_owned)
    }

    pub(crate) fn names_a_model(&self, words: &[String]) -> bool {
        self.model_options.iter().any(|option| has_option(words, option))
    }

    /// Its program; empty if unknown.
    pub(crate) fn program(&self) -> &'static str {
        self.program
    }

    pub(crate) fn modes_without_asking(&self) -> &'static [&'static str] {
        const NEVER_ASK: &[&str] = &["bypassPermissions", "yolo", "agent-full-access", "full-access"];
        const NEVER_ASK_OR_AUTO: &[&str] = &["bypassPermissions", "yolo", "agent-full-access", "full-access", "auto"];
        // In older versions of codex this mode has a sandbox.
        if self.edit_modes.contains(&"auto") || !self.is_known() {
            NEVER_ASK
        } else {
            NEVER_ASK_OR_AUTO
        }
    }

    pub(crate) fn titles_are_commands(&self) -> bool {
        self.titles_are_commands
    }

    /// Whether the program is known.
    pub(crate) fn is_known(&self) -> bool {
        !self.program.is_empty()
    }

    /// Whether the user's command sets permissions.
    pub(crate) fn sets_permissions(&self, words: &[String]) -> bool {
        self.deciding_options.iter().any(|option| has_option(words, option))
    }

    /// The modes for these permissions, best first.
    pub(crate) fn modes(&self, access: Access) -> &'static [&'static str] {
        match access {
            Access::ReadOnly => self.read_only_modes,
            Access::Work(Permissions::Edit) => self.edit_modes,
            Access::Work(Permissions::Full) => self.full_modes,
        }
    }

    /// The tools to disable with the session.
    pub(crate) fn disabled_tools(&self, allowed: Access) -> &'static [&'static str] {
        match allowed {
            Access::ReadOnly => self.disabled_tools,
            Access::Work(_) => &[],
        }
    }

    /// The variables to add to or replace in the environment.
    pub(crate) fn variables(&self, set: &[(OsString, OsString)], allowed: Access) -> Vec<(OsString, OsString)> {
        let is_set = |name: &str| set.iter().find(|(other, _)| other == name);
        let missing = self.environment.iter().filter(|(name, _)| is_set(name).is_none());
        let mut variables: Vec<(OsString, OsString)> =
            missing.map(|(name, value)| (name.into(), value.into())).collect();
        if let Some((name, tools)) = self.permission_variable {
            let users = is_set(name).map(|(_, value)| value.to_string_lossy());
            let rules = match allowed {
                Access::ReadOnly => Some(forbidding(users, tools)),
                Access::Work(Permissions::Edit) => Some(asking(users, tools)),
                Access::Work(Permissions::Full) => None,
            };
            variables.extend(rules.map(|rules| (name.into(), rules.into())));
        }
        variables
    }
}

/// Adds rules that make these tools ask to the user's rules. What the user permits or forbids by a rule of its own
/// stays that way, if that rule comes after the one for everything.
fn asking(users: Option<Cow<'_, str>>, tools: &[AskingTool]) -> String {
    const ASK: &str = "ask";
    let mut rules = rules_of(users);
    for tool in tools {
        let (name, rule) = match *tool {
            AskingTool::ByPattern(name) => (name, json!({ "*": ASK })),
            AskingTool::Single(name) => (name, json!(ASK)),
        };
        match rules.get_mut(name) {
            Some(Value::String(word)) if word == "deny" => {}
            Some(Value::Object(patterns)) => drop(patterns.insert("*".to_owned(), json!(ASK))),
            _ => drop(rules.insert(name.to_owned(), rule)),
        }
    }
    Value::Object(rules).to_string()
}

/// Adds rules that forbid these tools and all file changes, whatever the user permits. The last matching rule wins, so
/// they come at the end.
fn forbidding(users: Option<Cow<'_, str>>, tools: &[AskingTool]) -> String {
    let mut rules = rules_of(users);
    let names = tools.iter().map(|tool| match *tool {
        AskingTool::ByPattern(name) | AskingTool::Single(name) => name,
    });
    for name in names.chain(["edit"]) {
        rules.shift_remove(name);
        rules.insert(name.to_owned(), json!("deny"));
    }
    Value::Object(rules).to_string()
}

fn rules_of(users: Option<Cow<'_, str>>) -> Map<String, Value> {
    let users = users.and_then(|text| serde_json::from_str::<Value>(&text).ok());
    match users {
        Some(Value::Object(rules)) => rules,
        // One value for everything.
        Some(word @ Value::String(_)) => Map::from_iter([("*".to_owned(), word)]),
        _ => Map::new(),
    }
}

fn has(words: &[String], wanted: &str) -> bool {
    words.iter().skip(1).any(|word| word == wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(command: &str, model: Option<&str>, expected: &str) {
        let words: Vec<String> = command.split(' ').map(str::to_owned).collect();
        let started = AcpAgentKind::of(&words).words_for(&words, model, Permissions::Edit.into());
        assert_eq!(started.join(" "), expected, "{command}");
    }

    #[test]
    fn read_only_turn_disables_writing_tools() {
        let speaker = |program: &str| AcpAgentKind::of(&[program.to_owned()]);
        let words = ["copilot".to_owned()];
        let started = speaker("copilot").words_for(&words, None, Access::ReadOnly);
        assert_eq!(started.join(" "), "copilot --acp --deny-tool=write --deny-tool=shell");
        for program in ["claude-agent-acp", "claude-code-acp"] {
            let taken = speaker(program).disabled_tools(Access::ReadOnly);
            assert!(
                ["Bash", "Edit", "Write"].iter().all(|tool| taken.contains(tool)),
                "{program}"
            );
            assert!(speaker(program).disabled_tools(Permissions::Edit.into()).is_empty());
        }
        // In any other mode, the agent's own settings may permit an edit.
        for program in ["gemini", "qwen"] {
            assert_eq!(speaker(program).modes(Access::ReadOnly).first(), Some(&"plan"));
        }
    }

    #[test]
    fn missing_arguments_are_added_and_given_ones_kept() {
        check("gemini", None, "gemini --acp --skip-trust");
        check(
            "/opt/bin/gemini -d",
            Some("pro"),
            "/opt/bin/gemini -d --acp --skip-trust -m pro",
        );
        check(
            "gemini --experimental-acp --skip-trust --model=x",
            Some("pro"),
            "gemini --experimental-acp --skip-trust --model=x",
        );
        check(
            "qwen --auth-type openai",
            Some("coder"),
            "qwen --auth-type openai --acp -m coder",
        );
        check("gemini -mflash", Some("pro"), "gemini -mflash --acp --skip-trust");
        check("opencode", Some("big"), "opencode acp");
        check("opencode acp --print-logs", None, "opencode acp --print-logs");
        check("copilot --acp", Some("big"), "copilot --acp");
        check("claude-agent-acp", Some("opus"), "claude-agent-acp");
        check("my-agent --speak acp", Some("x"), "my-agent --speak acp");
    }

    #[test]
    fn permission_options_of_the_user_win() {
        let decided = |command: &str| {
            let words: Vec<String> = command.split(' ').map(str::to_owned).collect();
            AcpAgentKind::of(&words).sets_permissions(&words)
        };
        assert!(decided("gemini --approval-mode=plan"));
        assert!(decided("qwen -y"));
        assert!(!decided("gemini"));
        assert!(!decided("other --yolo"));
    }

    #[track_caller]
    fn check_asking(users: Option<&str>, expected: &str) {
        let asked = asking(
            users.map(Cow::Borrowed),
            &[AskingTool::ByPattern("bash"), AskingTool::Single("webfetch")],
        );
        let [asked, expected] = [asked.as_str(), expected].map(|text| serde_json::from_str::<Value>(text).unwrap());
        assert_eq!(asked, expected, "{users:?}");
    }

    #[test]
    fn opencode_always_asks_for_commands() {
        let ours = r#"{"bash":{"*":"ask"},"webfetch":"ask"}"#;
        check_asking(None, ours);
        check_asking(Some("no JSON"), ours);
        check_asking(Some(r#"{"bash":"allow"}"#), ours);
        check_asking(
            Some(r#""allow""#),
            r#"{"*":"allow","bash":{"*":"ask"},"webfetch":"ask"}"#,
        );
        check_asking(
            Some(r#"{"edit":"deny","bash":{"*":"allow","cargo *":"allow"},"webfetch":"deny"}"#),
            r#"{"edit":"deny","bash":{"*":"ask","cargo *":"allow"},"webfetch":"deny"}"#,
        );
    }

    #[test]
    fn only_opencode_gets_permission_rules() {
        let variables = |command: &str, allowed: Permissions, set: &[(OsString, OsString)]| {
            AcpAgentKind::of(&[command.to_owned()]).variables(set, allowed.into())
        };
        let found = variables("opencode", Permissions::Edit, &[]);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].0, "OPENCODE_PERMISSION");
        assert_eq!(variables("opencode", Permissions::Full, &[]), []);
        assert_eq!(variables("gemini", Permissions::Edit, &[]), []);
        let set = [("CLAUDE_CODE_MAX_RETRIES".into(), "9".into())];
        assert_eq!(variables("claude-agent-acp", Permissions::Edit, &set), []);
    }

    #[test]
    fn read_only_opencode_cannot_change_anything() {
        let rules = |users: &str| {
            let set = [("OPENCODE_PERMISSION".into(), users.into())];
            let found = AcpAgentKind::of(&["opencode".to_owned()]).variables(&set, Access::ReadOnly);
            found[0].1.to_str().unwrap().to_owned()
        };
        let denials = r#""bash":"deny","webfetch":"deny","websearch":"deny","edit":"deny"}"#;
        // The order is a part of it: the last rule that fits holds.
        for (users, kept) in [
            (r#"{"edit":"allow","read":"ask"}"#, r#"{"read":"ask","#),
            (r#"{"edit":"ask","*":"allow","bash":{"*":"allow"}}"#, r#"{"*":"allow","#),
            (r#""allow""#, r#"{"*":"allow","#),
            ("no JSON", "{"),
        ] {
            assert_eq!(rules(users), format!("{kept}{denials}"), "{users}");
        }
    }
}
