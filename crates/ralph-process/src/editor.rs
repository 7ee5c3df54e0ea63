//! Runs the user's editor and pager, like git does.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::thread;
use std::time::Duration;

use signal_hook::consts::{SIGINT, SIGQUIT};

use crate::{StopHandle, command, sweep};

/// How often to check whether a pager should be closed.
const CLOSE_POLL: Duration = Duration::from_millis(20);

#[derive(Debug, thiserror::Error)]
pub enum EditorError {
    #[error("the editor command is empty")]
    Blank,
    #[error("the editor {editor:?} could not be started: {error}")]
    NotStarted {
        editor: String,
        /// Part of the message, so it is not also a source.
        error: io::Error,
    },
    /// The editor failed, or the shell did not find it.
    #[error("the editor {editor:?} failed with {status}")]
    Failed { editor: String, status: ExitStatus },
    #[error("the pager {pager:?} failed with {status}")]
    PagerFailed { pager: String, status: ExitStatus },
}

/// Opens a file in an editor on this terminal and waits until the editor exits.
///
/// The editor is a shell command line, because people set `code --wait` or `'/opt/my editor'`. The file is passed as an
/// argument and never becomes part of that line, so its name may contain anything.
///
/// # Errors
/// If no editor is named, it cannot be started, or it fails.
pub fn edit(editor: &str, file: &Path) -> Result<(), EditorError> {
    let status = opening(editor, file)?.status();
    ended(editor, status)
}

/// Shows a file in a pager on this terminal and waits until the pager exits, or closes it on request. It is started
/// like an editor. Ctrl+C is a normal way to close it.
///
/// # Errors
/// If no pager is named, it cannot be started, or it fails.
pub fn page(pager: &str, file: &Path, close: &StopHandle) -> Result<(), EditorError> {
    let status = wait_or_close(&mut opening(pager, file)?, close);
    match ended(pager, status) {
        Err(EditorError::Failed { .. }) if close.is_requested() => Ok(()),
        // Ctrl+\ also ends this process.
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
        if close.is_requested() {
            sweep::close(child.id());
            // If no descendants can be found, at least kill the shell.
            drop(child.kill());
            return child.wait();
        }
        thread::sleep(CLOSE_POLL);
    }
}

fn opening(editor: &str, file: &Path) -> Result<Command, EditorError> {
    // With a blank command the shell would run the file itself.
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
    fn editor_arguments_and_any_file_name_work() {
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
    fn failed_editor_is_reported_with_its_status() {
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
    fn ctrl_c_closes_a_pager_and_failures_are_reported() {
        let no_stop = StopHandle::default();
        for closed in ["kill -INT $$;:", "kill -QUIT $$;:"] {
            assert!(page(closed, Path::new("/nowhere"), &no_stop).is_ok());
        }
        let error = page("sh -c 'exit 3'", Path::new("/nowhere"), &no_stop).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the pager \"sh -c 'exit 3'\" failed with exit status: 3"
        );
    }

    #[test]
    fn stubborn_pager_is_closed_with_its_children() {
        let folder = tempfile::tempdir().unwrap();
        let fifo = folder.path().join("open");
        let made = command("mkfifo").arg(&fifo).status().unwrap();
        assert!(made.success());
        let close = StopHandle::default();
        let (wants_close, end) = (close.clone(), fifo.clone());
        let closing = thread::spawn(move || {
            // Both processes hold the write end; EOF means that both have exited.
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
    fn blank_editor_does_not_run_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = file_with(folder.path(), "notes.md", "exit 0\n");
        for blank in ["", " ", "\n"] {
            assert!(matches!(edit(blank, &file), Err(EditorError::Blank)));
        }
    }
}
