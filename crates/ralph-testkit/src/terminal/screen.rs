//! A small terminal emulator with enough control sequences for programs that draw in place.
//!
//! It behaves like real terminals at their worst: a narrower screen rewraps lines, a lower one first drops rows below
//! the cursor, and clearing from the first cell moves the screen to the scrollback.

use ralph_model::display_width;

/// The screen and its scrollback.
#[derive(Debug, Clone)]
pub struct Screen {
    width: usize,
    height: usize,
    rows: Vec<Row>,
    scrollback: Vec<Row>,
    row: usize,
    column: usize,
    saved_cursor: (usize, usize),
    /// The last column was written; the next character starts a new row.
    pending_wrap: bool,
    wraps: Wraps,
    cursor: Cursor,
    /// Whether a synchronized update is open, so the screen may be half drawn.
    is_updating: bool,
    /// An incomplete sequence or character.
    pending: Vec<u8>,
    unknown: Vec<String>,
}

/// Whether long lines continue on the next row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wraps {
    Yes,
    No,
}

/// Whether the cursor is visible.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cursor {
    Shown,
    Hidden,
}

#[derive(Debug, Clone, Default)]
struct Row {
    /// One character with its combining marks per cell; the second column of a wide character is empty.
    cells: Vec<String>,
    /// Whether the next row belongs to the same line.
    is_wrapped: bool,
}

impl Row {
    fn text(&self) -> String {
        self.cells.concat()
    }

    fn is_blank(&self) -> bool {
        self.text().trim().is_empty()
    }
}

impl Screen {
    #[must_use]
    pub fn new(width: usize, height: usize) -> Self {
        Self {
            width,
            height,
            rows: vec![Row::default(); height],
            scrollback: Vec::new(),
            row: 0,
            column: 0,
            saved_cursor: (0, 0),
            pending_wrap: false,
            wraps: Wraps::Yes,
            cursor: Cursor::Shown,
            is_updating: false,
            pending: Vec::new(),
            unknown: Vec::new(),
        }
    }

    /// The rows of the screen without trailing blank ones.
    #[must_use]
    pub fn shown(&self) -> Vec<String> {
        trim_blank_rows(self.rows.iter().map(|row| row.text().trim_end().to_owned()).collect())
    }

