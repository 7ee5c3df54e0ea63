//! Renders the live view as lines that fit the terminal. Nothing here accesses a terminal.

use std::time::Duration;

use jiff::Timestamp;
use ralph_loop::state::PauseWait;
use ralph_memory::capture::clean;
use ralph_model::{count, display_width, preview, short_number};

use super::view::{Doing, Iteration, Last, Mark, View};
use crate::pause_text::countdown;
use crate::ui::{Charset, Style, Theme};

/// From this width on, lines have labels and whole words.
const WIDE: usize = 60;
/// The columns of the bar.
const MAX_BAR: usize = 24;
const MIN_BAR: usize = 4;
/// How many characters of a text are processed: more than the widest terminal shows.
const TEXT_CHARACTERS: usize = 500;

#[derive(Debug, Clone, Copy)]
pub(super) struct Frame {
    /// The terminal's width and height.
    pub(super) width: usize,
    pub(super) height: usize,
    /// How long the run has lasted.
    pub(super) at: Duration,
    pub(super) now: Timestamp,
    pub(super) theme: Theme,
    pub(super) keys: Keys,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keys {
    Enabled,
    Disabled,
}

/// A line before it is cut: pieces with their styles.
type Line = Vec<(Option<Style>, String)>;

/// The styled lines of a run. Each is narrower than the terminal, and together they take at most half of its height.
pub(super) fn draw(view: &View, frame: &Frame) -> Vec<String> {
    let max_lines = match frame.height {
        0 | 1 => 0,
        height => (height / 2).max(1),
    };
    let width = frame.width.saturating_sub(1);
    if max_lines == 0 || width == 0 {
        return Vec::new();
    }
    let lines: Vec<Line> = if max_lines == 1 {
        vec![shortest(view, frame)]
    } else {
        // Lines with the highest rank are dropped first.
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
        ranks.truncate(max_lines);
        lines.retain(|(rank, _)| ranks.contains(rank));
        lines.into_iter().map(|(_, line)| line).collect()
    };
    lines.iter().map(|line| finished(line, width, frame.theme)).collect()
}

/// Cuts a line to the width and applies the styles.
fn finished(line: &Line, width: usize, theme: Theme) -> String {
    let mut left = width;
    let mut text = String::new();
    for (style, piece) in line {
        let shown = theme.charset.of(&preview(piece, left));
        let cut = display_width(piece) > left;
        left = left.saturating_sub(display_width(&shown));
        text.push_str(&theme.paint(*style, &shown));
        if cut || left == 0 {
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

/// The label of a line, if the terminal is wide enough.
fn label(word: &str, frame: &Frame) -> Line {
    if frame.width < WIDE {
        return Vec::new();
    }
    vec![faint(format!("{word:<7}"))]
}

/// A text from an agent or a task, on one line.
fn one_line(text: &str) -> String {
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
    if frame.width < WIDE {
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

/// A bar of done and failed tasks. A nonzero part takes at least one column, and only complete work fills the bar.
fn bar(parts: [u32; 2], all: u32, frame: &Frame) -> Line {
    let width = (frame.width / 4).clamp(MIN_BAR, MAX_BAR);
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
    let [full, broken, empty] = match frame.theme.charset {
        Charset::Unicode => ["█", "▒", "░"],
        Charset::Ascii => ["#", "x", "-"],
    };
    vec![
        (Some(Style::Added), full.repeat(done)),
        (Some(Style::Removed), broken.repeat(failed)),
        faint(empty.repeat(width - done - failed)),
    ]
}

fn iteration_line(iteration: &Iteration, frame: &Frame) -> Line {
    let mut line = label("task", frame);
    let number = match frame.width < WIDE {
        true => format!("{}. ", iteration.number),
        false => format!("iteration {} · ", iteration.number),
    };
    line.push(faint(number));
    if let Some((attempt, attempts)) = iteration.attempt {
        let words = match frame.width < WIDE {
            true => format!("try {attempt}/{attempts} "),
            false => format!("attempt {attempt} of {attempts} · "),
        };
        line.push((Some(Style::Warning), words));
    }
    if frame.width >= WIDE {
        line.push(faint(format!("{} ", iteration.task)));
    }
    line.push((Some(Style::Strong), one_line(&iteration.title)));
    line
}

fn agent(view: &View, frame: &Frame) -> Line {
    let mut line = label("agent", frame);
    let is_wide = frame.width >= WIDE;
    let model = view.iteration.as_ref().and_then(|iteration| iteration.model.as_deref());
    let mut words = match model {
        // The name of the model implies the agent.
        Some(model) if !is_wide => vec![one_line(model)],
        model => [Some(view.agent.as_str()), model]
            .into_iter()
            .flatten()
            .map(one_line)
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
    // "In" are notes and journal entries in the prompt, "out" are notes that were stored.
    let memory = format!("{shown} in, {} out", view.recorded);
    if is_wide {
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
    // A sign and a command alone would be unclear.
    let mut line = match frame.width < WIDE {
        true => vec![faint("gates ")],
        false => label("gates", frame),
    };
    // Failing gates come first, so that they are not cut off.
    let (red, others): (Vec<_>, Vec<_>) = view.gates.iter().partition(|(_, mark)| *mark == Mark::Red);
    for (index, (command, mark)) in red.into_iter().chain(others).enumerate() {
        if index > 0 {
            line.push(plain("  "));
        }
        let (style, sign) = match (mark, frame.theme.charset) {
            (Mark::Green, Charset::Unicode) => (Style::Added, "✓"),
            (Mark::Red, Charset::Unicode) => (Style::Removed, "✗"),
            (Mark::Runs, Charset::Unicode) => (Style::Warning, "…"),
            (Mark::Green, Charset::Ascii) => (Style::Added, "ok"),
            (Mark::Red, Charset::Ascii) => (Style::Removed, "red"),
            (Mark::Runs, Charset::Ascii) => (Style::Warning, "..."),
        };
        line.push((Some(style), format!("{sign} ")));
        line.push(plain(one_line(command)));
    }
    line
}

fn now(view: &View, frame: &Frame) -> Line {
    let mut line = label("now", frame);
    line.extend(verifier_prefix(view));
    line.extend(doing(&view.doing, frame));
    line
}

/// Names the verifier while it works.
fn verifier_prefix(view: &View) -> Option<(Option<Style>, String)> {
    let verifier = view.verifier.as_deref()?;
    Some(faint(format!("{} verifies: ", one_line(verifier))))
}

fn doing(doing: &Doing, frame: &Frame) -> Line {
    let words = |text: &str| vec![plain(text)];
    match doing {
        Doing::Preparing => words("preparing"),
        Doing::Starting => words("the agent is reading its prompt"),
        Doing::Tool(name, about) => vec![
            (Some(Style::Match), one_line(name)),
            plain(format!(" {}", one_line(about))),
        ],
        Doing::Saying(line) => vec![plain(one_line(line))],
        Doing::Examining => words("checking what changed"),
        Doing::Gate(command) => vec![plain("gate: "), plain(one_line(command))],
        Doing::Waiting(wait, reported) => {
            let left = wait.left.saturating_sub(frame.at.saturating_sub(*reported));
            let wait = PauseWait {
                left,
                ..(**wait).clone()
            };
            vec![(Some(Style::Warning), countdown(&wait, frame.now))]
        }
        Doing::Busy(held) => vec![plain(format!(
            "waiting for other runs, which have claimed {}",
            count(*held, "task", "tasks")
        ))],
        Doing::NoRoom => vec![(Some(Style::Warning), "waiting for disk space".to_owned())],
        Doing::Locked => vec![(
            Some(Style::Warning),
            "waiting for another process to unlock the database".to_owned(),
        )],
    }
}

/// The whole view on one line.
fn shortest(view: &View, frame: &Frame) -> Line {
    let mut line = Line::new();
    if let Some(tasks) = view.tasks {
        let all = tasks.done + tasks.failed + tasks.waiting + tasks.open;
        line.push(faint(format!("{}/{all} ", tasks.done)));
    }
    line.extend(verifier_prefix(view));
    line.extend(doing(&view.doing, frame));
    line
}

fn hints(view: &View, frame: &Frame) -> Line {
    let stop = match (view.last, frame.width < WIDE) {
        (Last::Yes, true) => "q undo",
        (Last::Yes, false) => "ends after this iteration, q to undo",
        (Last::No, true) => "q end",
        (Last::No, false) => "q stop after this iteration",
    };
    let style = match view.last {
        Last::Yes => Style::Warning,
        Last::No => Style::Faint,
    };
    let (rest, interrupt) = match frame.width < WIDE {
        true => (" · g guide · p prompt", "Ctrl+C"),
        false => (" · g guidance · p prompt", "Ctrl+C stop"),
    };
    match frame.keys {
        Keys::Enabled => vec![(Some(style), stop.to_owned()), faint(format!("{rest} · {interrupt}"))],
        Keys::Disabled => vec![faint(interrupt)],
    }
}

/// A duration like `0:42`, `12:05` or `1:02:05`.
fn clock(time: Duration) -> String {
    let seconds = time.as_secs();
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    match hours {
        0 => format!("{minutes}:{seconds:02}"),
        _ => format!("{hours}:{minutes:02}:{seconds:02}"),
    }
}
