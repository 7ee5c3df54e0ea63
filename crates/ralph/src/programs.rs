//! Finds programs as a shell would, `ralph` itself included. Runs nothing.

use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::env;

/// The `ralph` that a shell finds by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Program {
    This,
    Other(PathBuf),
    NotFound,
}

/// The bytes of a script that are read to find its interpreter.
const FIRST_LINE_BYTES: u64 = 512;

/// The program that a command's first word refers to when started in this folder.
///
/// # Errors
///
/// A sentence without its period.
pub(crate) fn find_program(word: &str, folder: &Path) -> Result<PathBuf, String> {
    let file = if word.contains('/') {
        let file = folder.join(word);
        if file.is_dir() {
            return Err(format!("{} is a folder", file.display()));
        } else if !file.exists() {
            return Err(format!("there is no file {}", file.display()));
        } else if !can_run(&file) {
            return Err(format!("{} is not executable (`chmod +x` makes it so)", file.display()));
        }
        file
    } else {
        // Agents find this program by name, wherever it is.
        let beside = std::env::current_exe().ok().map(|this| this.with_file_name(word));
        let found = on_path(word).or(beside.filter(|file| can_run(file)));
        found.ok_or_else(|| format!("{word} is not on the PATH"))?
    };
    match missing_interpreter(&file) {
        Some(interpreter) => Err(format!(
            "the interpreter of {} is missing: {interpreter}",
            file.display()
        )),
        None => Ok(file),
    }
}

/// The interpreter in a script's first line, if it does not exist.
fn missing_interpreter(file: &Path) -> Option<String> {
    let mut beginning = Vec::new();
    let opened = std::fs::File::open(file).ok()?;
    opened.take(FIRST_LINE_BYTES).read_to_end(&mut beginning).ok()?;
    let line = beginning.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let line = String::from_utf8_lossy(line);
    let mut words = line.split([' ', '\t']).filter(|word| !word.is_empty());
    let interpreter = words.next()?;
    if interpreter.starts_with('/') && !can_run(Path::new(interpreter)) {
        return Some(interpreter.to_owned());
    }
    // `env` searches the PATH; with options it does more than that.
    let is_env = Path::new(interpreter).file_name().is_some_and(|name| name == "env");
    let sought = words
        .next()
        .filter(|word| is_env && !word.starts_with('-') && !word.contains(['=', '/']))?;
    on_path(sought).is_none().then(|| sought.to_owned())
}

pub(crate) fn find_ralph() -> Program {
    let Some(found) = on_path("ralph") else {
        return Program::NotFound;
    };
    let same = |this: PathBuf| Some(this.canonicalize().ok()? == found.canonicalize().ok()?);
    match std::env::current_exe().ok().and_then(same) {
        Some(true) | None => Program::This,
        Some(false) => Program::Other(found),
    }
}

/// Searches the PATH for a program.
pub(crate) fn on_path(name: &str) -> Option<PathBuf> {
    let mut candidates = env::program_folders().into_iter().map(|folder| folder.join(name));
    candidates.find(|file| can_run(file))
}

/// Returns true if a file is executable.
pub(crate) fn can_run(file: &Path) -> bool {
    let metadata = std::fs::metadata(file);
    metadata.is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}
