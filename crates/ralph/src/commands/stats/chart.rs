//! Success over time, a day or a run each: signs where they can be drawn, else numbers.

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
const LEAST: usize = 4;
/// The columns of a number and the gap behind it: `12/15  `.
const NUMBER: usize = 7;

const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// Where there was nothing.
const NOTHING: char = '·';
const NOTHING_TO_COUNT: &str = ".";

/// The chart, with what its signs mean; nothing where there is but one day and one run.
pub(super) fn lines(stats: &Stats, width: usize, signs: Signs) -> Vec<Line> {
    let columns = match signs {
        Signs::Unicode => 1,
        Signs::Ascii => NUMBER,
    };
    let room = (width.saturating_sub(BEFORE) / columns).clamp(LEAST, MOST);
    let (bars, about, earlier) = match (stats.by_day.as_slice(), stats.by_run.as_slice()) {
        ([first, .., last], _) => {
            let days = days(first.day, last.day, room);
            let about = days.first().map(|first| format!("{first} to {}, a day each", last.day));
            let of_day = |day: &Date| stats.by_day.iter().find(|of| of.day == *day).map(|of| of.figures);
            let is_earlier = |day: Date| days.first().is_some_and(|first| day < *first);
            let earlier = stats.by_day.iter().filter(|of| is_earlier(of.day)).count();
            let earlier = (earlier, "earlier day", "earlier days");
            (days.iter().map(of_day).collect(), about, earlier)
        }
        (_, runs @ [_, _, ..]) => {
            let shown = runs.get(runs.len().saturating_sub(room)..).unwrap_or(runs);
            let about = shown.first().map(|first| {
                let day = first.first_at.to_zoned(TimeZone::UTC).date();
                format!("the last {} from {day} on", count(shown.len(), "run", "runs"))
            });
            let earlier = (runs.len() - shown.len(), "earlier run", "earlier runs");
            (shown.iter().map(|run| Some(run.figures)).collect(), about, earlier)
        }
        _ => return Vec::new(),
    };
    let bars: Vec<Option<Figures>> = bars;
    let (drawn, meaning) = match signs {
        Signs::Unicode => drawn(&bars),
        Signs::Ascii => numbered(&bars),
    };
    let mut lines = vec![(None, String::new()), (Some(Style::Strong), "Over time".to_owned())];
    let titles = ["success", "iterations"];
    let bars = titles
        .iter()
        .zip(drawn)
        .map(|(title, bar)| format!("  {title:<10}  {bar}"));
    lines.extend(bars.map(|line| (None, line.trim_end().to_owned())));
    let left_out = match earlier {
        (0, ..) => None,
        (more, one, many) => Some(format!("{} not shown", count(more, one, many))),
    };
    let legend = about.into_iter().chain(left_out).chain(meaning);
    lines.extend(legend.map(|line| (Some(Style::Faint), format!("  {line}"))));
    lines
}

/// Success and iterations in signs, and what these mean.
fn drawn(bars: &[Option<Figures>]) -> ([String; 2], Vec<String>) {
    let most = bars.iter().flatten().map(|bar| bar.iterations).max();
    let most = most.unwrap_or_default();
    let line = |part: &dyn Fn(&Figures) -> (u32, u32)| bars.iter().map(|bar| sign(bar.as_ref().map(part))).collect();
    let lines = [
        line(&|bar| (bar.success.done, bar.success.of)),
        line(&|bar| (bar.iterations, most)),
    ];
    let (low, high) = ('▁', '█');
    let meaning = vec![
        format!("success: {low} none done, {high} all done"),
        format!("iterations: {high} is {most}; {NOTHING} nothing to count"),
    ];
    (lines, meaning)
}

/// The same in numbers: how many were done of those that count, and how many there were.
fn numbered(bars: &[Option<Figures>]) -> ([String; 2], Vec<String>) {
    let number = |bar: &Option<Figures>| match bar {
        Some(bar) if bar.success.of > 0 => format!("{}/{}", bar.success.done, bar.success.of),
        _ => NOTHING_TO_COUNT.to_owned(),
    };
    let count =
        |bar: &Option<Figures>| bar.map_or_else(|| NOTHING_TO_COUNT.to_owned(), |bar| bar.iterations.to_string());
    let mut lines = [String::new(), String::new()];
    for bar in bars {
        let cells = [number(bar), count(bar)];
        let width = cells.iter().map(String::len).max().unwrap_or_default();
        for (line, cell) in lines.iter_mut().zip(cells) {
            line.push_str(&format!("{cell:<width$}  "));
        }
    }
    let meaning = vec![
        "success: done of those that count".to_owned(),
        format!("{NOTHING_TO_COUNT} nothing to count"),
    ];
    (lines, meaning)
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
fn sign(part: Option<(u32, u32)>) -> char {
    let Some((part, whole)) = part.filter(|(_, whole)| *whole > 0) else {
        return NOTHING;
    };
    let top = BLOCKS.len().saturating_sub(1);
    let step = match part {
        0 => 0,
        part if part >= whole => top,
        part => (part as usize * top / whole as usize).clamp(1, top - 1),
    };
    BLOCKS.get(step).copied().unwrap_or(NOTHING)
}

#[cfg(test)]
mod tests {
    use ralph_model::Rate;

    use super::*;

    #[test]
    fn only_nothing_is_at_the_bottom_and_only_everything_at_the_top() {
        let parts = [(0, 100), (1, 100), (50, 100), (99, 100), (100, 100), (3, 2), (0, 0)];
        let drawn: String = parts.map(Some).into_iter().chain([None]).map(sign).collect();
        assert_eq!(drawn, "▁▂▄▇██··");
    }

    #[test]
    fn what_cannot_be_drawn_is_told_in_numbers_that_stand_below_each_other() {
        let bar = |done, of, iterations| {
            Some(Figures {
                success: Rate { done, of },
                iterations,
                ..Figures::default()
            })
        };
        let ([success, iterations], _) = numbered(&[bar(3, 8, 9), None, bar(0, 0, 1), bar(12, 15, 15)]);
        assert_eq!(success.trim_end(), "3/8  .  .  12/15");
        assert_eq!(iterations.trim_end(), "9    .  1  15");
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
