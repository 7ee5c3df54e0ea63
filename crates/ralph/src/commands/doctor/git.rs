//! Checks what git tracks and ignores.

use ralph_model::count;
use ralph_process::git::ask_git;

use super::DoctorContext;
use super::finding::{Finding, Fix, Report};

use crate::commands::init::added_lines::missing_lines;
use crate::commands::init::ignore_lines;
use crate::error::CommandError;
use crate::git_ignores::{GitIndex, hiding_notes, ignored, is_seen_by_git, name_for};
use crate::paths;

/// How many files one finding lists.
const NAMED: usize = 4;

/// Checks ignore lines and tracked files.
pub(super) fn check(doctor: &DoctorContext<'_>, report: &mut Report) -> Result<(), CommandError> {
    let project = &doctor.context.project;
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
        // Git would wait forever on a pipe.
        report.add(
            Finding::error("it is not a file")
                .at(ignore_lines::FILE)
                .remedy("move it away"),
        );
        return Ok(());
    }
    let checked = hidden_notes(doctor, report)
        .and_then(|()| unignored(doctor, report))
        .and_then(|()| tracked(doctor, report));
    if let Err(reason) = checked {
        report.add(Finding::note(format!(
            "tracked and ignored files were not checked: {reason}"
        )));
    } else if report.findings.len() == before {
        report.ok("git tracks the notes and nothing that it should ignore");
    }
    Ok(())
}

/// Reports notes that an ignore line keeps out of git.
fn hidden_notes(doctor: &DoctorContext<'_>, report: &mut Report) -> Result<(), String> {
    for (what, line) in hiding_notes(&doctor.context)? {
        let finding = Finding::warning(format!("the line {:?} keeps {what} out of git", line.pattern));
        let remedy = "remove or narrow it; notes are meant to be in git";
        report.add(finding.at(&format!("{}:{}", line.file, line.number)).remedy(remedy));
    }
    Ok(())
}

/// Reports files that `git add` would add but must not.
fn unignored(doctor: &DoctorContext<'_>, report: &mut Report) -> Result<(), String> {
    let context = &doctor.context;
    let root = &context.project.root;
    let wanted = ignore_lines::wanted(context);
    // A missing folder has nothing to ignore yet.
    let there = |line: &&String| {
        let name = name_for(line);
        let folder = name.split_once('/').map_or("", |(folder, _)| folder);
        root.join(folder).is_dir()
    };
    let seen = |line: &&String| is_seen_by_git(root, &name_for(line));
    let lines: Vec<&String> = wanted.iter().filter(there).filter(seen).collect();
    let names: Vec<String> = lines.iter().map(|line| name_for(line)).collect();
    let ignored = ignored(root, &names, GitIndex::Ignored)?;
    let open = lines
        .iter()
        .zip(&names)
        .filter(|(_, name)| !ignored.iter().any(|line| line.name == **name));
    let text = std::fs::read(root.join(ignore_lines::FILE)).unwrap_or_default();
    let missing = missing_lines(&text, &wanted);
    let (to_add, negated): (Vec<&String>, Vec<&String>) =
        open.map(|(line, _)| *line).partition(|line| missing.contains(line));
    if !to_add.is_empty() {
        let what = format!("git does not ignore {}", listed(&to_add));
        let finding = Finding::warning(what).at(ignore_lines::FILE);
        let finding = finding.remedy("`ralph doctor --fix`, or `ralph init`, adds the missing lines");
        report.add(if doctor.config_is_valid() {
            finding.fixed_by(Fix::IgnoreLines)
        } else {
            finding
        });
    }
    if !negated.is_empty() {
        let what = format!("another line negates the one that ignores {}", listed(&negated));
        let finding = Finding::warning(what).at(ignore_lines::FILE);
        report.add(finding.remedy("remove the line that begins with !"));
    }
    Ok(())
}

/// Reports tracked files that must not be. Checking out a database would replace a newer one.
fn tracked(doctor: &DoctorContext<'_>, report: &mut Report) -> Result<(), String> {
    let root = &doctor.context.project.root;
    // A line means the same as a pathspec if `*` ends at `/`.
    let pathspec = |line: &String| format!(":(glob){}", line.trim_start_matches('/'));
    let places: Vec<String> = ignore_lines::wanted(&doctor.context).iter().map(pathspec).collect();
    let mut arguments = vec!["ls-files", "-z", "--cached", "--"];
    arguments.extend(places.iter().map(String::as_str));
    let answer = ask_git(root, &arguments, "")?.unwrap_or_default();
    let kept = answer.split_terminator('\0');
    let is_database = |name: &&str| name.starts_with(paths::RALPH) && name.contains("progress.db");
    let (databases, others): (Vec<&str>, Vec<&str>) = kept.partition(is_database);
    let out = "run `git rm --cached`, which keeps the files, and commit that";
    if !databases.is_empty() {
        let what = "git tracks the database, so a checkout replaces it with an old version";
        report.add(Finding::error(what).at(&listed(&databases)).remedy(out));
    }
    if !others.is_empty() {
        let what = "git tracks files that are only useful here and that block checkouts and merges";
        report.add(Finding::warning(what).at(&listed(&others)).remedy(out));
    }
    Ok(())
}

/// Lists the first few.
fn listed(all: &[impl AsRef<str>]) -> String {
    let mut shown: Vec<String> = all.iter().take(NAMED).map(|one| one.as_ref().to_owned()).collect();
    if all.len() > NAMED {
        shown.push(format!("and {}", count(all.len() - NAMED, "other", "others")));
    }
    shown.join(", ")
}
