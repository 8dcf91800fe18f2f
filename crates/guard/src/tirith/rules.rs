//! What the second opinion, or the lack of it, is recorded as.

use crate::rule::rules;

rules! {
    scanner Tirith;
    list ALL;
    /// Something that tirith found.
    TIRITH_FINDING = High "tirith_finding",
        "The program tirith found something in a command.",
        "see what tirith says about the rule, and change the command";
    /// Tirith refused without saying why in a form that can be read.
    TIRITH_BLOCK = High "tirith_block",
        "The program tirith refused a command, and its answer could not be read.",
        "run tirith by hand on the command, and check that its version is supported";
    /// Tirith refused although no finding is severe enough.
    TIRITH_ACTION_BLOCK = High "tirith_action_block",
        "The program tirith refused a command as a whole.",
        "see what tirith says about the command, and change it";
    /// The program is not there.
    TIRITH_MISSING = Critical "tirith_missing",
        "The program tirith is configured, and is not at the path that is given.",
        "install tirith in the image, or switch it off in the configuration";
    /// The program did not answer in time.
    TIRITH_TIMEOUT = Critical "tirith_timeout",
        "The program tirith did not answer in time.",
        "make the command shorter, or see why tirith is slow";
    /// The program could not be asked.
    TIRITH_ERROR = Critical "tirith_error",
        "The program tirith could not be asked.",
        "run tirith by hand to see what is wrong with it";
}
