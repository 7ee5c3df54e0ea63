//! The editor and the pager of the person at the terminal, started the way git starts them.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::thread;
use std::time::Duration;

use signal_hook::consts::{SIGINT, SIGQUIT};

use crate::{StopHandle, command, sweep};

/// How often somebody looks whether a pager is to be closed.
const GLANCE: Duration = Duration::from_millis(20);

/// Why a file was not edited.
#[derive(Debug, thiserror::Error)]
pub enum EditorError {
    /// No editor was named.
    #[error("the name of the editor is blank")]
    Blank,
    /// The shell that runs the editor did not start.
    #[error("the editor {editor:?} could not be started: {error}")]
    NotStarted {
        /// The editor as it was named.
        editor: String,
        /// What the system said; it stands in the message, so it is no source beside it.
        error: io::Error,
    },
    /// The editor ran and said that it failed, or the shell did not find it.
    #[error("the editor {editor:?} failed with {status}")]
    Failed {
        /// The editor as it was named.
        editor: String,
        /// How it ended.
        status: ExitStatus,
    },
    /// The same for a pager.
    #[error("the pager {pager:?} failed with {status}")]
    PagerFailed {
        /// The pager as it was named.
        pager: String,
        /// How it ended.
        status: ExitStatus,
    },
}

/// Opens a file in an editor at the terminal of this process, and waits until the editor is closed.
///
/// The editor is a line of shell, because people set `code --wait` or `'/opt/my editor'`. The file is handed to it as
/// an argument and never becomes part of that line, so its name may hold anything.
///
/// # Errors
/// When no editor is named, when it cannot be started, or when it ends with anything but success.
pub fn edit(editor: &str, file: &Path) -> Result<(), EditorError> {
    let status = opening(editor, file)?.status();
    ended(editor, status)
}

/// Shows a file in a pager at the terminal of this process, and waits until it is closed, or closes it when that is wanted.
/// It is started like an editor. Ctrl+C is one of the ways to close it.
///
/// # Errors
/// When no pager is named, when it cannot be started, or when it ends with anything but success.
pub fn page(pager: &str, file: &Path, close: &StopHandle) -> Result<(), EditorError> {
    let status = wait_or_close(&mut opening(pager, file)?, close);
    match ended(pager, status) {
        Err(EditorError::Failed { .. }) if close.is_wanted() => Ok(()),
        // Ctrl+\ ends whoever has started it, too.
        Err(EditorError::Failed { status, .. }) if matches!(status.signal(), Some(SIGINT | SIGQUIT)) => Ok(()),
        Err(EditorError::Failed { editor, status }) => Err(EditorError::PagerFailed { pager: editor, status }),
        other => other,
    }
}

fn wait_or_close(command: &mut Command, close: &StopHandle) -> io::Result<ExitStatus> {
    let mut child = command.spawn()?;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if close.is_wanted() {
            sweep::close(child.id());
            // Where nothing can be found, the shell at least is gone.
            drop(child.kill());
            return child.wait();
        }
        thread::sleep(GLANCE);
    }
}

fn opening(editor: &str, file: &Path) -> Result<Command, EditorError> {
    // A blank line of shell would run the file itself.
    if editor.trim().is_empty() {
        return Err(EditorError::Blank);
    }
    let mut shell = command("sh");
    shell.arg("-c").arg(format!("{editor} \"$@\"")).arg(editor).arg(file);
    Ok(shell)
}

fn ended(editor: &str, status: io::Result<ExitStatus>) -> Result<(), EditorError> {
    let status = status.map_err(|error| EditorError::NotStarted {
        editor: editor.to_owned(),
        error,
    })?;
    if status.success() {
        Ok(())
    } else {
        Err(EditorError::Failed {
            editor: editor.to_owned(),
            status,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::fs::File;
    use std::io::Write;
    use std::path::PathBuf;

    fn file_with(folder: &Path, name: &str, text: &str) -> PathBuf {
        let path = folder.join(name);
        let mut file = File::create(&path).unwrap();
        file.write_all(text.as_bytes()).unwrap();
        path
    }

    fn check_failure(editor: &str, expected: &str) {
        let error = edit(editor, Path::new("/nowhere")).unwrap_err();
        assert_eq!(error.to_string(), expected);
    }

    #[test]
    fn an_editor_may_have_arguments_and_a_file_any_name() {
        let folder = tempfile::tempdir().unwrap();
        let script = file_with(
            folder.path(),
            "my editor.sh",
            "printf '%s\\n' \"$#\" \"$1\" \"$2\" > \"$3\"\n",
        );
        let name = "a \"quoted\" it's $(touch x) `name` ; *.md";
        let file = file_with(folder.path(), name, "before");

        let editor = format!("sh '{}' --wait \"two words\"", script.display());
        edit(&editor, &file).unwrap();

        assert_eq!(fs::read_to_string(&file).unwrap(), "3\n--wait\ntwo words\n");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn an_editor_that_fails_is_named_with_its_status() {
        check_failure(
            "sh -c 'exit 3'",
            "the editor \"sh -c 'exit 3'\" failed with exit status: 3",
        );
        check_failure(
            "kill -TERM $$;:",
            "the editor \"kill -TERM $$;:\" failed with signal: 15 (SIGTERM)",
        );
    }

    #[test]
    fn a_pager_is_closed_by_ctrl_c_and_named_when_it_fails() {
        let nobody = StopHandle::default();
        for closed in ["kill -INT $$;:", "kill -QUIT $$;:"] {
            assert!(page(closed, Path::new("/nowhere"), &nobody).is_ok());
        }
        let error = page("sh -c 'exit 3'", Path::new("/nowhere"), &nobody).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the pager \"sh -c 'exit 3'\" failed with exit status: 3"
        );
    }

    #[test]
    fn a_pager_is_closed_with_what_it_has_started_also_when_it_does_not_want_to() {
        let folder = tempfile::tempdir().unwrap();
        let fifo = folder.path().join("open");
        let made = command("mkfifo").arg(&fifo).status().unwrap();
        assert!(made.success());
        let close = StopHandle::default();
        let (wants_close, end) = (close.clone(), fifo.clone());
        let closing = thread::spawn(move || {
            // Both hold the other end; it is read to its end when both are gone.
            let mut held = File::open(end).unwrap();
            wants_close.stop();
            io::copy(&mut held, &mut io::sink()).unwrap();
        });
        let pager = format!(
            "exec > '{}'; trap '' TERM; (while :; do sleep 1; done);:",
            fifo.display()
        );
        assert!(page(&pager, Path::new("/nowhere"), &close).is_ok());
        closing.join().unwrap();
    }

    #[test]
    fn a_blank_editor_does_not_run_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = file_with(folder.path(), "notes.md", "exit 0\n");
        for blank in ["", " ", "\n"] {
            assert!(matches!(edit(blank, &file), Err(EditorError::Blank)));
        }
    }
}
