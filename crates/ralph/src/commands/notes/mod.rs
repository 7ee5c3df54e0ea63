//! The verbs that every shelf of notes has, one file each: `ralph memory …`, `ralph guardrails …`.

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
use ralph_memory::capture::{MAX_NOTE_BYTES, Notebook, SecretPolicy, accept};
use ralph_memory::recall::{Wanted, first_day};
use ralph_model::{Actor, Extra, NoteKind, Shelf, Tags, without_invisible};

pub(crate) use add::{DetailArgs, Kept, content_argument, store};

use crate::context::Context;
use crate::error::CommandError;
use crate::numbers::from_zero;

/// Said when a text came with other line breaks than notes have.
pub(crate) const LINE_BREAKS_CHANGED: &str = "Line breaks were turned into LF.";

/// A shelf, as a type: arguments that are the same for every shelf are described in its words.
pub(crate) trait OnShelf: std::fmt::Debug + 'static {
    /// The shelf.
    const SHELF: Shelf;

    /// What else an entry of it may carry.
    type Rule: Args + EntryRule;

    /// Examples in which `{ralph}` stands for the shelf's command and `{id}` for an id.
    fn examples(template: &str) -> String {
        let words = Self::SHELF.words();
        template
            .replace("{ralph}", words.command)
            .replace("{id}", words.example_id)
    }

    /// A help text that ends with the kinds of the shelf.
    fn kinds(about: &str) -> String {
        format!("{about}: {}", Self::SHELF.list_of_kinds(", "))
    }

    /// Reads the word for a kind of the shelf.
    fn parse_kind(word: &str) -> Result<NoteKind, String> {
        Self::SHELF.parse_kind(word)
    }
}

/// A rule beside the text of an entry.
pub(crate) trait EntryRule: std::fmt::Debug {
    /// Whether there is one.
    fn is_given(&self) -> bool;

    /// Adds it to what an entry carries.
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

impl OnShelf for Memories {
    const SHELF: Shelf = Shelf::Memories;
    type Rule = NoRule;
}

/// `guardrails.md`.
#[derive(Debug)]
pub(crate) struct Guardrails;

impl OnShelf for Guardrails {
    const SHELF: Shelf = Shelf::Guardrails;
    type Rule = GuardrailRule;
}

#[derive(Debug, Subcommand)]
pub(crate) enum NotesCommand<S: OnShelf> {
    Add(add::AddArgs<S>),
    Search(search::SearchArgs<S>),
    List(list::ListArgs<S>),
    Show(show::ShowArgs<S>),
    Edit(edit::EditArgs<S>),
    Delete(delete::DeleteArgs<S>),
    Restore(restore::RestoreArgs<S>),
    Validate(validate::ValidateArgs<S>),
}

impl<S: OnShelf> NotesCommand<S> {
    /// The notes that the command would change or supersede, as they are named.
    pub(crate) fn targets(&self) -> Vec<&str> {
        match self {
            Self::Add(args) => args.supersedes().into_iter().collect(),
            Self::Edit(args) => vec![args.id()],
            Self::Delete(args) => args.ids(),
            Self::Restore(args) => args.ids(),
            Self::Search(_) | Self::List(_) | Self::Show(_) | Self::Validate(_) => Vec::new(),
        }
    }

    /// Whether it adds an entry with a rule, which only a person decides.
    pub(crate) fn adds_rule(&self) -> bool {
        matches!(self, Self::Add(args) if args.has_rule())
    }

