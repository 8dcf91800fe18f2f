//! The rules that harness files, configuration and agent definitions must keep.

use fullsend_origin::ReferenceError;
use fullsend_yaml::Rule;
pub use fullsend_yaml::rules::MISSING_KEY;

/// Every rule, those of YAML reading first.
pub fn all() -> impl Iterator<Item = &'static Rule> {
    fullsend_yaml::rules::ALL.iter().chain(HARNESS).copied()
}

/// The rule that a bad reference breaks.
#[must_use]
pub(crate) fn for_reference(error: &ReferenceError) -> &'static Rule {
    match error.code() {
        "reference-unpinned" => &UNPINNED,
        code if code.starts_with("pin-") => &PIN,
        "reference-plain-http" | "reference-unsupported-scheme" => &NOT_HTTPS,
        "reference-empty" | "reference-control-character" | "reference-pinned-path" => &PATH,
        _ => &URL,
    }
}

fullsend_yaml::rules! {
    list HARNESS;
    /// A URL where only a local path may stand.
    EXECUTABLE_URL = Error "executable-url",
        "What runs on the host or feeds a script stays local: a URL there would run code from elsewhere.",
        "copy the file into the fullsend directory and name it by its path";
    /// A URL without its digest.
    UNPINNED = Error "unpinned-url",
        "A remote resource is named with the SHA-256 of its content, so that nobody can change it unnoticed.",
        "append `#sha256=` and the 64 lower-case hex digits of the content's SHA-256";
    /// A pin that is not one.
    PIN = Error "invalid-pin",
        "A pin is `#sha256=` and exactly 64 lower-case hex digits, once, at the end of the URL.",
        "write the pin as `#sha256=` and 64 lower-case hex digits";
    /// A scheme other than https.
    NOT_HTTPS = Error "not-https",
        "Remote resources are fetched over https only; anything else with `://` is neither a URL nor a path here.",
        "use an https URL, or a local path";
    /// A malformed or ambiguous URL.
    URL = Error "invalid-url",
        "URLs are read strictly, because client and server must not disagree about what they name.",
        "write the URL in its plain form";
    /// A path that cannot be one.
    PATH = Error "invalid-path",
        "A path has at least one character and no control characters.",
        "write the path of a file or directory";
    /// A skill or plugin URL that is not a forge directory.
    FORGE_URL = Error "not-a-forge-directory",
        "A skill or plugin is a directory, and only a forge can list one: GitHub, GitLab or a host under `forges`.",
        "use the `/tree/<commit>/<path>` URL of a directory on a forge";
    /// Two skills that would land in the same directory.
    DUPLICATE_SKILL = Error "duplicate-skill",
        "Skills are installed by the last element of their path; two with the same one would overwrite each other.",
        "rename one of the directories, or remove the entry";
    /// An override key that leaves the skill.
    SKILL_OVERRIDE = Error "skill-override",
        "An override names a file inside the skill directory.",
        "write a relative path without `..`";
    /// A bad agent, plugin or profile file name.
    FILE_NAME = Error "invalid-file-name",
        "The file name becomes a name in the sandbox and on command lines, so its letters are limited.",
        "rename the file using letters, digits, `_` and `-`";
    /// A bad allow-list entry.
    ALLOW_ENTRY = Error "invalid-allow-entry",
        "An allow-list entry is an https URL prefix that ends in `/`, without user, query, fragment or dot segments.",
        "write the prefix as `https://host/path/`";
    /// A harness allow-list entry beyond the organisation's.
    ALLOW_WIDENED = Error "allow-entry-not-covered",
        "A harness may narrow the organisation's allow-list, never widen it.",
        "add the prefix to `allowed_remote_resources` in `config.yaml`, or remove it here";
    /// A URL that no allow-list entry permits.
    NOT_ALLOWED = Error "url-not-allowed",
        "A remote resource must lie below an entry of the harness's own `allowed_remote_resources`.",
        "add the prefix to `allowed_remote_resources` of this harness";
    /// `allow_runtime_fetch` with nothing to fetch from.
    FETCH_WITHOUT_LIST = Error "runtime-fetch-without-list",
        "Fetching at run time needs to know from where.",
        "add `allowed_remote_resources`, or remove `allow_runtime_fetch`";
    /// `max_runtime_fetches` without fetching.
    FETCHES_WITHOUT_FETCH = Error "runtime-fetches-without-fetch",
        "A number of fetches means nothing when fetching is not allowed.",
        "add `allow_runtime_fetch: true`, or remove `max_runtime_fetches`";
    /// A flow rule that says nothing, or too much.
    FLOW_RULE = Error "flow-rule",
        "A flow rule speaks of one kind of place and says something about it; exceptions have names of their own.",
        "name one kind of place in each rule, and say `trust` or `readers`";
    /// A path that leaves the fullsend directory.
    OUTSIDE = Error "outside-fullsend-directory",
        "Relative paths stay inside the fullsend directory.",
        "move the file below the fullsend directory, or use an absolute path";
    /// A file that is not there.
    MISSING_FILE = Error "missing-file",
        "What a harness names must exist.",
        "create the file, or correct the path";
    /// A directory where a file should be, or the other way round.
    FILE_KIND = Error "wrong-file-kind",
        "Some keys name files, others directories.",
        "name the right kind of file";
    /// A skill directory without `SKILL.md`, or a plugin without `plugin.json`.
    INCOMPLETE_DIRECTORY = Error "incomplete-directory",
        "A skill directory holds a `SKILL.md`, a plugin directory a `plugin.json`.",
        "add the file, or correct the path";
    /// A base that cannot be read.
    BASE_MISSING = Error "base-missing",
        "A base must exist; its path is relative to the file that names it.",
        "correct the path";
    /// A base outside the fullsend directory.
    BASE_OUTSIDE = Error "base-outside",
        "A base stays inside the fullsend directory.",
        "move the base below the fullsend directory";
    /// A base that leads back to itself.
    BASE_CYCLE = Error "base-cycle",
        "Bases must not lead in a circle.",
        "remove one of the `base` keys";
    /// A chain that is too long.
    BASE_DEPTH = Error "base-depth",
        "A chain of bases has at most five links.",
        "merge some of the bases";
    /// A remote base with a base of its own that is not pinned.
    BASE_OF_REMOTE = Error "base-of-remote",
        "A remote harness names its own base by pinned URL; a path would mean a file on another machine.",
        "in the remote harness, write the base as an https URL with its `#sha256=`";
    /// A remote base, which is not fetched here.
    BASE_REMOTE = Warning "base-remote",
        "The base is remote. Linting does not use the network, so what it contributes was not checked.",
        "nothing to do here; the base is verified against its pin when the harness is resolved";
    /// A trigger that is not a boolean CEL expression.
    TRIGGER = Error "invalid-trigger",
        "A trigger is a CEL expression over `event` that yields a boolean.",
        "compare something, as in `event.action == \"opened\"`";
    /// A malformed `${VAR}`.
    VARIABLE = Error "invalid-variable",
        "`${NAME}` stands for an environment variable.",
        "write `${NAME}` with letters, digits and `_`";
    /// A variable that is not set.
    UNSET_VARIABLE = Error "unset-variable",
        "Every variable that a harness refers to must be set when it runs.",
        "set the variable";
    /// A sandbox variable that the runner sets itself.
    RESERVED_VARIABLE = Error "reserved-variable",
        "The runner sets these variables in the sandbox itself, or keeps them out of it.",
        "remove the variable";
    /// A key that will go away.
    DEPRECATED = Warning "deprecated-key",
        "The key still works and will be removed.",
        "use the key that replaces it";
    /// A key that other software reads.
    NO_EFFECT = Warning "no-effect",
        "The key is checked, but nothing in this program acts on it.",
        "keep it only if other software reads it";
    /// A switch for something that this program does not have.
    UNSUPPORTED = Error "unsupported",
        "What a harness asks for is done or refused; nothing is read and then ignored.",
        "remove the key, or switch it off";
    /// A registered agent that cannot be.
    CONFIG_AGENT = Error "invalid-agent-entry",
        "An enabled agent has a source, a disabled one a name; names are unique; sources are relative paths or pinned \
         URLs that the allow-list permits.",
        "correct the entry";
    /// The removed format of agent entries.
    LEGACY_AGENT = Error "legacy-agent-entry",
        "Agents are registered by `source`.",
        "write `- source: harness/<name>.yaml`";
    /// A forge that redefines a built-in one, or stands twice.
    CONFIG_FORGE = Error "invalid-forge",
        "`forges` adds self-hosted forges; each host stands once, and github.com and gitlab.com are built in.",
        "remove the entry";
    /// A key that an agent definition may not carry.
    AGENT_KEY = Error "agent-key-refused",
        "An agent definition describes the agent. Hooks, servers and permissions come from the harness and the \
         operator, outside what the agent's author controls.",
        "remove the key; use the harness's `security`, `plugins` and `policy` instead";
    /// An agent definition without front matter.
    AGENT_FRONT_MATTER = Warning "agent-front-matter",
        "Runtimes read an agent's name and description from the YAML block on top of its file.",
        "start the file with `---`, `name: …`, `description: …`, `---`";
    /// An agent definition without instructions.
    AGENT_BODY = Warning "agent-empty",
        "The Markdown below the front matter is what the agent is told; this one is told nothing.",
        "write the agent's instructions below the front matter";
    /// A provider that is not defined.
    PROVIDER_UNDEFINED = Warning "provider-undefined",
        "A provider named by its bare name is defined under `providers/`.",
        "add `providers/<name>.yaml`, or correct the name";
    /// A secret written out.
    CREDENTIAL = Warning "credential-literal",
        "A credential written out in a file is a leaked credential.",
        "write `${VARIABLE}` and set the variable where fullsend runs";
}
