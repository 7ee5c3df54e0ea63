//! A floor for `cargo xtask bench notes`: what it costs to read a file whole, once. `floor_read FILE`

use std::hint::black_box;
use std::io;

fn main() -> io::Result<()> {
    let Some(file) = std::env::args_os().nth(1) else {
        return Err(io::Error::other("usage: floor_read FILE"));
    };
    black_box(std::fs::read(file)?);
    Ok(())
}
