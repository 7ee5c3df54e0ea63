//! `ralph completions`.

use clap::{Args, Command, CommandFactory};
use clap_complete::Shell;

use crate::cli::{Cli, Global};
use crate::error::CommandError;
use crate::ui::Ui;

/// Print shell completions
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
    clap_complete::generate(args.shell, &mut without_hidden(&Cli::command()), "ralph", &mut script);
    ui.data(&String::from_utf8_lossy(&script))
}

/// The visible commands; the generator would offer hidden ones too.
pub(super) fn without_hidden(whole: &Command) -> Command {
    let shown = whole.get_subcommands().filter(|command| !command.is_hide_set());
    Global::augment_args(Command::new("ralph"))
        .version(env!("CARGO_PKG_VERSION"))
        .disable_help_subcommand(true)
        .subcommands(shown.cloned())
}
