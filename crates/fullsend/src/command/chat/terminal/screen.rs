//! The screen: taken over while the chat lasts and given back however it ends; only rows that have changed are written.

use std::io::{self, Write};
use std::panic;
use std::sync::{Arc, Mutex, PoisonError};

use crossterm::cursor::{Hide, MoveTo, Show};
use crossterm::event::{DisableBracketedPaste, EnableBracketedPaste};
use crossterm::queue;
use crossterm::terminal::{
    Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};

use super::state::Frame;
use super::text::{Colour, Row, Span, Style};

/// Whether text may have colours; it has its other looks anyway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Palette {
    Colours,
    None,
}

/// The screen of a terminal.
#[derive(Debug)]
pub(super) struct Screen<W: Write> {
    out: W,
    palette: Palette,
    shown: Vec<Row>,
}

impl<W: Write> Screen<W> {
    /// Takes the screen over; what was on it comes back when this is dropped.
    pub(super) fn enter(mut out: W, palette: Palette) -> io::Result<Self> {
        queue!(out, EnterAlternateScreen, EnableBracketedPaste, Clear(ClearType::All))?;
        out.flush()?;
        Ok(Self { out, palette, shown: Vec::new() })
    }

    /// Forgets what is on the screen, so that all of it is written again.
    pub(super) fn forget(&mut self) -> io::Result<()> {
        self.shown.clear();
        queue!(self.out, Clear(ClearType::All))
    }

    /// Shows a frame.
    pub(super) fn draw(&mut self, frame: Frame) -> io::Result<()> {
        queue!(self.out, Hide)?;
        for (index, row) in frame.rows.iter().enumerate() {
            if self.shown.get(index) != Some(row) {
                queue!(self.out, MoveTo(0, u16::try_from(index).unwrap_or(u16::MAX)))?;
                row.spans().iter().try_for_each(|span| write_span(&mut self.out, span, self.palette))?;
                queue!(self.out, Clear(ClearType::UntilNewLine))?;
            }
        }
        let (column, row) = frame.cursor;
        queue!(self.out, MoveTo(column, row), Show)?;
        self.shown = frame.rows;
        self.out.flush()
    }
}

impl<W: Write> Drop for Screen<W> {
    fn drop(&mut self) {
        // A terminal that is gone has nothing to be given back.
        let _ = queue!(self.out, DisableBracketedPaste, LeaveAlternateScreen, Show);
        let _ = self.out.flush();
    }
}

fn write_span(out: &mut impl Write, span: &Span, palette: Palette) -> io::Result<()> {
    let looks = looks(span.style(), palette);
    if looks.is_empty() {
        return out.write_all(span.text().as_bytes());
    }
    write!(out, "\x1b[{looks}m{}\x1b[0m", span.text())
}

/// The parameters of the sequence that switches a look on.
fn looks(style: Style, palette: Palette) -> String {
    let colour = match (palette, style.colour) {
        (Palette::None, _) | (_, None) => None,
        (Palette::Colours, Some(Colour::Red)) => Some("31"),
        (Palette::Colours, Some(Colour::Green)) => Some("32"),
        (Palette::Colours, Some(Colour::Yellow)) => Some("33"),
        (Palette::Colours, Some(Colour::Blue)) => Some("34"),
        (Palette::Colours, Some(Colour::Cyan)) => Some("36"),
    };
    let given = [
        style.bold.then_some("1"),
        style.dim.then_some("2"),
        style.italic.then_some("3"),
        style.underline.then_some("4"),
        style.reverse.then_some("7"),
        colour,
    ];
    given.into_iter().flatten().collect::<Vec<_>>().join(";")
}

/// The terminal hands over every key as it is pressed, until this is dropped. What panics say is kept until then: on a
/// screen that is taken over nobody could read it.
#[derive(Debug)]
pub(super) struct Keyboard {
    panics: Arc<Mutex<Vec<String>>>,
}

impl Keyboard {
    pub(super) fn take() -> io::Result<Self> {
        enable_raw_mode()?;
        let panics = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&panics);
        panic::set_hook(Box::new(move |info| {
            kept.lock().unwrap_or_else(PoisonError::into_inner).push(info.to_string());
        }));
        Ok(Self { panics })
    }
}

impl Drop for Keyboard {
    fn drop(&mut self) {
        let _gone_with_the_terminal = disable_raw_mode();
        if !std::thread::panicking() {
            // A hook cannot be changed by a thread that panics.
            drop(panic::take_hook());
        }
        for text in self.panics.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            let _nowhere_to_tell = writeln!(io::stderr(), "{text}");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{self, Write};
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::{Arc, Mutex};

    use super::super::text::{Colour, Line, Style};
    use super::{Frame, Palette, Screen};

    /// What was written, for whoever looks.
    #[derive(Clone, Debug, Default)]
    struct Written(Arc<Mutex<Vec<u8>>>);

    impl Written {
        fn take(&self) -> String {
            String::from_utf8(std::mem::take(&mut *self.0.lock().unwrap())).unwrap()
        }
    }

    impl Write for Written {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn frame(lines: &[&str]) -> Frame {
        let style = Style::coloured(Colour::Red).bold();
        let rows = lines.iter().flat_map(|line| Line::new(line, style).rows(20)).collect();
        Frame { rows, cursor: (1, 1) }
    }

    #[test]
    fn only_what_has_changed_is_written() {
        let out = Written::default();
        let mut screen = Screen::enter(out.clone(), Palette::Colours).unwrap();
        screen.draw(frame(&["one", "two"])).unwrap();
        assert!(out.take().contains("\u{1b}[1;31mone\u{1b}[0m"));
        screen.draw(frame(&["one", "three"])).unwrap();
        let written = out.take();
        assert!(!written.contains("one") && written.contains("three"), "{written:?}");
        screen.forget().unwrap();
        screen.draw(frame(&["one", "three"])).unwrap();
        assert!(out.take().contains("one"));
    }

    #[test]
    fn without_colours_other_looks_stay() {
        let out = Written::default();
        let mut screen = Screen::enter(out.clone(), Palette::None).unwrap();
        screen.draw(frame(&["one"])).unwrap();
        let written = out.take();
        assert!(written.contains("\u{1b}[1mone") && !written.contains("31"), "{written:?}");
    }

    #[test]
    fn the_screen_is_given_back_after_a_panic() {
        let out = Written::default();
        let ended = catch_unwind(AssertUnwindSafe(|| {
            let _screen = Screen::enter(out.clone(), Palette::None).unwrap();
            out.take();
            panic!("on purpose");
        }));
        assert!(ended.is_err());
        assert_eq!(out.take(), "\u{1b}[?2004l\u{1b}[?1049l\u{1b}[?25h");
    }
}
