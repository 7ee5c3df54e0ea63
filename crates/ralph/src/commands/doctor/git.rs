//! What git keeps and must not, and what it must and does not.

use ralph_model::count;
use ralph_process::git::ask_git;

use super::Patient;
use super::finding::{Finding, Fix, Report};

use crate::commands::init::added_lines::missing_lines;
use crate::commands::init::ignore_lines;
use crate::error::CommandError;
use crate::git_ignores::{Tracked, hiding_notes, ignored, is_seen_by_git, name_for};
use crate::paths;

/// How many files are named in one finding.
const NAMED: usize = 4;

/// Looks at ignore lines and at what is tracked.
pub(super) fn check(patient: &Patient<'_>, report: &mut Report) -> Result<(), CommandError> {
    let project = &patient.context.project;
    let Some(worktree) = &project.worktree else {
        report.ok("this is not in a git repository");
        return Ok(());
    };
    if worktree.main != worktree.top {
        report.ok(format!(
            "this worktree shares the database of {}",
            worktree.main.display()
        ));
    }
    let before = report.findings.len();
    let lines = project.root.join(ignore_lines::FILE);
    if lines.exists() && !lines.is_file() {
        // Git would wait for a pipe for ever.
        report.add(
            Finding::error("it is not a file")
                .at(ignore_lines::FILE)
                .mend("move it away"),
        );
        return Ok(());
    }
    let looked = hidden_notes(patient, report)
        .and_then(|()| unignored(patient, report))
        .and_then(|()| tracked(patient, report));
    if let Err(reason) = looked {
        report.add(Finding::note(format!(
            "what git keeps and ignores was not looked at: {reason}"
        )));
    } else if report.findings.len() == before {
        report.ok("git keeps the notes, and nothing that it must not");
    }
    Ok(())
}

/// Notes that an ignore line keeps out of git.
fn hidden_notes(patient: &Patient<'_>, report: &mut Report) -> Result<(), String> {
    for (what, line) in hiding_notes(&patient.context)? {
        let finding = Finding::warning(format!("the line {:?} keeps {what} out of git", line.pattern));
        let remedy = "take it out, or narrow it; they are meant to be in git";
        report.add(finding.at(&format!("{}:{}", line.file, line.number)).mend(remedy));
    }
    Ok(())
}

/// What git would take in with `git add`, though it must not.
fn unignored(patient: &Patient<'_>, report: &mut Report) -> Result<(), String> {
    let context = &patient.context;
    let root = &context.project.root;
    let wanted = ignore_lines::wanted(context);
    // In a folder that is not there is nothing to ignore yet.
    let there = |line: &&String| {
        let name = name_for(line);
        let folder = name.split_once('/').map_or("", |(folder, _)| folder);
        root.join(folder).is_dir()
    };
    let seen = |line: &&String| is_seen_by_git(root, &name_for(line));
    let lines: Vec<&String> = wanted.iter().filter(there).filter(seen).collect();
    let names: Vec<String> = lines.iter().map(|line| name_for(line)).collect();
    let ignored = ignored(root, &names, Tracked::CountsNot)?;
    let open = lines
        .iter()
        .zip(&names)
        .filter(|(_, name)| !ignored.iter().any(|line| line.name == **name));
    let text = std::fs::read(root.join(ignore_lines::FILE)).unwrap_or_default();
    let missing = missing_lines(&text, &wanted);
    let (to_add, taken_back): (Vec<&String>, Vec<&String>) =
        open.map(|(line, _)| *line).partition(|line| missing.contains(line));
    if !to_add.is_empty() {
        let what = format!("git is not told to leave {} alone", listed(&to_add));
        let finding = Finding::warning(what).at(ignore_lines::FILE);
        let finding = finding.mend("`ralph doctor --fix`, or `ralph init`, adds what is missing");
        report.add(if patient.config_holds() {
            finding.fixed_by(Fix::IgnoreLines)
        } else {
            finding
        });
    }
    if !taken_back.is_empty() {
        let what = format!("another line takes back that {} is ignored", listed(&taken_back));
        let finding = Finding::warning(what).at(ignore_lines::FILE);
        report.add(finding.mend("take the line out that begins with !"));
    }
    Ok(())
}

/// What git has, though it must not. A database that is checked out takes the place of a newer one.
fn tracked(patient: &Patient<'_>, report: &mut Report) -> Result<(), String> {
    let root = &patient.context.project.root;
    // As a pathspec a line means the same, when git is told that `*` ends at `/`.
    let pathspec = |line: &String| format!(":(glob){}", line.trim_start_matches('/'));
    let places: Vec<String> = ignore_lines::wanted(&patient.context).iter().map(pathspec).collect();
    let mut arguments = vec!["ls-files", "-z", "--cached", "--"];
    arguments.extend(places.iter().map(String::as_str));
    let answer = ask_git(root, &arguments, "")?.unwrap_or_default();
    let kept = answer.split_terminator('\0');
    let is_database = |name: &&str| name.starts_with(paths::RALPH) && name.contains("progress.db");
    let (databases, others): (Vec<&str>, Vec<&str>) = kept.partition(is_database);
    let out = "take it out with `git rm --cached`, which leaves the files, and commit that";
    if !databases.is_empty() {
        let what = "git keeps the database, so a checkout replaces it with an old one";
        report.add(Finding::error(what).at(&listed(&databases)).mend(out));
    }
    if !others.is_empty() {
        let what = "git keeps what is of use only here, so it gets in the way of checkouts and merges";
        report.add(Finding::warning(what).at(&listed(&others)).mend(out));
    }
    Ok(())
}

/// The first few of many.
fn listed(all: &[impl AsRef<str>]) -> String {
    let mut shown: Vec<String> = all.iter().take(NAMED).map(|one| one.as_ref().to_owned()).collect();
    if all.len() > NAMED {
        shown.push(format!("and {}", count(all.len() - NAMED, "other", "others")));
    }
    shown.join(", ")
}
