//! Files in the folder of long notes that are none, so that no prompt holds them and no search finds them.

use ralph_memory::catalogue::look_at_knowledge;
use ralph_model::count;
use ralph_notes::KnowledgeProblem;

use super::Patient;
use super::finding::{Finding, Report};
use crate::error::CommandError;
use crate::paths;

/// How many files are named.
const NAMED: usize = 20;

/// Looks at every long note, in its file.
pub(super) fn check(patient: &Patient<'_>, report: &mut Report) -> Result<(), CommandError> {
    let knowledge = patient.context.knowledge();
    let place = patient.context.project.shown(knowledge.path()).to_string();
    let looked = match look_at_knowledge(knowledge.path()) {
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
    let unreadable = KnowledgeProblem::BadYaml(String::new()).to_string();
    if why.starts_with(&unreadable) {
        return "mend it there; a value with `: ` or ` #` in it goes in quotes";
    }
    "begin it with `---`, `title: WHAT IT IS ABOUT`, `tags: [WORD]` and `---`, each on a line of its own; or give it another ending than .md"
}
