//! The commands that `ralph memory` and `ralph guardrails` share, one file per verb.

mod add;
mod delete;
mod edit;
pub(crate) mod found;
mod list;
mod listed;
mod restore;
mod search;
mod show;
mod validate;
pub(crate) mod view;

use std::marker::PhantomData;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use ralph_memory::capture::{MAX_NOTE_BYTES, NoteRepository, SecretPolicy, accept};
use ralph_memory::recall::{NoteFilter, first_day};
use ralph_model::{Actor, Extra, NoteFileKind, NoteKind, Tags, without_invisible};

pub(crate) use add::{DetailArgs, Kept, content_argument, store};

use crate::context::Context;
use crate::error::CommandError;
use crate::numbers::from_zero;

pub(crate) const LINE_BREAKS_CHANGED: &str = "Converted line breaks to LF.";

/// A note file kind as a type, so that shared arguments can be described in its words.
pub(crate) trait NoteFamily: std::fmt::Debug + 'static {
    const FILE_KIND: NoteFileKind;

    /// Arguments for a rule attached to an entry.
    type Rule: Args + EntryRule;

    /// Fills in `{ralph}` with the family's command and `{id}` with an example id.
    fn examples(template: &str) -> String {
        let words = Self::FILE_KIND.words();
        template
            .replace("{ralph}", words.command)
            .replace("{id}", words.example_id)
    }

    /// A help text that ends with the allowed kinds.
    fn kinds(about: &str) -> String {
        format!("{about}: {}", Self::FILE_KIND.list_of_kinds(", "))
    }

    fn parse_kind(word: &str) -> Result<NoteKind, String> {
        Self::FILE_KIND.parse_kind(word)
    }
}

/// A rule attached to an entry.
pub(crate) trait EntryRule: std::fmt::Debug {
    fn is_given(&self) -> bool;

    /// Adds the rule to the metadata of an entry.
    fn put(&self, extra: &mut Extra) -> Result<(), CommandError>;
}

/// Memories have no rules.
#[derive(Debug, Args)]
pub(crate) struct NoRule {}

impl EntryRule for NoRule {
    fn is_given(&self) -> bool {
        false
    }

    fn put(&self, _: &mut Extra) -> Result<(), CommandError> {
        Ok(())
    }
}

/// The rule of a guardrail, which is enforced after each iteration.
#[derive(Debug, Args)]
pub(crate) struct GuardrailRule {
    /// Refuse work that changes these paths, as in .gitignore
    #[arg(long, value_name = "GLOB")]
    deny_path: Option<String>,
    /// Refuse work unless this command passes; `ralph run` asks you to confirm it
    #[arg(long, value_name = "COMMAND")]
    check: Option<String>,
}

impl EntryRule for GuardrailRule {
    fn is_given(&self) -> bool {
        self.deny_path.is_some() || self.check.is_some()
    }

    fn put(&self, extra: &mut Extra) -> Result<(), CommandError> {
        if let Some(pattern) = &self.deny_path {
            ralph_loop::path_pattern(pattern).map_err(CommandError::usage)?;
        }
        let rules = [(Extra::DENY_PATH, &self.deny_path), (Extra::CHECK, &self.check)];
        for (key, value) in rules {
            let Some(value) = value else { continue };
            if value.trim().is_empty() || value.contains('\n') {
                return Err(CommandError::usage(format!("`--{key}` needs one line of text")));
            }
            accept(value, SecretPolicy::Refuse)?;
            extra.set(key, value);
        }
        Ok(())
    }
}

/// `memories.md`.
#[derive(Debug)]
pub(crate) struct Memories;

impl NoteFamily for Memories {
    const FILE_KIND: NoteFileKind = NoteFileKind::Memories;
    type Rule = NoRule;
}

/// `guardrails.md`.
#[derive(Debug)]
pub(crate) struct Guardrails;

impl NoteFamily for Guardrails {
    const FILE_KIND: NoteFileKind = NoteFileKind::Guardrails;
    type Rule = GuardrailRule;
}

#[derive(Debug, Subcommand)]
pub(crate) enum NotesCommand<S: NoteFamily> {
    Add(add::AddArgs<S>),
    Search(search::SearchArgs<S>),
    List(list::ListArgs<S>),
    Show(show::ShowArgs<S>),
    Edit(edit::EditArgs<S>),
    Delete(delete::DeleteArgs<S>),
    Restore(restore::RestoreArgs<S>),
    Validate(validate::ValidateArgs<S>),
}

impl<S: NoteFamily> NotesCommand<S> {
    /// Ids of the notes that the command would change or supersede, as given.
    pub(crate) fn targets(&self) -> Vec<&str> {
        match self {
            Self::Add(args) => args.supersedes().into_iter().collect(),
            Self::Edit(args) => vec![args.id()],
            Self::Delete(args) => args.ids(),
            Self::Restore(args) => args.ids(),
            Self::Search(_) | Self::List(_) | Self::Show(_) | Self::Validate(_) => Vec::new(),
        }
    }

    /// Whether it adds an entry with a rule, which only a person may do.
    pub(crate) fn adds_rule(&self) -> bool {
        matches!(self, Self::Add(args) if args.has_rule())
    }

