//! A file of lines, each of which is there as a whole or not at all, also where the disk becomes full in the middle of one.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::run_folder::private_file;

/// How much is gathered before it is handed over to the system, in bytes.
const MOST_WAITING: usize = 16 << 10;

/// Such a file, while it is written.
#[derive(Debug)]
pub(crate) struct WholeLines {
    file: File,
    waiting: Vec<u8>,
    written: u64,
}

/// Lines that could not be written. The file ends before them.
#[derive(Debug)]
pub(crate) struct Unwritten {
    /// Why.
    pub(crate) error: io::Error,
    /// How many.
    pub(crate) lines: u64,
    /// How long they are.
    pub(crate) bytes: u64,
}

impl WholeLines {
    /// An empty one.
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        Ok(Self {
            file: private_file(path)?,
            waiting: Vec::new(),
            written: 0,
        })
    }

    /// How much of it the system has.
    pub(crate) fn written(&self) -> u64 {
        self.written
    }

    /// Adds a line.
    pub(crate) fn add(&mut self, line: &str) -> Result<(), Unwritten> {
        if self.waiting.len() + line.len() >= MOST_WAITING
            && let Err(mut unwritten) = self.flush()
        {
            unwritten.lines += 1;
            unwritten.bytes += line.len() as u64 + 1;
            return Err(unwritten);
        }
        if line.len() >= MOST_WAITING {
            return self.put(&[line.as_bytes(), b"\n"], 1);
        }
        self.waiting.extend_from_slice(line.as_bytes());
        self.waiting.push(b'\n');
        Ok(())
    }

    /// Hands what was added over to the system, which keeps it should this process be killed.
    pub(crate) fn flush(&mut self) -> Result<(), Unwritten> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        let waiting = std::mem::take(&mut self.waiting);
        let lines = waiting.iter().filter(|byte| **byte == b'\n').count();
        let put = self.put(&[&waiting], lines as u64);
        self.waiting = waiting;
        self.waiting.clear();
        put
    }

    /// Writes these parts of so many lines, or none of them.
    fn put(&mut self, parts: &[&[u8]], lines: u64) -> Result<(), Unwritten> {
        let mut end = self.written;
        for part in parts {
            if let Err(error) = write_at(&self.file, part, end) {
                // What became of a part of them goes again; that needs no room.
                let error = self.file.set_len(self.written).err().unwrap_or(error);
                let bytes = parts.iter().map(|part| part.len() as u64).sum();
                return Err(Unwritten { error, lines, bytes });
            }
            end += part.len() as u64;
        }
        self.written = end;
        Ok(())
    }
}

fn write_at(file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
    #[cfg(test)]
    let bytes = &full_disk::what_fits(file, bytes, at)?;
    file.write_all_at(bytes, at)
}

/// A disk that tests fill up.
#[cfg(test)]
pub(crate) mod full_disk {
    use super::{File, FileExt, io};
    use std::cell::Cell;

    thread_local! {
        static ROOM: Cell<usize> = const { Cell::new(usize::MAX) };
    }

    /// From now on there is room for so many bytes.
    pub(crate) fn set_room(bytes: usize) {
        ROOM.set(bytes);
    }

    /// What may be written, all of it; where there is less room, as much is written as fits, as the system does it.
    pub(super) fn what_fits(file: &File, bytes: &[u8], at: u64) -> io::Result<Vec<u8>> {
        let room = ROOM.get();
        let (fits, rest) = bytes.split_at(bytes.len().min(room));
        if room != usize::MAX {
            ROOM.set(room - fits.len());
        }
        if rest.is_empty() {
            return Ok(bytes.to_vec());
        }
        file.write_all_at(fits, at)?;
        Err(io::ErrorKind::StorageFull.into())
    }
}
