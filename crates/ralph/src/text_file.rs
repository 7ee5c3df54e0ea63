//! Reads text from files, pipes and standard input.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use ralph_memory::capture::MAX_NOTE_BYTES;
use ralph_notes::read_file;

use crate::context::Context;
use crate::error::CommandError;

/// Reads a file or pipe, relative to the working directory; `-` reads standard input.
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
            return Err(CommandError::new(format!("cannot read {name}: not a file or a pipe"))
                .hint("use `-` for standard input"));
        }
        Source::File => {}
    }
    let Some(text) = read_file(&path)? else {
        return Err(CommandError::new(format!("file not found: {name}")));
    };
    String::from_utf8(text.bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        CommandError::new(format!("{name} is not UTF-8 text (byte {at})"))
    })
}

/// Reads all text up to a limit, so that an endless input cannot fill the memory.
pub(crate) fn read_all(source: impl Read, limit: usize) -> Result<String, CommandError> {
    let mut bytes = Vec::new();
    let max_read = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
    source.take(max_read).read_to_end(&mut bytes)?;
    if bytes.len() > limit {
        return Err(CommandError::usage(format!(
            "the input is longer than the limit of {limit} bytes"
        )));
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        CommandError::usage(format!("the input is not UTF-8 text (byte {at})"))
    })
}

/// The kind of a text source.
enum Source {
    /// A file, a folder or nothing: reading it gives the right error.
    File,
    /// A named pipe, a shell's `<(…)`, or standard input by its path.
    Pipe,
    /// A socket or a device, which may be endless.
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
