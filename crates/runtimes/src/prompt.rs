//! What a command-line agent is told to do.

use crate::runtime::Iteration;

/// The task, and what was wrong with the last attempt.
pub(crate) fn of(iteration: &Iteration<'_>) -> String {
    match iteration.feedback.as_deref().map(str::trim).filter(|feedback| !feedback.is_empty()) {
        None => iteration.prompt.clone(),
        Some(feedback) => format!(
            "{}\n\nThis was tried before, and the result was not accepted. What was wrong with it:\n\n{feedback}\n",
            iteration.prompt
        ),
    }
}
