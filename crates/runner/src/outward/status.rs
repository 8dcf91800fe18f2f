//! Comments on the issue or change that a run works on: one comment, which says in the end how the run went.

use std::time::{Duration, Instant};

use fullsend_fetch::service::{
    Channel, ServiceAnswer, ServiceClient, ServiceError, ServiceLimits, ServiceMethod, ServiceRequest,
    ServiceUrl, ServiceUrlError, WrongHeader,
};
use fullsend_harness::value::Platform;
use fullsend_sandbox::Secret;
use serde_json::{Value, json};
use thiserror::Error;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::comment::Comment;
use super::mint::with_cause;
pub use super::target::{RunUrl, StatusNumber, StatusRepo, StatusTarget, TargetError};
use crate::environment::Environment;
use crate::report::State;

/// How long the last word may take, whatever became of the first.
const BUDGET: Duration = Duration::from_secs(15);

/// Why nobody was told. A warning, never the end of a run.
#[derive(Debug, Error)]
#[non_exhaustive]
pub(crate) enum StatusError {
    #[error("there is no token; set {variables}")]
    NoToken { variables: &'static str },
    #[error("`{variable}` {problem}")]
    Base { variable: &'static str, problem: ServiceUrlError },
    #[error("comments are for issues and changes on GitHub and GitLab; name one with `--forge`")]
    Platform,
    #[error("`!N` is how GitLab writes merge requests; write the number alone")]
    MergeRequest,
    #[error("`--status-repo` on GitHub is `owner/name`")]
    Repo,
    #[error("{}", with_cause(.0))]
    Service(#[from] ServiceError),
    #[error("`{host}` answered {status}{}", reason.as_ref().map(|said| format!(": {said}")).unwrap_or_default())]
    Refused { host: String, status: u16, reason: Option<String> },
    #[error("`{host}` did not say which comment it made")]
    NoId { host: String },
    #[error("{0}")]
    Header(#[from] WrongHeader),
    #[error("`{host}` did not answer in time")]
    Late { host: String },
}

/// How forges differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Forge {
    GitHub,
    GitLab,
}

/// The comments of one issue or change.
#[derive(Clone, Debug)]
struct Comments {
    client: ServiceClient,
    forge: Forge,
    /// Where comments are made.
    make: ServiceUrl,
    /// Below which they are changed.
    change: ServiceUrl,
    token: Secret,
}

impl Comments {
    fn new(
        client: &ServiceClient,
        target: &StatusTarget,
        platform: Option<Platform>,
        environment: &Environment,
    ) -> Result<Self, StatusError> {
        let set = |name: &str| environment.get(name).map(str::trim).filter(|value| !value.is_empty());
        let forge = match platform {
            None | Some(Platform::GitHub) => Forge::GitHub,
            Some(Platform::GitLab) => Forge::GitLab,
            Some(Platform::Jira) => return Err(StatusError::Platform),
        };
        let (variable, usual) = match forge {
            Forge::GitHub => ("GITHUB_API_URL", "https://api.github.com"),
            Forge::GitLab => ("CI_API_V4_URL", "https://gitlab.com/api/v4"),
        };
        let base = ServiceUrl::parse(set(variable).unwrap_or(usual), Channel::Confidential)
            .map_err(|problem| StatusError::Base { variable, problem })?;
        let (token, variables) = match forge {
            Forge::GitHub => {
                (set("GH_TOKEN").or_else(|| set("GITHUB_TOKEN")), "`GH_TOKEN` or `GITHUB_TOKEN`")
            }
            Forge::GitLab => (set("GITLAB_TOKEN"), "`GITLAB_TOKEN`"),
        };
        let token = Secret::new(token.ok_or(StatusError::NoToken { variables })?);
        let (make, change) = paths(forge, target, set("CI_MERGE_REQUEST_IID"))?;
        let unreadable = StatusError::Base { variable, problem: ServiceUrlError::Unreadable };
        let (Some(make), Some(change)) = (base.below(&make), base.below(&change)) else {
            return Err(unreadable);
        };
        Ok(Self { client: client.clone(), forge, make, change, token })
    }

    /// Makes a comment. Says where it is.
    async fn make(&self, text: &str) -> Result<ServiceUrl, StatusError> {
        let answer = self.send(ServiceMethod::Post, &self.make, text).await?;
        let id = answer.json().and_then(|document| document.get("id").and_then(Value::as_u64));
        let place = id.and_then(|id| self.change.below(&format!("/{id}")));
        place.ok_or_else(|| StatusError::NoId { host: self.host() })
    }

    /// Changes a comment.
    async fn change(&self, place: &ServiceUrl, text: &str) -> Result<(), StatusError> {
        let method = match self.forge {
            Forge::GitHub => ServiceMethod::Patch,
            Forge::GitLab => ServiceMethod::Put,
        };
        self.send(method, place, text).await.map(drop)
    }

    async fn send(
        &self,
        method: ServiceMethod,
        url: &ServiceUrl,
        text: &str,
    ) -> Result<ServiceAnswer, StatusError> {
        let request = ServiceRequest::new(method, url).json(&json!({ "body": text }));
        let request = match self.forge {
            Forge::GitHub => request
                .bearer(self.token.expose())?
                .header("accept", "application/vnd.github+json")?
                .header("x-github-api-version", "2022-11-28")?,
            Forge::GitLab => request.header("private-token", self.token.expose())?,
        };
        // Comments come back whole, with everything that is known about who wrote them.
        let limits = ServiceLimits { total: BUDGET, largest: 512 * 1024, ..ServiceLimits::default() };
        let answer = self.client.send(&request, limits).await?;
        if answer.is_success() {
            return Ok(answer);
        }
        Err(StatusError::Refused { host: self.host(), status: answer.status, reason: answer.reason() })
    }

    fn host(&self) -> String {
        self.make.host().to_owned()
    }
}

/// Where comments are made and changed. All parts are names and numbers.
fn paths(
    forge: Forge,
    target: &StatusTarget,
    merge_request: Option<&str>,
) -> Result<(String, String), StatusError> {
    let repo = target.repo.as_str();
    let StatusNumber { number, merge_request: is_merge } = target.number;
    match forge {
        Forge::GitHub if is_merge => Err(StatusError::MergeRequest),
        Forge::GitHub if repo.matches('/').count() != 1 => Err(StatusError::Repo),
        Forge::GitHub => {
            let issues = format!("/repos/{repo}/issues");
            Ok((format!("{issues}/{number}/comments"), format!("{issues}/comments")))
        }
        Forge::GitLab => {
            // Issues and merge requests are counted apart. In a pipeline of one, its number is meant.
            let is_merge = is_merge || merge_request == Some(number.to_string().as_str());
            let kind = if is_merge { "merge_requests" } else { "issues" };
            let notes = format!("/projects/{}/{kind}/{number}/notes", repo.replace('/', "%2F"));
            Ok((notes.clone(), notes))
        }
    }
}

/// The comment of a run under way.
#[derive(Debug)]
pub(crate) struct Status {
    comments: Comments,
    comment: Comment,
    began: Instant,
    /// The first word. The run does not wait for it.
    first: JoinHandle<Result<ServiceUrl, StatusError>>,
}

impl Status {
    /// Says that the run has begun. `masked` is told the token that comments are made with, and takes secrets out of the text.
    pub(crate) fn begin(
        client: &ServiceClient,
        target: &StatusTarget,
        platform: Option<Platform>,
        environment: &Environment,
        agent: &str,
        masked: impl FnOnce(&Secret, String) -> String,
    ) -> Result<Self, StatusError> {
        let comments = Comments::new(client, target, platform, environment)?;
        let run_url = target.run_url.as_ref().map(ToString::to_string);
        let comment = Comment { agent: agent.to_owned(), run_url };
        let (text, maker) = (masked(&comments.token, comment.started()), comments.clone());
        let first = tokio::spawn(async move { maker.make(&text).await });
        Ok(Self { comments, comment, began: Instant::now(), first })
    }

    /// Says how the run has ended.
    pub(crate) async fn complete(
        mut self,
        state: State,
        reason: Option<&str>,
        masked: impl FnOnce(String) -> String,
    ) -> Result<(), StatusError> {
        let text = masked(self.comment.ended(state, reason, self.began.elapsed()));
        let telling = async {
            let late = |_lost| StatusError::Late { host: self.comments.host() };
            let place = (&mut self.first).await.map_err(late)??;
            self.comments.change(&place, &text).await
        };
        let told = timeout(BUDGET, telling).await;
        self.first.abort();
        told.unwrap_or_else(|_elapsed| Err(StatusError::Late { host: self.comments.host() }))
    }
}
