//! Every package is installed into an empty folder, and its ralph runs the demo there.

use std::path::{Path, PathBuf};

use ralph_process::command;

use crate::child::{is_installed, output};

/// What the demo says when all of it went well.
const WENT_WELL: &str = "Memory saved 3 iterations.";

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
            return Err(format!("{name} has no {file}"));
        }
    }
    demo(&unpacked.join("ralph"), &name)
}

/// Installs the npm packages as users do who name the first of them, and runs the demo.
pub(super) fn npm(packages: &[PathBuf; 2]) -> Result<(), String> {
    if !is_installed("npm") {
        println!("dist: SKIPPED trying the npm packages: npm is not installed");
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

/// Installs the wheel into an environment of its own, and runs the demo.
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
    tempfile::tempdir().map_err(|error| format!("cannot make a temporary folder: {error}"))
}

fn demo(program: &Path, what: &str) -> Result<(), String> {
    let told = output(command(program).arg("demo"))?;
    if !told.contains(WENT_WELL) {
        return Err(format!("the demo of {what} went wrong:\n{told}"));
    }
    println!("dist: {what}: installed, and the demo runs");
    Ok(())
}
