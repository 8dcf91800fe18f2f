//! The tools that a skill would like to use without asking.

/// One tool of `allowed-tools`: a request that a policy may grant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolRequest {
    /// The name of the tool.
    pub tool: String,
    /// What stands in parentheses after it.
    pub pattern: Option<String>,
}

/// Reads `allowed-tools`: requests separated by spaces, except inside parentheses.
///
/// `None` when parentheses do not match, or text follows a closing one: such a list would be read differently elsewhere.
#[must_use]
pub fn tool_requests(text: &str) -> Option<Vec<ToolRequest>> {
    let mut requests = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let end = end_of_request(rest)?;
        let (request, after) = rest.split_at(end);
        requests.push(request_of(request)?);
        rest = after.trim_start();
    }
    Some(requests)
}

fn end_of_request(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (offset, letter) in text.char_indices() {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.checked_sub(1)?,
            _ if letter.is_whitespace() && depth == 0 => return Some(offset),
            _ => {}
        }
    }
    (depth == 0).then_some(text.len())
}

fn request_of(text: &str) -> Option<ToolRequest> {
    let Some((tool, pattern)) = text.split_once('(') else {
        return Some(ToolRequest { tool: text.to_owned(), pattern: None });
    };
    let pattern = pattern.strip_suffix(')')?;
    (!tool.is_empty()).then(|| ToolRequest { tool: tool.to_owned(), pattern: Some(pattern.to_owned()) })
}
