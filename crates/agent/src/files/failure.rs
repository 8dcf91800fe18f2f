//! Answers that say why a file tool did not do what was asked.

use fullsend_flow::Label;
use serde::Serialize;
use serde_json::{Value, json};

use crate::tool::{Shown, ToolFailure, ToolOutput};
use crate::workspace::{FileProblem, PathProblem, SandboxPath};

/// The `type` of the error in an answer.
pub const FILE_TOOL_ERROR: &str = "fullsend.structured-file-tool-error";

/// What a model can do something about. The code of a problem is the same whatever is mounted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ErrorCode {
    /// Nothing is there.
    FileNotFound,
    /// The edits do not fit the file, or somebody else changed it.
    EditConflict,
    /// A directory, a pipe, a device; or a file where a directory should be.
    NotAFile,
    /// Read-only, reserved, or not permitted by the system.
    PermissionDenied,
    /// By spelling or by a link, the path leaves what is mounted.
    PathOutsideWorkspace,
    /// Not text.
    BinaryFile,
    /// More than is handled.
    TooLarge,
    /// An argument makes no sense.
    InvalidArgument,
    /// It took too long.
    Timeout,
    /// Anything else.
    Unknown,
}

impl ErrorCode {
    /// The code as it is in answers.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::FileNotFound => "file_not_found",
            Self::EditConflict => "edit_conflict",
            Self::NotAFile => "not_a_file",
            Self::PermissionDenied => "permission_denied",
            Self::PathOutsideWorkspace => "path_outside_workspace",
            Self::BinaryFile => "binary_file",
            Self::TooLarge => "too_large",
            Self::InvalidArgument => "invalid_argument",
            Self::Timeout => "timeout",
            Self::Unknown => "unknown",
        }
    }

    /// What the report of the run calls it.
    fn kind(self) -> &'static str {
        match self {
            Self::FileNotFound => "file_not_found",
            Self::NotAFile => "not_a_file",
            Self::PermissionDenied => "permission_denied",
            Self::PathOutsideWorkspace => "workspace_path_confusion",
            Self::EditConflict => "harness_error",
            Self::Timeout => "timeout",
            Self::BinaryFile | Self::TooLarge | Self::InvalidArgument | Self::Unknown => "unknown",
        }
    }

    /// In words; nothing of the model's.
    fn message(self) -> &'static str {
        match self {
            Self::FileNotFound => "the file does not exist",
            Self::EditConflict => "the change does not fit the file as it is; nothing was written",
            Self::NotAFile => "the path does not name what the tool needs",
            Self::PermissionDenied => "the path may not be used this way",
            Self::PathOutsideWorkspace => "the path leads outside of the workspace",
            Self::BinaryFile => "the file is not text",
            Self::TooLarge => "it is too large for this tool",
            Self::InvalidArgument => "an argument is not valid",
            Self::Timeout => "it took too long and was given up",
            Self::Unknown => "it failed",
        }
    }
}

/// Why a call did not do what was asked.
#[derive(Clone, Debug)]
pub(super) struct Failure {
    pub(super) code: ErrorCode,
    pub(super) detail: String,
    /// The path as far as it could be understood; else what the model wrote is shown.
    pub(super) path: Option<SandboxPath>,
    /// More members of the error.
    more: Vec<(&'static str, Value)>,
}

impl Failure {
    pub(super) fn new(code: ErrorCode, detail: impl Into<String>) -> Self {
        Self { code, detail: detail.into(), path: None, more: Vec::new() }
    }

    pub(super) fn at(mut self, path: &SandboxPath) -> Self {
        self.path = Some(path.clone());
        self
    }

    pub(super) fn with(mut self, key: &'static str, value: impl Into<Value>) -> Self {
        self.more.push((key, value.into()));
        self
    }

    /// The answer, made of what has this label.
    pub(super) fn into_output(self, tool: &str, output_id: &str, given: &str, label: Label) -> ToolOutput {
        let path = match &self.path {
            Some(path) => path.as_str(),
            None => shortened(given),
        };
        let mut error = json!({
            "type": FILE_TOOL_ERROR,
            "code": self.code,
            "message": self.code.message(),
            "path": path,
            "detail": self.detail,
        });
        if let Some(error) = error.as_object_mut() {
            error.extend(self.more.into_iter().map(|(key, value)| (key.to_owned(), value)));
        }
        let shown = Shown { line: format!("{tool} {path}: {}", self.code.as_str()), diff: None };
        let failure = ToolFailure {
            kind: self.code.kind().to_owned(),
            detail: format!("{tool}: {}", self.code.message()),
            exit_code: None,
        };
        ToolOutput {
            record: json!({ "outputId": output_id, "path": path, "ok": false, "error": error }),
            model_view: None,
            withheld: false,
            label,
            images: Vec::new(),
            failure: Some(failure),
            shown,
            rows: Vec::new(),
        }
    }
}

/// So much of a path as is worth repeating.
fn shortened(given: &str) -> &str {
    given.get(..given.floor_char_boundary(512)).unwrap_or_default()
}

impl From<FileProblem> for Failure {
    fn from(problem: FileProblem) -> Self {
        let code = match &problem {
            FileProblem::NotFound => ErrorCode::FileNotFound,
            FileProblem::NotAFile(_)
            | FileProblem::NotADirectory
            | FileProblem::DanglingLink
            | FileProblem::Linked
            | FileProblem::TooManyLinks => ErrorCode::NotAFile,
            FileProblem::Outside => ErrorCode::PathOutsideWorkspace,
            FileProblem::Reserved
            | FileProblem::ReadOnlyMount
            | FileProblem::OtherOwner
            | FileProblem::Denied(_) => ErrorCode::PermissionDenied,
            FileProblem::Exists | FileProblem::Changed => ErrorCode::EditConflict,
            FileProblem::TooLarge { .. } => ErrorCode::TooLarge,
            FileProblem::System(_) => ErrorCode::Unknown,
        };
        Self::new(code, problem.to_string())
    }
}

impl From<PathProblem> for Failure {
    fn from(problem: PathProblem) -> Self {
        let code = match problem {
            PathProblem::Outside => ErrorCode::PathOutsideWorkspace,
            PathProblem::Empty | PathProblem::Nul | PathProblem::TooLong => ErrorCode::InvalidArgument,
        };
        Self::new(code, problem.to_string())
    }
}
