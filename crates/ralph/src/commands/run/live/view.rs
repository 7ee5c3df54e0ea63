//! The state of the live view, updated by run events. It accesses no clock and no terminal.

use std::collections::BTreeMap;
use std::time::Duration;

use ralph_agent::TurnEvent;
use ralph_loop::gates::GateResult;
use ralph_loop::state::{Notice, PauseWait, PendingSettlement};
use ralph_loop::{IterationBegan, RunEvent};
use ralph_model::{RunId, TaskId, TaskKind, TaskStatus, Usage, first_line};
use ralph_store::ScopeCounts;

/// The characters of a text line that are kept; no terminal shows more.
const LINE_CHARACTERS: usize = 400;
/// How much of the end of a text is searched for its last line.
const TAIL_BYTES: usize = 4096;

/// The label of the verifier in the list of gates.
const VERIFIER: &str = "verifier";

#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct View {
    pub(super) agent: String,
    /// Paths in tool calls are shown relative to this folder.
    pub(super) root: String,
    pub(super) run: Option<RunId>,
    /// Task counts, with only those done and failed tasks that this run settled; none before the first report.
    pub(super) tasks: Option<ScopeCounts>,
    /// The status of each task that this run settled.
    pub(super) settled: BTreeMap<TaskId, TaskStatus>,
    pub(super) iteration: Option<Iteration>,
    pub(super) gates: Vec<(String, Mark)>,
    pub(super) doing: Doing,
    /// The verifier, while it works.
    pub(super) verifier: Option<String>,
    /// Usage of earlier iterations.
    pub(super) spent: Usage,
    /// Usage of this iteration so far.
    pub(super) used: Usage,
    /// Usage of the verifier in this iteration.
    pub(super) verifier_used: Usage,
    pub(super) recorded: usize,
    pub(super) last: Last,
}

/// The current or last iteration.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Iteration {
    pub(super) run: RunId,
    pub(super) number: u32,
    pub(super) task: TaskId,
    pub(super) title: String,
    /// The attempt and the maximum, from the second attempt on.
    pub(super) attempt: Option<(u32, u32)>,
    pub(super) model: Option<String>,
    /// The number of notes and journal entries in the prompt.
    pub(super) shown: usize,
    /// When it began, since the start of the run.
    pub(super) began: Duration,
    /// How long it took; none while it is running.
    pub(super) took: Option<Duration>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    Runs,
    Green,
    Red,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub(super) enum Doing {
    #[default]
    Preparing,
    /// The agent has printed nothing yet.
    Starting,
    Tool(String, String),
    /// The current line of text; a finished line ends with a line break.
    Saying(String),
    /// The turn is over, and its changes are examined.
    Examining,
    Gate(String),
    /// The run waits for the end of a pause, last reported at this time.
    Waiting(Box<PauseWait>, Duration),
    /// Other runs have claimed all tasks.
    Busy(usize),
    NoRoom,
    Locked,
}

/// Whether the user asked the run to end after this iteration.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Last {
    #[default]
    No,
    Yes,
}

impl View {
    /// Updates the task counts. Tasks done or failed by others do not count as this run's work, and tasks that it
    /// settled may have changed since.
    fn update_counts(&mut self, standing: ScopeCounts) {
        let settled = |status| {
            let count = self.settled.values().filter(|settled| **settled == status).count();
            u32::try_from(count).unwrap_or(u32::MAX)
        };
        self.tasks = Some(ScopeCounts {
            done: standing.done.min(settled(TaskStatus::Done)),
            failed: standing.failed.min(settled(TaskStatus::Failed)),
            ..standing
        });
    }

