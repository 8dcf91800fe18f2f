//! Compares release numbers as far as tool checks need it: `major.minor.patch`, suffixes ignored.

use std::fmt;

/// A release number; a missing part counts as zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Version {
    major: u64,
    minor: u64,
    patch: u64,
}

impl Version {
    /// Reads `1.95`, `1.95.0` or `1.96.0-nightly`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let plain = text.split(['-', '+']).next()?;
        let mut parts = plain.split('.').map(|part| part.parse::<u64>().ok());
        let version =
            Self { major: parts.next()??, minor: parts.next()??, patch: parts.next().unwrap_or(Some(0))? };
        parts.next().is_none().then_some(version)
    }

    /// Finds the number in what `program --version` prints, such as `rustc 1.95.0 (59807616e 2026-04-14)`.
    pub(crate) fn find(text: &str) -> Option<Self> {
        text.split_whitespace().find_map(Self::parse)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

#[cfg(test)]
mod tests {
    use super::Version;

    fn version(text: &str) -> Version {
        Version::parse(text).unwrap()
    }

    #[test]
    fn numbers_compare_as_numbers_not_as_text() {
        assert!(version("1.95.0") < version("1.100.0"));
        assert!(version("0.20.2") < version("0.20.10"));
        assert!(version("1.0.0") > version("0.99.99"));
    }

    #[test]
    fn a_missing_patch_is_zero_and_suffixes_do_not_count() {
        assert_eq!(version("1.95"), version("1.95.0"));
        assert_eq!(version("1.96.0-nightly"), version("1.96.0+build"));
    }

    #[test]
    fn the_number_is_found_in_what_tools_print() {
        assert_eq!(Version::find("rustc 1.95.0 (59807616e 2026-04-14)\n"), Some(version("1.95.0")));
        assert_eq!(Version::find("cargo-deny 0.20.2"), Some(version("0.20.2")));
        assert_eq!(Version::find("no number here 1. a.b 1.2.3.4"), None);
    }
}
