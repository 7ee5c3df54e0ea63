//! Success over time, one sign a day or a run.

use jiff::civil::Date;
use jiff::{ToSpan, tz::TimeZone};
use ralph_model::count;
use ralph_store::{Figures, Stats};

use crate::ui::{Line, Signs, Style};

/// The most days or runs that are drawn.
const MOST: usize = 60;
/// The columns before the signs.
const BEFORE: usize = 14;
/// The least that is drawn, however narrow the terminal.
const LEAST: usize = 8;

const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
const DIGITS: [char; 10] = ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9'];

/// The chart, with what its signs mean; nothing where there is but one day and one run.
pub(super) fn lines(stats: &Stats, width: usize, signs: Signs) -> Vec<Line> {
    let room = width.saturating_sub(BEFORE).clamp(LEAST, MOST);
    let (bars, about) = match (stats.by_day.as_slice(), stats.by_run.as_slice()) {
        ([first, .., last], _) => {
            let days = days(first.day, last.day, room);
            let about = days.first().map(|first| format!("{first} to {}, a day each", last.day));
            let of_day = |day: &Date| stats.by_day.iter().find(|of| of.day == *day).map(|of| of.figures);
            (days.iter().map(of_day).collect(), about)
        }
        (_, runs @ [_, _, ..]) => {
            let shown = runs.get(runs.len().saturating_sub(room)..).unwrap_or(runs);
            let about = shown.first().map(|first| {
                let day = first.first_at.to_zoned(TimeZone::UTC).date();
                format!("the last {} from {day} on", count(shown.len(), "run", "runs"))
            });
            (shown.iter().map(|run| Some(run.figures)).collect(), about)
        }
        _ => return Vec::new(),
    };
    let bars: Vec<Option<Figures>> = bars;
    let most = bars
        .iter()
        .flatten()
        .map(|bar| bar.iterations)
        .max()
        .unwrap_or_default();
    let line = |title: &str, part: &dyn Fn(&Figures) -> (u32, u32)| {
        let signs = bars.iter().map(|bar| sign(signs, bar.as_ref().map(part)));
        let signs: String = signs.collect();
        let drawn = format!("  {title:<10}  {signs}");
        (None, drawn.trim_end().to_owned())
    };
    let mut lines = vec![
        (None, String::new()),
        (Some(Style::Strong), "Over time".to_owned()),
        line("success", &|bar| (bar.success.done, bar.success.of)),
        line("iterations", &|bar| (bar.iterations, most)),
    ];
    let legend = about.into_iter().chain(meaning(signs, most));
    lines.extend(legend.map(|line| (Some(Style::Faint), format!("  {line}"))));
    lines
}

/// The days from one to another, the last so many of them.
fn days(first: Date, last: Date, most: usize) -> Vec<Date> {
    let back = i64::try_from(most).unwrap_or(i64::MAX).saturating_sub(1);
    let first = last
        .checked_sub(back.days())
        .map_or(first, |earliest| first.max(earliest));
    first
        .series(1.day())
        .take_while(|day| *day <= last)
        .take(most)
        .collect()
}

/// The sign for a part of a whole. Only nothing has the lowest, and only everything the highest.
fn sign(signs: Signs, part: Option<(u32, u32)>) -> char {
    let (ladder, nothing): (&[char], char) = match signs {
        Signs::Unicode => (&BLOCKS, '·'),
        Signs::Ascii => (&DIGITS, '.'),
    };
    let Some((part, whole)) = part.filter(|(_, whole)| *whole > 0) else {
        return nothing;
    };
    let top = ladder.len().saturating_sub(1);
    let step = match part {
        0 => 0,
        part if part >= whole => top,
        part => (part as usize * top / whole as usize).clamp(1, top - 1),
    };
    ladder.get(step).copied().unwrap_or(nothing)
}

fn meaning(signs: Signs, most: u32) -> [String; 2] {
    let (low, high, nothing) = match signs {
        Signs::Unicode => ('▁', '█', '·'),
        Signs::Ascii => ('0', '9', '.'),
    };
    [
        format!("success: {low} none done, {high} all done"),
        format!("iterations: {high} is {most}; {nothing} nothing to count"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_nothing_is_at_the_bottom_and_only_everything_at_the_top() {
        let drawn = |signs| -> String {
            let parts = [(0, 100), (1, 100), (50, 100), (99, 100), (100, 100), (3, 2), (0, 0)];
            let parts = parts.map(Some).into_iter().chain([None]);
            parts.map(|part| sign(signs, part)).collect()
        };
        assert_eq!(drawn(Signs::Unicode), "▁▂▄▇██··");
        assert_eq!(drawn(Signs::Ascii), "014899..");
    }

    #[test]
    fn the_last_days_are_drawn_and_those_without_iterations_are_among_them() {
        let day = |text: &str| text.parse::<Date>().unwrap();
        let drawn = |first, last, most| days(day(first), day(last), most).len();
        assert_eq!(drawn("2025-02-27", "2025-03-02", 60), 4);
        assert_eq!(drawn("1970-01-01", "2025-03-02", 60), 60);
        assert_eq!(
            days(day("2025-01-01"), day("2025-03-02"), 2),
            [day("2025-03-01"), day("2025-03-02")]
        );
        assert_eq!(drawn("-009999-01-01", "-009999-01-02", 60), 2);
    }
}
