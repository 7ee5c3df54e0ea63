//! The Python wheel, with the binary as a script that pip installs into `bin`.

use std::path::PathBuf;

use ralph_process::command;

use super::{Release, copy, make_folder, write};
use crate::child::{is_installed, output};

/// The package name, in file names and for users.
const FILE_NAME: &str = "ralph_loop";
const NAME: &str = "ralph-loop";

/// A Python script that packs a folder as a wheel with its list of files.
const PACK: &str = include_str!("wheel.py");

/// Builds the wheel, or none without Python.
pub(super) fn wheel(release: &Release<'_>) -> Result<Option<PathBuf>, String> {
    if !is_installed("python3") {
        println!("dist: SKIPPED the wheel: python3 is not installed");
        return Ok(None);
    }
    let Release { version, platform, .. } = release;
    let tag = format!("py3-none-{}", platform.python);
    let unpacked = tempfile::tempdir().map_err(|error| error.to_string())?;
    let prefix = format!("{FILE_NAME}-{version}");
    let scripts = unpacked.path().join(format!("{prefix}.data/scripts"));
    let about = unpacked.path().join(format!("{prefix}.dist-info"));
    make_folder(&scripts)?;
    make_folder(&about)?;
    copy(&release.binary, &scripts.join("ralph"))?;
    let mut readme = String::new();
    for (name, text) in release.documents()? {
        match name {
            "README.md" => readme = text,
            name => write(&about.join(name), &text)?,
        }
    }
    write(
        &about.join("METADATA"),
        &format!(
            "Metadata-Version: 2.1\nName: {NAME}\nVersion: {version}\n\
             Summary: Run tasks with a coding agent that remembers earlier sessions\n\
             License: MIT OR Apache-2.0\nRequires-Python: >=3.8\nDescription-Content-Type: text/markdown\n\n{readme}"
        ),
    )?;
    write(
        &about.join("WHEEL"),
        &format!("Wheel-Version: 1.0\nGenerator: ralph\nRoot-Is-Purelib: false\nTag: {tag}\n"),
    )?;
    let wheel = release.folder.join(format!("{prefix}-{tag}.whl"));
    output(command("python3").args(["-c", PACK]).arg(unpacked.path()).arg(&wheel))?;
    Ok(Some(wheel))
}
