//! What a run comments on, as the command line names it.

use std::fmt;
use std::str::FromStr;

use fullsend_fetch::service::{Channel, ServiceUrl, ServiceUrlError};
use thiserror::Error;

use super::mint::is_repository;

/// A repository: `owner/name`, on GitLab with more groups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatusRepo(String);

/// What is commented on: `N`, or `!N` for a merge request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatusNumber {
    pub(super) number: u64,
    pub(super) merge_request: bool,
}

/// Where the run can be watched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunUrl(String);

/// What a run comments on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatusTarget {
    /// The repository.
    pub repo: StatusRepo,
    /// The issue or change.
    pub number: StatusNumber,
    /// What the comment leads to.
    pub run_url: Option<RunUrl>,
}

/// Why a text says nothing to comment on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TargetError {
    /// No repository.
    #[error("is not a repository; write `owner/name`")]
    Repo,
    /// No number.
    #[error("is not a number; write that of an issue or change, on GitLab `!N` for a merge request")]
    Number,
    /// No address.
    #[error("{0}")]
    Url(ServiceUrlError),
}

impl StatusRepo {
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for StatusRepo {
    type Err = TargetError;

    fn from_str(text: &str) -> Result<Self, TargetError> {
        let fit = (2..=20).contains(&text.split('/').count()) && text.split('/').all(is_repository);
        if fit { Ok(Self(text.to_owned())) } else { Err(TargetError::Repo) }
    }
}

impl FromStr for StatusNumber {
    type Err = TargetError;

    fn from_str(text: &str) -> Result<Self, TargetError> {
        let digits = text.strip_prefix('!').unwrap_or(text);
        let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
        let number = digits.parse().ok().filter(|number| plain && *number > 0);
        let number = number.ok_or(TargetError::Number)?;
        Ok(Self { number, merge_request: text.starts_with('!') })
    }
}

impl FromStr for RunUrl {
    type Err = TargetError;

    fn from_str(text: &str) -> Result<Self, TargetError> {
        ServiceUrl::parse(text, Channel::Any).map_err(TargetError::Url)?;
        Ok(Self(text.trim().to_owned()))
    }
}

impl fmt::Display for RunUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::{RunUrl, StatusNumber, StatusRepo};

    #[test]
    fn a_target_is_names_and_numbers() {
        for (text, fit) in [
            ("owner/name", true),
            ("group/sub/name", true),
            ("o.w-n_er/n.a", true),
            ("name", false),
            ("owner/", false),
            ("/name", false),
            ("owner/../x", false),
            ("owner/na me", false),
            ("owner/name?x", false),
            ("owner/%2e", false),
            ("https://github.com/owner/name", false),
        ] {
            assert_eq!(text.parse::<StatusRepo>().is_ok(), fit, "{text}");
        }
        for (text, fit) in [
            ("7", true),
            ("!7", true),
            ("0", false),
            ("-1", false),
            ("+1", false),
            ("#7", false),
            ("", false),
        ] {
            assert_eq!(text.parse::<StatusNumber>().is_ok(), fit, "{text}");
        }
        for (text, fit) in
            [("https://ci.example/1?x=y", true), ("javascript:alert(1)", false), ("/runs/1", false)]
        {
            assert_eq!(text.parse::<RunUrl>().is_ok(), fit, "{text}");
        }
    }
}
