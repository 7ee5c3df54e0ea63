//! Builds the programs that benchmarks and soak tests run.

use std::path::{Path, PathBuf};
use std::process::Command;

use ralph_process::command;

use crate::cargo::Cargo;

const BUILD: Cargo<'_> = Cargo::new("build --release --locked -p ralph --bins");
/// Built separately: examples may use dev-dependencies, whose features would change and slow down the command if both
/// were built together.
const BUILD_EXAMPLES: Cargo<'_> = Cargo::new("build --release --locked -p ralph --examples");
const BUILD_FOR_TESTS: Cargo<'_> = Cargo::new("build --locked -p ralph --bins");

/// The built programs.
#[derive(Debug)]
pub(crate) struct Programs {
    folder: PathBuf,
}

impl Programs {
    pub(crate) fn build(root: &Path) -> Result<Self, String> {
        for build in [BUILD_EXAMPLES, BUILD] {
            println!("{build}");
            build.run(root)?;
        }
        Ok(Self {
            folder: target_folder()?.join("release"),
        })
    }

    /// Builds only the command, in the dev profile, for tasks that measure nothing.
    pub(crate) fn build_for_tests(root: &Path) -> Result<Self, String> {
        BUILD_FOR_TESTS.run(root)?;
        Ok(Self {
            folder: target_folder()?.join("debug"),
        })
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The `ralph` command in this project.
    ///
    /// Its environment is empty: a developer's variables would change its behavior, and with the library path that
    /// cargo sets for this process every program would search there first.
    pub(crate) fn ralph(&self, project: &Path) -> Command {
        bare(&self.folder.join("ralph"), project)
    }

    /// An example program, with an empty environment as well.
    pub(crate) fn example(&self, name: &str, project: &Path) -> Command {
        bare(&self.folder.join("examples").join(name), project)
    }

    /// The preloaded library that makes system calls fail.
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

/// The target folder: this program is in `<target>/<profile>/`, wherever cargo is configured to put that.
pub(crate) fn target_folder() -> Result<PathBuf, String> {
    let program = std::env::current_exe().map_err(|error| format!("cannot find the xtask executable: {error}"))?;
    let target = program.ancestors().nth(2);
    target
        .map(Path::to_owned)
        .ok_or_else(|| format!("{} is not in a target folder", program.display()))
}
