//! Texts that are handed over as files.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use ralph_memory::capture::MAX_NOTE_BYTES;
use ralph_notes::read_file;

use crate::context::Context;
use crate::error::CommandError;

/// The text of a file or a pipe, named from the working folder; `-` stands for standard input.
pub(crate) fn read_text(context: &Context<'_>, name: &str) -> Result<String, CommandError> {
    if name == "-" {
        return context.read_input(MAX_NOTE_BYTES);
    }
    let path = std::path::absolute(name).map_err(|error| CommandError::usage(format!("{name}: {error}")))?;
    match Source::at(&path) {
        Source::Pipe => {
            let failed = |error| CommandError::from(error).about(name);
            return read_all(File::open(&path).map_err(failed)?, MAX_NOTE_BYTES);
        }
        Source::Neither => {
            return Err(
                CommandError::new(format!("cannot read {name}: it is neither a file nor a pipe"))
                    .hint("`-` reads standard input"),
            );
        }
        Source::File => {}
    }
    let Some(text) = read_file(&path)? else {
        return Err(CommandError::new(format!("there is no file {name}")));
    };
    String::from_utf8(text.bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        CommandError::new(format!("{name} is not UTF-8 text (byte {at})"))
    })
}

/// All that comes in as text; more than this many bytes are refused before they fill the memory.
pub(crate) fn read_all(source: impl Read, most: usize) -> Result<String, CommandError> {
    let mut bytes = Vec::new();
    let limit = u64::try_from(most).unwrap_or(u64::MAX).saturating_add(1);
    source.take(limit).read_to_end(&mut bytes)?;
    if bytes.len() > most {
        return Err(CommandError::usage(format!(
            "the input has more than {most} bytes, which is all that a note holds"
        )));
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        CommandError::usage(format!("the input is not UTF-8 text (byte {at})"))
    })
}

/// Where a text may come from.
enum Source {
    /// A file, or nothing that could be looked at, or a folder: who reads it says what is wrong.
    File,
    /// What another program writes: a named pipe, `<(…)` of a shell, standard input by its name.
    Pipe,
    /// A device that may have no end, a socket.
    Neither,
}

impl Source {
    fn at(path: &Path) -> Self {
        match fs::metadata(path).map(|metadata| metadata.file_type()) {
            Ok(kind) if kind.is_fifo() => Self::Pipe,
            Ok(kind) if !kind.is_file() && !kind.is_dir() => Self::Neither,
            _ => Self::File,
        }
    }
}