    /// Whether it is an edit without flags, which opens an editor.
    pub(crate) fn asks_for_editor(&self) -> bool {
        matches!(self, Self::Edit(args) if !args.names_change())
    }
}

/// Describes a single verb, without building all of them.
pub(crate) fn describe<S: NoteFamily>(verb: &str) -> Option<clap::Command> {
    let command = |name: &'static str| clap::Command::new(name);
    Some(match verb {
        "add" => add::AddArgs::<S>::augment_args(command("add")),
        "search" => search::SearchArgs::<S>::augment_args(command("search")),
        "list" => list::ListArgs::<S>::augment_args(command("list")),
        "show" => show::ShowArgs::<S>::augment_args(command("show")),
        "edit" => edit::EditArgs::<S>::augment_args(command("edit")),
        "delete" => delete::DeleteArgs::<S>::augment_args(command("delete")),
        _ => return None,
    })
}

pub(crate) fn run<S: NoteFamily>(
    context: &Context<'_>,
    note_repository: &NoteRepository<'_>,
    command: NotesCommand<S>,
) -> Result<ExitCode, CommandError> {
    match command {
        NotesCommand::Add(args) => add::cmd_add(context, note_repository, args)?,
        NotesCommand::Search(args) => search::cmd_search(context, note_repository, &args)?,
        NotesCommand::List(args) => list::cmd_list(context, note_repository, &args)?,
        NotesCommand::Show(args) => show::cmd_show(context, note_repository, &args)?,
        NotesCommand::Edit(args) => edit::cmd_edit(context, note_repository, args)?,
        NotesCommand::Delete(args) => delete::cmd_delete(context, note_repository, &args)?,
        NotesCommand::Restore(args) => restore::cmd_restore(context, note_repository, &args)?,
        NotesCommand::Validate(args) => return validate::cmd_validate(context, note_repository, &args),
    }
    Ok(ExitCode::SUCCESS)
}

/// Filters for notes.
#[derive(Debug, Args)]
pub(crate) struct FilterArgs<S: NoteFamily> {
    #[arg(short = 't', long = "type", value_name = "KINDS", value_delimiter = ',')]
    #[arg(help = S::kinds("Only these kinds, separated by commas"), value_parser = S::parse_kind)]
    kinds: Vec<NoteKind>,
    /// Only notes with one of these tags, separated by commas
    #[arg(long, value_name = "TAGS", value_parser = Tags::parse)]
    pub(crate) tags: Option<Tags>,
    /// Only notes of the last DAYS days
    #[arg(long, value_name = "DAYS", allow_negative_numbers = true, value_parser = from_zero::<u32>)]
    recent: Option<u32>,
    #[arg(skip)]
    family: PhantomData<S>,
}

impl<S: NoteFamily> FilterArgs<S> {
    pub(crate) fn wanted(&self, context: &Context<'_>) -> NoteFilter {
        NoteFilter {
            kinds: self.kinds.clone(),
            tags: self.tags.clone().unwrap_or_default(),
            since: self.recent.map(|days| first_day(context.today(), days)),
            ..NoteFilter::default()
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct SecretArgs {
    /// Store the text even if it looks like it contains a secret
    #[arg(long)]
    allow_secret: bool,
}

impl SecretArgs {
    pub(crate) fn policy(&self) -> SecretPolicy {
        if self.allow_secret {
            SecretPolicy::Allow
        } else {
            SecretPolicy::Refuse
        }
    }
}

/// The text of an argument; `-` reads standard input.
pub(crate) fn text_argument(context: &Context<'_>, argument: String) -> Result<String, CommandError> {
    let text = match argument.as_str() {
        "-" => without_last_break(&context.read_input(MAX_NOTE_BYTES)?),
        _ => argument,
    };
    Ok(visible_argument(context, text))
}

/// Removes one final line break, which programs add to their output.
fn without_last_break(text: &str) -> String {
    let kept = text.strip_suffix("\r\n").or_else(|| text.strip_suffix('\n'));
    kept.unwrap_or(text).to_owned()
}

/// Handles invisible characters: a person gets a warning, and an agent's are removed.
pub(crate) fn visible_argument(context: &Context<'_>, text: String) -> String {
    match context.actor {
        Actor::Person => {
            context.ui.warn_of_invisible(&text);
            text
        }
        Actor::Agent { .. } => without_invisible(&text).into_owned(),
    }
}

/// A text may begin with a dash, like a list item. A single word that does is a mistyped flag, unless `--` precedes it.
pub(crate) fn refuse_mistyped_flag(context: &Context<'_>, text: &str) -> Result<(), CommandError> {
    let like_a_flag = text.len() > 1 && text.starts_with('-') && !text.contains(char::is_whitespace);
    if like_a_flag && !context.text_after_dashes {
        return Err(CommandError::usage(format!("unexpected argument '{text}'"))
            .hint(format!("to pass it as text, use `-- {text}`")));
    }
    Ok(())
}

/// Reads the file and reports changes made outside of ralph.
pub(crate) fn read(
    context: &Context<'_>,
    note_repository: &NoteRepository<'_>,
) -> Result<ralph_memory::capture::Reading, CommandError> {
    let reading = note_repository.read()?;
    context.report_findings(note_repository, &note_repository.detect_changes(reading.stamp()));
    Ok(reading)
}
