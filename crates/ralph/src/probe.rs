//! Starts a program to find out whether it speaks ACP. It gets no prompt, and all its processes are ended.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use ralph_acp::AcpAgent;
use ralph_agent::environment::inherited;
use ralph_agent::{Access, Turn};
use ralph_model::Entropy;
use ralph_model::config::CommandLine;

use crate::context::Context;
use crate::env;
use crate::error::CommandError;
use crate::project_env::{ProgramClock, ProgramEntropy};

/// How long a program may take to answer the ACP handshake.
pub(crate) const LIMIT: Duration = Duration::from_secs(10);
/// How much it may print until then.
const OUTPUT_LIMIT: u64 = 16 << 20;

/// The environment that a probed program starts with.
pub(crate) struct Probe {
    pub(crate) environment: Vec<(OsString, OsString)>,
    pub(crate) marker: String,
}

impl Probe {
    pub(crate) fn new(context: &Context<'_>) -> Result<Self, CommandError> {
        let mut entropy = ProgramEntropy::from_environment()?;
        Ok(Self {
            environment: inherited(env::all(), context.configured.agent.env),
            marker: format!("{:016x}-{}", entropy.next_bits(), std::process::id()),
        })
    }

    pub(crate) fn turn<'a>(&'a self, folder: &'a Path, access: Access) -> Turn<'a> {
        Turn {
            prompt: "",
            prompt_file: Path::new(""),
            model: None,
            folder,
            environment: &self.environment,
            also_writable: &[],
            access,
            allowed_commands: &[],
            marker: &self.marker,
            output_limit: Some(OUTPUT_LIMIT),
        }
    }

    /// Returns true if an unknown program answers the ACP handshake.
    pub(crate) fn speaks_acp(
        &self,
        folder: &Path,
        command: &CommandLine,
        stop: &AtomicBool,
    ) -> Result<bool, CommandError> {
        let turn = self.turn(folder, Access::ReadOnly);
        let met = acp_agent(command)?.probe(&turn, LIMIT, stop);
        Ok(met.is_ok_and(|met| met.protocol.is_some()))
    }
}

pub(crate) fn acp_agent(command: &CommandLine) -> Result<AcpAgent, CommandError> {
    let clock = Arc::new(ProgramClock::from_environment()?);
    AcpAgent::new(command, clock).map_err(|error| CommandError::new(error.to_string()))
}
