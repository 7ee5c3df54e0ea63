//! Formats rows of cells as aligned columns.

/// The alignment of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Left,
    Right,
}

/// Formats rows, the first of which has the titles, as lines with columns as wide as their widest cell.
pub(super) fn table<const N: usize>(sides: [Side; N], rows: &[[String; N]]) -> String {
    let widths: Vec<usize> = (0..N)
        .map(|column| {
            let lengths = rows.iter().filter_map(|row| row.get(column));
            lengths.map(|cell| cell.chars().count()).max().unwrap_or_default()
        })
        .collect();
    let mut lines = String::new();
    for row in rows {
        let places = sides.iter().zip(&widths);
        let cells: Vec<String> = row
            .iter()
            .zip(places)
            .map(|(cell, (side, width))| aligned(cell, *side, *width))
            .collect();
        lines.push_str(cells.join("  ").trim_end());
        lines.push('\n');
    }
    lines
}

fn aligned(cell: &str, side: Side, width: usize) -> String {
    let gap = " ".repeat(width.saturating_sub(cell.chars().count()));
    match side {
        Side::Left => format!("{cell}{gap}"),
        Side::Right => format!("{gap}{cell}"),
    }
}
