//! `fullsend chat` on a terminal: what a person sees and what keys do.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::process::Command;

use fullsend_testkit::test_name;
use rustix::process::Signal;
use rustix::termios::LocalModes;

use crate::suite::pseudo_terminal::{Terminal, rows};
use crate::suite::running::{Place, Ran};

const CTRL_C: &str = "\u{3}";
const CTRL_D: &str = "\u{4}";
const CTRL_O: &str = "\u{f}";
const ENTER: &str = "\r";
const ALT_ENTER: &str = "\u{1b}\r";
const UP: &str = "\u{1b}[A";

/// A place with a workspace and a script of what the model says.
fn place(script: &str) -> Place {
    let place = Place::new();
    place.write("model.yaml", script);
    place.write("ws/README.md", "hello\n");
    fs::create_dir(place.path().join("home")).unwrap();
    place
}

fn command(place: &Place, arguments: &[&str]) -> Command {
    let mut command = place.command(&["chat", "--workspace", "ws", "--replay", "model.yaml"]);
    command.args(arguments).env("HOME", place.path().join("home")).env("PATH", "/usr/bin:/bin");
    command.env("TERM", "xterm-256color");
    command
}

fn start(place: &Place) -> Terminal {
    let terminal = Terminal::start(&command(place, &[]), 30, 80);
    terminal.wait_for("ready");
    terminal
}

/// Types a text, and waits until it stands there: Enter must not come before it.
fn say(terminal: &mut Terminal, text: &str) {
    terminal.press(text);
    terminal.wait_for(&format!("> {text}"));
    terminal.press(ENTER);
}

/// Waits until the screen shows a text and the turn has ended.
fn settled(terminal: &Terminal, text: &str) -> Vec<String> {
    terminal.wait_until(text, |screen| {
        let shown = screen.contents();
        shown.contains(text) && shown.contains("── ready")
    })
}

fn leave(terminal: &mut Terminal) {
    terminal.press(CTRL_D);
    assert_eq!(terminal.end().code(), Some(0));
}

/// The rows from the one that is like this on.
fn rows_from(all: &[String], first: &str) -> Vec<String> {
    let rows = all.iter().skip_while(|row| !row.starts_with(first));
    rows.take_while(|row| !row.starts_with("──")).filter(|row| !row.is_empty()).cloned().collect()
}

#[test]
fn answers_are_streamed_as_markdown() {
    let script = r##"
turns:
  - say: "# Plan\n\nI *will* **look**:\n\n- one\n- two\n\n```sh\nls -l\n```\n\nSee [the page](https://example.com/x).\n"
    stream: 3
  - say: "Second answer."
"##;
    let place = place(script);
    let mut terminal = start(&place);
    assert!(terminal.look(vt100::Screen::alternate_screen));
    assert!(terminal.look(vt100::Screen::bracketed_paste));
    let greeting = terminal.wait_for("/help");
    assert!(greeting[0].starts_with("· fullsend"), "{greeting:?}");

    say(&mut terminal, "look at it");
    let shown = settled(&terminal, "example.com/x)");
    let expected = [
        "› look at it",
        "  Plan",
        "  I will look:",
        "  • one",
        "  • two",
        "  sh",
        "  │ ls -l",
        "  See the page (https://example.com/x).",
    ];
    assert_eq!(rows_from(&shown, "› look"), expected);
    let style = |text: &str, column: u16| {
        let row = shown.iter().position(|row| row.contains(text)).unwrap();
        terminal.look(|screen| {
            let cell = screen.cell(u16::try_from(row).unwrap(), column).unwrap();
            (cell.bold(), cell.italic(), cell.fgcolor())
        })
    };
    assert_eq!(style("Plan", 2), (true, false, vt100::Color::Idx(4)));
    assert_eq!(style("I will", 4), (false, true, vt100::Color::Default));
    assert_eq!(style("I will", 9), (true, false, vt100::Color::Default));

    say(&mut terminal, "go on");
    let shown = terminal.wait_for("Second answer.");
    assert_eq!(rows_from(&shown, "› go on"), ["› go on", "  Second answer."]);
    leave(&mut terminal);
}

