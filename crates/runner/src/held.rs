//! What a run holds while it goes on, and gives back at its end, however it ends.

use std::sync::Arc;

use fullsend_guard::{FindingsLog, Service};
use fullsend_sandbox::{SandboxBackend, SandboxSessionId};

use crate::api_servers::ApiServers;
use crate::fetch_service::FetchService;
use crate::home::Home;

/// What a run holds.
#[derive(Debug, Default)]
pub(crate) struct Held {
    pub(crate) log: Option<FindingsLog>,
    pub(crate) home: Option<Home>,
    pub(crate) hooks: Option<Service>,
    pub(crate) fetching: Option<FetchService>,
    pub(crate) servers: Option<ApiServers>,
    pub(crate) session: Option<(Arc<dyn SandboxBackend>, SandboxSessionId)>,
    /// Whether the files of the sandbox are kept.
    pub(crate) keep: bool,
}

/// What is left when everything was given back.
#[derive(Debug, Default)]
pub(crate) struct GivenBack {
    /// The end of the findings log, if there is one.
    pub(crate) head: Option<String>,
    /// What did not go as it should.
    pub(crate) warnings: Vec<String>,
}

impl Held {
    /// Ends the sandbox, so that nothing of the agent's runs any more.
    pub(crate) async fn end_session(&mut self) -> Vec<String> {
        let mut warnings = Vec::new();
        if let Some((backend, session)) = self.session.take()
            && let Err(error) = backend.terminate(&session).await
        {
            warnings.push(format!("the sandbox could not be taken down, the next run does: {error}"));
        }
        warnings
    }

    /// Gives everything back: what runs first, then what answers it, then the record, then the files.
    pub(crate) async fn give_back(mut self) -> GivenBack {
        let mut warnings = self.end_session().await;
        if let Some(fetching) = self.fetching.take() {
            fetching.stop().await;
        }
        if let Some(servers) = self.servers.take() {
            servers.stop().await;
        }
        if let Some(hooks) = self.hooks.take() {
            let counts = hooks.stop();
            if counts.denied > 0 {
                warnings.push(format!(
                    "{} tool calls were denied because they could not be judged",
                    counts.denied
                ));
            }
        }
        let head = match self.log.take().map(|log| log.seal()) {
            Some(Ok(head)) => Some(head),
            Some(Err(error)) => {
                warnings.push(format!("the findings log has no end: {error}"));
                None
            }
            None => None,
        };
        if let Some(mut home) = self.home.take() {
            if self.keep {
                warnings.extend(home.keep().err().map(|error| format!("the files may not be kept: {error}")));
                warnings.push(format!("the files of the sandbox are kept in `{}`", home.root().display()));
            }
            drop(home);
        }
        GivenBack { head, warnings }
    }
}
