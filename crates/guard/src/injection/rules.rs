//! What injected instructions look like, by what they ask for and where they hide.

use crate::rule::rules;

rules! {
    scanner ContextInjection;
    list ALL;
    /// A call to set earlier instructions aside.
    IGNORE_INSTRUCTIONS = Critical "ignore_instructions",
        "Text that tells the model to set aside the instructions it was given.",
        "find out who wrote this text; remove it, or quote it and say that it is an example";
    /// A call to replace the system prompt.
    SYSTEM_PROMPT_OVERRIDE = Critical "system_prompt_override",
        "Text that claims to replace or change the system prompt.",
        "remove the text; only the harness sets the system prompt";
    /// A call to give the system prompt away.
    PROMPT_LEAK = High "prompt_leak",
        "Text that asks the model to repeat its instructions.",
        "remove the text; instructions of an agent are not meant for whoever wrote this";
    /// A call to act without limits.
    ACT_NO_RESTRICTIONS = Critical "act_no_restrictions",
        "Text that tells the model to act as if it had no restrictions.",
        "remove the text";
    /// A call to keep something from the user.
    DO_NOT_TELL = High "do_not_tell",
        "Text that tells the model to keep something from the user.",
        "read what is to be kept secret; remove the text unless you wrote it";
    /// New instructions, role or task.
    NEW_INSTRUCTIONS = High "new_instructions",
        "Text that hands the model new instructions, a new role or a new task.",
        "put instructions into the agent file; remove them from what the agent reads";
    /// A call to be someone else.
    PRETEND_YOU_ARE = High "pretend_you_are",
        "Text that tells the model to pretend to be something else.",
        "remove the text, or move it to the agent file if it is meant";
    /// A switch of identity or mode.
    ROLE_SWITCH = High "role_switch",
        "Text that tells the model it is now something else, or in a mode without rules.",
        "remove the text, or move it to the agent file if it is meant";
    /// A call to turn text into a command and run it.
    TRANSLATE_AND_EXECUTE = High "translate_and_execute",
        "Text that asks to translate something and then to execute it.",
        "remove the text; look at what would have been executed";
    /// A call to do something unnoticed.
    SILENT_COMMAND = High "silent_command",
        "Text that asks for an action to be done without anybody noticing.",
        "remove the text; look at the action it asks for";
    /// A marker of a chat template.
    CHAT_TEMPLATE = High "chat_template_token",
        "A marker by which chat formats separate messages, so that what follows may pass for one of the system.",
        "remove the marker, or quote it if the text is about chat formats";
    /// A message that was never sent.
    FAKE_MESSAGE = Medium "fake_message",
        "A line that looks like a message of the system, the user, the assistant or a tool.",
        "remove the line, or quote it if the text is about conversations";
    /// Text for the machine that reads it.
    ADDRESSES_MODEL = Low "addresses_model",
        "Text that speaks to the model that reads it; bad where it asks for something dangerous.",
        "read what it asks for; put honest instructions into the agent file";
    /// A dangerous step that has to come first.
    FORCED_STEP = High "forced_step",
        "Text that makes a dangerous command a condition for going on.",
        "remove the text; look at the command it asks for";
    /// A permission that nobody gave.
    CLAIMED_AUTHORITY = High "claimed_authority",
        "Text that claims a permission, or to come from somebody with authority over the model.",
        "remove the text; permissions are given in the harness, never in what an agent reads";
    /// A credential in a request.
    CURL_WITH_CREDS = Critical "curl_with_creds",
        "A download command that sends a credential from the environment.",
        "remove the command; a request must not carry a secret in its address or body";
    /// A file of secrets that is to be shown.
    CAT_SECRETS_FILE = Critical "cat_secrets_file",
        "A command that prints a file in which credentials are kept.",
        "remove the command";
    /// A credential that is to be encoded.
    BASE64_ENV_EXFIL = Critical "base64_env_exfil",
        "A command that encodes a credential from the environment, which hides it from redaction.",
        "remove the command";
    /// The environment that is to be shown.
    ENV_EXFIL_PRINTENV = Low "env_exfil_printenv",
        "A command that prints the environment, in which credentials are kept.",
        "check that the output goes nowhere else; print single variables by name";
    /// A secret that is to be sent away.
    SECRET_EXFIL = Critical "secret_exfil",
        "Text that asks to send credentials to some address.",
        "remove the text; rotate the credentials if an agent has acted on it";
    /// An image that carries data away.
    IMAGE_EXFIL = High "image_exfil",
        "An image whose address has a place for a secret, which leaves when the image is shown.",
        "remove the image";
    /// An HTML comment.
    HIDDEN_HTML_COMMENT = High "hidden_html_comment",
        "An HTML comment, which a person does not see, with something in it that is meant for a model.",
        "read the comment; remove it, or say openly what it says";
    /// An element that does not show.
    HIDDEN_DIV = High "hidden_div",
        "An element that a browser does not show, with words in it.",
        "read what is hidden; remove it, or show it";
    /// An attribute or reference that does not show.
    HIDDEN_TEXT = High "hidden_text",
        "An instruction in a place that is hardly ever shown: an alternative text, a title, a markdown comment.",
        "read the text; remove it";
    /// A link to somewhere else than it says.
    MISLEADING_LINK = Medium "misleading_link",
        "A link whose text is one address and whose target is another.",
        "check where the link leads";
    /// Encoded text that was left as it is.
    TOO_MANY_PAYLOADS = High Incomplete "too_many_payloads",
        "The text holds more encoded text, or more encodings around one another, than are decoded.",
        "find out what is encoded and why; remove it, or decode it and look at it yourself";
}
