//! Sets up git to merge notes through ralph: attributes for the files and the driver in the repository's configuration.

use ralph_model::count;

use super::Done;
use super::added_lines::add_missing;
use crate::context::Context;
use crate::error::CommandError;
use crate::merge_setup::{ATTRIBUTES, DRIVER, MergeSetup};

/// Adds what is missing. Other settings of the user are kept and reported.
pub(super) fn register(context: &Context<'_>, done: &mut Done) -> Result<(), CommandError> {
    let setup = match MergeSetup::inspect(context) {
        Ok(Some(setup)) => setup,
        Ok(None) => return Ok(()),
        Err(reason) => {
            report_failure(context, &reason);
            return Ok(());
        }
    };
    if setup.is_complete() {
        return Ok(());
    }
    let added = add_attributes(context, &setup)?;
    done.wrote.extend(added.map(|_| ATTRIBUTES.to_owned()));
    for other in setup.other_attributes() {
        context.ui.warning(&format!(
            "git's attributes say `{other}`; only merge=ralph merges notes entry by entry."
        ));
    }
    if let Some(other) = setup.other_driver() {
        context.ui.warning(&format!(
            "git's configuration has {other:?} as merge.ralph.driver and was not changed; ralph's own is {DRIVER:?}."
        ));
    }
    match setup.register() {
        Ok(registered) => done.wrote.extend(registered.done().map(|_| "git config".to_owned())),
        Err(reason) => report_failure(context, &reason),
    }
    Ok(())
}

/// Adds the missing attributes; describes the change.
pub(crate) fn add_attributes(context: &Context<'_>, setup: &MergeSetup) -> Result<Option<String>, CommandError> {
    let lines = setup.missing_lines();
    if lines.is_empty() {
        return Ok(None);
    }
    let added = add_missing(context, &setup.attributes_file(), &lines)?;
    if added == 0 {
        context.ui.warning(&format!(
            "{ATTRIBUTES} has {}, but another line overrides it; only merge=ralph merges notes entry by entry.",
            lines.join(", ")
        ));
        return Ok(None);
    }
    Ok(Some(format!("added {} to {ATTRIBUTES}", count(added, "line", "lines"))))
}

fn report_failure(context: &Context<'_>, reason: &str) {
    context
        .ui
        .warning(&format!("git was not set up to merge notes through ralph: {reason}."));
}