    /// All lines including the scrollback, with wrapped rows joined.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        let mut line = String::new();
        for row in self.scrollback.iter().chain(&self.rows) {
            line.push_str(&row.text());
            if !row.is_wrapped {
                lines.push(std::mem::take(&mut line).trim_end().to_owned());
            }
        }
        lines.push(line.trim_end().to_owned());
        trim_blank_rows(lines)
    }

    /// The rows in the scrollback.
    #[must_use]
    pub fn scrolled(&self) -> Vec<String> {
        self.scrollback
            .iter()
            .map(|row| row.text().trim_end().to_owned())
            .collect()
    }

    #[must_use]
    pub fn cursor(&self) -> Cursor {
        self.cursor
    }

    /// Whether a synchronized update is open.
    #[must_use]
    pub fn is_updating(&self) -> bool {
        self.is_updating
    }

    /// Control sequences that this emulator does not support.
    #[must_use]
    pub fn unknown(&self) -> &[String] {
        &self.unknown
    }

    pub fn take(&mut self, bytes: &[u8]) {
        self.pending.extend_from_slice(bytes);
        while let Some((used, what)) = next(&self.pending) {
            self.pending.drain(..used);
            match what {
                Piece::Control(byte) => self.control(byte),
                Piece::Escape(byte) => self.escape(byte),
                Piece::Sequence(arguments, end) => self.sequence(&arguments, end),
                Piece::Char(c) => self.put_char(c),
            }
        }
    }

    /// Changes the size, as if the corner of the window were dragged.
    pub fn resize(&mut self, width: usize, height: usize) {
        if width != self.width {
            self.rewrap(width);
        }
        // Drop rows below the cursor first; only then scroll up.
        self.rows.truncate(height.max(self.row + 1));
        while self.rows.len() > height {
            self.scrollback.push(self.rows.remove(0));
            self.row -= 1;
        }
        while self.rows.len() < height {
            match self.scrollback.pop() {
                Some(row) => {
                    self.rows.insert(0, row);
                    self.row += 1;
                }
                None => self.rows.push(Row::default()),
            }
        }
        self.height = height;
        self.pending_wrap = false;
    }

    fn rewrap(&mut self, width: usize) {
        let at = self.scrollback.len() + self.row;
        let used = self
            .rows
            .iter()
            .rposition(|row| !row.is_blank())
            .map_or(0, |last| last + 1);
        self.rows.truncate(used.max(self.row + 1));
        let all: Vec<Row> = self.scrollback.drain(..).chain(self.rows.drain(..)).collect();
        let (mut wrapped, mut cursor) = (Vec::new(), (0, 0));
        let mut line: Vec<String> = Vec::new();
        let mut cursor_in_line = None;
        for (number, row) in all.into_iter().enumerate() {
            if number == at {
                cursor_in_line = Some(line.len() + self.column);
            }
            line.extend(row.cells);
            if row.is_wrapped {
                continue;
            }
            while line.last().is_some_and(|cell| cell == " ") {
                line.pop();
            }
            if let Some(offset) = cursor_in_line.take() {
                cursor = (wrapped.len() + offset / width, offset % width);
            }
            let mut rest = std::mem::take(&mut line);
            while rest.len() > width {
                let tail = rest.split_off(width);
                wrapped.push(Row {
                    cells: rest,
                    is_wrapped: true,
                });
                rest = tail;
            }
            wrapped.push(Row {
                cells: rest,
                is_wrapped: false,
            });
        }
        let visible = wrapped.len().saturating_sub(self.height);
        self.rows = wrapped.split_off(visible);
        self.scrollback = wrapped;
        self.row = cursor.0.saturating_sub(visible);
        self.column = cursor.1;
        self.rows.resize(self.height.max(self.row + 1), Row::default());
        self.width = width;
    }

    fn control(&mut self, byte: u8) {
        match byte {
            b'\r' => self.column = 0,
            b'\n' => self.line_feed(),
            8 => self.column = self.column.saturating_sub(1),
            7 => {}
            _ => self.unknown.push(format!("control {byte:#x}")),
        }
        self.pending_wrap = false;
    }

    fn escape(&mut self, byte: u8) {
        match byte {
            b'7' => self.saved_cursor = (self.row, self.column),
            b'8' => (self.row, self.column) = self.saved_cursor,
            _ => self.unknown.push(format!("ESC {}", char::from(byte))),
        }
        self.pending_wrap = false;
    }

    fn sequence(&mut self, arguments: &str, end: u8) {
        let steps = arguments.parse().unwrap_or(0).max(1);
        let column = self.column;
        match (end, arguments) {
            (b'm', _) => return,
            (b'h' | b'l', "?2026") => {
                self.is_updating = end == b'h';
                return;
            }
            (b'A', _) => self.row = self.row.saturating_sub(steps),
            (b'B', _) => self.row = (self.row + steps).min(self.height - 1),
            (b'K', "" | "0") => self.current().truncate(column),
            (b'K', "2") => self.current().clear(),
            (b'J', "" | "0") => self.clear_below(),
            (b'h', "?7") => self.wraps = Wraps::Yes,
            (b'l', "?7") => self.wraps = Wraps::No,
            (b'h', "?25") => self.cursor = Cursor::Shown,
            (b'l', "?25") => self.cursor = Cursor::Hidden,
            _ => self.unknown.push(format!("CSI {arguments}{}", char::from(end))),
        }
        self.pending_wrap = false;
    }

    fn current(&mut self) -> &mut Vec<String> {
        let row = &mut self.rows[self.row];
        row.is_wrapped = false;
        &mut row.cells
    }

    fn clear_below(&mut self) {
        if (self.row, self.column) == (0, 0) {
            let used = self
                .rows
                .iter()
                .rposition(|row| !row.is_blank())
                .map_or(0, |last| last + 1);
            self.scrollback.extend(self.rows.iter().take(used).cloned());
            self.rows.fill(Row::default());
            return;
        }
        let column = self.column;
        self.current().truncate(column);
        let below = self.row + 1;
        for row in self.rows.iter_mut().skip(below) {
            *row = Row::default();
        }
    }

    fn line_feed(&mut self) {
        if self.row + 1 < self.height {
            self.row += 1;
        } else {
            self.scrollback.push(self.rows.remove(0));
            self.rows.push(Row::default());
        }
    }

    fn put_char(&mut self, c: char) {
        let width = display_width(c.encode_utf8(&mut [0; 4]));
        if width == 0 {
            let (row, column) = (self.row, self.column);
            let before = self.rows[row]
                .cells
                .iter_mut()
                .take(column)
                .rev()
                .find(|cell| !cell.is_empty());
            if let Some(cell) = before {
                cell.push(c);
            }
            return;
        }
        if self.pending_wrap || self.column + width > self.width {
            match self.wraps {
                Wraps::Yes => {
                    self.rows[self.row].is_wrapped = true;
                    self.line_feed();
                    self.column = 0;
                }
                Wraps::No => self.column = self.width - width,
            }
            self.pending_wrap = false;
        }
        let (column, is_wrapped) = (self.column, self.rows[self.row].is_wrapped);
        let cells = self.current();
        if cells.len() < column + width {
            cells.resize(column + width, " ".to_owned());
        }
        cells[column] = c.to_string();
        for second in cells.iter_mut().skip(column + 1).take(width - 1) {
            second.clear();
        }
        self.rows[self.row].is_wrapped = is_wrapped;
        self.column += width;
        if self.column >= self.width {
            self.column = self.width - 1;
            self.pending_wrap = true;
        }
    }
}

