//! How a run is drawn: lines of a width and a number that the terminal has room for. Nothing here knows a terminal.

use std::time::Duration;

use jiff::Timestamp;
use ralph_loop::state::PauseWait;
use ralph_memory::capture::clean;
use ralph_model::{count, display_width, preview, short_number};

use super::view::{Doing, Iteration, Last, Mark, View};
use crate::pause_words::countdown;
use crate::ui::{Look, Signs, Style};

/// From this width on a line says what it is about, and in whole words.
const ROOMY: usize = 60;
/// The widest and the narrowest bar.
const MOST_BAR: usize = 24;
const LEAST_BAR: usize = 4;
/// How many characters of a text are looked at: more than the widest terminal shows.
const TEXT_CHARACTERS: usize = 500;

/// What is to be drawn into.
#[derive(Debug, Clone, Copy)]
pub(super) struct Frame {
    /// The terminal's width and height.
    pub(super) width: usize,
    pub(super) height: usize,
    /// How long the run goes on already.
    pub(super) at: Duration,
    pub(super) now: Timestamp,
    pub(super) look: Look,
    /// Whether keys are heard.
    pub(super) keys: Keys,
}

/// Whether keys are heard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keys {
    Heard,
    NotHeard,
}

/// A line before it is cut: pieces, each set apart in its own way.
type Line = Vec<(Option<Style>, String)>;

/// The lines of a run, ready to be printed. None is as wide as the terminal, and all together take at most half of it.
pub(super) fn draw(view: &View, frame: &Frame) -> Vec<String> {
    let room = match frame.height {
        0 | 1 => 0,
        height => (height / 2).max(1),
    };
    let width = frame.width.saturating_sub(1);
    if room == 0 || width == 0 {
        return Vec::new();
    }
    let lines: Vec<Line> = if room == 1 {
        vec![shortest(view, frame)]
    } else {
        // What is least wanted where there is no room for all has the highest rank.
        let mut lines = vec![(1, tasks(view, frame))];
        lines.extend(
            view.iteration
                .as_ref()
                .map(|iteration| (2, iteration_line(iteration, frame))),
        );
        lines.push((4, agent(view, frame)));
        if !view.gates.is_empty() {
            lines.push((3, gates(view, frame)));
        }
        lines.push((0, now(view, frame)));
        lines.push((5, hints(view, frame)));
        lines.retain(|(_, line)| !line.is_empty());
        let mut ranks: Vec<u8> = lines.iter().map(|(rank, _)| *rank).collect();
        ranks.sort_unstable();
        ranks.truncate(room);
        lines.retain(|(rank, _)| ranks.contains(rank));
        lines.into_iter().map(|(_, line)| line).collect()
    };
    lines.iter().map(|line| finished(line, width, frame.look)).collect()
}

/// Cuts a line to its width and sets its pieces apart.
fn finished(line: &Line, width: usize, look: Look) -> String {
    let mut room = width;
    let mut text = String::new();
    for (style, piece) in line {
        let shown = look.signs.of(&preview(piece, room));
        let cut = display_width(piece) > room;
        room = room.saturating_sub(display_width(&shown));
        text.push_str(&look.paint(*style, &shown));
        if cut || room == 0 {
            break;
        }
    }
    text
}

fn plain(text: impl Into<String>) -> (Option<Style>, String) {
    (None, text.into())
}

fn faint(text: impl Into<String>) -> (Option<Style>, String) {
    (Some(Style::Faint), text.into())
}

/// What a line is about, where there is room for it.
fn label(word: &str, frame: &Frame) -> Line {
    if frame.width < ROOMY {
        return Vec::new();
    }
    vec![faint(format!("{word:<7}"))]
}

/// A text of an agent or a task on one line.
fn tame(text: &str) -> String {
    clean(text.trim(), TEXT_CHARACTERS)
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
}

