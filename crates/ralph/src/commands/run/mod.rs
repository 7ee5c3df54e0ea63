//! `ralph run`: runs tasks with a coding agent.

mod agent;
pub(crate) mod confirm;
mod dry_run;
mod guard;
mod guide;
mod idle;
mod isolation;
mod json;
mod live;
mod notify;
mod printer;
mod stops;
mod summary;
mod target;
mod tick;
mod verifier;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::builder::{FalseyValueParser, TypedValueParser};
use clap::{ArgAction, Args};
use ralph_loop::changes::{CommitError, OwnFiles, can_commit};
use ralph_loop::state::{End, FirstTry, WaitTimes};
use ralph_loop::{Guide, LockError, Order, Rules, RunError, RunEvent, Runner, Site, Verifier, Watch, WorktreeLock};
use ralph_memory::capture::clean;
use ralph_memory::inject::prompt::MemoryShare;
use ralph_model::config::{Commit, Config, Isolate, Kind, LiveView, StrategyName, WhenUnverified};
use ralph_model::{AuthorKind, Extra, Note, NoteFileKind, Task};
use ralph_notes::lock_path;
use ralph_store::{RunProcess, TaskFilter};

pub(crate) use agent::{configured_or_found, models_of_agent};
pub(crate) use confirm::{confirm_agent, confirmed_config};

use crate::context::Context;
use crate::env;
use crate::error::CommandError;
use crate::git::Worktree;
use crate::numbers::from_one;
use crate::paths::{self, Spelling};
use crate::ui::Ui;

use json::JsonReporter;
use live::Live;
use printer::Printer;
use stops::Stops;
use summary::Summary;

/// The characters of the command that continues a run.
const MAX_COMMAND: usize = 16 << 10;

/// Run tasks with a coding agent
///
/// Every iteration is a fresh agent session. Its prompt includes notes, journal entries and why the last attempt
/// failed. A task is done when the agent reports it done, all gates (`[verify] commands`) pass, and the verifier
/// approves. A done task that no gate or verifier confirmed, or that changed nothing, is unverified and needs your
/// review.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph run                        # all ready tasks, in order
  ralph run t-1a2b3c               # one task and its subtasks
  ralph run search                 # the tasks of a feature
  ralph run \"fix the login page\"   # create a task from the text and run it
  ralph run plan.md                # a checklist; each item is a task
  ralph run PROMPT.md --limit 10   # another file: a prompt, repeated until done
  ralph run --dry-run              # show what would run; start nothing
  ralph run --json | jq -c .event  # print events as JSON lines, for programs

At a terminal, Ctrl+C stops the agent and asks what it should do differently; your answer is added to the task, and \
the run continues or ends. A second Ctrl+C ends the run at once. Without a terminal, the first Ctrl+C ends it.

Keys in the live view: q ends the run after this iteration (press q again to undo), g asks for guidance like Ctrl+C, \
p shows the prompt (in $PAGER if it is set).

Exit codes: 0 everything is done, or the run ended after an iteration as requested with q; 3 nothing to do; \
4 something needs your attention (a failed or unverified task, a limit); 130 stopped by Ctrl+C; 1 error.")]
pub(crate) struct RunArgs {
    /// Task, feature, text or file to run; all ready tasks if omitted
    #[arg(value_name = "TASK|FEATURE|TEXT|FILE")]
    what: Option<String>,
    /// Maximum number of iterations
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = from_one::<u32>)]
    limit: Option<u32>,
    /// Model for every iteration
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
    /// Model selection strategy: cost-optimized, escalate, fixed or plan-then-execute
    #[arg(long, value_name = "STRATEGY", value_parser = parse_strategy)]
    model_strategy: Option<StrategyName>,
    /// Skip the verifier; gates still run
    #[arg(long)]
    no_verify: bool,
    /// Agent command to use instead of the configured one
    #[arg(long, value_name = "COMMAND")]
    agent: Option<String>,
    /// Show the task, agent, model, gates and prompt size without starting anything
    #[arg(long)]
    dry_run: bool,
    /// Print every event as a JSON line (described in docs/events.md)
    #[arg(long = "json", action = ArgAction::SetTrue, conflicts_with = "dry_run",
          value_parser = FalseyValueParser::new().map(output_mode))]
    output: OutputMode,
    /// Print plain lines instead of the live view
    #[arg(long = "plain", action = ArgAction::SetTrue, value_parser = FalseyValueParser::new().map(live_view))]
    live: LiveView,
    /// Confirm the commands in .ralph.toml without asking, until they change
    #[arg(long)]
    trust: bool,
    /// Start the agent at once, even if an earlier run hit a usage limit that has not reset
    #[arg(long = "no-wait", action = ArgAction::SetTrue, value_parser = FalseyValueParser::new().map(first_try))]
    first_try: FirstTry,
    /// Leave memory out of prompts, to measure its effect; notes are still saved
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