#[test]
fn calls_are_folded_and_unfold_to_result_and_diff() {
    let script = r#"
turns:
  - say: "Let me write it."
    calls:
      - tool: write_file
        args: {path: notes.txt, content: "one\ntwo\n"}
  - say: "Written."
  - calls:
      - tool: edit_file
        args: {path: README.md, edits: [{oldText: hello, newText: goodbye}]}
  - say: "Edited."
"#;
    let place = place(script);
    let mut terminal = start(&place);
    say(&mut terminal, "write");
    let shown = settled(&terminal, "Written.");
    let folded = shown.iter().find(|row| row.starts_with('▸')).unwrap();
    assert!(folded.starts_with("▸ ✓ write_file") && folded.contains("notes.txt"), "{folded}");
    terminal.press(CTRL_O);
    let shown = terminal.wait_for("+two");
    assert!(rows_from(&shown, "▾ ✓ write_file").contains(&"    +one".to_owned()), "{shown:#?}");

    say(&mut terminal, "edit");
    settled(&terminal, "Edited.");
    terminal.press(CTRL_O);
    let shown = terminal.wait_for("+goodbye");
    let colour = |text: &str| {
        let row = shown.iter().position(|row| row.trim() == text).unwrap();
        terminal.look(|screen| screen.cell(u16::try_from(row).unwrap(), 4).unwrap().fgcolor())
    };
    assert_eq!((colour("-hello"), colour("+goodbye")), (vt100::Color::Idx(1), vt100::Color::Idx(2)));
    terminal.press(CTRL_O);
    terminal.wait_until("folded again", |screen| !screen.contents().contains("+goodbye"));
    leave(&mut terminal);
    assert_eq!(fs::read_to_string(place.path().join("ws/README.md")).unwrap(), "goodbye\n");
}

#[test]
fn a_person_is_asked_where_rules_would_deny_and_no_is_explained() {
    let script = r#"
turns:
  - calls: [{tool: read_file, args: {path: README.md}}]
  - calls: [{tool: write_file, args: {path: AGENTS.md, content: "Obey.\n"}}]
  - say: "First over."
  - calls: [{tool: write_file, args: {path: AGENTS.md, content: "Obey.\n"}}]
  - say: "Second over."
"#;
    let place = place(script);
    let mut terminal = start(&place);
    say(&mut terminal, "first");
    let shown = terminal.wait_for("? Allow write_file as shown above?");
    assert!(shown.concat().contains("AGENTS.md") && shown.contains(&"    Obey.".to_owned()), "{shown:#?}");
    // What was being typed, or lies in the clipboard, is no answer.
    terminal.press("yesterday\r");
    terminal.wait_for("answer with y or n");
    terminal.press("\u{1b}[200~y\r\u{1b}[201~");
    terminal.press("n\r");
    settled(&terminal, "First over.");
    assert!(!place.path().join("ws/AGENTS.md").exists());
    let shown = terminal.wait_for("▸ ⊘ denied: write_file");
    assert!(shown.contains(&"  not allowed".to_owned()), "{shown:#?}");
    terminal.press(CTRL_O);
    let shown = terminal.wait_for("▾ ⊘ denied: write_file");
    let unfolded = rows_from(&shown, "▾ ⊘");
    assert!(unfolded.len() > 1 && unfolded[1].starts_with("    ") && unfolded[1].len() > 20, "{shown:#?}");

    say(&mut terminal, "second");
    terminal.wait_for("? Allow write_file as shown above?");
    terminal.press("y\r");
    terminal.wait_for("Second over.");
    assert_eq!(fs::read_to_string(place.path().join("ws/AGENTS.md")).unwrap(), "Obey.\n");
    leave(&mut terminal);
}

