//! Checks for skills that agents would not find. Each skill is a folder with a file that starts with its name and
//! description. They belong to the user, so they are only checked.

use std::io;
use std::path::Path;

use ralph_model::count;
use ralph_notes::{Skill, SkillProblem, read_file};

use super::DoctorContext;
use super::finding::{Finding, Report};
use super::remedies::{FIX_YAML, SAVE_AS_UTF8, SHORTEN_FRONTMATTER};
use crate::error::CommandError;
use crate::paths;

pub(super) fn check(doctor: &DoctorContext<'_>, report: &mut Report) -> Result<(), CommandError> {
    let before = report.findings.len();
    let mut skills = 0;
    for place in paths::SKILL_FOLDERS {
        match skills_in(&doctor.context.project.root.join(place)) {
            Ok(names) => {
                skills += names.len();
                for name in &names {
                    check_skill(doctor, report, &format!("{place}/{name}"), name);
                }
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => {
                let finding = Finding::warning(format!("skills cannot be listed: {error}"));
                report.add(finding.at(place).remedy("it must be a readable folder"));
            }
        }
    }
    if skills > 0 && report.findings.len() == before {
        let skills = count(skills, "skill has", "skills have");
        report.ok(format!("{skills} a name and a description"));
    }
    Ok(())
}

/// The names of visible subfolders, sorted.
fn skills_in(folder: &Path) -> io::Result<Vec<String>> {
    let names = paths::names_in(folder)?.into_iter();
    let folders = names.filter(|name| folder.join(name).is_dir());
    let shown = folders.map(|name| name.to_string_lossy().into_owned());
    Ok(shown.filter(|name| !name.starts_with('.')).collect())
}

fn check_skill(doctor: &DoctorContext<'_>, report: &mut Report, folder: &str, name: &str) {
    let place = format!("{folder}/{}", paths::SKILL_FILE);
    let finding = match read_file(&doctor.context.project.root.join(&place)) {
        Ok(Some(text)) => match Skill::parse(&text.bytes, name) {
            Ok(_) => return,
            Err(problem) => Finding::warning(problem.to_string()).remedy(remedy(&problem, name)),
        },
        Ok(None) => Finding::warning("it is missing, so agents do not find this skill").remedy(format!(
            "create it with `name: {name}` and `description:` between two `---` lines at the top, or remove {folder}"
        )),
        Err(error) => {
            Finding::warning(format!("it cannot be read: {}", error.reason())).remedy("make it a readable text file")
        }
    };
    report.add(finding.at(&place));
}

/// How to fix a skill.
fn remedy(problem: &SkillProblem, folder: &str) -> String {
    match problem {
        SkillProblem::TooLarge => "move details to other files and refer to them".to_owned(),
        SkillProblem::NotText => SAVE_AS_UTF8.to_owned(),
        SkillProblem::NoFrontmatter => {
            format!("start it with the lines `---`, `name: {folder}`, `description: WHAT IT DOES` and `---`")
        }
        SkillProblem::LargeFrontmatter => SHORTEN_FRONTMATTER.to_owned(),
        SkillProblem::BadYaml(_) => FIX_YAML.to_owned(),
        SkillProblem::NoName => format!("add `name: {folder}` to its frontmatter"),
        SkillProblem::OtherName { .. } => format!("write `name: {folder}` there, or give the folder its name"),
        SkillProblem::BadName => "give it and its folder a name such as `deploy-to-staging`".to_owned(),
        SkillProblem::NoDescription => {
            "add a `description:` of what it does and when to use it; agents choose skills by it".to_owned()
        }
        SkillProblem::LongDescription { .. } => "move the rest below the frontmatter".to_owned(),
    }
}
