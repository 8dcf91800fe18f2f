//! Entries of `net`.

use fullsend_origin::HostPattern;

/// What an entry allows to reach.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Destination {
    /// Everything.
    Anything,
    /// A host or the hosts below a domain, as [`crate::NetworkPolicy::Limited`] lists them.
    Listed(String),
}

/// Reads an entry; the error says what to write instead.
pub(super) fn parse(entry: &str) -> Result<Destination, String> {
    if entry == "*" || entry == "**" {
        return Ok(Destination::Anything);
    }
    if entry.contains("://") {
        return Err("is a URL: write the host alone, with `:port` if needed".to_owned());
    }
    let (host, port) = split_port(entry);
    if let Some(port) = port
        && !is_port(port)
    {
        return Err("has no port from 1 to 65535 after its colon".to_owned());
    }
    HostPattern::parse(host).map_err(|error| match error.help() {
        Some(help) => format!("cannot be enforced: {error}; {help}"),
        None => format!("cannot be enforced: {error}"),
    })?;
    Ok(Destination::Listed(entry.to_owned()))
}

/// The port is what follows the last colon, unless the colons are those of an IPv6 address.
pub(super) fn split_port(entry: &str) -> (&str, Option<&str>) {
    match entry.rsplit_once(':') {
        Some((host, port)) if host.ends_with(']') || !host.contains(':') => (host, Some(port)),
        _ => (entry, None),
    }
}

fn is_port(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit()) && text.parse::<u16>().is_ok_and(|port| port > 0)
}

#[cfg(test)]
mod tests {
    use super::{Destination, parse};

    #[test]
    fn hosts_have_the_form_of_network_policies() {
        for good in [
            "a.test",
            "*.a.test",
            "a.test:8080",
            "*.a.test:1",
            "192.0.2.1",
            "[2001:db8::1]:443",
            "2001:db8::1",
        ] {
            assert_eq!(parse(good), Ok(Destination::Listed(good.to_owned())), "{good}");
        }
        for all in ["*", "**"] {
            assert_eq!(parse(all), Ok(Destination::Anything));
        }
        for bad in [
            "",
            "a.*",
            "*a.test",
            "a.test:",
            "a.test:0",
            "a.test:65536",
            "a.test:+1",
            "https://a.test",
            "a.test/x",
            "*:443",
            "a..test",
            "user@a.test",
        ] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