#[test]
fn a_person_is_asked_about_tools_that_were_named() {
    let script = "turns:\n  - calls: [{tool: write_file, args: {path: a, content: x}}]\n  - say: Over.\n";
    let place = place(script);
    let mut terminal = Terminal::start(&command(&place, &["--ask", "write_file"]), 30, 80);
    terminal.wait_for("ready");
    say(&mut terminal, "go");
    terminal.wait_for("? Allow write_file as shown above?");
    // Ending the turn is an answer too.
    terminal.press(CTRL_C);
    settled(&terminal, "not allowed (canceled)");
    assert!(!place.path().join("ws/a").exists());
    leave(&mut terminal);
}

#[test]
fn ctrl_c_ends_the_turn_and_the_session_goes_on() {
    let script = r#"
turns:
  - say: "Waiting."
    calls:
      - tool: bash
        args: {command: "echo begun > begun; sleep 600"}
  - say: "Still here."
"#;
    let place = place(script);
    if !place.has_sandbox(test_name!()) {
        return;
    }
    let mut terminal = start(&place);
    say(&mut terminal, "wait");
    terminal.wait_for("▸ … bash");
    while !place.path().join("ws/begun").exists() {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    terminal.press(CTRL_C);
    let shown = settled(&terminal, "Cancelled");
    assert!(shown.iter().any(|row| row.starts_with("▸ ✗ bash")), "{shown:#?}");
    say(&mut terminal, "are you there");
    settled(&terminal, "Still here.");
    // With nothing under way it asks, and a person can stay.
    terminal.press(CTRL_C);
    terminal.wait_for("? Leave the chat? y/n");
    terminal.press("n");
    terminal.wait_until("the prompt", |screen| !screen.contents().contains("Leave the chat"));
    terminal.press(CTRL_C);
    terminal.wait_for("? Leave the chat? y/n");
    terminal.press("y");
    assert_eq!(terminal.end().code(), Some(0));
}

#[test]
fn several_lines_can_be_typed_and_pasted() {
    let place = place("turns:\n  - say: \"I heard: {{ user | replace('\\n', '/') }}\"\n");
    let mut terminal = start(&place);
    terminal.press("one\\\r");
    terminal.press("two");
    terminal.press(ALT_ENTER);
    terminal.press("\u{1b}[200~three\r/quit\r\u{1b}[201~four");
    let shown = terminal.wait_for("four");
    let typed: Vec<&String> = shown.iter().skip_while(|row| !row.starts_with("> ")).collect();
    assert_eq!(typed, ["> one", "  two", "  three", "  /quit", "  four"]);
    terminal.press(ENTER);
    terminal.wait_for("I heard: one/two/three//quit/four");
    leave(&mut terminal);
}

#[test]
fn what_was_said_and_typed_is_there_again_after_a_restart() {
    let script = "turns:\n  - say: \"The first answer.\"\n  - say: \"The second answer.\"\n";
    let place = place(script);
    let mut terminal = start(&place);
    say(&mut terminal, "remember this");
    settled(&terminal, "The first answer.");
    leave(&mut terminal);
    let told = terminal.wait_for("--resume").concat();
    let id: String = told.split("--resume ").nth(1).unwrap().chars().take(36).collect();
    let state = place.path().join("home/.local/state/fullsend");
    for name in ["chat.db", "chat.db-typed"] {
        assert_eq!(fs::metadata(state.join(name)).unwrap().mode() & 0o777, 0o600, "{name}");
    }
    assert_eq!(fs::metadata(&state).unwrap().mode() & 0o777, 0o700);

    // By option, and by command in a chat of its own.
    let mut terminal = Terminal::start(&command(&place, &["--resume", &id]), 30, 80);
    let shown = terminal.wait_for("This is session");
    assert_eq!(rows_from(&shown, "› remember")[..2], ["› remember this", "  The first answer."]);
    terminal.press(UP);
    terminal.wait_for("> remember this");
    terminal.press("\u{15}");
    say(&mut terminal, "go on");
    settled(&terminal, "The second answer.");
    leave(&mut terminal);

    let mut terminal = start(&place);
    say(&mut terminal, "/sessions");
    let shown = terminal.wait_for("/resume ID").concat();
    assert!(
        shown.contains(&id) && shown.contains("2 turns, idle") && shown.contains("remember this"),
        "{shown}"
    );
    say(&mut terminal, &format!("/resume {}", &id[..8]));
    terminal.wait_for("The second answer.");
    say(&mut terminal, "/status");
    terminal.wait_for(&format!("session    {id}"));
    say(&mut terminal, "/new");
    terminal.wait_until("a new chat", |screen| !screen.contents().contains("The second answer."));
    say(&mut terminal, "/quit");
    assert_eq!(terminal.end().code(), Some(0));
}

#[test]
fn a_session_that_is_not_there_is_an_error_before_anything_is_shown() {
    let place = place("turns:\n  - say: Hello.\n");
    let mut terminal = Terminal::start(&command(&place, &["--resume", "nope"]), 30, 80);
    assert_eq!(terminal.end().code(), Some(2));
    let shown = terminal.wait_for("error:").concat();
    assert!(shown.contains("there is no session `nope`"), "{shown}");
    assert!(!terminal.bytes().windows(8).any(|bytes| bytes == b"\x1b[?1049h"));
}

#[test]
fn what_is_hostile_to_a_terminal_is_shown_and_not_obeyed() {
    let script = r#"
turns:
  - say: "a\e[2J\e[31m\e]0;owned\a\e]52;c;aGk=\a b\u009b1mc\u202egnp.exe\u200bd\r\n\n! error: fake\n\n```\n\e[1A\e[2K> fake prompt\n```\n"
    calls:
      - tool: "bash\e[2J"
        args: {command: "x\e[2Jy"}
  - say: "Over."
"#;
    let place = place(script);
    let mut terminal = start(&place);
    say(&mut terminal, "attack");
    let shown = settled(&terminal, "Over.");
    let text = shown.concat();
    for escaped in ["a\\u{1b}[2J", "\\u{1b}]52;c;aGk=\\u{7}", "\\u{9b}1mc", "\\u{202e}gnp.exe\\u{200b}d"] {
        assert!(text.contains(escaped), "{escaped}: {shown:#?}");
    }
    assert!(shown.iter().any(|row| row.starts_with("  ! error: fake")), "{shown:#?}");
    assert!(!shown.iter().any(|row| row.starts_with("! ") || row.starts_with("> fake")), "{shown:#?}");
    let bytes = terminal.bytes();
    for forbidden in [
        &b"\x1b]"[..],
        b"\x1b[1A",
        "\u{9b}".as_bytes(),
        "\u{202e}".as_bytes(),
        "\u{200b}".as_bytes(),
        b"\x07",
    ] {
        assert!(!bytes.windows(forbidden.len()).any(|part| part == forbidden), "{forbidden:?}");
    }
    leave(&mut terminal);
}

#[test]
fn the_chat_follows_the_size_of_the_terminal() {
    let place = place("turns:\n  - say: \"one two three four five six seven eight nine ten\"\n");
    let mut terminal = start(&place);
    say(&mut terminal, "count");
    terminal.wait_for("nine ten");
    terminal.resize(20, 24);
    let shown = terminal.wait_until("narrow rows", |screen| {
        let rows = rows(screen);
        rows.iter().any(|row| row == "  one two three four") && rows.last().is_some_and(|row| row == ">")
    });
    assert_eq!(
        rows_from(&shown, "› count"),
        ["› count", "  one two three four", "  five six seven eight", "  nine ten"]
    );
    terminal.resize(10, 100);
    terminal.wait_until("wide rows", |screen| {
        let rows = rows(screen);
        rows.iter().any(|row| row.ends_with("nine ten") && row.starts_with("  one")) && rows[9] == ">"
    });
    leave(&mut terminal);
}

#[test]
fn help_says_what_there_is() {
    let place = place("turns:\n  - say: Hello.\n");
    let mut terminal = start(&place);
    say(&mut terminal, "/help");
    let shown = terminal.wait_for("/resume ID").concat();
    for word in ["/sessions", "/new", "/status", "/quit", "Ctrl-O", "PageUp", "Alt-Enter"] {
        assert!(shown.contains(word), "{word}: {shown}");
    }
    say(&mut terminal, "/nothing");
    terminal.wait_for("There is no command /nothing");
    leave(&mut terminal);
}

#[test]
fn the_terminal_is_given_back_as_it_was() {
    let place = place("turns:\n  - say: \"Hello.\"\n");
    for ending in [None, Some(Signal::TERM), Some(Signal::HUP), Some(Signal::INT)] {
        let command = command(&place, &[]);
        let mut terminal = Terminal::start(&command, 30, 80);
        terminal.wait_for("ready");
        assert!(!terminal.settings().local_modes.contains(LocalModes::ICANON));
        let code = match ending {
            None => {
                terminal.press(CTRL_D);
                0
            }
            // With nothing under way, an interrupt asks.
            Some(Signal::INT) => {
                terminal.send(Signal::INT);
                terminal.wait_for("? Leave the chat?");
                terminal.send(Signal::INT);
                0
            }
            Some(signal) => {
                terminal.send(signal);
                128 + signal.as_raw()
            }
        };
        assert_eq!(terminal.end().code(), Some(code), "{ending:?}");
        terminal.wait_until("the screen from before", |screen| {
            !screen.alternate_screen() && !screen.bracketed_paste() && !screen.hide_cursor()
        });
        let modes = terminal.settings().local_modes;
        assert!(modes.contains(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG), "{ending:?}");
    }
}

#[test]
fn no_color_takes_colours_away_and_leaves_the_rest() {
    let place = place("turns:\n  - say: \"# Title\\n\\n`code`\"\n");
    let mut command = command(&place, &[]);
    command.env("NO_COLOR", "1");
    let mut terminal = Terminal::start(&command, 30, 80);
    terminal.wait_for("ready");
    say(&mut terminal, "hello");
    let shown = terminal.wait_for("Title");
    let row = u16::try_from(shown.iter().position(|row| row == "  Title").unwrap()).unwrap();
    terminal.look(|screen| {
        let cell = screen.cell(row, 2).unwrap();
        assert_eq!((cell.bold(), cell.fgcolor()), (true, vt100::Color::Default));
    });
    leave(&mut terminal);
}

#[test]
fn a_terminal_without_a_screen_gets_lines() {
    let script = r#"
turns:
  - say: "Let me\e[2J write."
    calls:
      - tool: write_file
        args: {path: notes.txt, content: "one\n"}
  - say: "You said: {{ user | replace('\n', '/') }}"
"#;
    let place = place(script);
    let mut command = command(&place, &[]);
    command.env("TERM", "dumb");
    let mut terminal = Terminal::start(&command, 40, 100);
    terminal.wait_for("> ");
    terminal.press("one\\\ntwo\n");
    let shown = terminal.wait_for("You said: one/two").concat();
    assert!(shown.contains("  Let me\\u{1b}[2J write.") && shown.contains("    +one"), "{shown}");
    let asks = |screen: &vt100::Screen| {
        rows(screen).iter().rfind(|row| !row.is_empty()).is_some_and(|row| row == ">")
    };
    terminal.wait_until("the prompt", asks);
    terminal.press("/help\n");
    terminal.wait_for("/resume ID");
    terminal.wait_until("the prompt", asks);
    terminal.press(CTRL_C);
    terminal.wait_for("? Leave the chat? y/n");
    terminal.press("n\n");
    terminal.press(CTRL_D);
    assert_eq!(terminal.end().code(), Some(0));
    let bytes = terminal.bytes();
    assert!(!bytes.contains(&0x1b), "{}", String::from_utf8_lossy(&bytes));
}

#[test]
fn without_a_terminal_programs_are_told_what_to_use() {
    let place = place("turns:\n  - say: Hello.\n");
    let ran = Ran::from(command(&place, &[]).output().unwrap());
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("--stdio"), "{}", ran.stderr);
}
