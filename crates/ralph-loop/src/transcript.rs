//! The transcript of a turn: the start and the end of the agent's output as JSON lines, with secrets masked.
//!
//! The end is written to small files next to it, and the oldest are dropped as new ones come, so that a killed run
//! still leaves the agent's last output. They are joined to the start after the turn, or by the run that recovers it.
//!
//! When the disk is full, lines are lost, and a marker says how many once there is space again.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use ralph_memory::capture::{CleanLine, TranscriptCleaner};
use serde::{Deserialize, Serialize};

use crate::whole_lines::{Unwritten, WholeLines};

/// The prefix of all file names of a transcript.
const NAME: &str = "transcript";
/// The prefix of a piece of the end; a number follows.
const PIECE: &str = "transcript.end-";
/// The name of the oldest piece once all are joined.
const JOINED: &str = "transcript.joined";

/// How much of a transcript is kept, in bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    head: u64,
    tail: u64,
    /// The size of a piece of the end, unless one line is larger.
    piece: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            head: 32 << 20,
            tail: 8 << 20,
            piece: 512 << 10,
        }
    }
}

/// A transcript that is being written.
#[derive(Debug)]
pub(crate) struct Transcript {
    folder: PathBuf,
    limits: Limits,
    cleaner: TranscriptCleaner,
    head: WholeLines,
    head_bytes: u64,
    tail: Option<Tail>,
    /// Lost lines that no marker mentions yet.
    missing: LeftOut,
}

/// The end of a transcript that is too long.
#[derive(Debug)]
struct Tail {
    file: WholeLines,
    /// The existing pieces, oldest first.
    pieces: VecDeque<Piece>,
    /// Everything after the start that was written, or that a marker counts as missing.
    seen: LeftOut,
    next: u32,
}

#[derive(Debug)]
struct Piece {
    path: PathBuf,
    bytes: u64,
    last_line: u64,
}

/// A marker line: how much was left out at this place.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct LeftOut {
    #[serde(rename = "left_out_lines")]
    lines: u64,
    #[serde(rename = "left_out_bytes")]
    bytes: u64,
}

/// The first line of a piece: its position in the transcript.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Place {
    /// The size of the start.
    head_bytes: u64,
    /// What came between the start and this piece.
    before: LeftOut,
}

/// A line that is not JSON.
#[derive(Serialize)]
struct Printed<'a> {
    line: &'a str,
}

impl LeftOut {
    fn add(&mut self, other: Self) {
        self.lines += other.lines;
        self.bytes += other.bytes;
    }

    fn take_away(&mut self, other: Self) {
        self.lines = self.lines.saturating_sub(other.lines);
        self.bytes = self.bytes.saturating_sub(other.bytes);
    }
}

impl Transcript {
    /// Starts a transcript in a folder.
    pub(crate) fn begin(folder: &Path, limits: Limits) -> io::Result<Self> {
        Ok(Self {
            folder: folder.to_owned(),
            limits,
            cleaner: TranscriptCleaner::default(),
            head: WholeLines::create(&path(folder))?,
            head_bytes: 0,
            tail: None,
            missing: LeftOut::default(),
        })
    }

    /// Adds a line of the agent's output. After an error the line counts as missing, and more lines may be added.
    pub(crate) fn line(&mut self, line: &str) -> io::Result<()> {
        let json = match self.cleaner.clean_line(line) {
            CleanLine::Json(json) => json,
            CleanLine::Text(text) => Cow::Owned(serde_json::to_string(&Printed { line: &text })?),
        };
        let size = json.len() as u64 + 1;
        let itself = LeftOut { lines: 1, bytes: size };
        if let Err(error) = self.tell_missing() {
            self.missing.add(itself);
            return Err(error);
        }
        if self.has_room_at_the_beginning(size) {
            self.head_bytes += size;
            let added = self.head.add(&json);
            return self.or_missing(added);
        }
        if size > self.limits.tail {
            return self.add_to_tail(&serde_json::to_string(&itself)?, itself);
        }
        self.add_to_tail(&json, itself)
    }

