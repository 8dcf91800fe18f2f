//! What is looked for in commands.

use crate::rule::rules;

rules! {
    scanner CommandScanner;
    list ALL;
    /// Longer, deeper or with more commands than is analysed.
    COMMAND_TOO_LONG = High Incomplete "command_too_long",
        "A command is longer or more deeply nested than is analysed, so what it would do is not known.",
        "split the command, or put it into a script file that can be read on its own";
    /// Not shell that is understood.
    COMMAND_NOT_UNDERSTOOD = High Incomplete "command_not_understood",
        "Part of a command is not shell syntax that is understood, so what it would do is not known.",
        "write the command in plainer shell, one step at a time";
    /// A download runs without anybody having seen it.
    DOWNLOAD_EXECUTED = Critical "download_executed",
        "What comes from the network is run as code at once.",
        "download to a file, read it, compare its checksum, then run it";
    /// A downloaded file is run by the same script.
    DOWNLOADED_FILE_EXECUTED = High "downloaded_file_executed",
        "A file is downloaded and run in the same command.",
        "look at the file, or compare its checksum, before running it";
    /// Code that was encoded is decoded and run.
    DECODED_EXECUTED = Critical "decoded_executed",
        "Text is decoded and run as code, which hides what it does.",
        "decode it to a file and read it before running it";
    /// A shell for somebody else.
    REVERSE_SHELL = Critical "reverse_shell",
        "A shell or program is connected to a network address, which gives whoever is there control.",
        "do not run this; find out who asked for it";
    /// A raw connection made by the shell itself.
    SHELL_SOCKET = High "shell_socket",
        "The shell opens a network connection by itself, past the tools that are watched.",
        "use an ordinary client such as curl";
    /// Keys and passwords are read.
    CREDENTIAL_READ = High "credential_read",
        "A file or store that holds credentials is read.",
        "ask for the one value that the task needs, from whoever runs the agent";
    /// Something that starts again by itself is written.
    PERSISTENCE = High "persistence",
        "Something is written that runs later by itself: a start-up file, a timer, a service, a login key or a hook.",
        "undo the change unless the task asks for exactly this";
    /// Continuous integration is changed from a shell.
    CI_CHANGED = Medium "ci_changed",
        "The configuration of continuous integration is written from a shell command.",
        "review the change to the pipeline: it runs with the repository's secrets";
    /// Traces are removed.
    TRACES_REMOVED = High "traces_removed",
        "Shell history or system logs are removed, or kept from being written.",
        "keep the logs; find out what they would have shown";
    /// Much is deleted at once.
    MASS_DELETION = Critical "mass_deletion",
        "A system directory, a home directory or a repository's history would be deleted with all that is in it.",
        "name the files to delete one by one";
    /// A disk is overwritten.
    DISK_OVERWRITTEN = Critical "disk_overwritten",
        "A disk or partition would be overwritten or formatted.",
        "do not run this";
    /// Processes without end.
    FORK_BOMB = Critical "fork_bomb",
        "A function starts itself again and again until the machine stops.",
        "do not run this";
    /// Files become writable by all, or run as their owner.
    PERMISSIONS_WEAKENED = High "permissions_weakened",
        "Files become writable by everybody, run with their owner's rights, or change hands in system directories.",
        "give the one user or group the one right that is needed";
    /// Data leaves.
    DATA_UPLOADED = High "data_uploaded",
        "A file, the environment or the output of a command is sent to a network address.",
        "check what is sent and to whom; send only what the task needs";
    /// Credentials leave.
    CREDENTIAL_UPLOADED = Critical "credential_uploaded",
        "Credentials or the whole environment are sent to a network address.",
        "do not run this; change the credentials if it has run";
    /// A secret variable in a request.
    SECRET_IN_REQUEST = Medium "secret_in_request",
        "A variable that is named like a secret is part of a network command.",
        "check that the address is the service that the secret is for";
    /// Data in a name that is looked up.
    DATA_IN_NAME_LOOKUP = Critical "data_in_name_lookup",
        "A host name is made from the output of a command, so that looking it up tells its owner what the output was.",
        "do not run this";
    /// A package from elsewhere.
    PACKAGE_FROM_URL = Medium "package_from_url",
        "A package is installed from a URL, a repository or another index than the usual one.",
        "install a released version by name, or review the source first";
    /// A package name next to a well-known one.
    PACKAGE_LOOKALIKE = Medium "package_lookalike",
        "The name of a package to install is one letter away from a well-known one.",
        "check the spelling";
    /// A host name next to a well-known one.
    HOST_LOOKALIKE = High "host_lookalike",
        "A host name looks like a well-known one, or mixes alphabets to look like something else.",
        "check the spelling of the host";
    /// Protection is switched off.
    PROTECTION_DISABLED = High "protection_disabled",
        "A firewall, an audit service, a mandatory access control or a hook that checks is switched off.",
        "leave protections on; ask whoever runs the machine";
    /// Other code is put before what a program would run.
    LOADER_HIJACK = High "loader_hijack",
        "Libraries or programs of the caller's choice are put in front of those a program would use.",
        "run the program with its ordinary libraries and search path";
    /// More rights.
    PRIVILEGE = Medium "privilege",
        "A command runs as another user.",
        "do it as the user the agent runs as, or have a person do it";
    /// The machine itself.
    SYSTEM_CHANGED = High "system_changed",
        "Kernel modules, mounts, or containers with control over the machine are used.",
        "have a person do this outside the agent";
    /// What runs is only known when it runs.
    COMPUTED_COMMAND = Low "computed_command",
        "What is run is put together while the script runs, so it cannot be judged beforehand.",
        "write out what is to be run";
}
