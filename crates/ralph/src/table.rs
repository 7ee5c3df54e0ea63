//! Formats tables by display width, within the width of the terminal.

use ralph_model::{display_width, preview};

const GAP: &str = "  ";
/// The least width of a cut column.
const MIN_WIDTH: usize = 12;

/// A column of a table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Column {
    pub(crate) title: &'static str,
    pub(crate) fit: Fit,
}

impl Column {
    pub(crate) const fn whole(title: &'static str) -> Self {
        Self { title, fit: Fit::Whole }
    }

    pub(crate) const fn optional(title: &'static str) -> Self {
        Self {
            title,
            fit: Fit::Optional,
        }
    }

    pub(crate) const fn cut(title: &'static str) -> Self {
        Self { title, fit: Fit::Cut }
    }

    pub(crate) const fn narrow(title: &'static str, columns: usize) -> Self {
        Self {
            title,
            fit: Fit::Narrow(columns),
        }
    }

    pub(crate) const fn wide(title: &'static str) -> Self {
        Self { title, fit: Fit::Wide }
    }
}

/// How a column adapts when the table is too wide.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fit {
    Whole,
    /// Whole if the others have space, else left out; the last such column goes first.
    Optional,
    /// Cut to the remaining width.
    Cut,
    /// Whole if the others have space, else cut to this width, before any optional column is left out.
    Narrow(usize),
    /// Shown only if all columns are whole.
    Wide,
}

/// Cuts and paints the text of a cut column.
pub(crate) trait Shape {
    /// The part of a text that is shown.
    fn cut(&self, text: &str, columns: usize) -> String {
        preview(text, columns)
    }

    /// Styles that part without changing its width.
    fn paint(&self, cut: &str) -> String {
        cut.to_owned()
    }
}

/// The beginning of a text, unstyled.
pub(crate) struct Plain;

impl Shape for Plain {}

/// The lines of a table, titles first. Without a width nothing is cut.
pub(crate) fn lines(columns: &[Column], rows: &[Vec<String>], width: Option<usize>, shape: &dyn Shape) -> Vec<String> {
    let widths = fit(columns, &natural_widths(columns, rows), width);
    let titles: Vec<String> = columns.iter().map(|column| column.title.to_owned()).collect();
    let titles = line(columns, &titles, &widths, &Plain);
    let rows = rows.iter().map(|row| line(columns, row, &widths, shape));
    std::iter::once(titles).chain(rows).collect()
}

/// Whether the whole columns leave enough space for the cut ones.
pub(crate) fn fits(columns: &[Column], rows: &[Vec<String>], width: usize) -> bool {
    let least = |(column, natural): (&Column, usize)| match column.fit {
        Fit::Whole => natural + GAP.len(),
        Fit::Cut => natural.min(MIN_WIDTH) + GAP.len(),
        Fit::Optional | Fit::Wide => 0,
        Fit::Narrow(columns) => natural.min(columns) + GAP.len(),
    };
    let least: usize = columns.iter().zip(natural_widths(columns, rows)).map(least).sum();
    least <= width + GAP.len()
}

/// The width of each column if nothing is cut.
fn natural_widths(columns: &[Column], rows: &[Vec<String>]) -> Vec<usize> {
    let natural = |(index, column): (usize, &Column)| {
        let cells = rows
            .iter()
            .filter_map(|row| row.get(index))
            .map(|cell| display_width(cell));
        cells.chain([display_width(column.title)]).max().unwrap_or_default()
    };
    columns.iter().enumerate().map(natural).collect()
}

/// Drops columns that are empty in all rows, for people. Programs get all columns, so that positions are stable.
pub(crate) fn without_blank(columns: &[Column], rows: &[Vec<String>]) -> (Vec<Column>, Vec<Vec<String>>) {
    let has_words = |index: usize| {
        rows.iter()
            .any(|row| row.get(index).is_some_and(|cell| !cell.is_empty()))
    };
    let stays: Vec<bool> = (0..columns.len()).map(has_words).collect();
    let kept = |row: &Vec<String>| -> Vec<String> {
        let cells = row.iter().zip(&stays).filter(|(_, stays)| **stays);
        cells.map(|(cell, _)| cell.clone()).collect()
    };
    let columns = columns.iter().zip(&stays).filter(|(_, stays)| **stays);
    (
        columns.map(|(column, _)| *column).collect(),
        rows.iter().map(kept).collect(),
    )
}

