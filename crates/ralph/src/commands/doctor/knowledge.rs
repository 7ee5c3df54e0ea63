//! Checks for files in the knowledge folder that are not valid entries, so that no prompt contains them and no search
//! finds them.

use ralph_model::count;
use ralph_notes::KnowledgeProblem;
use ralph_search::inspect_knowledge;

use super::DoctorContext;
use super::finding::{Finding, Report};
use super::remedies::{FIX_YAML, SAVE_AS_UTF8, SHORTEN_FRONTMATTER};
use crate::error::CommandError;
use crate::paths;

/// How many files are listed.
const NAMED: usize = 20;

pub(super) fn check(doctor: &DoctorContext<'_>, report: &mut Report) -> Result<(), CommandError> {
    let knowledge = doctor.context.knowledge();
    let place = doctor.context.project.shown(knowledge.path()).to_string();
    let looked = match inspect_knowledge(knowledge.path(), &doctor.context.project.boundary) {
        Ok(looked) => looked,
        Err(error) => {
            let finding = Finding::warning(format!("knowledge entries cannot be listed: {error}"));
            report.add(finding.at(&place).remedy("it must be a readable folder"));
            return Ok(());
        }
    };
    for (file, why) in looked.skipped.iter().take(NAMED) {
        let finding = Finding::warning(format!("skipped: {why}")).at(&format!("{}/{file}", paths::KNOWLEDGE));
        report.add(finding.remedy(remedy(why)));
    }
    let more = looked.skipped.len().saturating_sub(NAMED);
    if more > 0 {
        let are = count(more, "more file is", "more files are");
        let finding = Finding::warning(format!("{are} skipped")).at(&place);
        report.add(finding.remedy("fix the files listed above, then run doctor again"));
    }
    if looked.notes > 0 && looked.skipped.is_empty() {
        let notes = count(looked.notes, "knowledge entry", "knowledge entries");
        report.ok(format!("{place} is fine: {notes}"));
    }
    Ok(())
}

/// How to turn a skipped file into a valid entry.
fn remedy(why: &str) -> &'static str {
    let is = |problem: KnowledgeProblem| problem.to_string() == why;
    let lacks_keys = [
        KnowledgeProblem::NoFrontmatter,
        KnowledgeProblem::NoTitle,
        KnowledgeProblem::NoTags,
    ];
    if why.starts_with(&KnowledgeProblem::BadYaml(String::new()).to_string()) {
        FIX_YAML
    } else if is(KnowledgeProblem::NotText) {
        SAVE_AS_UTF8
    } else if is(KnowledgeProblem::LargeFrontmatter) {
        SHORTEN_FRONTMATTER
    } else if is(KnowledgeProblem::TooLarge) {
        "split it into several entries, or change its extension from .md"
    } else if lacks_keys.into_iter().any(is) {
        "start it with the lines `---`, `title: TITLE`, `tags: [TAG]` and `---`; or change its extension from .md"
    } else {
        "make it a readable text file with a UTF-8 name"
    }
}
