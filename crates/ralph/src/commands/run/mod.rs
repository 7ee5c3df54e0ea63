//! `ralph run`: works on tasks until they are done.

mod agent;
pub(crate) mod confirm;
mod dry_run;
mod guard;
mod guide;
mod idle;
mod isolation;
mod live;
mod notify;
mod printer;
mod stops;
pub(crate) mod stream;
mod target;
mod tick;
pub(super) mod upkeep_words;
mod verifier;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::builder::{FalseyValueParser, TypedValueParser};
use clap::{ArgAction, Args};
use ralph_loop::changes::{CommitError, OwnFiles, can_commit};
use ralph_loop::state::{End, FirstTry, Pace};
use ralph_loop::{Finish, Guide, LockError, Order, Rules, Runner, Site, Verifier, WorktreeLock};
use ralph_memory::capture::Surroundings;
use ralph_memory::inject::prompt::MemoryShare;
use ralph_model::config::{Commit, Config, Isolate, Kind, LiveView, StrategyName, WhenUnverified};
use ralph_model::{AuthorKind, Extra, Note, Shelf, Task};
use ralph_notes::lock_path;
use ralph_store::{RunProcess, TaskFilter};

pub(crate) use agent::{configured_or_found, models_of_agent};
pub(crate) use confirm::{confirm_agent, confirmed_config};

use crate::context::Context;
use crate::env;
use crate::error::CommandError;
use crate::numbers::from_one;
use crate::paths::{self, Spelling};
use crate::ui::Ui;

use live::Live;
use stops::Stops;
use stream::{Followed, Teller};

/// Work on tasks with a coding agent until they are done
///
/// Every iteration is a fresh session with what earlier ones left: notes, the journal, why the last attempt failed. A task is
/// done when the agent reports it done, no gate (`[verify] commands`) refuses it, and the verifier approves. A done task that
/// neither a gate nor a verifier confirmed, or that changed nothing, is unverified and needs your review.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph run                        # all tasks that are ready, in their order
  ralph run t-1a2b3c               # one task, with everything below it
  ralph run search                 # the tasks of a feature
  ralph run \"mend the login page\"  # makes a task of the text and runs it
  ralph run plan.md                # a checklist: its items are tasks
  ralph run PROMPT.md --limit 10   # any other file, until it is complete
  ralph run --dry-run              # what would be done; starts nothing
  ralph run --json | jq -c .event  # every event as a line of JSON, for programs

At a terminal Ctrl+C stops the agent and asks what it should do differently; that goes to the task, and the run goes on or \
ends. A second Ctrl+C ends the run at once. Elsewhere the first one ends it.

Keys, while the live view is shown: q ends the run after this iteration (q again: it goes on after all), g asks as Ctrl+C \
does, p shows the prompt ($PAGER, if it is set).

Exit codes: 0 everything is done, or it ended after an iteration as q wished; 3 nothing to do; 4 something needs your \
attention (a failed or unverified task, a limit); 130 stopped by Ctrl+C; 1 something is broken.")]
pub(crate) struct RunArgs {
    /// A task, a feature, a text, or a file; without it all tasks
    #[arg(value_name = "TASK|FEATURE|TEXT|FILE")]
    what: Option<String>,
    /// At most so many iterations
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = from_one::<u32>)]
    limit: Option<u32>,
    /// The model for every iteration
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
    /// How the model of an iteration is chosen: cost-optimized, escalate, fixed or plan-then-execute
    #[arg(long, value_name = "STRATEGY", value_parser = parse_strategy)]
    model_strategy: Option<StrategyName>,
    /// Skip the look of a second session at finished work; the gates are never skipped
    #[arg(long)]
    no_verify: bool,
    /// The agent's command, instead of the configured one
    #[arg(long, value_name = "COMMAND")]
    agent: Option<String>,
    /// Show the task, the agent, the model, the gates and the size of the prompt; start nothing
    #[arg(long)]
    dry_run: bool,
    /// Print every event as a line of JSON, for programs; docs/events.md describes them
    #[arg(long = "json", action = ArgAction::SetTrue, conflicts_with = "dry_run",
          value_parser = FalseyValueParser::new().map(told_as))]
    told_as: ToldAs,
    /// Show lines alone, also at a terminal
    #[arg(long = "plain", action = ArgAction::SetTrue, value_parser = FalseyValueParser::new().map(live_view))]
    live: LiveView,
    /// Run the commands of .ralph.toml without asking; what was confirmed once is not asked again
    #[arg(long)]
    trust: bool,
    /// Start the agent at once, also where an earlier run has met a usage limit that is not over yet
    #[arg(long = "no-wait", action = ArgAction::SetTrue, value_parser = FalseyValueParser::new().map(first_try))]
    first_try: FirstTry,
    /// Leave the memory out of prompts, to see what difference it makes; notes are kept all the same
    #[arg(long = "without-memory", action = ArgAction::SetTrue, value_parser = FalseyValueParser::new().map(share))]
    share: MemoryShare,
}

