//! `feature create`: creates a feature and its specification and plan files.

use std::io;

use clap::Args;
use ralph_memory::capture::{SecretPolicy, accept};
use ralph_memory::inject::{FeatureFile, FeatureFileText, MAX_FEATURE_FILE_BYTES};
use ralph_model::FeatureName;
use ralph_notes::{create_folder, write_new_file};
use ralph_store::FeatureError;

use crate::commands::notes::SecretArgs;
use crate::commands::task::store_to_write;
use crate::context::Context;
use crate::error::CommandError;
use crate::text_file::read_text;

/// Create a feature and print its id
///
/// A feature groups tasks and has a specification and a plan, `spec.md` and `plan.md` in `.ralph/features/NAME/`. They
/// are part of the prompt of each of its tasks. Existing files are kept.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph feature create search
  ralph feature create search --spec docs/search.md --plan plan.md
  ralph task import --feature search      # makes tasks from its plan
  ralph run search                        # work on its tasks")]
pub(crate) struct CreateArgs {
    /// Name of the feature and its folder: letters, digits, `-`, `_` and `.`
    #[arg(value_name = "NAME", allow_hyphen_values = true)]
    name: String,
    /// File to copy as the specification
    #[arg(long, value_name = "FILE")]
    spec: Option<String>,
    /// File to copy as the plan
    #[arg(long, value_name = "FILE")]
    plan: Option<String>,
    #[command(flatten)]
    secrets: SecretArgs,
    /// Print as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn cmd_create(context: &Context<'_>, args: &CreateArgs) -> Result<(), CommandError> {
    let name = FeatureName::new(&args.name).map_err(|error| CommandError::usage(error.to_string()))?;
    accept(name.as_str(), args.secrets.policy())?;
    let given = |file: &Option<String>| {
        file.as_deref()
            .map(|file| text_of(context, file, args.secrets.policy()))
    };
    let (spec, plan) = (given(&args.spec).transpose()?, given(&args.plan).transpose()?);
    context.project.refuse_outside(&context.features().folder_of(&name))?;
    let mut store = store_to_write(context)?;
    if let Some(known) = store.features()?.into_iter().find(|known| known.name.is(name.as_str())) {
        let (name, id) = (known.name, known.id);
        return Err(FeatureError::Taken { name, id }.into());
    }
    // Files first: if ralph is killed here, the next call uses the files that exist.
    create_folder(&context.features().folder_of(&name))?;
    put(context, &name, FeatureFile::Spec, spec.as_deref())?;
    put(context, &name, FeatureFile::Plan, plan.as_deref())?;
    let now = context.clock().now();
    let feature = context.with_entropy(|entropy| store.create_feature(&name, entropy, now))?;
    if args.json {
        return context.ui.json(&feature);
    }
    context.ui.data(&format!("{}\n", feature.id))?;
    for file in FeatureFile::ALL {
        if context.features().text(&name, file) == FeatureFileText::Unwritten {
            let what = match file {
                FeatureFile::Spec => "specification",
                FeatureFile::Plan => "plan",
            };
            let file = context.features().shown_file(&name, file);
            context.ui.status(&format!("Write the {what} in {file}."));
        }
    }
    Ok(())
}

/// The text of a given file, which must be acceptable for a prompt.
fn text_of(context: &Context<'_>, file: &str, policy: SecretPolicy) -> Result<String, CommandError> {
    let text = read_text(context, file)?;
    accept(&text, policy).map_err(|refusal| CommandError::from(refusal).about(file))?;
    if text.len() > MAX_FEATURE_FILE_BYTES {
        let bytes = text.len();
        return Err(CommandError::usage(format!(
            "{file} has {bytes} bytes; the limit for a specification or plan is {MAX_FEATURE_FILE_BYTES}"
        )));
    }
    Ok(text)
}

/// Writes a file of a new feature, unless it exists.
fn put(context: &Context<'_>, name: &FeatureName, file: FeatureFile, given: Option<&str>) -> Result<(), CommandError> {
    let folder = context.features();
    let template = file.template(name);
    match write_new_file(&folder.file(name, file), given.unwrap_or(&template).as_bytes()) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let shown = folder.shown_file(name, file);
            let is_same =
                given.is_none_or(|given| std::fs::read(folder.file(name, file)).is_ok_and(|it| it == given.as_bytes()));
            if is_same {
                context.ui.status(&format!("{shown} already exists; kept it."));
            } else {
                context.ui.warning(&format!(
                    "{shown} already exists; kept it and did not copy the given file."
                ));
            }
            Ok(())
        }
        written => Ok(written?),
    }
}