    /// Flushes to the system, which keeps the lines if this process is killed.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        let flushed = match &mut self.tail {
            Some(tail) => tail.file.flush(),
            None => self.head.flush(),
        };
        self.or_missing(flushed)
    }

    /// Joins the start, a marker for missing lines, and the end.
    pub(crate) fn close(mut self) -> io::Result<()> {
        let flushed = self.flush();
        let joined = self.tell_missing().and_then(|()| join(&self.folder, self.limits));
        flushed.and(joined)
    }

    fn has_room_at_the_beginning(&self, size: u64) -> bool {
        self.tail.is_none() && self.head_bytes + size <= self.limits.head
    }

    /// Writes a marker for lost lines.
    fn tell_missing(&mut self) -> io::Result<()> {
        if self.missing.lines == 0 {
            return Ok(());
        }
        let missing = std::mem::take(&mut self.missing);
        let seen = self.tail.as_ref().map(|tail| tail.seen);
        let line = serde_json::to_string(&missing)?;
        let written = match seen {
            Some(_) => self.add_to_tail(&line, missing),
            None => self.head.add(&line).map_err(|unwritten| unwritten.error),
        };
        let written = written.and_then(|()| self.flush());
        if written.is_err() {
            // Only the marker failed, so the lines it counts are still missing.
            self.missing = missing;
            if let (Some(tail), Some(seen)) = (&mut self.tail, seen) {
                tail.seen = seen;
            }
        }
        written
    }

    /// Counts lines that could not be written.
    fn or_missing(&mut self, result: Result<(), Unwritten>) -> io::Result<()> {
        let Err(Unwritten { error, lines, bytes }) = result else {
            return Ok(());
        };
        let unwritten = LeftOut { lines, bytes };
        self.missing.add(unwritten);
        if let Some(tail) = &mut self.tail {
            tail.seen.take_away(unwritten);
            if let Some(piece) = tail.pieces.back_mut() {
                piece.bytes = piece.bytes.saturating_sub(bytes);
            }
        }
        Err(error)
    }

    /// Adds a line to the end; `stands_for` is the output it represents.
    fn add_to_tail(&mut self, line: &str, stands_for: LeftOut) -> io::Result<()> {
        let size = line.len() as u64 + 1;
        let limits = self.limits;
        let tail = match &mut self.tail {
            Some(tail) if tail.has_room(size, limits.piece) => tail,
            _ => match self.next_piece() {
                Ok(tail) => tail,
                Err(error) => {
                    self.missing.add(stands_for);
                    return Err(error);
                }
            },
        };
        tail.seen.add(stands_for);
        if let Some(piece) = tail.pieces.back_mut() {
            piece.bytes += size;
            piece.last_line = size;
        }
        let added = tail.file.add(line);
        let dropped = tail.drop_oldest(limits.tail);
        self.or_missing(added)?;
        dropped
    }

    /// Starts a piece of the end.
    fn next_piece(&mut self) -> io::Result<&mut Tail> {
        self.flush()?;
        let (number, before) = self
            .tail
            .as_ref()
            .map_or_else(Default::default, |tail| (tail.next, tail.seen));
        let path = self.folder.join(format!("{PIECE}{number:08}"));
        let place = Place {
            head_bytes: self.head.written(),
            before,
        };
        let mut file = WholeLines::create(&path)?;
        let place = serde_json::to_string(&place)?;
        // A piece without its first line is unusable.
        file.add(&place)
            .and_then(|()| file.flush())
            .map_err(|unwritten| unwritten.error)?;
        let piece = Piece {
            path,
            bytes: 0,
            last_line: 0,
        };
        let mut pieces = self.tail.take().map(|tail| tail.pieces).unwrap_or_default();
        pieces.push_back(piece);
        Ok(self.tail.insert(Tail {
            file,
            pieces,
            seen: before,
            next: number + 1,
        }))
    }
}

impl Tail {
    /// Whether the newest piece has space for a line. An empty piece takes any line.
    fn has_room(&self, size: u64, limit: u64) -> bool {
        let piece = self.pieces.back();
        piece.is_some_and(|piece| piece.bytes == 0 || piece.bytes + size <= limit)
    }

    /// Removes pieces that will not be kept: not even their last line fits before the later ones.
    fn drop_oldest(&mut self, limit: u64) -> io::Result<()> {
        let mut bytes: u64 = self.pieces.iter().map(|piece| piece.bytes).sum();
        while self.pieces.len() > 1 {
            let oldest = self.pieces.front();
            let Some(oldest) = oldest.filter(|piece| bytes - piece.bytes + piece.last_line > limit) else {
                break;
            };
            bytes -= oldest.bytes;
            fs::remove_file(&oldest.path)?;
            self.pieces.pop_front();
        }
        Ok(())
    }
}

