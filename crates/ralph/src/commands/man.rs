//! `ralph man`.

use std::path::PathBuf;

use clap::{Args, CommandFactory};
use clap_mangen::Man;

use super::completions::without_hidden;
use crate::cli::Cli;
use crate::error::CommandError;
use crate::ui::Ui;

/// Print manual pages
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph man | man -l -
  ralph man task add | man -l -
  ralph man --folder ~/.local/share/man/man1  # all pages, as files")]
pub(crate) struct ManArgs {
    /// Command whose page to print [default: ralph itself]
    #[arg(value_name = "COMMAND")]
    words: Vec<String>,
    /// Write all pages into this existing folder
    #[arg(long, value_name = "FOLDER", conflicts_with = "words")]
    folder: Option<PathBuf>,
}

pub(crate) fn cmd_man(ui: &Ui, args: &ManArgs) -> Result<(), CommandError> {
    let mut whole = without_hidden(&Cli::command()).about(Cli::command().get_about().cloned().unwrap_or_default());
    if let Some(folder) = &args.folder {
        return clap_mangen::generate_to(whole, folder)
            .map_err(|error| CommandError::new(format!("cannot write into {}: {error}", folder.display())));
    }
    whole.build();
    let mut command = &whole;
    for word in &args.words {
        let found = command.find_subcommand(word);
        command = found.ok_or_else(|| {
            CommandError::usage(format!("unknown command `ralph {}`", args.words.join(" ")))
                .hint("`ralph help` lists the commands")
        })?;
    }
    let mut page = Vec::new();
    Man::new(command.clone()).render(&mut page)?;
    ui.data(&String::from_utf8_lossy(&page))
}