    /// Applies an event at a time since the start of the run, and reports whether the view changed.
    pub(super) fn tell(&mut self, event: &RunEvent<'_>, at: Duration) -> Changed {
        match event {
            RunEvent::Began(began) => self.run = Some(began.run.clone()),
            RunEvent::TaskCounts(counts) => self.update_counts(**counts),
            RunEvent::IterationBegan(began) => self.begins(began, at),
            RunEvent::Agent(event) | RunEvent::VerifierEvent(event) => return self.agent(event),
            RunEvent::VerifierBegan { agent, .. } => {
                self.verifier = Some((*agent).to_owned());
                self.doing = Doing::Starting;
                self.mark(VERIFIER, Mark::Runs);
            }
            RunEvent::Verified(found) => {
                self.verifier = None;
                self.verifier_used = found.usage;
                self.doing = Doing::Examining;
                self.mark(VERIFIER, if found.passes() { Mark::Green } else { Mark::Red });
            }
            RunEvent::GateBegan(command) => {
                self.doing = Doing::Gate((*command).to_owned());
                self.mark(command, Mark::Runs);
            }
            RunEvent::GateRan(gate) => self.gate(gate),
            RunEvent::Settled(settled) => {
                self.recorded += settled.new_learnings;
                let of = &settled.draft.current.task;
                self.settled.extend(settled.task.map(|status| (of.clone(), status)));
                self.settled(settled.draft, settled.duration);
            }
            RunEvent::Wrote { .. } => self.recorded += 1,
            RunEvent::Notice(notice) => self.notice(notice, at),
            RunEvent::DiskFull(_) => self.doing = Doing::NoRoom,
            RunEvent::Locked(_) => self.doing = Doing::Locked,
            RunEvent::DiskSpaceFreed | RunEvent::Unlocked | RunEvent::GuidanceAnswered(_) => {
                self.doing = Doing::Preparing;
            }
            _ => return Changed::No,
        }
        Changed::Yes
    }

    fn begins(&mut self, began: &IterationBegan<'_>, at: Duration) {
        let is_again = began.kind == TaskKind::Once && began.attempt > 1;
        self.iteration = Some(Iteration {
            run: began.run.clone(),
            number: began.iteration,
            task: began.task.clone(),
            title: began.title.to_owned(),
            attempt: is_again.then_some((began.attempt, began.attempts)),
            model: began.model.map(str::to_owned),
            shown: began.notes_shown,
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
            TurnEvent::MessageBegins => self.end_line(),
            TurnEvent::Text(text) => self.add_text(text),
            TurnEvent::Used(usage) => *self.current_usage() = *usage,
            TurnEvent::Ended(end) => {
                *self.current_usage() = end.usage;
                self.doing = Doing::Examining;
            }
            TurnEvent::Line(_) | TurnEvent::Alive => return Changed::No,
        }
        Changed::Yes
    }

    /// The usage of the current session.
    fn current_usage(&mut self) -> &mut Usage {
        match self.verifier {
            Some(_) => &mut self.verifier_used,
            None => &mut self.used,
        }
    }

    fn end_line(&mut self) {
        match &mut self.doing {
            Doing::Saying(line) if !line.ends_with('\n') => line.push('\n'),
            _ => {}
        }
    }

    /// Keeps the last line that is not blank. A piece of text may end in the middle of a line.
    fn add_text(&mut self, text: &str) {
        let tail = text.get(text.floor_char_boundary(text.len().saturating_sub(TAIL_BYTES))..);
        // A longer line is still shown from its start.
        let tail = tail.filter(|tail| tail.contains('\n')).unwrap_or(text);
        for (index, piece) in tail.split('\n').enumerate() {
            if index > 0 {
                self.end_line();
            }
            match &mut self.doing {
                Doing::Saying(line) if !line.ends_with('\n') => {
                    let left = LINE_CHARACTERS.saturating_sub(line.chars().count());
                    line.extend(piece.chars().take(left));
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

    fn settled(&mut self, draft: &PendingSettlement, took: Duration) {
        // A killed run's own usage does not count here, but the verification of its work does.
        let used = if self.run.as_ref() == Some(&draft.current.run) {
            draft.usage()
        } else {
            draft.verifier_usage()
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

    pub(super) fn total(&self) -> Usage {
        sum(self.spent, sum(self.used, self.verifier_used))
    }
}

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
