//! Files in the folder of long notes that are none, so that no prompt holds them and no search finds them.

use ralph_memory::catalogue::look_at_knowledge;
use ralph_model::count;
use ralph_notes::KnowledgeProblem;

use super::Patient;
use super::finding::{Finding, Report};
use super::remedies::{MEND_YAML, SAVE_AS_UTF8, SHORTEN_FRONTMATTER};
use crate::error::CommandError;
use crate::paths;

/// How many files are named.
const NAMED: usize = 20;

/// Looks at every long note, in its file.
pub(super) fn check(patient: &Patient<'_>, report: &mut Report) -> Result<(), CommandError> {
    let knowledge = patient.context.knowledge();
    let place = patient.context.project.shown(knowledge.path()).to_string();
    let looked = match look_at_knowledge(knowledge.path(), &patient.context.project) {
        Ok(looked) => looked,
        Err(error) => {
            let finding = Finding::warning(format!("the long notes cannot be listed: {error}"));
            report.add(finding.at(&place).mend("it has to be a folder that you may read"));
            return Ok(());
        }
    };
    for (file, why) in looked.skipped.iter().take(NAMED) {
        let finding = Finding::warning(format!("it is skipped: {why}")).at(&format!("{}/{file}", paths::KNOWLEDGE));
        report.add(finding.mend(remedy(why)));
    }
    let more = looked.skipped.len().saturating_sub(NAMED);
    if more > 0 {
        let are = count(more, "more file is", "more files are");
        let finding = Finding::warning(format!("{are} skipped")).at(&place);
        report.add(finding.mend("mend those that are named, and look again"));
    }
    if looked.notes > 0 && looked.skipped.is_empty() {
        let notes = count(looked.notes, "long note", "long notes");
        report.ok(format!("{place} is fine: {notes}"));
    }
    Ok(())
}

/// What makes a long note of a file that is skipped for this reason.
fn remedy(why: &str) -> &'static str {
    let is = |problem: KnowledgeProblem| problem.to_string() == why;
    let lacks_keys = [
        KnowledgeProblem::NoFrontmatter,
        KnowledgeProblem::NoTitle,
        KnowledgeProblem::NoTags,
    ];
    if why.starts_with(&KnowledgeProblem::BadYaml(String::new()).to_string()) {
        MEND_YAML
    } else if is(KnowledgeProblem::NotText) {
        SAVE_AS_UTF8
    } else if is(KnowledgeProblem::LargeFrontmatter) {
        SHORTEN_FRONTMATTER
    } else if is(KnowledgeProblem::TooLarge) {
        "make several notes of it, or give it another ending than .md"
    } else if lacks_keys.into_iter().any(is) {
        "begin it with `---`, `title: WHAT IT IS ABOUT`, `tags: [WORD]` and `---`, each on a line of its own; or give it another ending than .md"
    } else {
        "put a file of text there that you may read, with a name in UTF-8"
    }
}