fn first_try(no_wait: bool) -> FirstTry {
    if no_wait {
        FirstTry::AtOnce
    } else {
        FirstTry::AfterThePause
    }
}

/// How a run is told on standard output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ToldAs {
    /// In a few last words.
    Words,
    /// Every event, in lines of JSON.
    Json,
}

fn told_as(json: bool) -> ToldAs {
    if json { ToldAs::Json } else { ToldAs::Words }
}

fn live_view(plain: bool) -> LiveView {
    if plain { LiveView::Never } else { LiveView::Auto }
}

fn share(without_memory: bool) -> MemoryShare {
    if without_memory {
        MemoryShare::None
    } else {
        MemoryShare::Whole
    }
}

fn parse_strategy(word: &str) -> Result<StrategyName, String> {
    StrategyName::parse(word).ok_or_else(|| format!("allowed is {}", Kind::OneOf(StrategyName::WORDS)))
}

pub(crate) fn cmd_run(
    ui: &Ui,
    context: Result<Context<'_>, CommandError>,
    args: &RunArgs,
) -> Result<ExitCode, CommandError> {
    if args.told_as == ToldAs::Words {
        return begin(&context?, args, None);
    }
    let context = context.inspect_err(|error| stream::failed_early(ui, error))?;
    let mut teller = Teller::new(&context);
    let result = begin(&context, args, Some(&mut teller));
    if let Err(error) = &result {
        teller.failed(error);
    }
    result
}

fn begin<'a>(
    context: &'a Context<'a>,
    args: &RunArgs,
    mut teller: Option<&mut Teller<'a>>,
) -> Result<ExitCode, CommandError> {
    let mut config = configured(&context.configured, args);
    refuse_impossible_commits(context, &config)?;
    let (rules, checks) = rules(context, &mut config)?;
    let workers = workers(context, &mut config, args.agent.as_deref());
    // Without an agent it still shows what there is to do; one that is named must be there.
    if args.dry_run && (workers.is_ok() || args.agent.is_none()) {
        return dry_run::show(context, &config, workers.as_ref(), args);
    }
    let (agent, verifier) = workers?;
    confirm::confirm_commands(context, (args.agent.is_none(), args.trust), &checks)?;
    let project = &context.project;
    guard::prepare_folders(context)?;
    let process = this_process();
    let lock = WorktreeLock::take(&project.run_lock(), &format!("process {}", process.pid));
    let _lock = lock.map_err(|error| refused(context, &error))?;
    let mut store = guard::open_when_unlocked(context)?;
    let target = target::resolve(context, &mut store, args.what.as_deref(), args.trust)?;
    let open_tasks = store.tasks(&TaskFilter::default())?;
    let is_work_left = !open_tasks.is_empty();
    confirm::confirm_checks(context, &checks_of(open_tasks), args.trust)?;
    if let Some(idle) = idle::idle(context, &store, &target.scope, target.file.as_deref())? {
        let told = teller.map(|teller| Ok(teller.nothing_began(&idle)));
        return told.unwrap_or_else(|| idle.tell(context));
    }
    guard::protect(context, &store);
    let before = guard::DatabaseBefore::of(context, &store);
    let isolation = isolation::chosen(context, &config, &store, &target.scope)?;
    drop(store);
    let verifier = match is_work_left {
        true => verifier::asked(context, &config, agent.driver.as_ref(), verifier)?,
        false => verifier,
    };
    announce(context, &config, (&agent, &verifier), args);
    let site = Site {
        isolation,
        rules,
        ..site(context, &config, process)?
    };
    let order = Order {
        only_task: target.only_task,
        scope: target.scope,
        goal: target.goal,
        agent: agent.driver,
        verifier: verifier.verifier,
        model: args.model.clone(),
        share: args.share,
        pace: pace(context, args),
        first_try: args.first_try,
        guide: guide_of(context, args),
    };
    let again = with_flags(target.again, args);
    if let Some(teller) = &mut teller {
        teller.prepare(&order, &site, &again);
    }
    let stops = Stops::listen()?;
    let live = shown_live(context, args, order.agent.name())?;
    let mut printer = printer::Printer::new(context, again, live.as_ref());
    let watch = Followed {
        printer: &mut printer,
        teller,
        live,
        notifier: notify::Notifier::new(context, &config),
    };
    let end = run(context, (&site, &stops), order, watch);
    target.checklist.iter().for_each(|checklist| checklist.tick(context));
    let end = end.map_err(|error| before.hint(context, error))?;
    if args.told_as == ToldAs::Words {
        printer.close(&end)?;
    }
    exit_code(end).map_err(|error| before.hint(context, error))
}

