//! A baseline for `cargo xtask bench notes`: reading a whole file and writing it durably next to itself. Usage:
//! `floor_rewrite FILE COPY`

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

fn main() -> io::Result<()> {
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let (Some(file), Some(copy)) = (arguments.next(), arguments.next()) else {
        return Err(io::Error::other("usage: floor_rewrite FILE COPY"));
    };
    let bytes = fs::read(&file)?;
    let new = copy.with_extension("new");
    let mut written = File::create(&new)?;
    written.write_all(&bytes)?;
    written.sync_all()?;
    fs::rename(&new, &copy)?;
    File::open(copy.parent().unwrap_or(Path::new(".")))?.sync_all()
}