fn tasks(view: &View, frame: &Frame) -> Line {
    let mut line = label("tasks", frame);
    let time = clock(frame.at);
    let Some(tasks) = view.tasks else {
        line.push(plain(time));
        return line;
    };
    let all = tasks.done + tasks.failed + tasks.waiting + tasks.open;
    line.extend(bar([tasks.done, tasks.failed], all, frame));
    if frame.width < ROOMY {
        let failed = match tasks.failed {
            0 => String::new(),
            failed => format!(", {failed} failed"),
        };
        line.push(plain(format!(" {}/{all}{failed}", tasks.done)));
    } else {
        let mut words = vec![format!("{} of {all} done", tasks.done)];
        let others = [
            (tasks.failed, "failed"),
            (tasks.open, "open"),
            (tasks.waiting, "waiting"),
        ];
        words.extend(
            others
                .iter()
                .filter(|(many, _)| *many > 0)
                .map(|(many, word)| format!("{many} {word}")),
        );
        line.push(plain(format!(" {}", words.join(", "))));
    }
    line.push(faint(format!(" · {time}")));
    line
}

/// How much of all is done and how much has failed, as a bar. What is not nothing is seen, and what is not all is not full.
fn bar(parts: [u32; 2], all: u32, frame: &Frame) -> Line {
    let width = (frame.width / 4).clamp(LEAST_BAR, MOST_BAR);
    let columns = |part: u32| {
        let share = u64::from(part) * width as u64 / u64::from(all.max(1));
        usize::try_from(share).unwrap_or(width).max(usize::from(part > 0))
    };
    let [done, failed] = parts.map(columns);
    let done = match parts[0] == all {
        true => width,
        false => done.min(width - 1),
    };
    let failed = failed.min(width - done);
    let [full, broken, empty] = match frame.look.signs {
        Signs::Unicode => ["█", "▒", "░"],
        Signs::Ascii => ["#", "x", "-"],
    };
    vec![
        (Some(Style::Added), full.repeat(done)),
        (Some(Style::Removed), broken.repeat(failed)),
        faint(empty.repeat(width - done - failed)),
    ]
}

fn iteration_line(iteration: &Iteration, frame: &Frame) -> Line {
    let mut line = label("task", frame);
    let number = match frame.width < ROOMY {
        true => format!("{}. ", iteration.number),
        false => format!("iteration {} · ", iteration.number),
    };
    line.push(faint(number));
    if let Some(attempt) = iteration.attempt {
        let words = match frame.width < ROOMY {
            true => format!("try {}/{} ", attempt.number, attempt.of),
            false => format!("attempt {} of {} · ", attempt.number, attempt.of),
        };
        line.push((Some(Style::Warning), words));
    }
    if frame.width >= ROOMY {
        line.push(faint(format!("{} ", iteration.task)));
    }
    line.push((Some(Style::Strong), tame(&iteration.title)));
    line
}

fn agent(view: &View, frame: &Frame) -> Line {
    let mut line = label("agent", frame);
    let is_roomy = frame.width >= ROOMY;
    let model = view.iteration.as_ref().and_then(|iteration| iteration.model.as_deref());
    let mut words = match model {
        // Whoever names a model knows whose it is.
        Some(model) if !is_roomy => vec![tame(model)],
        model => [Some(view.agent.as_str()), model]
            .into_iter()
            .flatten()
            .map(tame)
            .collect(),
    };
    if let Some(iteration) = &view.iteration {
        let took = iteration
            .took
            .unwrap_or_else(|| frame.at.saturating_sub(iteration.began));
        words.push(clock(took));
    }
    let total = view.total();
    if total.cost_usd > 0.0 {
        words.push(format!("${:.2}", total.cost_usd));
    }
    let tokens = (total.tokens() > 0).then(|| format!("{} tokens", short_number(total.tokens())));
    let shown = view.iteration.as_ref().map_or(0, |iteration| iteration.shown);
    // What stands in a prompt are rows of the journal as well, what comes out of an iteration are notes.
    let memory = format!("{shown} in, {} out", view.recorded);
    if is_roomy {
        words.extend(tokens);
        words.push(format!("memory {memory}"));
    } else {
        words.push(memory);
        words.extend(tokens);
    }
    line.push(plain(words.join(" · ")));
    line
}

