//! Asks git: the only place that starts it. Most commands have no need to; see `git.rs`.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;
use std::process::Stdio;

/// Variables that would change the question: those that hooks have point git at another repository than that of the folder,
/// the last one takes the meaning from patterns.
const UNWANTED: [&str; 5] = [
    "GIT_DIR",
    "GIT_COMMON_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_LITERAL_PATHSPECS",
];

/// What git answers in a folder to a short input; `None` when it ends with 1, which means that there is nothing to say.
///
/// The error is a sentence: git is not installed, or does not answer.
pub(crate) fn ask_git(folder: &Path, arguments: &[&str], input: &str) -> Result<Option<String>, String> {
    let mut command = ralph_process::command("git");
    // A question starts no program of the repository's, and leaves no trace in it.
    command
        .args(["-c", "core.fsmonitor=false"])
        .env("GIT_OPTIONAL_LOCKS", "0");
    command.arg("-C").arg(folder).args(arguments);
    for variable in UNWANTED {
        command.env_remove(variable);
    }
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let answered = command.spawn().and_then(|mut git| {
        if let Some(mut stdin) = git.stdin.take() {
            // One that ends before it has read everything says why.
            drop(stdin.write_all(input.as_bytes()));
        }
        git.wait_with_output()
    });
    let output = answered.map_err(|error| format!("git could not be started: {error}"))?;
    match output.status.code() {
        Some(0) => Ok(Some(String::from_utf8_lossy(&output.stdout).into_owned())),
        Some(1) => Ok(None),
        _ => {
            let said = String::from_utf8_lossy(&output.stderr);
            let first = said.lines().next().unwrap_or_default();
            Err(format!("git ended with {}: {first}", output.status))
        }
    }
}

/// Those of some commits that the checked-out one holds. One that git does not know, or cannot be asked about, is not
/// here.
pub(crate) fn commits_here(folder: &Path, commits: BTreeSet<String>) -> BTreeSet<String> {
    let is_here = |commit: &String| {
        let question = ["merge-base", "--is-ancestor", commit, "HEAD"];
        matches!(ask_git(folder, &question, ""), Ok(Some(_)))
    };
    commits.into_iter().filter(is_here).collect()
}
