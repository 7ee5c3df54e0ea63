//! The agents that are known to speak ACP: what each has to be told so that it does, and how it names a model and what it
//! may do.
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
//! A mode that is not offered is not asked for; but one who is to change nothing does not work in any other. What an agent
//! asks is answered by `permission.rs` in every mode.
//!
//! A user's own settings may permit an agent what it would ask for in its usual mode. So of whoever is to change nothing
//! either these tools are taken, whatever the settings say, or it is put into a mode in which they do not count. In Claude
//! Code's `plan` it would be told to end with a plan, where a verdict is wanted: that mode is the second best. Tools of MCP
//! servers are taken from claude-agent-acp alone; with the others those that a user's settings permit by name stay.
//!
//! What `edit` comes to: a command is asked for with all of them but codex-acp, and refused unless it is one of ralph's memory
//! commands, a gate, a check or one of `[agent] allow`. The sandbox of codex-acp lets all commands run and write in the
//! project and among the system's temporary files, and nowhere else. What a user's own settings of an
//! agent permit by name (a command, a tool of an MCP server), it does without asking. Of a program that is not known nobody
//! can say what it asks for.

use std::borrow::Cow;
use std::ffi::OsString;

use ralph_agent::{Access, has_option, program_name};
use ralph_model::config::Permissions;
use serde_json::{Map, Value, json};

/// An agent, as it is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Speaker {
    program: &'static str,
    /// What makes it speak ACP; an older word that does the same may stand for each.
    words: &'static [&'static [&'static str]],
    /// The options that name a model, the one to write first; none where it is chosen in the session.
    model_options: &'static [&'static str],
    /// Those in which it changes nothing at all, or nothing that it has not asked for; the best first.
    read_only_modes: &'static [&'static str],
    /// The options that take from it what changes anything.
    read_only_words: &'static [&'static str],
    /// The tools that are taken from it by what Claude Code is told with the session.
    taken_tools: &'static [&'static str],
    edit_modes: &'static [&'static str],
    full_modes: &'static [&'static str],
    /// The options by which a user has decided what it may do.
    deciding_options: &'static [&'static str],
    /// Variables that are set unless the user has set them.
    environment: &'static [(&'static str, &'static str)],
    /// Whether its permission requests have the command only as the title of the call.
    titles_are_commands: bool,
    /// The variable that holds rules about what it asks for, and the tools that it is to ask for.
    asks_by: Option<(&'static str, &'static [Asked])>,
}