/// What a run prints on standard output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OutputMode {
    /// A summary at the end.
    Summary,
    /// Every event as a JSON line.
    Json,
}

fn output_mode(json: bool) -> OutputMode {
    if json { OutputMode::Json } else { OutputMode::Summary }
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
    StrategyName::parse(word).ok_or_else(|| format!("expected {}", Kind::OneOf(StrategyName::WORDS)))
}

pub(crate) fn cmd_run(
    ui: &Ui,
    context: Result<Context<'_>, CommandError>,
    args: &RunArgs,
) -> Result<ExitCode, CommandError> {
    if args.output == OutputMode::Summary {
        return begin(&context?, args, None);
    }
    let context = context.inspect_err(|error| json::failed_early(ui, error))?;
    let mut json_reporter = JsonReporter::new(&context);
    let result = begin(&context, args, Some(&mut json_reporter));
    if let Err(error) = &result {
        json_reporter.failed(error);
    }
    result
}

fn begin<'a>(
    context: &'a Context<'a>,
    args: &RunArgs,
    json_reporter: Option<&mut JsonReporter<'a>>,
) -> Result<ExitCode, CommandError> {
    let mut config = configured(&context.configured, args);
    refuse_impossible_commits(context, &config)?;
    let (rules, checks) = rules(context, &mut config)?;
    let workers = workers(context, &mut config, args.agent.as_deref());
    // A dry run works without an agent, unless `--agent` names one that is missing.
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
        let reported = json_reporter.map(|json_reporter| Ok(json_reporter.nothing_began(&idle)));
        return reported.unwrap_or_else(|| idle.report(context));
    }
    guard::protect(context, &store);
    let before = guard::DatabaseBefore::of(context, &store);
    let isolation = isolation::chosen(context, &config, &store, &target.scope)?;
    drop(store);
    let verifier = match is_work_left {
        true => verifier::ask_for_read_only(context, &config, agent.driver.as_ref(), verifier)?,
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
        wait_times: wait_times(context, args),
        first_try: args.first_try,
        guide: guide_of(context, args),
        again: clean(&with_flags(target.again, args), MAX_COMMAND),
    };
    let stops = Stops::listen()?;
    let live = shown_live(context, args, order.agent.name())?;
    let mut summary = Summary::new(context);
    let watch = Followed {
        printer: Printer::new(context, live.as_ref()),
        summary: &mut summary,
        json_reporter,
        live,
        notifier: notify::Notifier::new(context, &config),
    };
    let end = run(context, (&site, &stops), order, watch);
    target.checklist.iter().for_each(|checklist| checklist.tick(context));
    let end = end.map_err(|error| before.hint(context, error))?;
    if args.output == OutputMode::Summary {
        summary.print(&end)?;
    }
    exit_code(end).map_err(|error| before.hint(context, error))
}

/// Everything that watches a run.
struct Followed<'w, 'a> {
    printer: Printer<'a>,
    summary: &'w mut Summary<'a>,
    json_reporter: Option<&'w mut JsonReporter<'a>>,
    live: Option<Live>,
    notifier: notify::Notifier<'w>,
}

