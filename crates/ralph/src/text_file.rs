//! Texts that are handed over as files.

use ralph_memory::capture::MAX_NOTE_BYTES;
use ralph_notes::read_file;

use crate::context::Context;
use crate::error::CommandError;

/// The text of a file, named from the working folder; `-` stands for standard input.
pub(crate) fn read_text(context: &Context<'_>, name: &str) -> Result<String, CommandError> {
    if name == "-" {
        return context.ui.read_input(MAX_NOTE_BYTES);
    }
    let path = std::path::absolute(name).map_err(|error| CommandError::usage(format!("{name}: {error}")))?;
    let Some(text) = read_file(&path)? else {
        return Err(CommandError::new(format!("there is no file {name}")));
    };
    String::from_utf8(text.bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        CommandError::new(format!("{name} is not UTF-8 text (byte {at})"))
    })
}