fn gates(view: &View, frame: &Frame) -> Line {
    // A sign and a command alone could be anything.
    let mut line = match frame.width < ROOMY {
        true => vec![faint("gates ")],
        false => label("gates", frame),
    };
    // What is red is what a person has to see, so it is not what is cut away.
    let (red, others): (Vec<_>, Vec<_>) = view.gates.iter().partition(|(_, mark)| *mark == Mark::Red);
    for (index, (command, mark)) in red.into_iter().chain(others).enumerate() {
        if index > 0 {
            line.push(plain("  "));
        }
        let (style, sign) = match (mark, frame.look.signs) {
            (Mark::Green, Signs::Unicode) => (Style::Added, "✓"),
            (Mark::Red, Signs::Unicode) => (Style::Removed, "✗"),
            (Mark::Runs, Signs::Unicode) => (Style::Warning, "…"),
            (Mark::Green, Signs::Ascii) => (Style::Added, "ok"),
            (Mark::Red, Signs::Ascii) => (Style::Removed, "red"),
            (Mark::Runs, Signs::Ascii) => (Style::Warning, "..."),
        };
        line.push((Some(style), format!("{sign} ")));
        line.push(plain(tame(command)));
    }
    line
}

fn now(view: &View, frame: &Frame) -> Line {
    let mut line = label("now", frame);
    line.extend(who(view));
    line.extend(doing(&view.doing, frame));
    line
}

/// Who does it, where that is not the agent of the task.
fn who(view: &View) -> Option<(Option<Style>, String)> {
    let verifier = view.verifier.as_deref()?;
    Some(faint(format!("{} verifies: ", tame(verifier))))
}

fn doing(doing: &Doing, frame: &Frame) -> Line {
    let words = |text: &str| vec![plain(text)];
    match doing {
        Doing::Preparing => words("preparing"),
        Doing::Starting => words("the agent reads its prompt"),
        Doing::Tool(name, about) => vec![(Some(Style::Match), tame(name)), plain(format!(" {}", tame(about)))],
        Doing::Saying(line) => vec![plain(tame(line))],
        Doing::Examining => words("looking at what has changed"),
        Doing::Gate(command) => vec![plain("gate: "), plain(tame(command))],
        Doing::Waiting(wait, told) => {
            let left = wait.left.saturating_sub(frame.at.saturating_sub(*told));
            let wait = PauseWait {
                left,
                ..(**wait).clone()
            };
            vec![(Some(Style::Warning), countdown(&wait, frame.now))]
        }
        Doing::Busy(held) => vec![plain(format!(
            "waiting for other runs, which hold {}",
            count(*held, "task", "tasks")
        ))],
        Doing::NoRoom => vec![(Some(Style::Warning), "waiting for room on the disk".to_owned())],
        Doing::Locked => vec![(
            Some(Style::Warning),
            "waiting for another process to unlock the database".to_owned(),
        )],
    }
}

/// All that one line can tell.
fn shortest(view: &View, frame: &Frame) -> Line {
    let mut line = Line::new();
    if let Some(tasks) = view.tasks {
        let all = tasks.done + tasks.failed + tasks.waiting + tasks.open;
        line.push(faint(format!("{}/{all} ", tasks.done)));
    }
    line.extend(who(view));
    line.extend(doing(&view.doing, frame));
    line
}

fn hints(view: &View, frame: &Frame) -> Line {
    let stop = match (view.last, frame.width < ROOMY) {
        (Last::Yes, true) => "q go on",
        (Last::Yes, false) => "ends after this iteration, q goes on",
        (Last::No, true) => "q end",
        (Last::No, false) => "q stop after this iteration",
    };
    let style = match view.last {
        Last::Yes => Style::Warning,
        Last::No => Style::Faint,
    };
    let (rest, interrupt) = match frame.width < ROOMY {
        true => (" · g guide · p prompt", "Ctrl+C"),
        false => (" · g guidance · p prompt", "Ctrl+C stop"),
    };
    match frame.keys {
        Keys::Heard => vec![(Some(style), stop.to_owned()), faint(format!("{rest} · {interrupt}"))],
        Keys::NotHeard => vec![faint(interrupt)],
    }
}

/// A time as clocks show it: `0:42`, `12:05`, `1:02:05`.
fn clock(time: Duration) -> String {
    let seconds = time.as_secs();
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    match hours {
        0 => format!("{minutes}:{seconds:02}"),
        _ => format!("{hours}:{minutes:02}:{seconds:02}"),
    }
}
