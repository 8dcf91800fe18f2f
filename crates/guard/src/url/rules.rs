//! What is looked for in request targets.

use crate::rule::rules;

rules! {
    scanner SsrfValidator;
    list ALL;
    /// Programs would not agree on what the target means.
    MALFORMED_URL = High "malformed_url",
        "A request target is not a URL that every program reads the same way.",
        "write the target as `https://host/path`, with the host in its plain form";
    /// The scheme reads local files or speaks raw protocols.
    BLOCKED_SCHEME = High "blocked_scheme",
        "A request uses a scheme that reads local files, runs code or speaks to services other than web servers.",
        "use `https`; read local files with a file tool instead";
    /// The scheme is none that requests may use.
    DISALLOWED_SCHEME = Medium "disallowed_scheme",
        "A request uses a scheme that is not one for web or repository access.",
        "use `https`, or `ssh` for repositories";
    /// There is no host to judge.
    EMPTY_HOSTNAME = High "empty_hostname",
        "A request target names no host.",
        "write the host after the two slashes";
    /// The name leads to this machine, its network or a metadata service.
    BLOCKED_HOSTNAME = Critical "blocked_hostname",
        "A request goes to a name that stands for this machine, its private network or a cloud metadata service.",
        "if the host is meant, add it to the allowed hosts of the configuration; metadata services cannot be allowed";
    /// The address is not an ordinary public one.
    BLOCKED_IP = Critical "blocked_ip",
        "A request goes to an address that is not an ordinary public one.",
        "if the address is meant, add it to the allowed hosts of the configuration; metadata services cannot be allowed";
    /// The name has no address.
    DNS_FAILURE = High Incomplete "dns_failure",
        "The host of a request could not be resolved, so it is not known where the request would go.",
        "check the spelling of the host and whether names can be resolved here";
    /// The name leads to an address that is not an ordinary public one.
    BLOCKED_RESOLVED_IP = Critical "blocked_resolved_ip",
        "The host of a request has an address that is not an ordinary public one, so its name may be a disguise.",
        "if the host is meant, add it with its network to the private hosts of the configuration";
    /// The target is unusual in a way that attacks are.
    SUSPICIOUS_URL = Medium "suspicious_url",
        "A request target is written in a way that can hide where it leads.",
        "write the target plainly, and look at who asked for this one";
    /// Part of the target is not known before the request is made.
    INCOMPLETE_TARGET = Low "incomplete_target",
        "Part of a request target is not known yet, so its host is judged only when the connection is made.",
        "write the target out if the request is refused later";
}
