//! Skills that agents would not find: each lies in a folder of its own, with a file that begins with its name and what it
//! is good for. They are the user's, so they are only looked at.

use std::io;
use std::path::Path;

use ralph_model::count;
use ralph_notes::{Skill, SkillProblem, read_file};

use super::Patient;
use super::finding::{Finding, Report};
use super::remedies::{MEND_YAML, SAVE_AS_UTF8, SHORTEN_FRONTMATTER};
use crate::error::CommandError;
use crate::paths;

/// Looks at every skill of the project.
pub(super) fn check(patient: &Patient<'_>, report: &mut Report) -> Result<(), CommandError> {
    let before = report.findings.len();
    let mut skills = 0;
    for place in paths::SKILL_FOLDERS {
        match skills_in(&patient.context.project.root.join(place)) {
            Ok(names) => {
                skills += names.len();
                for name in &names {
                    look_at(patient, report, &format!("{place}/{name}"), name);
                }
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => {
                let finding = Finding::warning(format!("its skills cannot be listed: {error}"));
                report.add(finding.at(place).mend("it has to be a folder that you may read"));
            }
        }
    }
    if skills > 0 && report.findings.len() == before {
        let skills = count(skills, "skill has", "skills have");
        report.ok(format!("{skills} a name and a description"));
    }
    Ok(())
}

/// The names of the folders in a folder, in order. Hidden ones are no skills.
fn skills_in(folder: &Path) -> io::Result<Vec<String>> {
    let names = paths::names_in(folder)?.into_iter();
    let folders = names.filter(|name| folder.join(name).is_dir());
    let shown = folders.map(|name| name.to_string_lossy().into_owned());
    Ok(shown.filter(|name| !name.starts_with('.')).collect())
}

fn look_at(patient: &Patient<'_>, report: &mut Report, folder: &str, name: &str) {
    let place = format!("{folder}/{}", paths::SKILL_FILE);
    let finding = match read_file(&patient.context.project.root.join(&place)) {
        Ok(Some(text)) => match Skill::parse(&text.bytes, name) {
            Ok(_) => return,
            Err(problem) => Finding::warning(problem.to_string()).mend(remedy(&problem, name)),
        },
        Ok(None) => Finding::warning("it is not there, so agents do not find this skill").mend(format!(
            "write it, with `name: {name}` and a `description:` between two lines `---` in front; or remove {folder}"
        )),
        Err(error) => Finding::warning(format!("it cannot be read: {}", error.reason()))
            .mend("put a file of text there that you may read"),
    };
    report.add(finding.at(&place));
}

/// What mends it, for whoever owns the skill.
fn remedy(problem: &SkillProblem, folder: &str) -> String {
    match problem {
        SkillProblem::TooLarge => "move its details to files beside it, which it names".to_owned(),
        SkillProblem::NotText => SAVE_AS_UTF8.to_owned(),
        SkillProblem::NoFrontmatter => format!(
            "begin it with `---`, `name: {folder}`, `description: WHAT IT IS GOOD FOR` and `---`, each on a line of its own"
        ),
        SkillProblem::LargeFrontmatter => SHORTEN_FRONTMATTER.to_owned(),
        SkillProblem::BadYaml(_) => MEND_YAML.to_owned(),
        SkillProblem::NoName => format!("add `name: {folder}` to its frontmatter"),
        SkillProblem::OtherName { .. } => format!("write `name: {folder}` there, or give the folder its name"),
        SkillProblem::BadName => "give it and its folder a name such as `deploy-to-staging`".to_owned(),
        SkillProblem::NoDescription => {
            "add `description:` with what it is good for and when to use it; agents choose it by that".to_owned()
        }
        SkillProblem::LongDescription { .. } => "say the rest below the frontmatter".to_owned(),
    }
}
