//! Words and patterns of flow rules.

use fullsend_flow::{PathPattern, Pattern};
use fullsend_yaml::{FromText, TextProblem};

use crate::value::text::written_as_text;

/// Declares a text type that another type reads.
macro_rules! read_as {
    ($(#[$meta:meta])* $name:ident($inner:ty), $title:literal, $pattern:literal, $read:expr) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct $name {
            text: String,
            value: $inner,
        }

        impl $name {
            /// What it means.
            #[must_use]
            pub fn value(&self) -> &$inner {
                &self.value
            }
        }

        impl FromText for $name {
            const EMPTY_IS_ABSENT: bool = true;

            fn from_text(text: &str) -> Result<Self, TextProblem> {
                let read: fn(&str) -> Result<$inner, TextProblem> = $read;
                read(text).map(|value| Self { text: text.to_owned(), value })
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str(&self.text)
            }
        }

        written_as_text!($name, $title, $pattern);
    };
}

read_as! {
    /// A pattern of values or hosts.
    FlowPattern(Pattern), "pattern", "^.+$",
    |text| Pattern::of_values(text).map_err(|error| TextProblem::invalid(error.reason, None))
}

read_as! {
    /// A pattern of paths in the workspace.
    FlowPath(PathPattern), "pattern of paths", "^[^/].*$",
    |text| {
        if text.starts_with('/') || text.split('/').any(|part| part == "..") {
            let help = "write it relative to the workspace, without `..`".to_owned();
            return Err(TextProblem::invalid(format!("must lie in the workspace, not `{text}`"), Some(help)));
        }
        PathPattern::new(text).map_err(|error| TextProblem::invalid(error.reason, None))
    }
}

read_as! {
    /// An instant.
    Moment(jiff::Timestamp), "instant", "^[0-9]{4}-[0-9]{2}-[0-9]{2}T.+$",
    |text| {
        text.parse().map_err(|_| {
            let help = "write it as `2027-01-31T00:00:00Z`".to_owned();
            TextProblem::invalid(format!("must be an instant, not `{text}`"), Some(help))
        })
    }
}
