//! What is known of a run while it goes on: a picture that every piece of news changes. It knows no clock and no terminal.

use std::collections::BTreeMap;
use std::time::Duration;

use ralph_agent::TurnEvent;
use ralph_loop::News;
use ralph_loop::gates::GateResult;
use ralph_loop::state::{Current, Draft, Notice, PauseWait};
use ralph_memory::inject::prompt::AttemptNumber;
use ralph_model::{RunId, TaskId, TaskKind, TaskStatus, Usage, first_line};
use ralph_store::Standing;

/// How many characters of a line of text are kept: no terminal shows more.
const LINE_CHARACTERS: usize = 400;
/// How much of the end of a text is looked at for its last line.
const TAIL_BYTES: usize = 4096;

/// What whoever looks at the work is called beside the gates.
const VERIFIER: &str = "verifier";

/// A run as it stands.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct View {
    /// The agent's name.
    pub(super) agent: String,
    /// The folder that paths of tools are shown from.
    pub(super) root: String,
    pub(super) run: Option<RunId>,
    /// How its tasks stand, of those that are done and that have failed the ones that it settled; none before anybody told.
    pub(super) tasks: Option<Standing>,
    /// Where it left the tasks that it settled.
    pub(super) left: BTreeMap<TaskId, TaskStatus>,
    pub(super) iteration: Option<Iteration>,
    /// What the gates of the iteration say.
    pub(super) gates: Vec<(String, Mark)>,
    pub(super) doing: Doing,
    /// Who looks at the work, while somebody does.
    pub(super) verifier: Option<String>,
    /// What earlier iterations have used …
    pub(super) spent: Usage,
    /// … this one so far, …
    pub(super) used: Usage,
    /// … and whoever looks at its work.
    pub(super) verifier_used: Usage,
    /// How many notes the run has recorded.
    pub(super) recorded: usize,
    /// Whether the person wants it to end after this iteration.
    pub(super) last: Last,
}

/// The iteration that goes on, or the last that did.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Iteration {
    /// The run that it belongs to.
    pub(super) run: RunId,
    pub(super) number: u32,
    pub(super) task: TaskId,
    pub(super) title: String,
    /// Which attempt, where that is counted and not the first.
    pub(super) attempt: Option<AttemptNumber>,
    pub(super) model: Option<String>,
    /// How many notes and rows stand in its prompt.
    pub(super) shown: usize,
    /// When it began, counted from the run's beginning.
    pub(super) began: Duration,
    /// How long it took; none while it goes on.
    pub(super) took: Option<Duration>,
}

/// How a gate stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    Runs,
    Green,
    Red,
}

/// What goes on now.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) enum Doing {
    /// Whatever is needed before an agent works.
    #[default]
    Preparing,
    /// The agent has said nothing yet.
    Starting,
    /// It uses a tool.
    Tool(String, String),
    /// It says this. A line that has come to its end has its line break.
    Saying(String),
    /// Its turn is over, and its work is looked at.
    Examining,
    /// A gate runs.
    Gate(String),
    /// The end of a pause is waited for, told of at this moment.
    Waiting(Box<PauseWait>, Duration),
    /// Other runs hold all tasks.
    Busy(usize),
    /// There is no room on the disk.
    NoRoom,
    /// Another process keeps the database locked.
    Locked,
}

/// Whether the iteration that goes on is to be the last.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Last {
    #[default]
    No,
    Yes,
}

impl View {
    /// Sees how all tasks stand. What others did or failed with, before the run or beside it, is none of its work; and what it
    /// left as done or failed may stand otherwise by now.
    fn see(&mut self, standing: Standing) {
        let left = |status| {
            let count = self.left.values().filter(|left| **left == status).count();
            u32::try_from(count).unwrap_or(u32::MAX)
        };
        self.tasks = Some(Standing {
            done: standing.done.min(left(TaskStatus::Done)),
            failed: standing.failed.min(left(TaskStatus::Failed)),
            ..standing
        });
    }

    /// Takes a piece of news, which came so long after the run's beginning. Says whether anything has changed.
    pub(super) fn tell(&mut self, news: &News<'_>, at: Duration) -> Changed {
        match news {
            News::Began { run } => self.run = Some((*run).clone()),
            News::Standing(standing) => self.see(**standing),
            News::IterationBegan {
                current,
                attempt,
                shown,
                ..
            } => self.begins(current, *attempt, *shown, at),
            News::Agent(event) => return self.agent(event),
            News::VerifierBegan { agent, .. } => {
                self.verifier = Some((*agent).to_owned());
                self.doing = Doing::Starting;
                self.mark(VERIFIER, Mark::Runs);
            }
            News::VerifierDid(event) => return self.agent(event),
            News::Verified(found) => {
                self.verifier = None;
                self.verifier_used = found.usage;
                self.doing = Doing::Examining;
                self.mark(VERIFIER, if found.passes() { Mark::Green } else { Mark::Red });
            }
            News::GateBegins(command) => {
                self.doing = Doing::Gate((*command).to_owned());
                self.mark(command, Mark::Runs);
            }
            News::GateRan(gate) => self.gate(gate),
            News::Settled {
                draft,
                task,
                new_lessons,
                duration,
            } => {
                self.recorded += new_lessons;
                let of = &draft.current.task;
                self.left.extend(task.map(|status| (of.clone(), status)));
                self.settled(draft, *duration);
            }
            News::Wrote(_) => self.recorded += 1,
            News::Notice(notice) => self.notice(notice, at),
            News::NoRoom(_) => self.doing = Doing::NoRoom,
            News::Locked(_) => self.doing = Doing::Locked,
            News::RoomAgain | News::Unlocked | News::Answered(_) => self.doing = Doing::Preparing,
            _ => return Changed::No,
        }
        Changed::Yes
    }