fn trim_blank_rows(mut lines: Vec<String>) -> Vec<String> {
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    lines
}

enum Piece {
    Control(u8),
    Escape(u8),
    Sequence(String, u8),
    Char(char),
}

/// The next piece and its length in bytes, or none if it is incomplete.
fn next(bytes: &[u8]) -> Option<(usize, Piece)> {
    match *bytes.first()? {
        0x1b => match *bytes.get(1)? {
            b'[' => {
                let end = bytes.iter().skip(2).position(|byte| (0x40..=0x7e).contains(byte))? + 2;
                let arguments = String::from_utf8_lossy(&bytes[2..end]).into_owned();
                Some((end + 1, Piece::Sequence(arguments, bytes[end])))
            }
            other => Some((2, Piece::Escape(other))),
        },
        byte @ (0..0x20 | 0x7f) => Some((1, Piece::Control(byte))),
        first => {
            let length = match first {
                0xf0.. => 4,
                0xe0.. => 3,
                0xc0.. => 2,
                _ => 1,
            };
            let c = String::from_utf8_lossy(bytes.get(..length)?).chars().next()?;
            Some((length, Piece::Char(c)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn screen(width: usize, height: usize, text: &str) -> Screen {
        let mut screen = Screen::new(width, height);
        screen.take(text.as_bytes());
        assert_eq!(screen.unknown(), [""; 0]);
        screen
    }

    #[test]
    fn wrapped_rows_scroll_and_rejoin() {
        let screen = screen(4, 2, "abcdefg\r\nx語\r\n");
        assert_eq!(screen.shown(), ["x語"]);
        assert_eq!(screen.scrolled(), ["abcd", "efg"]);
        assert_eq!(screen.lines(), ["abcdefg", "x語"]);
    }

    #[test]
    fn cursor_movement_overwrites_in_place() {
        let shown = screen(9, 3, "one\r\ntwo\r\nthree\x1b[2A\r\x1b[KONE\x1b[B\r\x1b[JT");
        assert_eq!(shown.shown(), ["ONE", "T"]);
        assert_eq!(screen(3, 2, "\x1b[?7labcdef\x1b[?7h").shown(), ["abf"]);
        assert_eq!(screen(3, 2, "ab\x1b7\r\nc\x1b8d").shown(), ["abd", "c"]);
    }

    #[test]
    fn cleared_screen_goes_to_the_scrollback() {
        let screen = screen(9, 3, "one\r\ntwo\x1b[A\r\x1b[J");
        assert_eq!(
            (screen.shown().len(), screen.scrolled()),
            (0, vec!["one".to_owned(), "two".to_owned()])
        );
    }

    #[test]
    fn narrower_screen_rewraps_and_keeps_the_cursor() {
        let mut narrow = screen(9, 4, "above\r\n12345678\r\nlast\x1b[A\r");
        narrow.resize(5, 4);
        assert_eq!(narrow.shown(), ["above", "12345", "678", "last"]);
        narrow.take(b"\x1b[J!");
        assert_eq!(narrow.shown(), ["above", "!"]);
        let mut wide = screen(4, 4, "abcdefg\r\n");
        wide.resize(9, 4);
        assert_eq!(wide.shown(), ["abcdefg"]);
    }

    #[test]
    fn lower_screen_drops_rows_below_the_cursor_first() {
        let mut low = screen(9, 4, "1\r\n2\r\n3\r\n4\x1b[A");
        low.resize(9, 2);
        assert_eq!(
            (low.shown(), low.scrolled()),
            (vec!["2".to_owned(), "3".to_owned()], vec!["1".to_owned()])
        );
    }
}
