//! Installs every package into an empty folder and runs the demo with it.

use std::path::{Path, PathBuf};

use ralph_process::command;

use crate::child::{is_installed, output};

/// Printed by a successful demo.
const SUCCESS_LINE: &str = "Memory saved 4 iterations.";

/// Unpacks the tarball and runs the demo.
pub(super) fn tarball(tarball: &Path) -> Result<(), String> {
    let folder = empty_folder()?;
    output(command("tar").arg("-xzf").arg(tarball).arg("-C").arg(folder.path()))?;
    let name = tarball.file_name().unwrap_or_default().to_string_lossy();
    let unpacked = folder.path().join(name.trim_end_matches(".tar.gz"));
    for file in [
        "man/man1/ralph-run.1",
        "completions/_ralph",
        "LICENSE-MIT",
        "THIRD-PARTY-LICENSES",
    ] {
        if !unpacked.join(file).is_file() {
            return Err(format!("{file} is missing in {name}"));
        }
    }
    demo(&unpacked.join("ralph"), &name)
}

/// Installs the npm packages globally and runs the demo.
pub(super) fn npm(packages: &[PathBuf; 2]) -> Result<(), String> {
    if !is_installed("npm") {
        println!("dist: SKIPPED testing the npm packages: npm is not installed");
        return Ok(());
    }
    let folder = empty_folder()?;
    let mut npm = command("npm");
    npm.args([
        "install",
        "--global",
        "--offline",
        "--no-audit",
        "--no-fund",
        "--prefix",
    ]);
    output(npm.arg(folder.path()).args(packages))?;
    demo(&folder.path().join("bin/ralph"), "the npm packages")
}

/// Installs the wheel into a virtual environment and runs the demo.
pub(super) fn wheel(wheel: Option<&Path>) -> Result<(), String> {
    let Some(wheel) = wheel else { return Ok(()) };
    let folder = empty_folder()?;
    output(command("python3").args(["-m", "venv"]).arg(folder.path()))?;
    let mut pip = command(folder.path().join("bin/pip"));
    output(
        pip.args(["install", "--quiet", "--no-index", "--disable-pip-version-check"])
            .arg(wheel),
    )?;
    demo(&folder.path().join("bin/ralph"), "the wheel")
}

fn empty_folder() -> Result<tempfile::TempDir, String> {
    tempfile::tempdir().map_err(|error| format!("cannot create a temporary folder: {error}"))
}

fn demo(program: &Path, what: &str) -> Result<(), String> {
    let printed = output(command(program).arg("demo"))?;
    if !printed.contains(SUCCESS_LINE) {
        return Err(format!("the demo of {what} failed:\n{printed}"));
    }
    println!("dist: {what}: installed, demo passed");
    Ok(())
}
