//! Every environment variable that ralph reads, and the only place that reads one.

use std::ffi::OsString;
use std::path::PathBuf;

/// A variable and what it does.
pub(crate) struct Variable {
    /// Its name.
    pub(crate) name: &'static str,
    /// What it does, as a sentence.
    pub(crate) about: &'static str,
}

/// The variables beside those of the configuration, which are named after their keys.
pub(crate) const VARIABLES: &[Variable] = &[
    NO_COLOR,
    COLUMNS,
    TERM,
    CI,
    LC_ALL,
    LC_CTYPE,
    LANG,
    VISUAL,
    EDITOR,
    PAGER,
    PATH,
    HOME,
    XDG_CONFIG_HOME,
    XDG_STATE_HOME,
    CLAUDE_PROJECT_DIR,
    MARKER,
    RUN_ID,
    ITERATION,
    NOW,
    SEED,
];

/// Whether colours are unwanted.
const NO_COLOR: Variable = Variable {
    name: "NO_COLOR",
    about: "When set to anything, output has no colours, unless `--color always` is given.",
};
/// The width to write tables in.
const COLUMNS: Variable = Variable {
    name: "COLUMNS",
    about: "The width of tables, in columns, where the terminal does not tell it.",
};
/// The kind of terminal.
const TERM: Variable = Variable {
    name: "TERM",
    about: "The kind of terminal. Where it is `dumb` or not set, `run` shows lines alone, and `review` a list.",
};
/// Whether a build machine runs this.
const CI: Variable = Variable {
    name: "CI",
    about: "When set to anything but `false`, `run` shows lines alone, and `review` a list.",
};
/// The language of everything.
const LC_ALL: Variable = Variable {
    name: "LC_ALL",
    about: "The first of `LC_ALL`, `LC_CTYPE` and `LANG` that is set says whether the terminal shows more than ASCII signs.",
};
/// The language of signs.
const LC_CTYPE: Variable = Variable {
    name: "LC_CTYPE",
    about: "See `LC_ALL`.",
};
/// The language.
const LANG: Variable = Variable {
    name: "LANG",
    about: "See `LC_ALL`.",
};
/// The editor for a screen.
const VISUAL: Variable = Variable {
    name: "VISUAL",
    about: "The editor that `memory edit` opens, and `review` by the key `e`.",
};
/// The editor.
const EDITOR: Variable = Variable {
    name: "EDITOR",
    about: "The editor when `VISUAL` is not set; without both `memory edit` opens `vi` at a terminal, and `review` asks for lines.",
};
/// The pager.
const PAGER: Variable = Variable {
    name: "PAGER",
    about: "The pager that the key `p` opens the prompt in while `run` goes on; without it the prompt is printed.",
};
/// Where programs are looked for.
const PATH: Variable = Variable {
    name: "PATH",
    about: "Where `setup` and `doctor` look whether an agent will find `ralph`, and `doctor` for agents.",
};
/// The person's folder.
const HOME: Variable = Variable {
    name: "HOME",
    about: "Without it git and agents do not find their settings, which `doctor` says.",
};
/// The folder of the user's configuration.
const XDG_CONFIG_HOME: Variable = Variable {
    name: "XDG_CONFIG_HOME",
    about: "Where your own configuration is, in `ralph/config.toml`; `~/.config` when it is not set.",
};
/// The folder of what programs remember.
const XDG_STATE_HOME: Variable = Variable {
    name: "XDG_STATE_HOME",
    about: "Where confirmed commands and backups of the database are kept; `~/.local/state` when it is not set.",
};
/// The folder of a session of Claude Code.
const CLAUDE_PROJECT_DIR: Variable = Variable {
    name: "CLAUDE_PROJECT_DIR",
    about: "The folder whose project `hook` works in when the agent does not name one. Claude Code sets it.",
};
/// The marker of an iteration.
const MARKER: Variable = Variable {
    name: ralph_process::MARKER_VARIABLE,
    about: "The marker of an iteration. `run` sets it; a command that has it acts as the agent.",
};
/// The run that a command belongs to.
pub(crate) const RUN_ID: Variable = Variable {
    name: "RALPH_RUN_ID",
    about: "The run of an iteration, which is recorded with what the agent stores. `run` sets it.",
};
/// The iteration that a command belongs to.
pub(crate) const ITERATION: Variable = Variable {
    name: "RALPH_ITERATION",
    about: "The number of an iteration, which is recorded with what the agent stores. `run` sets it.",
};
/// The fixed present.
const NOW: Variable = Variable {
    name: "RALPH_NOW",
    about: "Takes this RFC 3339 time for the present. For tests.",
};
/// The fixed randomness.
const SEED: Variable = Variable {
    name: "RALPH_SEED",
    about: "Makes ids from this number instead of at random. For tests.",
};

