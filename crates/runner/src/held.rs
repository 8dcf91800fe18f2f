//! What a run holds while it goes on, and gives back at its end, however it ends.

use std::sync::Arc;
use std::time::Duration;

use fullsend_guard::{FindingsLog, Service};
use fullsend_runtimes::Cancel;
use fullsend_sandbox::{SandboxBackend, SandboxError, SandboxSession, SandboxSessionId};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::api_servers::ApiServers;
use crate::fetch_service::FetchService;
use crate::home::Home;

/// How long a sandbox that is being made when the run ends may take: what was half made is hard to find again.
const PATIENCE: Duration = Duration::from_secs(20);

/// What a run holds.
#[derive(Debug, Default)]
pub(crate) struct Held {
    pub(crate) log: Option<FindingsLog>,
    pub(crate) home: Option<Home>,
    pub(crate) hooks: Option<Service>,
    pub(crate) fetching: Option<FetchService>,
    pub(crate) servers: Option<ApiServers>,
    /// The sandbox, from the moment on at which its making begins.
    pub(crate) session: Option<(Arc<dyn SandboxBackend>, SandboxSessionId)>,
    /// The making of the sandbox, as long as it goes on.
    pub(crate) making: Option<JoinHandle<Result<SandboxSession, SandboxError>>>,
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
        if let Some(mut making) = self.making.take()
            && timeout(PATIENCE, &mut making).await.is_err()
        {
            making.abort();
            let _given_up = making.await;
        }
        let Some((backend, session)) = self.session.take() else { return Vec::new() };
        match backend.terminate(&session).await {
            // It was never made, or not to the end, and then its maker has tidied up.
            Ok(()) | Err(SandboxError::SessionNotFound(_)) => Vec::new(),
            Err(error) => {
                vec![format!("the sandbox could not be taken down, the next run does: {error}")]
            }
        }
    }

    /// Gives everything back: what runs first, then what answers it, then the record, then the files. Nothing is waited for
    /// once somebody is in a hurry.
    pub(crate) async fn give_back(mut self, cancel: &Cancel) -> GivenBack {
        let mut warnings = self.end_session().await;
        if let Some(fetching) = self.fetching.take() {
            let fetcher = fetching.fetcher().clone();
            tokio::select! {
                () = fetching.stop() => {}
                () = cancel.hurried() => {}
            }
            warnings.extend(fetcher.unrecorded());
        }
        if let Some(servers) = self.servers.take() {
            servers.stop(cancel).await;
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
