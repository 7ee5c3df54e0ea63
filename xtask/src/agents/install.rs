//! Installs agents from the npm registry, each in its own folder under the target folder.

use std::path::{Path, PathBuf};

use ralph_process::command;
use serde_json::Value;

use super::RealAgent;
use crate::child::output;
use crate::programs::target_folder;

/// The node version for the agents. An older system node would make npm silently install older agents.
const NODE: &str = "node@24";

/// An installed agent and its node.
#[derive(Debug)]
pub(crate) struct Installed {
    package: &'static str,
    folder: PathBuf,
    node: PathBuf,
}

/// Whether to update an installed agent to its latest version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Update {
    Yes,
    No,
}

impl From<bool> for Update {
    fn from(wanted: bool) -> Self {
        if wanted { Self::Yes } else { Self::No }
    }
}

impl Installed {
    /// The folders of its programs, in PATH order.
    pub(crate) fn programs(&self) -> [PathBuf; 2] {
        [&self.node, &self.folder].map(|folder| folder.join(BIN_FOLDER))
    }

    pub(crate) fn version(&self) -> String {
        let file = self.folder.join("node_modules").join(self.package).join("package.json");
        let text = std::fs::read_to_string(file).unwrap_or_default();
        let package: Value = serde_json::from_str(&text).unwrap_or_default();
        package["version"].as_str().unwrap_or("(unknown version)").to_owned()
    }
}

/// Where npm links the programs of packages.
const BIN_FOLDER: &str = "node_modules/.bin";

/// Installs an agent if it is missing or to be updated.
pub(crate) fn install(agent: &RealAgent, update: Update) -> Result<Installed, String> {
    let RealAgent {
        name, package, program, ..
    } = *agent;
    let agents = target_folder()?.join("agents");
    let node = agents.join("node");
    if !node.join(BIN_FOLDER).join("node").exists() {
        npm(&node, NODE, &node)?;
    }
    let folder = agents.join(name);
    let place = folder.join(BIN_FOLDER).join(program);
    if update == Update::Yes || !place.exists() {
        npm(&folder, &format!("{package}@latest"), &node)?;
    }
    if place.exists() {
        Ok(Installed { package, folder, node })
    } else {
        Err(format!("the package {package} has no program {program}"))
    }
}

/// Runs npm with the agents' node, so that it selects versions for that one.
fn npm(folder: &Path, package: &str, node: &Path) -> Result<(), String> {
    println!("agents: npm install {package}");
    std::fs::create_dir_all(folder).map_err(|error| format!("cannot create {}: {error}", folder.display()))?;
    let mut npm = command("sh");
    npm.args([
        "-c",
        "PATH=\"$0:$PATH\" exec npm install --no-audit --no-fund --prefix \"$@\"",
    ])
    .arg(node.join(BIN_FOLDER))
    .arg(folder)
    .arg(package);
    output(&mut npm).map(drop)
}