/// The value of a variable; one that is empty or not Unicode counts as not set.
pub(crate) fn read(name: &str) -> Option<String> {
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the one place that reads the environment"
    )]
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// Whether colours are unwanted.
pub(crate) fn no_color() -> bool {
    read(NO_COLOR.name).is_some()
}

/// The width that the environment asks for.
pub(crate) fn columns() -> Option<usize> {
    read(COLUMNS.name)?.parse().ok()
}

/// The kind of terminal.
pub(crate) fn terminal_kind() -> Option<String> {
    read(TERM.name)
}

/// Whether a build machine runs this.
pub(crate) fn is_ci() -> bool {
    read(CI.name).is_some_and(|value| value != "false")
}

/// Whether the terminal shows all signs.
pub(crate) fn has_unicode() -> bool {
    let language = read(LC_ALL.name)
        .or_else(|| read(LC_CTYPE.name))
        .or_else(|| read(LANG.name));
    let language = language.unwrap_or_default().to_lowercase().replace('-', "");
    language.ends_with("utf8") || language.contains("utf8@")
}

/// The person's pager, if they named one.
pub(crate) fn pager() -> Option<String> {
    read(PAGER.name).filter(|pager| !pager.trim().is_empty())
}

/// The person's editor, if they named one.
pub(crate) fn editor() -> Option<String> {
    read(VISUAL.name).or_else(|| read(EDITOR.name))
}

/// The folders that programs are looked for in.
pub(crate) fn program_folders() -> Vec<PathBuf> {
    read(PATH.name).map_or_else(Vec::new, |path| std::env::split_paths(&path).collect())
}

/// The user's home folder.
pub(crate) fn home() -> Option<PathBuf> {
    read(HOME.name).map(PathBuf::from)
}

/// Whether the person has a folder.
pub(crate) fn has_home() -> bool {
    home().is_some()
}

/// The folder for what programs remember of a person's choices.
pub(crate) fn state_folder() -> Option<PathBuf> {
    user_folder(&XDG_STATE_HOME, ".local/state")
}

/// The folder of the user's configuration.
pub(crate) fn config_folder() -> Option<PathBuf> {
    user_folder(&XDG_CONFIG_HOME, ".config")
}

/// A folder of the user's that a variable names; a relative path does not count.
fn user_folder(variable: &Variable, usual: &str) -> Option<PathBuf> {
    let named = read(variable.name).map(PathBuf::from);
    let named = named.filter(|folder| folder.is_absolute());
    named.or_else(|| Some(home()?.join(usual)))
}

/// Everything, for those that agents and gates inherit it.
pub(crate) fn all() -> Vec<(OsString, OsString)> {
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the one place that reads the environment"
    )]
    std::env::vars_os().collect()
}

/// The variables that begin like ours: their names, and whether their values are text.
pub(crate) fn variables_like_ours() -> Vec<(String, bool)> {
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the one place that reads the environment"
    )]
    let variables = std::env::vars_os();
    let mut ours: Vec<(String, bool)> = variables
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.to_str().is_some())))
        .filter(|(name, _)| name.starts_with("RALPH_"))
        .collect();
    ours.sort();
    ours
}

/// The folder that Claude Code works in.
pub(crate) fn claude_project() -> Option<PathBuf> {
    read(CLAUDE_PROJECT_DIR.name).map(PathBuf::from)
}

/// What the markers of the demo's own commands begin with: they are in no iteration.
pub(crate) const DEMO_MARKER: &str = "demo-";

/// The marker of the iteration that the command is in.
pub(crate) fn iteration_marker() -> Option<String> {
    read(MARKER.name).filter(|marker| !marker.starts_with(DEMO_MARKER))
}

/// The run that the command is in.
pub(crate) fn run_id() -> Option<String> {
    read(RUN_ID.name)
}

/// The iteration that the command is in.
pub(crate) fn iteration() -> Option<String> {
    read(ITERATION.name)
}

/// The time that a test fixes.
pub(crate) fn now() -> Option<String> {
    read(NOW.name)
}

/// The seed that a test fixes.
pub(crate) fn seed() -> Option<String> {
    read(SEED.name)
}

/// The folder that the command was started in.
pub(crate) fn working_folder() -> std::io::Result<PathBuf> {
    #[expect(clippy::disallowed_methods, reason = "this is the one place that asks for it")]
    std::env::current_dir()
}
