//! `ralph` alone: how things stand, and the next sensible command.

use ralph_memory::catalogue::Problems;
use ralph_model::{Shelf, count};
use ralph_store::{KnownNote, NoteAction};

use crate::context::Context;
use crate::error::CommandError;
use crate::paths::{self, Spelling};
use crate::ui::Style;

pub(crate) fn cmd_overview(context: &Context<'_>) -> Result<(), CommandError> {
    let ui = context.ui;
    let notebook = context.notebook(Shelf::Memories, Spelling::Own);
    let reading = notebook.read()?;
    let document = reading.document();
    context.report_problems(&notebook, &Problems::of(&document));
    context.report_findings(&notebook, &notebook.look(reading.stamp()));
    let root = context.project.root.display();
    let mut text = format!("{}  {root}\n", ui.paint(Style::Strong, "Project"));
    let total = document.entries().len();
    text.push_str(&format!("{}    ", ui.paint(Style::Strong, "Notes")));
    if total == 0 {
        text.push_str("none yet\n");
    } else {
        let kinds: Vec<String> = notebook
            .shelf
            .kinds()
            .iter()
            .map(|kind| {
                (
                    document.entries().iter().filter(|entry| entry.kind == *kind).count(),
                    kind,
                )
            })
            .filter(|(entries, _)| *entries > 0)
            .map(|(entries, kind)| count(entries, kind.word(), &kind.section().to_lowercase()))
            .collect();
        let shown = context.project.shown(&notebook.path);
        let memories = count(total, "memory", "memories");
        text.push_str(&format!("{memories} in {shown} ({})\n", kinds.join(", ")));
    }
    let vanished = |known: &KnownNote| known.action == NoteAction::Vanished;
    let gone = notebook
        .gone()
        .map_or(0, |gone| gone.iter().filter(|known| vanished(known)).count());
    if gone > 0 {
        let notes = count(gone, "note", "notes");
        text.push_str(&format!(
            "{}     {notes} vanished and can be brought back: ralph memory restore --list\n",
            ui.paint(Style::Strong, "Gone")
        ));
    }
    let next = if !context.project.root.join(paths::CONFIG).exists() {
        "ralph init    # set this project up"
    } else if total == 0 {
        "ralph memory add \"TEXT\"    # keep the first note"
    } else {
        "ralph memory prime --budget 2000    # for an agent's start"
    };
    text.push_str(&format!("{}     {next}\n", ui.paint(Style::Strong, "Next")));
    ui.data(&text)
}
