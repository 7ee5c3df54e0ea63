//! Lets a person edit a text in their editor, without ever losing what they wrote.

use std::io::Write;

use ralph_process::editor;

use crate::env;
use crate::error::CommandError;
use crate::ui::has_terminal;

/// The editor to open. Without a terminal there is no default: an agent would wait forever for `vi` to close.
pub(crate) fn chosen_editor() -> Result<String, CommandError> {
    match env::editor() {
        Some(editor) => Ok(editor),
        None if has_terminal() => Ok("vi".to_owned()),
        None => Err(CommandError::new("no terminal for an editor, and EDITOR is not set")
            .hint("pass the new text with --content TEXT, or set EDITOR")),
    }
}

/// Opens a text in an editor; none if the person leaves it unchanged.
pub(crate) fn edited(editor: &str, before: &str) -> Result<Option<String>, CommandError> {
    let failed = |error: std::io::Error| CommandError::new(format!("cannot write a file for the editor: {error}"));
    let mut file = tempfile::Builder::new()
        .prefix("ralph-")
        .suffix(".md")
        .tempfile()
        .map_err(failed)?;
    file.write_all(before.as_bytes())
        .and_then(|()| file.write_all(b"\n"))
        .map_err(failed)?;
    let edited = editor::edit(editor, file.path());
    let bytes = std::fs::read(file.path())
        .map_err(|error| CommandError::new(format!("cannot read what the editor wrote: {error}")))?;
    // An editor may save and then fail, or be killed by a lost connection.
    edited.map_err(|error| {
        let failed = CommandError::new(error.to_string());
        let untouched = bytes.strip_suffix(b"\n") == Some(before.as_bytes());
        if untouched { failed } else { keep(&bytes, failed) }
    })?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let refused = CommandError::new(format!("what the editor wrote is not UTF-8 text (byte {at})"));
        keep(error.as_bytes(), refused)
    })?;
    // Editors add a final line break.
    let line_break = ["\r\n", "\n", "\r"].into_iter().find(|end| text.ends_with(end));
    let text = line_break.and_then(|end| text.strip_suffix(end)).unwrap_or(&text);
    Ok((text != before).then(|| text.to_owned()))
}

/// Saves the person's text to a file and adds its path to the error.
pub(crate) fn keep(text: &[u8], error: CommandError) -> CommandError {
    let kept = tempfile::Builder::new()
        .prefix("ralph-kept-")
        .suffix(".md")
        .tempfile()
        .and_then(|mut file| {
            file.write_all(text)?;
            Ok(file.keep()?.1)
        });
    match kept {
        Ok(path) => error.hint(format!("your text was saved to {}", path.display())),
        Err(_) => error.hint(format!("your text was:\n{}", String::from_utf8_lossy(text))),
    }
}