    fn begins(&mut self, current: &Current, attempt: AttemptNumber, shown: usize, at: Duration) {
        let is_again = current.kind == TaskKind::Once && attempt.number > 1;
        self.iteration = Some(Iteration {
            run: current.run.clone(),
            number: current.iteration,
            task: current.task.clone(),
            title: current.task_title.clone(),
            attempt: is_again.then_some(attempt),
            model: current.model.clone(),
            shown,
            began: at,
            took: None,
        });
        self.gates.clear();
        self.verifier = None;
        (self.used, self.verifier_used) = (Usage::default(), Usage::default());
        self.doing = Doing::Starting;
    }

    fn agent(&mut self, event: &TurnEvent) -> Changed {
        match event {
            TurnEvent::Tool { name, about } => {
                let about = first_line(about.strip_prefix(&self.root).unwrap_or(about));
                self.doing = Doing::Tool(name.clone(), about.to_owned());
            }
            TurnEvent::MessageBegins => self.ends_line(),
            TurnEvent::Text(text) => self.says(text),
            TurnEvent::Used(usage) => *self.uses() = *usage,
            TurnEvent::Ended(end) => {
                *self.uses() = end.usage;
                self.doing = Doing::Examining;
            }
            TurnEvent::Line(_) | TurnEvent::Alive => return Changed::No,
        }
        Changed::Yes
    }

    /// What the session that speaks now has used.
    fn uses(&mut self) -> &mut Usage {
        match self.verifier {
            Some(_) => &mut self.verifier_used,
            None => &mut self.used,
        }
    }

    /// What is said next is another line.
    fn ends_line(&mut self) {
        match &mut self.doing {
            Doing::Saying(line) if !line.ends_with('\n') => line.push('\n'),
            _ => {}
        }
    }

    /// Keeps the last line that is not blank. Texts come in pieces, and a piece may end within a line.
    fn says(&mut self, text: &str) {
        let tail = text.get(text.floor_char_boundary(text.len().saturating_sub(TAIL_BYTES))..);
        // A line that is longer than that is shown from its beginning all the same.
        let tail = tail.filter(|tail| tail.contains('\n')).unwrap_or(text);
        for (index, piece) in tail.split('\n').enumerate() {
            if index > 0 {
                self.ends_line();
            }
            match &mut self.doing {
                Doing::Saying(line) if !line.ends_with('\n') => {
                    let room = LINE_CHARACTERS.saturating_sub(line.chars().count());
                    line.extend(piece.chars().take(room));
                }
                _ if piece.trim().is_empty() => {}
                doing => *doing = Doing::Saying(piece.trim_start().chars().take(LINE_CHARACTERS).collect()),
            }
        }
    }

    fn gate(&mut self, gate: &GateResult) {
        let mark = if gate.is_green() { Mark::Green } else { Mark::Red };
        self.mark(&gate.command, mark);
        self.doing = Doing::Examining;
    }

    fn mark(&mut self, command: &str, mark: Mark) {
        match self.gates.iter_mut().find(|(known, _)| known == command) {
            Some(known) => known.1 = mark,
            None => self.gates.push((command.to_owned(), mark)),
        }
    }

    fn settled(&mut self, draft: &Draft, took: Duration) {
        // What a dead run used was its own, but the look at its work is this one's.
        let used = if self.run.as_ref() == Some(&draft.current.run) {
            draft.usage()
        } else {
            draft.usage_of_looks()
        };
        self.spent = sum(self.spent, used);
        self.verifier = None;
        (self.used, self.verifier_used) = (Usage::default(), Usage::default());
        self.doing = Doing::Preparing;
        let settled = self.iteration.as_mut();
        let settled = settled.filter(|iteration| iteration.number == draft.current.iteration);
        if let Some(iteration) = settled.filter(|iteration| iteration.run == draft.current.run) {
            iteration.took = Some(took);
        }
    }

    fn notice(&mut self, notice: &Notice, at: Duration) {
        match notice {
            Notice::Busy(held) => self.doing = Doing::Busy(held.len()),
            Notice::Waits(wait) | Notice::StillWaits(wait) => {
                self.doing = Doing::Waiting(Box::new(wait.clone()), at);
            }
            Notice::UnknownModel(_) | Notice::CompleteTooEarly | Notice::WillAsk => {}
        }
    }

    /// All that the run has used.
    pub(super) fn total(&self) -> Usage {
        sum(self.spent, sum(self.used, self.verifier_used))
    }
}

/// Whether a picture is another than before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Changed {
    Yes,
    No,
}

fn sum(one: Usage, other: Usage) -> Usage {
    Usage {
        cost_usd: one.cost_usd + other.cost_usd,
        input_tokens: one.input_tokens.saturating_add(other.input_tokens),
        output_tokens: one.output_tokens.saturating_add(other.output_tokens),
    }
}
