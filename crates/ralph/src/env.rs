//! Every environment variable that ralph reads, and the only code that reads them.

use std::ffi::OsString;
use std::path::PathBuf;

pub(crate) struct Variable {
    pub(crate) name: &'static str,
    /// A sentence for the reference page.
    pub(crate) about: &'static str,
}

/// All variables except those named after configuration keys.
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

const NO_COLOR: Variable = Variable {
    name: "NO_COLOR",
    about: "When set to anything, disables colors unless `--color always` is given.",
};
const COLUMNS: Variable = Variable {
    name: "COLUMNS",
    about: "The width of tables, in columns, if the terminal does not report its own.",
};
const TERM: Variable = Variable {
    name: "TERM",
    about: "The kind of terminal. If `dumb` or unset, `run` prints plain lines and `review` a list.",
};
const CI: Variable = Variable {
    name: "CI",
    about: "When set to anything but `false`, `run` prints plain lines and `review` a list.",
};
const LC_ALL: Variable = Variable {
    name: "LC_ALL",
    about: "The first of `LC_ALL`, `LC_CTYPE` and `LANG` that is set decides whether output may go beyond ASCII.",
};
const LC_CTYPE: Variable = Variable {
    name: "LC_CTYPE",
    about: "See `LC_ALL`.",
};
const LANG: Variable = Variable {
    name: "LANG",
    about: "See `LC_ALL`.",
};
const VISUAL: Variable = Variable {
    name: "VISUAL",
    about: "The editor that `memory edit` and the key `e` in `review` open.",
};
const EDITOR: Variable = Variable {
    name: "EDITOR",
    about: "The editor if `VISUAL` is not set. Without both, `memory edit` opens `vi` and `review` reads lines.",
};
const PAGER: Variable = Variable {
    name: "PAGER",
    about: "The pager in which the key `p` shows the prompt during `run`; without it the prompt is printed.",
};
const PATH: Variable = Variable {
    name: "PATH",
    about: "Where `setup` and `doctor` look for `ralph`, and `doctor` for agents.",
};
const HOME: Variable = Variable {
    name: "HOME",
    about: "Where git and agents find their settings; `doctor` reports if it is missing.",
};
const XDG_CONFIG_HOME: Variable = Variable {
    name: "XDG_CONFIG_HOME",
    about: "The folder of the user configuration, `ralph/config.toml`; `~/.config` if not set.",
};
const XDG_STATE_HOME: Variable = Variable {
    name: "XDG_STATE_HOME",
    about: "The folder of confirmed commands and database backups; `~/.local/state` if not set.",
};
const CLAUDE_PROJECT_DIR: Variable = Variable {
    name: "CLAUDE_PROJECT_DIR",
    about: "The project folder for `hook` if the agent does not name one. Claude Code sets it.",
};
const MARKER: Variable = Variable {
    name: ralph_process::MARKER_VARIABLE,
    about: "The marker of an iteration. `run` sets it; commands that have it run as the agent.",
};
pub(crate) const RUN_ID: Variable = Variable {
    name: "RALPH_RUN_ID",
    about: "The id of the current run, recorded with everything the agent stores. `run` sets it.",
};
pub(crate) const ITERATION: Variable = Variable {
    name: "RALPH_ITERATION",
    about: "The number of the current iteration, recorded with everything the agent stores. `run` sets it.",
};
const NOW: Variable = Variable {
    name: "RALPH_NOW",
    about: "Uses this RFC 3339 time as the current time. For tests.",
};
const SEED: Variable = Variable {
    name: "RALPH_SEED",
    about: "Derives ids from this number instead of at random. For tests.",
};

/// The value of a variable; an empty or non-Unicode value counts as unset.
pub(crate) fn read(name: &str) -> Option<String> {
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the one place that reads the environment"
    )]
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

pub(crate) fn no_color() -> bool {
    read(NO_COLOR.name).is_some()
}

pub(crate) fn columns() -> Option<usize> {
    read(COLUMNS.name)?.parse().ok()
}

pub(crate) fn terminal_kind() -> Option<String> {
    read(TERM.name)
}

pub(crate) fn is_ci() -> bool {
    read(CI.name).is_some_and(|value| value != "false")
}

/// Returns true if the locale is UTF-8.
pub(crate) fn has_unicode() -> bool {
    let language = read(LC_ALL.name)
        .or_else(|| read(LC_CTYPE.name))
        .or_else(|| read(LANG.name));
    let language = language.unwrap_or_default().to_lowercase().replace('-', "");
    language.ends_with("utf8") || language.contains("utf8@")
}

pub(crate) fn pager() -> Option<String> {
    read(PAGER.name).filter(|pager| !pager.trim().is_empty())
}

/// The user's editor, if set.
pub(crate) fn editor() -> Option<String> {
    read(VISUAL.name).or_else(|| read(EDITOR.name))
}

/// The folders of the PATH.
pub(crate) fn program_folders() -> Vec<PathBuf> {
    read(PATH.name).map_or_else(Vec::new, |path| std::env::split_paths(&path).collect())
}

pub(crate) fn home() -> Option<PathBuf> {
    read(HOME.name).map(PathBuf::from)
}

pub(crate) fn has_home() -> bool {
    home().is_some()
}

/// The user's state folder.
pub(crate) fn state_folder() -> Option<PathBuf> {
    user_folder(&XDG_STATE_HOME, ".local/state")
}

/// The user's configuration folder.
pub(crate) fn config_folder() -> Option<PathBuf> {
    user_folder(&XDG_CONFIG_HOME, ".config")
}

/// A user folder named by a variable; relative paths are ignored.
fn user_folder(variable: &Variable, usual: &str) -> Option<PathBuf> {
    let named = read(variable.name).map(PathBuf::from);
    let named = named.filter(|folder| folder.is_absolute());
    named.or_else(|| Some(home()?.join(usual)))
}

/// All variables, for agents and gates that inherit them.
pub(crate) fn all() -> Vec<(OsString, OsString)> {
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the one place that reads the environment"
    )]
    std::env::vars_os().collect()
}

/// The variables with our prefix, and whether their values are Unicode.
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

/// Claude Code's project folder.
pub(crate) fn claude_project() -> Option<PathBuf> {
    read(CLAUDE_PROJECT_DIR.name).map(PathBuf::from)
}

/// The prefix of markers of the demo's own commands, which are not in an iteration.
pub(crate) const DEMO_MARKER: &str = "demo-";

/// The marker of the current iteration.
pub(crate) fn iteration_marker() -> Option<String> {
    read(MARKER.name).filter(|marker| !marker.starts_with(DEMO_MARKER))
}

/// The current run.
pub(crate) fn run_id() -> Option<String> {
    read(RUN_ID.name)
}

/// The current iteration.
pub(crate) fn iteration() -> Option<String> {
    read(ITERATION.name)
}

/// The time fixed by a test.
pub(crate) fn now() -> Option<String> {
    read(NOW.name)
}

/// The seed fixed by a test.
pub(crate) fn seed() -> Option<String> {
    read(SEED.name)
}

/// The current directory.
pub(crate) fn working_folder() -> std::io::Result<PathBuf> {
    #[expect(clippy::disallowed_methods, reason = "this is the one place that asks for it")]
    std::env::current_dir()
}
