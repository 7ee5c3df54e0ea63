//! A file in which every line is complete or absent, even if the disk fills up in the middle of one.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::run_folder::private_file;

/// How many bytes to buffer before writing.
const MAX_WAITING: usize = 16 << 10;

#[derive(Debug)]
pub(crate) struct WholeLines {
    file: File,
    waiting: Vec<u8>,
    written: u64,
}

/// Lines that could not be written. The file ends before them.
#[derive(Debug)]
pub(crate) struct Unwritten {
    pub(crate) error: io::Error,
    pub(crate) lines: u64,
    pub(crate) bytes: u64,
}

impl WholeLines {
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        Ok(Self {
            file: private_file(path)?,
            waiting: Vec::new(),
            written: 0,
        })
    }

    /// How many bytes have been written.
    pub(crate) fn written(&self) -> u64 {
        self.written
    }

    pub(crate) fn add(&mut self, line: &str) -> Result<(), Unwritten> {
        if self.waiting.len() + line.len() >= MAX_WAITING
            && let Err(mut unwritten) = self.flush()
        {
            unwritten.lines += 1;
            unwritten.bytes += line.len() as u64 + 1;
            return Err(unwritten);
        }
        if line.len() >= MAX_WAITING {
            return self.put(&[line.as_bytes(), b"\n"], 1);
        }
        self.waiting.extend_from_slice(line.as_bytes());
        self.waiting.push(b'\n');
        Ok(())
    }

    /// Flushes to the system, which keeps the lines if this process is killed.
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

    /// Writes these parts of `lines` lines completely or not at all.
    fn put(&mut self, parts: &[&[u8]], lines: u64) -> Result<(), Unwritten> {
        let mut end = self.written;
        for part in parts {
            if let Err(error) = write_at(&self.file, part, end) {
                // Removes a partial write; that needs no space.
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

/// A simulated full disk.
#[cfg(test)]
pub(crate) mod full_disk {
    use super::{File, FileExt, io};
    use std::cell::Cell;

    thread_local! {
        static FREE_BYTES: Cell<usize> = const { Cell::new(usize::MAX) };
    }

    /// Sets the free space, in bytes.
    pub(crate) fn set_free_bytes(bytes: usize) {
        FREE_BYTES.set(bytes);
    }

    /// Returns all bytes if they fit; otherwise writes what fits, like the system does.
    pub(super) fn what_fits(file: &File, bytes: &[u8], at: u64) -> io::Result<Vec<u8>> {
        let free = FREE_BYTES.get();
        let (fits, rest) = bytes.split_at(bytes.len().min(free));
        if free != usize::MAX {
            FREE_BYTES.set(free - fits.len());
        }
        if rest.is_empty() {
            return Ok(bytes.to_vec());
        }
        file.write_all_at(fits, at)?;
        Err(io::ErrorKind::StorageFull.into())
    }
}