type Workers = (agent::ChosenAgent, verifier::ChosenVerifier);

/// Chooses who works and who verifies; the models are those of the agent.
fn workers(context: &Context<'_>, config: &mut Config, flag: Option<&str>) -> Result<Workers, CommandError> {
    let agent = agent::chosen(context, config, flag)?;
    config.agent.models.clone_from(&agent.models);
    let verifier = verifier::chosen(context, config, agent.driver.as_ref())?;
    Ok((agent, verifier))
}

fn exit_code(end: End) -> Result<ExitCode, CommandError> {
    match end {
        End::Error(reason) => Err(CommandError::new(reason)),
        end => Ok(ExitCode::from(end.code())),
    }
}

/// Work in the project itself is committed there; whether that is possible is known before the run.
fn refuse_impossible_commits(context: &Context<'_>, config: &Config) -> Result<(), CommandError> {
    let is_in_place = config.git.isolate == Isolate::Off || context.project.worktree.is_none();
    match config.git.commit == Commit::Task && is_in_place {
        true => can_commit(&context.project.root).map_err(|error| cannot_commit(&error)),
        false => Ok(()),
    }
}

fn checks_of(tasks: Vec<Task>) -> Vec<String> {
    let checks: BTreeSet<String> = tasks.into_iter().flat_map(|task| task.checks).collect();
    checks.into_iter().collect()
}

/// The rules of guardrails. Their checks become gates of the run. What an agent has written is not enforced before a person
/// makes it theirs.
fn rules(context: &Context<'_>, config: &mut Config) -> Result<(Rules, Vec<String>), CommandError> {
    let notebook = context.notebook(Shelf::Guardrails, Spelling::Own);
    let reading = notebook.read()?;
    let document = reading.document();
    let superseded = document.superseded();
    let notes: Vec<Note> = document
        .entries()
        .iter()
        .filter_map(|entry| document.note(entry))
        .collect();
    let store = context.facts()?;
    let mut current = Vec::new();
    for note in notes.iter().filter(|note| !superseded.contains(note.id.as_str())) {
        let has_rule = [Extra::DENY_PATH, Extra::CHECK]
            .iter()
            .any(|key| note.extra.get(key).is_some());
        let changes = match &store {
            Some(store) if has_rule => store.logged_changes(note.id.as_str())?,
            _ => Vec::new(),
        };
        let last = changes.last().map(|change| &change.author);
        // What appears in the file during an iteration may be the agent's.
        if last.is_some_and(|author| author.run.is_some() && author.kind != AuthorKind::Human) {
            context.ui.warning(&format!(
                "The rule of guardrail {} is not enforced: it was written during an iteration. Add it with \
                 `ralph guardrails add` to enforce it.",
                note.id
            ));
        } else {
            current.push(note);
        }
    }
    let rules = Rules::of(current).map_err(|error| {
        let file = context.project.shown(&notebook.path);
        CommandError::new(format!("{file}: {error}")).hint("`ralph guardrails edit` or an editor fixes it")
    })?;
    let checks: Vec<String> = rules.checks().map(str::to_owned).collect();
    for check in &checks {
        if !config.verify.commands.contains(check) {
            config.verify.commands.push(check.clone());
        }
    }
    Ok((rules, checks))
}