impl Watch for Followed<'_, '_> {
    fn tell(&mut self, event: &RunEvent<'_>) {
        if let Some(json_reporter) = &mut self.json_reporter {
            json_reporter.tell(event);
        }
        if let Some(live) = &mut self.live {
            live.tell(event);
        }
        self.printer.tell(event);
        self.summary.tell(event);
        self.notifier.tell(event);
    }

    fn follows_tasks(&self) -> bool {
        self.live.is_some()
    }
}

type Workers = (agent::ChosenAgent, verifier::ChosenVerifier);

/// Chooses the agent and the verifier, and sets the configured models to the agent's.
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

/// Fails before the run starts if it works in the project folder and cannot commit there.
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

/// The rules of guardrails. Their checks become gates of the run. Rules that an agent wrote are not enforced until a
/// user adopts them.
fn rules(context: &Context<'_>, config: &mut Config) -> Result<(Rules, Vec<String>), CommandError> {
    let note_repository = context.note_repository(NoteFileKind::Guardrails, Spelling::Own);
    let reading = note_repository.read()?;
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
        // A change to the file during an iteration may come from the agent.
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
        let file = context.project.shown(&note_repository.path);
        CommandError::new(format!("{file}: {error}")).hint("fix it with `ralph guardrails edit` or an editor")
    })?;
    let checks: Vec<String> = rules.checks().map(str::to_owned).collect();
    for check in &checks {
        if !config.verify.commands.contains(check) {
            config.verify.commands.push(check.clone());
        }
    }
    Ok((rules, checks))
}

/// Prints the agent and the verifier.
fn announce(
    context: &Context<'_>,
    config: &Config,
    (agent, verifier): (&agent::ChosenAgent, &verifier::ChosenVerifier),
    args: &RunArgs,
) {
    context.ui.status(&format!("Agent: {}.", agent.describe(config)));
    let confirms = missing_confirmation_note(config, verifier).map(str::to_owned);
    let sentences = [verifier.sentence.clone(), confirms, unused_strategy_note(config, args)];
    for sentence in sentences.into_iter().flatten() {
        context.ui.status(&sentence);
    }
}

