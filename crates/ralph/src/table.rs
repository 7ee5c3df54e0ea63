//! The one table printer: columns by display width, within the width that there is.

use ralph_model::{display_width, preview};

/// What stands between two columns.
const GAP: &str = "  ";
/// The least that a column is narrowed to.
const LEAST_WIDTH: usize = 12;

/// A column of a table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Column {
    pub(crate) title: &'static str,
    pub(crate) fit: Fit,
}

/// What happens to a column when there is not enough room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fit {
    /// It is shown whole.
    Whole,
    /// It is shown whole as long as the others have room, else left out; the last such column goes first.
    Optional,
    /// It takes what the others leave, and is cut there.
    Cut,
}

/// How the text of a cut column gets its shape.
pub(crate) trait Shape {
    /// The part of a text that is shown within so many columns.
    fn cut(&self, text: &str, columns: usize) -> String {
        preview(text, columns)
    }

    /// What is done to that part before it is printed; it must not change how wide it is.
    fn paint(&self, cut: &str) -> String {
        cut.to_owned()
    }
}

/// The beginning of a text, as it is.
pub(crate) struct Plain;

impl Shape for Plain {}

/// The lines of a table, the first of them the titles. Without a width nothing is cut.
pub(crate) fn lines(columns: &[Column], rows: &[Vec<String>], width: Option<usize>, shape: &dyn Shape) -> Vec<String> {
    let natural: Vec<usize> = columns
        .iter()
        .enumerate()
        .map(|(index, column)| {
            let cells = rows
                .iter()
                .filter_map(|row| row.get(index))
                .map(|cell| display_width(cell));
            cells.chain([display_width(column.title)]).max().unwrap_or_default()
        })
        .collect();
    let widths = fit(columns, &natural, width);
    let titles: Vec<String> = columns.iter().map(|column| column.title.to_owned()).collect();
    let titles = line(columns, &titles, &widths, &Plain);
    let rows = rows.iter().map(|row| line(columns, row, &widths, shape));
    std::iter::once(titles).chain(rows).collect()
}

/// The width of each column; none for one that is left out.
fn fit(columns: &[Column], natural: &[usize], width: Option<usize>) -> Vec<Option<usize>> {
    let mut widths: Vec<Option<usize>> = natural.iter().copied().map(Some).collect();
    let Some(width) = width else { return widths };
    let is_cut = |index: usize| columns.get(index).is_some_and(|column| column.fit == Fit::Cut);
    let room_for_cut = |widths: &[Option<usize>]| {
        let shown = widths.iter().flatten().count();
        let fixed: usize = widths
            .iter()
            .enumerate()
            .filter(|(index, _)| !is_cut(*index))
            .filter_map(|(_, width)| *width)
            .sum();
        width.checked_sub(fixed + GAP.len() * shown.saturating_sub(1))
    };
    let wanted: usize = natural
        .iter()
        .enumerate()
        .filter(|(index, _)| is_cut(*index))
        .map(|(_, width)| (*width).min(LEAST_WIDTH * 2))
        .sum();
    let optional: Vec<usize> = (0..columns.len())
        .rev()
        .filter(|index| columns.get(*index).is_some_and(|column| column.fit == Fit::Optional))
        .collect();
    for index in optional {
        if room_for_cut(&widths).is_some_and(|room| room >= wanted) {
            break;
        }
        if let Some(width) = widths.get_mut(index) {
            *width = None;
        }
    }
    let room = room_for_cut(&widths).unwrap_or_default().max(LEAST_WIDTH);
    let cut = (0..columns.len()).filter(|index| is_cut(*index)).count().max(1);
    for (index, width) in widths.iter_mut().enumerate() {
        if is_cut(index) {
            *width = width.map(|natural| natural.min(room / cut));
        }
    }
    widths
}

fn line(columns: &[Column], row: &[String], widths: &[Option<usize>], shape: &dyn Shape) -> String {
    let cells: Vec<String> = row
        .iter()
        .zip(widths)
        .zip(columns)
        .filter_map(|((cell, width), column)| {
            let width = (*width)?;
            let is_cut = column.fit == Fit::Cut;
            let shown = if is_cut {
                shape.cut(cell, width)
            } else {
                preview(cell, width)
            };
            let gap = width.saturating_sub(display_width(&shown));
            let shown = if is_cut { shape.paint(&shown) } else { shown };
            Some(shown + &" ".repeat(gap))
        })
        .collect();
    cells.join(GAP).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: &[Column] = &[
        Column {
            title: "ID",
            fit: Fit::Whole,
        },
        Column {
            title: "TAGS",
            fit: Fit::Optional,
        },
        Column {
            title: "TEXT",
            fit: Fit::Cut,
        },
    ];

    fn table(width: Option<usize>) -> String {
        let rows = [
            ["a-1", "日本語", "a text that is longer than thirty columns"],
            ["b-22", "x", "short"],
        ];
        let rows: Vec<Vec<String>> = rows.map(|row| row.map(str::to_owned).to_vec()).to_vec();
        lines(COLUMNS, &rows, width, &Plain).join("\n")
    }

    #[test]
    fn columns_line_up_by_display_width() {
        assert_eq!(
            table(None),
            "ID    TAGS    TEXT\na-1   日本語  a text that is longer than thirty columns\nb-22  x       short"
        );
    }

    #[test]
    fn text_is_cut_first_and_optional_columns_go_when_that_is_not_enough() {
        assert_eq!(
            table(Some(40)),
            "ID    TAGS    TEXT\na-1   日本語  a text that is longer tha…\nb-22  x       short"
        );
        assert_eq!(
            table(Some(30)),
            "ID    TEXT\na-1   a text that is longer t…\nb-22  short"
        );
    }
}
