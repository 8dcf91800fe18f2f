//! Finds the harness of an agent, unless no agent may run.

use std::path::{Path, PathBuf};

use fullsend_harness::config::{CONFIG_FILE, Configuration};
use fullsend_harness::locate;
use fullsend_harness::schema::ConfigFile;

use crate::stop::Stop;

/// The harness file of the agent.
pub(crate) fn find(configuration: &Configuration, root: &Path, agent: &str) -> Result<PathBuf, Stop> {
    let off = |layer: &ConfigFile| {
        let switch = match layer {
            ConfigFile::Org(config) => config.kill_switch.as_ref(),
            ConfigFile::Repo(config) => config.kill_switch.as_ref(),
        };
        switch.is_some_and(|switch| switch.value)
    };
    if configuration.layers.iter().any(off) {
        return Err(Stop::KillSwitch { file: root.join(CONFIG_FILE) });
    }
    Ok(locate(configuration, root, agent)?)
}
