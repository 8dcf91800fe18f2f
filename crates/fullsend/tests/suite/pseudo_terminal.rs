//! Runs a program on a terminal of its own, and reads the screen as a person would.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::num::NonZeroU16;
use std::os::fd::OwnedFd;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{Termios, Winsize, tcgetattr, tcsetwinsize};

/// After this a screen that does not come is a failure of the program, on any machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// A program and its terminal.
pub(crate) struct Terminal {
    child: Child,
    keys: File,
    /// Kept open, so that the terminal can still be looked at when the program has ended.
    far_end: OwnedFd,
    shown: Arc<(Mutex<Shown>, Condvar)>,
    reader: Option<JoinHandle<()>>,
}

/// What the program has written.
struct Shown {
    parser: vt100::Parser,
    bytes: Vec<u8>,
}

impl Terminal {
    /// Starts a program on a terminal of some rows and columns; it is the one that keys such as Ctrl-C go to.
    pub(crate) fn start(command: &Command, rows: u16, columns: u16) -> Self {
        let near_end = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&near_end).unwrap();
        unlockpt(&near_end).unwrap();
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let far_end = ioctl_tiocgptpeer(&near_end, flags).unwrap();
        tcsetwinsize(&near_end, size(rows, columns)).unwrap();
        let mut leader = Command::new("setsid");
        leader.arg("--ctty").arg(command.get_program()).args(command.get_args()).env_clear();
        leader.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        leader.current_dir(command.get_current_dir().unwrap());
        let end = || Stdio::from(far_end.try_clone().unwrap());
        let child = leader.stdin(end()).stdout(end()).stderr(end()).spawn().unwrap();
        let keys = File::from(near_end);
        let parser = vt100::Parser::new(number(rows), number(columns), 0);
        let shown = Arc::new((Mutex::new(Shown { parser, bytes: Vec::new() }), Condvar::new()));
        let reader = Some(read(keys.try_clone().unwrap(), Arc::clone(&shown)));
        Self { child, keys, far_end, shown, reader }
    }

    /// Presses keys.
    pub(crate) fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
    }

    /// Changes the size of the terminal.
    pub(crate) fn resize(&mut self, rows: u16, columns: u16) {
        self.shown.0.lock().unwrap().parser.screen_mut().set_size(number(rows), number(columns));
        tcsetwinsize(&self.keys, size(rows, columns)).unwrap();
    }

    /// Waits until the screen shows a text, and returns all rows of it.
    pub(crate) fn wait_for(&self, text: &str) -> Vec<String> {
        self.wait_until(text, |screen| screen.contents().contains(text))
    }

    /// Waits until something is true of the screen.
    pub(crate) fn wait_until(&self, what: &str, is_so: impl Fn(&vt100::Screen) -> bool) -> Vec<String> {
        let end = Instant::now() + PATIENCE;
        let mut shown = self.shown.0.lock().unwrap();
        while !is_so(shown.parser.screen()) {
            let left = end.saturating_duration_since(Instant::now());
            assert!(
                !left.is_zero(),
                "{what:?} did not come; the screen is:\n{}",
                shown.parser.screen().contents()
            );
            shown = self.shown.1.wait_timeout(shown, left).unwrap().0;
        }
        rows(shown.parser.screen())
    }

    /// Looks at the screen.
    pub(crate) fn look<T>(&self, at: impl FnOnce(&vt100::Screen) -> T) -> T {
        at(self.shown.0.lock().unwrap().parser.screen())
    }

    /// Everything that the program has written.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.shown.0.lock().unwrap().bytes.clone()
    }

    /// How the terminal is set.
    pub(crate) fn settings(&self) -> Termios {
        tcgetattr(&self.far_end).unwrap()
    }

    pub(crate) fn send(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Waits for the end of the program.
    pub(crate) fn end(&mut self) -> ExitStatus {
        let end = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            let screen = self.look(vt100::Screen::contents);
            assert!(Instant::now() < end, "it does not end; the screen is:\n{screen}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ended_already = self.child.kill();
        let _ = self.child.wait();
        drop(self.reader.take());
    }
}

fn read(mut from: File, shown: Arc<(Mutex<Shown>, Condvar)>) -> JoinHandle<()> {
    std::thread::spawn(move || {
        let mut buffer = [0; 4096];
        while let Ok(count @ 1..) = from.read(&mut buffer) {
            let mut now = shown.0.lock().unwrap();
            now.parser.process(&buffer[..count]);
            now.bytes.extend(&buffer[..count]);
            shown.1.notify_all();
        }
    })
}

/// The rows of a screen, without blanks at their ends.
pub(crate) fn rows(screen: &vt100::Screen) -> Vec<String> {
    let (_, columns) = screen.size();
    screen.rows(0, columns.get()).map(|row| row.trim_end().to_owned()).collect()
}

fn size(rows: u16, columns: u16) -> Winsize {
    Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }
}

fn number(number: u16) -> NonZeroU16 {
    NonZeroU16::new(number).unwrap()
}