/// A tool that an agent is to ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asked {
    /// One whose rules are patterns.
    ByPattern(&'static str),
    /// One that has one rule.
    Wholly(&'static str),
}

/// Those by whom the service is asked a second and a third time, and not for many minutes: the loop waits better.
const FEW_RETRIES: &[(&str, &str)] = &[("CLAUDE_CODE_MAX_RETRIES", "2")];

/// A login shell sets PATH anew on many systems, and then `ralph` is not found.
const NO_LOGIN_SHELL: &[(&str, &str)] = &[("CODEX_CONFIG", r#"{"allow_login_shell":false}"#)];

/// What Claude Code changes anything with.
const CHANGING_TOOLS: &[&str] = &["Bash", "Edit", "MultiEdit", "Write", "NotebookEdit"];

const SPEAKERS: &[Speaker] = &[
    Speaker {
        words: &[&["--acp", "--experimental-acp"], &["--skip-trust"]],
        model_options: &["-m", "--model"],
        read_only_modes: &["plan", "default"],
        edit_modes: &["autoEdit", "auto_edit"],
        full_modes: &["yolo"],
        deciding_options: &["--approval-mode", "--yolo", "-y"],
        titles_are_commands: true,
        ..Speaker::any("gemini")
    },
    Speaker {
        words: &[&["--acp", "--experimental-acp"]],
        model_options: &["-m", "--model"],
        read_only_modes: &["plan", "default"],
        edit_modes: &["auto-edit", "autoEdit"],
        full_modes: &["yolo"],
        deciding_options: &["--approval-mode", "--yolo", "-y"],
        ..Speaker::any("qwen")
    },
    Speaker {
        words: &[&["acp"]],
        edit_modes: &[],
        full_modes: &[],
        // By itself it does these without asking. Its variable comes above what its files say.
        asks_by: Some((
            "OPENCODE_PERMISSION",
            &[
                Asked::ByPattern("bash"),
                Asked::Wholly("webfetch"),
                Asked::Wholly("websearch"),
            ],
        )),
        ..Speaker::any("opencode")
    },
    Speaker {
        words: &[&["--acp"]],
        read_only_words: &["--deny-tool=write", "--deny-tool=shell"],
        edit_modes: &[],
        full_modes: &[],
        deciding_options: &["--allow-all-tools", "--allow-all", "--yolo"],
        ..Speaker::any("copilot")
    },
    Speaker {
        read_only_modes: &["default", "plan"],
        taken_tools: CHANGING_TOOLS,
        edit_modes: &["acceptEdits"],
        full_modes: &["bypassPermissions"],
        environment: FEW_RETRIES,
        ..Speaker::any("claude-agent-acp")
    },
    Speaker {
        read_only_modes: &["default", "plan"],
        taken_tools: CHANGING_TOOLS,
        edit_modes: &["acceptEdits"],
        full_modes: &["bypassPermissions"],
        environment: FEW_RETRIES,
        ..Speaker::any("claude-code-acp")
    },
    Speaker {
        read_only_modes: &["read-only"],
        edit_modes: &["agent", "auto"],
        full_modes: &["agent-full-access", "full-access"],
        environment: NO_LOGIN_SHELL,
        ..Speaker::any("codex-acp")
    },
];

impl Speaker {
    /// A program that is not known.
    const fn any(program: &'static str) -> Self {
        Self {
            program,
            words: &[],
            model_options: &[],
            read_only_modes: &[],
            read_only_words: &[],
            taken_tools: &[],
            edit_modes: &["acceptEdits", "autoEdit", "auto-edit", "agent"],
            full_modes: &["bypassPermissions", "yolo", "agent-full-access"],
            deciding_options: &[],
            environment: &[],
            titles_are_commands: false,
            asks_by: None,
        }
    }

    /// The one whose program these words start.
    pub(crate) fn of(words: &[String]) -> Self {
        let program = program_name(words);
        let known = SPEAKERS.iter().find(|speaker| speaker.program == program);
        known.copied().unwrap_or(Self {
            read_only_modes: &["read-only", "plan"],
            ..Self::any("")
        })
    }

    /// The words that start it for a turn: those of the user, with what is missing.
    pub(crate) fn words_for(&self, words: &[String], model: Option<&str>, allowed: Access) -> Vec<String> {
        let mut words = words.to_vec();
        for wanted in self.words {
            if wanted.iter().any(|word| has(&words, word)) {
                continue;
            }
            let Some(word) = wanted.first() else { continue };
            // A subcommand stands first.
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

    /// The model that is chosen in the session, and the one that the words name.
    pub(crate) fn model_in_session(&self, model: Option<&str>) -> Option<String> {
        model.filter(|_| self.model_options.is_empty()).map(str::to_owned)
    }

    /// Whether the words name a model.
    pub(crate) fn names_a_model(&self, words: &[String]) -> bool {
        self.model_options.iter().any(|option| has_option(words, option))
    }

    /// Its program; empty where it is not known.
    pub(crate) fn program(&self) -> &'static str {
        self.program
    }

    /// The modes in which it asks for nothing.
    pub(crate) fn modes_without_asking(&self) -> &'static [&'static str] {
        const NEVER: &[&str] = &["bypassPermissions", "yolo", "agent-full-access", "full-access"];
        const NEVER_OR_BY_ITSELF: &[&str] = &["bypassPermissions", "yolo", "agent-full-access", "full-access", "auto"];
        // What codex called so has its sandbox.
        if self.edit_modes.contains(&"auto") || !self.is_known() {
            NEVER
        } else {
            NEVER_OR_BY_ITSELF
        }
    }

    /// Whether its permission requests have the command only as the title of the call.
    pub(crate) fn titles_are_commands(&self) -> bool {
        self.titles_are_commands
    }

    /// Whether it is known what it asks for.
    pub(crate) fn is_known(&self) -> bool {
        !self.program.is_empty()
    }

    /// Whether the user has decided what it may do.
    pub(crate) fn is_decided(&self, words: &[String]) -> bool {
        self.deciding_options.iter().any(|option| has_option(words, option))
    }

    /// The modes that fit what it may do, the best first.
    pub(crate) fn modes(&self, access: Access) -> &'static [&'static str] {
        match access {
            Access::ReadOnly => self.read_only_modes,
            Access::Work(Permissions::Edit) => self.edit_modes,
            Access::Work(Permissions::Full) => self.full_modes,
        }
    }

    /// The tools that are taken from it with the session.
    pub(crate) fn taken_tools(&self, allowed: Access) -> &'static [&'static str] {
        match allowed {
            Access::ReadOnly => self.taken_tools,
            Access::Work(_) => &[],
        }
    }

    /// The variables that it gets beside those that are set, or in their place.
    pub(crate) fn variables(&self, set: &[(OsString, OsString)], allowed: Access) -> Vec<(OsString, OsString)> {
        let is_set = |name: &str| set.iter().find(|(other, _)| other == name);
        let missing = self.environment.iter().filter(|(name, _)| is_set(name).is_none());
        let mut variables: Vec<(OsString, OsString)> =
            missing.map(|(name, value)| (name.into(), value.into())).collect();
        if let Some((name, tools)) = self.asks_by {
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

/// Rules by which these tools are asked for, made from those of the user: what he permits by a rule of its own stays
/// permitted, as long as his rule comes after the one for everything, and what he forbids stays forbidden.
fn asking(users: Option<Cow<'_, str>>, tools: &[Asked]) -> String {
    const ASK: &str = "ask";
    let mut rules = rules_of(users);
    for tool in tools {
        let (name, rule) = match *tool {
            Asked::ByPattern(name) => (name, json!({ "*": ASK })),
            Asked::Wholly(name) => (name, json!(ASK)),
        };
        match rules.get_mut(name) {
            Some(Value::String(word)) if word == "deny" => {}
            Some(Value::Object(patterns)) => drop(patterns.insert("*".to_owned(), json!(ASK))),
            _ => drop(rules.insert(name.to_owned(), rule)),
        }
    }
    Value::Object(rules).to_string()
}

/// Rules by which these tools, and every change of a file, are forbidden, whatever the user permits. The last rule that fits
/// holds, so they come after all of his.
fn forbidding(users: Option<Cow<'_, str>>, tools: &[Asked]) -> String {
    let mut rules = rules_of(users);
    let names = tools.iter().map(|tool| match *tool {
        Asked::ByPattern(name) | Asked::Wholly(name) => name,
    });
    for name in names.chain(["edit"]) {
        rules.shift_remove(name);
        rules.insert(name.to_owned(), json!("deny"));
    }
    Value::Object(rules).to_string()
}

/// The user's own rules.
fn rules_of(users: Option<Cow<'_, str>>) -> Map<String, Value> {
    let users = users.and_then(|text| serde_json::from_str::<Value>(&text).ok());
    match users {
        Some(Value::Object(rules)) => rules,
        // One word for everything.
        Some(word @ Value::String(_)) => Map::from_iter([("*".to_owned(), word)]),
        _ => Map::new(),
    }
}

/// Whether words have this one.
fn has(words: &[String], wanted: &str) -> bool {
    words.iter().skip(1).any(|word| word == wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(command: &str, model: Option<&str>, expected: &str) {
        let words: Vec<String> = command.split(' ').map(str::to_owned).collect();
        let started = Speaker::of(&words).words_for(&words, model, Permissions::Edit.into());
        assert_eq!(started.join(" "), expected, "{command}");
    }

    #[test]
    fn what_changes_anything_is_taken_from_whoever_only_looks() {
        let speaker = |program: &str| Speaker::of(&[program.to_owned()]);
        let words = ["copilot".to_owned()];
        let started = speaker("copilot").words_for(&words, None, Access::ReadOnly);
        assert_eq!(started.join(" "), "copilot --acp --deny-tool=write --deny-tool=shell");
        for program in ["claude-agent-acp", "claude-code-acp"] {
            let taken = speaker(program).taken_tools(Access::ReadOnly);
            assert!(
                ["Bash", "Edit", "Write"].iter().all(|tool| taken.contains(tool)),
                "{program}"
            );
            assert!(speaker(program).taken_tools(Permissions::Edit.into()).is_empty());
        }
        // Their own settings may permit an edit in any mode but this.
        for program in ["gemini", "qwen"] {
            assert_eq!(speaker(program).modes(Access::ReadOnly).first(), Some(&"plan"));
        }
    }

    #[test]
    fn what_is_missing_is_added_and_what_was_written_is_kept() {
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
    fn who_wrote_what_it_may_do_has_decided() {
        let decided = |command: &str| {
            let words: Vec<String> = command.split(' ').map(str::to_owned).collect();
            Speaker::of(&words).is_decided(&words)
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
            &[Asked::ByPattern("bash"), Asked::Wholly("webfetch")],
        );
        let [asked, expected] = [asked.as_str(), expected].map(|text| serde_json::from_str::<Value>(text).unwrap());
        assert_eq!(asked, expected, "{users:?}");
    }

    #[test]
    fn opencode_asks_for_commands_whatever_else_its_user_says() {
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
    fn rules_are_given_to_opencode_alone_and_only_where_it_is_to_ask() {
        let variables = |command: &str, allowed: Permissions, set: &[(OsString, OsString)]| {
            Speaker::of(&[command.to_owned()]).variables(set, allowed.into())
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
    fn opencode_is_forbidden_to_change_anything_whatever_its_user_permits() {
        let rules = |users: &str| {
            let set = [("OPENCODE_PERMISSION".into(), users.into())];
            let found = Speaker::of(&["opencode".to_owned()]).variables(&set, Access::ReadOnly);
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