/// A note for a run in which nothing can confirm finished tasks.
fn missing_confirmation_note(config: &Config, verifier: &verifier::ChosenVerifier) -> Option<&'static str> {
    if !config.verify.commands.is_empty() || !matches!(verifier.verifier, Verifier::None) {
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

/// A note for a model strategy that has no models to choose from.
fn unused_strategy_note(config: &Config, args: &RunArgs) -> Option<String> {
    let strategy = config
        .strategy
        .name
        .filter(|_| config.agent.models.is_empty() && args.model.is_none())?;
    Some(format!(
        "No models are configured for this agent, so the strategy `{}` has no effect; set `[agent] models` in \
         .ralph.toml.",
        strategy.word()
    ))
}

/// Whether the live view is enabled and can be drawn.
fn is_shown_live(context: &Context<'_>, args: &RunArgs) -> bool {
    let is_wanted = args.live == LiveView::Auto && context.config.ui.live == LiveView::Auto;
    is_wanted && args.output == OutputMode::Summary && context.ui.can_draw()
}

fn shown_live(context: &Context<'_>, args: &RunArgs, agent: &str) -> Result<Option<Live>, CommandError> {
    let live = is_shown_live(context, args).then(|| Live::begin(context, agent));
    Ok(live.transpose()?)
}

/// How often a wait polls the clock: every second where the live view counts down.
fn wait_times(context: &Context<'_>, args: &RunArgs) -> WaitTimes {
    let usual = WaitTimes::default();
    WaitTimes {
        clock_check: match is_shown_live(context, args) {
            true => Duration::from_secs(1),
            false => usual.clock_check,
        },
        ..usual
    }
}

fn run(
    context: &Context<'_>,
    (site, stops): (&Site<'_>, &Stops),
    order: Order,
    mut watch: Followed<'_, '_>,
) -> Result<End, CommandError> {
    ralph_process::give_memory_back();
    ralph_process::become_subreaper()
        .map_err(|error| CommandError::new(format!("cannot manage the agent's processes: {error}")))?;
    let view = watch.live.as_ref().map(Live::shared);
    let end = context.with_entropy(|entropy| {
        let runner = Runner::new(site, order, entropy, &mut watch)?;
        let interrupter = runner.interrupter();
        if let Some(view) = view {
            view.set_run(&interrupter);
        }
        stops.set_run(&interrupter);
        runner.run()
    });
    end.map_err(|error: RunError| CommandError::new(error.to_string()))
}

/// Asks for guidance when a turn is stopped; none if a program reads the output.
fn guide_of(context: &Context<'_>, args: &RunArgs) -> Option<Arc<dyn Guide>> {
    let dialogue = context.ui.dialogue().filter(|_| args.output == OutputMode::Summary)?;
    Some(Arc::new(guide::AtTerminal::new(dialogue)))
}

fn cannot_commit(error: &CommitError) -> CommandError {
    let refused = CommandError::new(format!("`[git] commit = \"task\"` is not possible: {error}"));
    match error {
        CommitError::NoRepository(_) => refused.hint("run `git init`, or set `commit = \"none\"`"),
        _ => refused,
    }
}

/// The configuration with the flags applied.
fn configured(config: &Config, args: &RunArgs) -> Config {
    let mut config = config.clone();
    config.limits.iterations = args.limit.or(config.limits.iterations);
    config.strategy.name = args.model_strategy.or(config.strategy.name);
    config.execution.verify &= !args.no_verify;
    config
}

/// The command that continues this run, with the flags that apply to the whole run.
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

pub(super) fn site<'a>(
    context: &'a Context<'_>,
    config: &'a Config,
    process: RunProcess,
) -> Result<Site<'a>, CommandError> {
    let project = &context.project;
    let head = project.worktree.as_ref().and_then(Worktree::head);
    let (branch, commit) = match head.as_deref().map(|head| head.rsplit_once(' ')) {
        Some(Some((branch, commit))) => (
            Some(branch.trim_start_matches("refs/heads/").to_owned()),
            Some(commit.to_owned()),
        ),
        Some(None) => (None, head.clone()),
        None => (None, None),
    };
    let program = std::env::current_exe()
        .map_err(|error| CommandError::new(format!("cannot find the path of this program: {error}")))?;
    Ok(Site {
        root: project.root.clone(),
        worktree: project.worktree_name().to_owned(),
        branch,
        commit: commit.filter(|commit| !commit.is_empty()),
        database: project.database(),
        runs: project.runs(),
        knowledge: context.knowledge(),
        notes: [NoteFileKind::Memories, NoteFileKind::Guardrails]
            .map(|kind| context.note_repository(kind, Spelling::Own))
            .into(),
        features: context.features(),
        scratchpad: context.scratchpad(),
        own: own_files(context),
        isolation: None,
        rules: Rules::default(),
        index: context.index(Spelling::Own),
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

/// Files in the project that belong to ralph and are not the agent's work.
pub(crate) fn own_files(context: &Context<'_>) -> OwnFiles {
    let from_root = |path: &Path| context.project.shown(path).to_string();
    let notes = [NoteFileKind::Memories, NoteFileKind::Guardrails]
        .map(|kind| context.note_repository(kind, Spelling::Own).path);
    let scratchpad = context.scratchpad().path;
    let locks = notes.iter().chain([&scratchpad]).map(|path| lock_path(path));
    let hidden = context.project.internal_paths().into_iter();
    let hidden = hidden.chain(locks).chain([scratchpad.clone()]);
    let kept = notes.iter().map(|path| from_root(path));
    OwnFiles {
        hidden: hidden.map(|path| from_root(&path)).collect(),
        notes: kept.chain([paths::KNOWLEDGE.to_owned()]).collect(),
    }
}

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
        "run `git worktree add {}`, then `ralph run` in it, to work on the same tasks in parallel",
        beside.display()
    ))
}
