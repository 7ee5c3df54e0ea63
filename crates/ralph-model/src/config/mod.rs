//! The configuration: the user's file, `.ralph.toml` and the environment, in increasing precedence.
//!
//! Callers pass in the texts and variables; nothing here reads files or the environment. `keys.rs` has the table of all
//! keys, which is the source of parsing, warnings, the template of `ralph init` and the reference page.

mod command_line;
mod command_paths;
mod edit;
mod error;
mod key;
mod keys;
mod load;
mod nearest;
mod quantity;
mod reference;
mod sections;
mod setting;
mod takeover;
mod template;
mod words;

pub use command_line::CommandLine;
pub use command_paths::command_paths;
pub use edit::with_setting;
pub use error::{ConfigError, Hint, Place, Refusal, Warning};
pub use key::{Confirm, Initial, Key, Section};
pub use keys::{SECTIONS, keys};
pub use load::{Inspected, Loaded, Origin, Restricted, Sources};
pub use nearest::{nearest, nearest_variable};
pub use quantity::{Bytes, duration_text, parse_time_with_unit};
pub use reference::{environment_names, reference};
pub use sections::{
    Agent, Config, Context, Execution, Filter, Git, Guardrails, Learning, Limits, Memories, Notify, Paths, Runs,
    Scratchpad, Strategy, Tasks, Ui, Verify, WorktreeSetup,
};
pub use setting::Kind;
pub use takeover::{Skipped, Takeover, from_config_sh};
pub use template::{Override, template};
pub use words::{
    AgentKind, Color, Commit, Environment, FromAgents, Inject, Isolate, LiveView, Permissions, Promote, StrategyName,
    WhenUnverified,
};