/// Says who works and who verifies.
fn announce(
    context: &Context<'_>,
    config: &Config,
    (agent, verifier): (&agent::ChosenAgent, &verifier::ChosenVerifier),
    args: &RunArgs,
) {
    context.ui.status(&format!("Agent: {}.", agent.in_words(config)));
    let confirms = nothing_confirms(config, verifier).map(str::to_owned);
    let sentences = [verifier.sentence.clone(), confirms, nothing_to_choose(config, args)];
    for sentence in sentences.into_iter().flatten() {
        context.ui.status(&sentence);
    }
}

/// What a person should know of a run whose finished tasks nothing can confirm.
fn nothing_confirms(config: &Config, verifier: &verifier::ChosenVerifier) -> Option<&'static str> {
    if !config.verify.commands.is_empty() || !matches!(verifier.verifier, Verifier::Nobody) {
        return None;
    }
    Some(match config.verify.unverified {
        WhenUnverified::Review => "No gates and no verifier: finished tasks will need your review.",
        WhenUnverified::Accept => "No gates and no verifier: finished tasks are accepted unverified.",
        WhenUnverified::Retry => {
            "No gates and no verifier: no task can be done, because `[verify] unverified` is `retry`."
        }
    })
}

/// What is said of a strategy that somebody wishes for where it has no models to choose from.
fn nothing_to_choose(config: &Config, args: &RunArgs) -> Option<String> {
    let strategy = config
        .strategy
        .name
        .filter(|_| config.agent.models.is_empty() && args.model.is_none())?;
    Some(format!(
        "Models: none are configured for this agent, so `{}` has nothing to choose from; `[agent] models` in .ralph.toml \
         names them.",
        strategy.word()
    ))
}

/// Whether a live view is wanted and can be drawn.
fn is_shown_live(context: &Context<'_>, args: &RunArgs) -> bool {
    let is_wanted = args.live == LiveView::Auto && context.config.ui.live == LiveView::Auto;
    is_wanted && args.told_as == ToldAs::Words && context.ui.can_draw()
}

fn shown_live(context: &Context<'_>, args: &RunArgs, agent: &str) -> Result<Option<Live>, CommandError> {
    let live = is_shown_live(context, args).then(|| Live::begin(context, agent));
    Ok(live.transpose()?)
}

/// How often a wait looks at the clock: a person sees every second of it.
fn pace(context: &Context<'_>, args: &RunArgs) -> Pace {
    let usual = Pace::default();
    Pace {
        look: match is_shown_live(context, args) {
            true => Duration::from_secs(1),
            false => usual.look,
        },
        ..usual
    }
}