/// The width of each column; none if it is left out.
fn fit(columns: &[Column], natural: &[usize], width: Option<usize>) -> Vec<Option<usize>> {
    let mut widths: Vec<Option<usize>> = natural.iter().copied().map(Some).collect();
    let Some(width) = width else { return widths };
    let is_cut = |index: usize| columns.get(index).is_some_and(|column| column.fit == Fit::Cut);
    let space_for_cut = |widths: &[Option<usize>]| {
        let shown = widths.iter().flatten().count();
        let fixed: usize = widths
            .iter()
            .enumerate()
            .filter(|(index, _)| !is_cut(*index))
            .filter_map(|(_, width)| *width)
            .sum();
        width.checked_sub(fixed + GAP.len() * shown.saturating_sub(1))
    };
    let wanted = |most: usize| -> usize {
        let cut = natural.iter().enumerate().filter(|(index, _)| is_cut(*index));
        cut.map(|(_, width)| (*width).min(most)).sum()
    };
    for Concession { column, left, text } in concessions(columns) {
        if space_for_cut(&widths).is_some_and(|space| space >= wanted(text)) {
            continue;
        }
        if let Some(width) = widths.get_mut(column) {
            *width = width.map(|natural| natural.min(left)).filter(|width| *width > 0);
        }
    }
    let space = space_for_cut(&widths).unwrap_or_default().max(MIN_WIDTH);
    let cut = (0..columns.len()).filter(|index| is_cut(*index)).count().max(1);
    for (index, width) in widths.iter_mut().enumerate() {
        if is_cut(index) {
            *width = width.map(|natural| natural.min(space / cut));
        }
    }
    widths
}

/// One step to make a table narrower.
struct Concession {
    column: usize,
    /// The width that is kept.
    left: usize,
    /// The step is skipped if cut columns already have this width.
    text: usize,
}

/// The steps in order, until the cut columns have enough space.
fn concessions(columns: &[Column]) -> Vec<Concession> {
    let all = |wanted: &dyn Fn(Fit) -> Option<(usize, usize)>| -> Vec<Concession> {
        let columns = columns.iter().enumerate();
        let given =
            columns.filter_map(|(column, it)| wanted(it.fit).map(|(left, text)| Concession { column, left, text }));
        given.collect()
    };
    let wide = all(&|fit| (fit == Fit::Wide).then_some((0, usize::MAX)));
    let narrow = all(&|fit| match fit {
        Fit::Narrow(left) => Some((left, MIN_WIDTH * 2)),
        _ => None,
    });
    let optional = all(&|fit| (fit == Fit::Optional).then_some((0, MIN_WIDTH * 2)));
    wide.into_iter()
        .chain(narrow)
        .chain(optional.into_iter().rev())
        .collect()
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

    const COLUMNS: &[Column] = &[Column::whole("ID"), Column::optional("TAGS"), Column::cut("TEXT")];

    fn rows() -> Vec<Vec<String>> {
        let rows = [
            ["a-1", "日本語", "a text that is longer than thirty columns"],
            ["b-22", "x", "short"],
        ];
        rows.map(|row| row.map(str::to_owned).to_vec()).to_vec()
    }

    fn table(width: Option<usize>) -> String {
        lines(COLUMNS, &rows(), width, &Plain).join("\n")
    }

    #[test]
    fn fits_iff_no_line_exceeds_the_width() {
        for width in 4..40 {
            let widest = table(Some(width)).lines().map(display_width).max().unwrap();
            assert_eq!(fits(COLUMNS, &rows(), width), widest <= width, "{width}");
        }
        assert!(fits(COLUMNS, &[], 10), "the titles alone are narrow");
    }

    #[test]
    fn narrow_and_wide_columns_shrink_first() {
        let first = |fit, width| {
            let columns = [Column { title: "NAME", fit }, COLUMNS[1], COLUMNS[2]];
            let rows = [["a-name-that-is-long", "x", "a text"]].map(|row| row.map(str::to_owned).to_vec());
            let lines = lines(&columns, &rows, Some(width), &Plain);
            let widest = lines.iter().map(|line| display_width(line)).max().unwrap();
            assert_eq!(fits(&columns, &rows, width), widest <= width, "{width}");
            lines[1].clone()
        };
        for fit in [Fit::Narrow(8), Fit::Wide] {
            assert_eq!(first(fit, 33), "a-name-that-is-long  x     a text");
        }
        assert_eq!(first(Fit::Narrow(8), 32), "a-name-…  x     a text");
        assert_eq!(first(Fit::Narrow(8), 21), "a-name-…  a text");
        assert_eq!(first(Fit::Wide, 32), "x     a text");
        assert_eq!(first(Fit::Wide, 11), "a text");
    }

    #[test]
    fn columns_line_up_by_display_width() {
        assert_eq!(
            table(None),
            "ID    TAGS    TEXT\na-1   日本語  a text that is longer than thirty columns\nb-22  x       short"
        );
    }

    #[test]
    fn blank_columns_are_dropped() {
        let rows = [["a-1", "", "one"], ["b-22", "", ""]].map(|row| row.map(str::to_owned).to_vec());
        let (columns, rows) = without_blank(COLUMNS, &rows);
        assert_eq!(
            lines(&columns, &rows, Some(40), &Plain),
            ["ID    TEXT", "a-1   one", "b-22"]
        );
    }

    #[test]
    fn text_is_cut_before_optional_columns_are_dropped() {
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