    /// Whether it is an edit that does not say what to change: a person does that in an editor.
    pub(crate) fn asks_for_editor(&self) -> bool {
        matches!(self, Self::Edit(args) if !args.names_change())
    }
}

/// The description of one verb, for whoever does not need all of them.
pub(crate) fn describe<S: OnShelf>(verb: &str) -> Option<clap::Command> {
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

/// Runs a verb on a shelf.
pub(crate) fn run<S: OnShelf>(
    context: &Context<'_>,
    notebook: &Notebook<'_>,
    command: NotesCommand<S>,
) -> Result<ExitCode, CommandError> {
    match command {
        NotesCommand::Add(args) => add::cmd_add(context, notebook, args)?,
        NotesCommand::Search(args) => search::cmd_search(context, notebook, &args)?,
        NotesCommand::List(args) => list::cmd_list(context, notebook, &args)?,
        NotesCommand::Show(args) => show::cmd_show(context, notebook, &args)?,
        NotesCommand::Edit(args) => edit::cmd_edit(context, notebook, args)?,
        NotesCommand::Delete(args) => delete::cmd_delete(context, notebook, &args)?,
        NotesCommand::Restore(args) => restore::cmd_restore(context, notebook, &args)?,
        NotesCommand::Validate(args) => return validate::cmd_validate(context, notebook, &args),
    }
    Ok(ExitCode::SUCCESS)
}

/// Which notes are wanted.
#[derive(Debug, Args)]
pub(crate) struct FilterArgs<S: OnShelf> {
    #[arg(short = 't', long = "type", value_name = "KINDS", value_delimiter = ',')]
    #[arg(help = S::kinds("Only these kinds, separated by commas"), value_parser = S::parse_kind)]
    kinds: Vec<NoteKind>,
    /// Only notes with one of these tags, separated by commas
    #[arg(long, value_name = "TAGS", value_parser = Tags::parse)]
    pub(crate) tags: Option<Tags>,
    /// Only notes of the last so many days
    #[arg(long, value_name = "DAYS", allow_negative_numbers = true, value_parser = from_zero::<u32>)]
    recent: Option<u32>,
    #[arg(skip)]
    shelf: PhantomData<S>,
}

impl<S: OnShelf> FilterArgs<S> {
    pub(crate) fn wanted(&self, context: &Context<'_>) -> Wanted {
        Wanted {
            kinds: self.kinds.clone(),
            tags: self.tags.clone().unwrap_or_default(),
            since: self.recent.map(|days| first_day(context.today(), days)),
            ..Wanted::default()
        }
    }
}

/// Whether a text may hold what looks like a secret.
#[derive(Debug, Args)]
pub(crate) struct SecretArgs {
    /// Store the text although it looks like it holds a secret
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

/// The text of an argument; `-` stands for standard input.
pub(crate) fn text_argument(context: &Context<'_>, argument: String) -> Result<String, CommandError> {
    let text = match argument.as_str() {
        "-" => without_last_break(&context.read_input(MAX_NOTE_BYTES)?),
        _ => argument,
    };
    Ok(visible_argument(context, text))
}

/// Standard input without the line break that programs put at the end of it.
fn without_last_break(text: &str) -> String {
    let kept = text.strip_suffix("\r\n").or_else(|| text.strip_suffix('\n'));
    kept.unwrap_or(text).to_owned()
}

/// A text as it is stored: what people wrote is kept, with a warning of invisible characters; they are removed from what
/// agents wrote.
pub(crate) fn visible_argument(context: &Context<'_>, text: String) -> String {
    match context.actor {
        Actor::Person => {
            context.ui.warn_of_invisible(&text);
            text
        }
        Actor::Agent { .. } => without_invisible(&text).into_owned(),
    }
}

/// A text may begin with a dash, as a bullet does. A single word that does is a mistyped flag, unless `--` stands before.
pub(crate) fn refuse_mistyped_flag(context: &Context<'_>, text: &str) -> Result<(), CommandError> {
    let like_a_flag = text.len() > 1 && text.starts_with('-') && !text.contains(char::is_whitespace);
    if like_a_flag && !context.text_after_dashes {
        return Err(CommandError::usage(format!("unexpected argument '{text}'"))
            .hint(format!("if it is meant as a text, use `-- {text}`")));
    }
    Ok(())
}

/// Reads the file, says what happened to it, and hands it on.
pub(crate) fn read(
    context: &Context<'_>,
    notebook: &Notebook<'_>,
) -> Result<ralph_memory::capture::Reading, CommandError> {
    let reading = notebook.read()?;
    context.report_findings(notebook, &notebook.look(reading.stamp()));
    Ok(reading)
}