/// Runs to the end.
fn run(
    context: &Context<'_>,
    (site, stops): (&Site<'_>, &Stops),
    order: Order,
    mut watch: Followed<'_, '_>,
) -> Result<End, CommandError> {
    ralph_process::give_memory_back();
    ralph_process::become_subreaper()
        .map_err(|error| CommandError::new(format!("cannot look after the agent's processes: {error}")))?;
    let view = watch.live.as_ref().map(Live::shared);
    let finish = context.with_entropy(|entropy| {
        let runner = Runner::new(site, order, entropy, &mut watch)?;
        let interrupter = runner.interrupter();
        if let Some(view) = view {
            view.listens_for(&interrupter);
        }
        stops.tell(&interrupter);
        runner.run()
    });
    match finish.map_err(|error| CommandError::new(error.to_string()))? {
        Finish::Ended { end, .. } => Ok(end),
        Finish::Died => Err(CommandError::new("the run came to no end")),
    }
}

/// Who can be asked when a turn is stopped: nobody where a program reads what is told.
fn guide_of(context: &Context<'_>, args: &RunArgs) -> Option<Arc<dyn Guide>> {
    let dialogue = context.ui.dialogue().filter(|_| args.told_as == ToldAs::Words)?;
    Some(Arc::new(guide::AtTerminal::new(dialogue)))
}

fn cannot_commit(error: &CommitError) -> CommandError {
    let refused = CommandError::new(format!("`[git] commit = \"task\"` cannot be kept to: {error}"));
    match error {
        CommitError::NoRepository(_) => refused.hint("`git init` makes one; `commit = \"none\"` does without"),
        _ => refused,
    }
}

/// The configuration with what the flags say.
fn configured(config: &Config, args: &RunArgs) -> Config {
    let mut config = config.clone();
    config.limits.iterations = args.limit.or(config.limits.iterations);
    config.strategy.name = args.model_strategy.or(config.strategy.name);
    config.execution.verify &= !args.no_verify;
    config
}

/// The command that goes on, with the flags that hold for all of a run.
fn with_flags(mut again: String, args: &RunArgs) -> String {
    let limit = args.limit.map(|limit| limit.to_string());
    let strategy = args.model_strategy.map(|strategy| strategy.word().to_owned());
    let bare = [
        (args.no_verify, " --no-verify"),
        (args.share == MemoryShare::None, " --without-memory"),
        (args.live == LiveView::Never, " --plain"),
    ];
    for (_, flag) in bare.into_iter().filter(|(is_given, _)| *is_given) {
        again.push_str(flag);
    }
    let with_values = [
        ("--limit", limit.as_deref()),
        ("--model", args.model.as_deref()),
        ("--model-strategy", strategy.as_deref()),
        ("--agent", args.agent.as_deref()),
    ];
    for (flag, value) in with_values {
        if let Some(value) = value {
            again.push_str(&format!(" {flag} {}", target::shell_word(value)));
        }
    }
    again
}

/// Where the run takes place.
pub(super) fn site<'a>(
    context: &'a Context<'_>,
    config: &'a Config,
    process: RunProcess,
) -> Result<Site<'a>, CommandError> {
    let project = &context.project;
    let head = project.head();
    let (branch, commit) = match head.as_deref().map(|head| head.rsplit_once(' ')) {
        Some(Some((branch, commit))) => (
            Some(branch.trim_start_matches("refs/heads/").to_owned()),
            Some(commit.to_owned()),
        ),
        Some(None) => (None, head.clone()),
        None => (None, None),
    };
    let program = std::env::current_exe()
        .map_err(|error| CommandError::new(format!("cannot tell where this program is: {error}")))?;
    Ok(Site {
        root: project.root.clone(),
        worktree: project.worktree_name().to_owned(),
        branch,
        commit: commit.filter(|commit| !commit.is_empty()),
        database: project.database(),
        runs: project.runs(),
        knowledge: context.knowledge(),
        notes: [Shelf::Memories, Shelf::Guardrails]
            .map(|shelf| context.notebook(shelf, Spelling::Own))
            .into(),
        features: context.features(),
        scratchpad: context.scratchpad(),
        own: own_files(context),
        isolation: None,
        rules: Rules::default(),
        catalogue: context.catalogue(Spelling::Own),
        config,
        config_files: [project.root.join(paths::CONFIG)]
            .into_iter()
            .chain(crate::settings::user_file())
            .collect(),
        environment: env::all(),
        program,
        process,
        clock: context.clock(),
    })
}

/// What in the project is ralph's own: no work of an agent's, or notes.
pub(crate) fn own_files(context: &Context<'_>) -> OwnFiles {
    let from_root = |path: &Path| context.project.shown(path).to_string();
    let notes = [Shelf::Memories, Shelf::Guardrails].map(|shelf| context.notebook(shelf, Spelling::Own).path);
    let scratchpad = context.scratchpad().path;
    let locks = notes.iter().chain([&scratchpad]).map(|path| lock_path(path));
    let hidden = context.project.machinery().into_iter();
    let hidden = hidden.chain(locks).chain([scratchpad.clone()]);
    let kept = notes.iter().map(|path| from_root(path));
    OwnFiles {
        hidden: hidden.map(|path| from_root(&path)).collect(),
        notes: kept.chain([paths::KNOWLEDGE.to_owned()]).collect(),
    }
}

/// This process as its host knows it.
pub(super) fn this_process() -> RunProcess {
    let pid = std::process::id();
    RunProcess {
        host: ralph_process::host(),
        pid,
        started: ralph_process::start_time(pid).unwrap_or_default(),
    }
}

fn refused(context: &Context<'_>, error: &LockError) -> CommandError {
    let refused = CommandError::new(error.to_string());
    if !matches!(error, LockError::Taken { .. }) {
        return refused;
    }
    let name = context.project.root.file_name().unwrap_or_default().to_string_lossy();
    let beside = Path::new("..").join(format!("{name}-2"));
    refused.hint(format!(
        "`git worktree add {}` makes a second folder; `ralph run` there works on the same tasks",
        beside.display()
    ))
}
