//! The programs that benchmarks and soaks run, as cargo builds them for release.

use std::path::{Path, PathBuf};
use std::process::Command;

use ralph_process::command;

use crate::cargo::Cargo;

const BUILD: Cargo<'_> = Cargo::new("build --release --locked -p ralph --bins");
/// Examples may use what only tests depend on. Built together with them, the command would get those dependencies' features
/// too, and be another and slower one than people have.
const BUILD_EXAMPLES: Cargo<'_> = Cargo::new("build --release --locked -p ralph --examples");
const BUILD_FOR_TESTS: Cargo<'_> = Cargo::new("build --locked -p ralph --bins");

/// Where the built programs are.
#[derive(Debug)]
pub(crate) struct Programs {
    folder: PathBuf,
}

impl Programs {
    /// Builds them.
    pub(crate) fn build(root: &Path) -> Result<Self, String> {
        for build in [BUILD_EXAMPLES, BUILD] {
            println!("{build}");
            build.run(root)?;
        }
        Ok(Self {
            folder: target_folder()?.join("release"),
        })
    }

    /// Builds the command alone, as tests run it: where nothing is measured that is enough.
    pub(crate) fn build_for_tests(root: &Path) -> Result<Self, String> {
        BUILD_FOR_TESTS.run(root)?;
        Ok(Self {
            folder: target_folder()?.join("debug"),
        })
    }

    /// The folder that they are in.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The command itself, in this project.
    ///
    /// It gets an empty environment: the variables of a developer would change what it does, and the library path that
    /// cargo sets for this process makes every program search there first.
    pub(crate) fn ralph(&self, project: &Path) -> Command {
        bare(&self.folder.join("ralph"), project)
    }

    /// One of the example programs, likewise.
    pub(crate) fn example(&self, name: &str, project: &Path) -> Command {
        bare(&self.folder.join("examples").join(name), project)
    }

    /// The library that takes system calls away from a program it is preloaded into.
    pub(crate) fn fault_library(&self) -> Result<PathBuf, String> {
        let library = self.folder.join("examples/libfault.so");
        if library.is_file() {
            Ok(library)
        } else {
            Err(format!("{} is missing", library.display()))
        }
    }
}

fn bare(program: &Path, project: &Path) -> Command {
    let mut command = command(program);
    command.env_clear().current_dir(project);
    command
}

/// The target folder: this program lies in `<target>/<profile>/`, wherever the settings of cargo put that.
pub(crate) fn target_folder() -> Result<PathBuf, String> {
    let program = std::env::current_exe().map_err(|error| format!("cannot tell where xtask is: {error}"))?;
    let target = program.ancestors().nth(2);
    target
        .map(Path::to_owned)
        .ok_or_else(|| format!("{} is in no target folder", program.display()))
}