/// The path of the transcript in a folder.
pub(crate) fn path(folder: &Path) -> PathBuf {
    folder.join("transcript.jsonl")
}

/// The time of the last write to the transcript in a folder.
pub(crate) fn last_written(folder: &Path) -> Option<SystemTime> {
    let entries = fs::read_dir(folder).ok()?.filter_map(Result::ok);
    let own = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(NAME));
    own.filter_map(|entry| entry.metadata().ok()?.modified().ok()).max()
}

/// The readable lines of a transcript that come from the agent.
pub(crate) fn printed(transcript: &Path) -> impl Iterator<Item = String> {
    let file = File::open(transcript).ok();
    let lines = file.into_iter().flat_map(|file| BufReader::new(file).split(b'\n'));
    lines
        .map_while(Result::ok)
        .map(|line| String::from_utf8_lossy(&line).into_owned())
        .filter(|line| left_out(line).is_none())
}

/// Joins the pieces to the start, if there are any. Safe to repeat after being killed.
pub(crate) fn join(folder: &Path, limits: Limits) -> io::Result<()> {
    let joined = folder.join(JOINED);
    let mut pieces = pieces(folder)?;
    if !joined.exists() {
        let mut places = Vec::new();
        for path in &pieces {
            places.extend(Opened::piece(path)?);
        }
        let Some(oldest) = places.first() else {
            // The pieces have no complete first line yet, so there is nothing to join.
            return pieces.iter().try_for_each(fs::remove_file);
        };
        let mut file = OpenOptions::new().write(true).open(path(folder))?;
        file.set_len(oldest.place.head_bytes)?;
        file.seek(SeekFrom::End(0))?;
        write_tail(&mut BufWriter::new(file), places, limits.tail)?;
        if !pieces.is_empty() {
            fs::rename(pieces.remove(0), &joined)?;
        }
    }
    pieces.iter().try_for_each(fs::remove_file)?;
    fs::remove_file(joined)
}

/// An open piece, positioned after its first line.
struct Opened {
    place: Place,
    bytes: u64,
    content: BufReader<File>,
}

impl Opened {
    /// Opens a piece; `None` if its first line is incomplete.
    fn piece(path: &Path) -> io::Result<Option<Self>> {
        let file = File::open(path)?;
        let length = file.metadata()?.len();
        let mut content = BufReader::new(file);
        let mut first = Vec::new();
        content.read_until(b'\n', &mut first)?;
        let place = serde_json::from_slice(&first).ok();
        Ok(place.filter(|_| first.ends_with(b"\n")).map(|place| Self {
            place,
            bytes: length.saturating_sub(first.len() as u64),
            content,
        }))
    }
}

/// Writes the marker, then as many of the last lines as fit.
fn write_tail(file: &mut impl Write, pieces: Vec<Opened>, limit: u64) -> io::Result<()> {
    let mut missing = pieces.first().map(|piece| piece.place.before).unwrap_or_default();
    let all: u64 = pieces.iter().map(|piece| piece.bytes).sum();
    let mut too_much = all.saturating_sub(limit);
    let mut has_begun = false;
    for mut piece in pieces {
        let mut line = Vec::new();
        while too_much > 0 {
            line.clear();
            if piece.content.read_until(b'\n', &mut line)? == 0 {
                break;
            }
            let size = line.len() as u64;
            too_much = too_much.saturating_sub(size);
            let stands_for = left_out(&String::from_utf8_lossy(&line)).unwrap_or(LeftOut { lines: 1, bytes: size });
            missing.lines += stands_for.lines;
            missing.bytes += stands_for.bytes;
        }
        if too_much > 0 {
            continue;
        }
        if !has_begun && missing.lines > 0 {
            writeln!(file, "{}", serde_json::to_string(&missing)?)?;
        }
        has_begun = true;
        io::copy(&mut piece.content, file)?;
    }
    file.flush()
}

/// Parses a marker line.
fn left_out(line: &str) -> Option<LeftOut> {
    line.starts_with("{\"left_out_lines\":")
        .then(|| serde_json::from_str(line).ok())
        .flatten()
}

/// The pieces in a folder, oldest first.
fn pieces(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut pieces = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with(PIECE) {
            pieces.push(entry.path());
        }
    }
    pieces.sort();
    Ok(pieces)
}

#[cfg(test)]
#[path = "transcript_tests.rs"]
mod tests;
