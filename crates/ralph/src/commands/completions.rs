//! `ralph completions`.

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::cli::Cli;
use crate::error::CommandError;
use crate::ui::Ui;

/// Write completions for a shell
#[derive(Debug, Args)]
#[command(after_help = "Example:
  ralph completions bash > ~/.local/share/bash-completion/completions/ralph")]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

pub(crate) fn cmd_completions(ui: &Ui, args: &CompletionsArgs) -> Result<(), CommandError> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "ralph", &mut script);
    ui.data(&String::from_utf8_lossy(&script))
}
