//! Success over time, per day or per run, as bars or, in ASCII, as numbers.

use jiff::civil::Date;
use jiff::{ToSpan, tz::TimeZone};
use ralph_model::count;
use ralph_store::{Figures, Stats};

use crate::ui::{Charset, Line, Style};

/// The most days or runs in the chart.
const MAX_COLUMNS: usize = 60;
/// The columns before the bars.
const LABEL_COLUMNS: usize = 14;
/// The fewest days or runs, however narrow the terminal.
const MIN_COLUMNS: usize = 4;
/// The columns of a number and its gap: `12/15  `.
const NUMBER: usize = 7;

const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
const NOTHING: char = '·';
const NOTHING_TO_COUNT: &str = ".";

/// The chart and its legend; empty where there is only one day and one run.
pub(super) fn lines(stats: &Stats, width: usize, charset: Charset) -> Vec<Line> {
    let columns = match charset {
        Charset::Unicode => 1,
        Charset::Ascii => NUMBER,
    };
    let slots = (width.saturating_sub(LABEL_COLUMNS) / columns).clamp(MIN_COLUMNS, MAX_COLUMNS);
    let (bars, about, earlier) = match (stats.by_day.as_slice(), stats.by_run.as_slice()) {
        ([first, .., last], _) => {
            let days = days(first.day, last.day, slots);
            let about = days
                .first()
                .map(|first| format!("{first} to {}, one per day", last.day));
            let of_day = |day: &Date| stats.by_day.iter().find(|of| of.day == *day).map(|of| of.figures);
            let is_earlier = |day: Date| days.first().is_some_and(|first| day < *first);
            let earlier = stats.by_day.iter().filter(|of| is_earlier(of.day)).count();
            let earlier = (earlier, "earlier day", "earlier days");
            (days.iter().map(of_day).collect(), about, earlier)
        }
        (_, runs @ [_, _, ..]) => {
            let shown = runs.get(runs.len().saturating_sub(slots)..).unwrap_or(runs);
            let about = shown.first().map(|first| {
                let day = first.first_at.to_zoned(TimeZone::UTC).date();
                format!("the last {}, since {day}", count(shown.len(), "run", "runs"))
            });
            let earlier = (runs.len() - shown.len(), "earlier run", "earlier runs");
            (shown.iter().map(|run| Some(run.figures)).collect(), about, earlier)
        }
        _ => return Vec::new(),
    };
    let bars: Vec<Option<Figures>> = bars;
    let (rows, meaning) = match charset {
        Charset::Unicode => as_bars(&bars),
        Charset::Ascii => as_numbers(&bars),
    };
    let mut lines = vec![(None, String::new()), (Some(Style::Strong), "Over time".to_owned())];
    let titles = ["success", "iterations"];
    let bars = titles
        .iter()
        .zip(rows)
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

/// Success and iterations as bars, and the legend.
fn as_bars(bars: &[Option<Figures>]) -> ([String; 2], Vec<String>) {
    let most = bars.iter().flatten().map(|bar| bar.iterations).max();
    let most = most.unwrap_or_default();
    let line = |part: &dyn Fn(&Figures) -> (u32, u32)| {
        let parts = bars.iter().map(|bar| bar.as_ref().map(part));
        parts.map(bar_char).collect()
    };
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

/// Success and iterations as numbers, with a legend.
fn as_numbers(bars: &[Option<Figures>]) -> ([String; 2], Vec<String>) {
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
        "success: done of counted iterations".to_owned(),
        format!("{NOTHING_TO_COUNT} nothing to count"),
    ];
    (lines, meaning)
}

/// The last `most` days of a range.
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

/// The bar for a part of a whole. Only zero gets the lowest, and only the whole gets the highest.
fn bar_char(part: Option<(u32, u32)>) -> char {
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
    fn only_zero_is_lowest_and_only_the_whole_is_highest() {
        let parts = [(0, 100), (1, 100), (50, 100), (99, 100), (100, 100), (3, 2), (0, 0)];
        let drawn: String = parts.map(Some).into_iter().chain([None]).map(bar_char).collect();
        assert_eq!(drawn, "▁▂▄▇██··");
    }

    #[test]
    fn ascii_chart_aligns_its_numbers() {
        let bar = |done, of, iterations| {
            Some(Figures {
                success: Rate { done, of },
                iterations,
                ..Figures::default()
            })
        };
        let ([success, iterations], _) = as_numbers(&[bar(3, 8, 9), None, bar(0, 0, 1), bar(12, 15, 15)]);
        assert_eq!(success.trim_end(), "3/8  .  .  12/15");
        assert_eq!(iterations.trim_end(), "9    .  1  15");
    }

    #[test]
    fn last_days_include_days_without_iterations() {
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
