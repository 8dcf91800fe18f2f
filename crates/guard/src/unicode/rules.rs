//! What is looked for among the characters of a text.

use crate::rule::rules;

rules! {
    scanner UnicodeNormalizer;
    list ALL;
    /// U+0000.
    NULL_BYTE = High "null_byte",
        "The text contains null characters, at which some programs stop reading and others do not.",
        "save the file as plain text without them";
    /// A control sequence that moves the cursor, sets colours or clears the screen.
    ANSI_ESCAPE = Medium "ansi_escape",
        "The text contains terminal sequences, which can hide or overwrite what a person sees in a terminal.",
        "print the output without colours, or remove the sequences from the file";
    /// A control string: title, clipboard, hyperlink and device commands.
    OSC_ESCAPE = Medium "osc_escape",
        "The text contains terminal command strings, which can set titles, write the clipboard or carry hidden text.",
        "remove the sequences; nothing that is meant to be read needs them";
    /// Any other control character, the escape character on its own among them.
    CONTROL_CHAR = Medium "control_char",
        "The text contains control characters, which a terminal acts on and a reader does not see.",
        "remove them; only tabs and line ends belong into text";
    /// Characters without width, joiners out of place, and direction marks in text of one direction.
    ZERO_WIDTH = High "zero_width",
        "The text contains characters of no width, which split words for programs and not for people, or encode hidden data.",
        "remove them, and find out how they came into the text";
    /// U+00AD.
    SOFT_HYPHEN = Low "soft_hyphen",
        "The text contains soft hyphens, which are invisible and split words for programs.",
        "remove them; they usually come from text copied out of a web page";
    /// Characters that change the direction of text.
    BIDI_OVERRIDE = High "bidi_override",
        "The text contains characters that reorder what is displayed, so that it reads differently from what it says.",
        "remove them; right-to-left text needs only balanced isolates";
    /// Tag characters that are not part of a flag.
    TAG_CHAR = Critical "tag_char",
        "The text contains invisible tag characters, which spell out text that a model reads and a person cannot see.",
        "remove them, and treat the source of the text as hostile";
    /// Selectors where they select nothing.
    VARIATION_SELECTOR = Medium "variation_selector",
        "The text contains invisible variation selectors where they select nothing; runs of them carry hidden bytes.",
        "remove them, and treat the source as hostile if they decode to text";
    /// Letters and symbols that are drawn as nothing.
    BLANK_FILLER = Medium "blank_filler",
        "The text contains letters or symbols that look like blanks, which hide names or separate words unseen.",
        "replace them with ordinary spaces, or remove them";
    /// U+FFF9 to U+FFFB.
    ANNOTATION = Medium "interlinear_annotation",
        "The text contains interlinear annotation characters, which most programs drop together with the meaning of the text between.",
        "remove them";
    /// More marks on a letter than any script needs.
    STACKED_MARKS = Medium "stacked_marks",
        "The text stacks more marks on a letter than any language does, which covers the lines around it.",
        "remove the surplus marks";
    /// Full-width ASCII outside Chinese, Japanese and Korean text.
    FULLWIDTH = Medium "fullwidth",
        "The text contains full-width forms of ASCII characters, which look alike and pass by filters.",
        "write plain letters and digits";
    /// Words in mathematical or enclosed letters.
    STYLED_LETTERS = Medium "styled_letters",
        "The text contains words in mathematical or enclosed letters, which read alike and pass by filters.",
        "write plain letters and digits";
    /// U+FB00 to U+FB06.
    LIGATURE = Low "ligature",
        "The text contains Latin ligatures as single characters, which a search for the letters does not find.",
        "write the letters; they usually come from text copied out of a typeset page";
}
