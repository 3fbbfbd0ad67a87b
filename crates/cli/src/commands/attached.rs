//! Launches of another process in the whole terminal.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use attach::{Answer, Terminal};
use debug::{After, Reply, View, Wanted};
use tui::{Launch, Screen};

/// A launch of another process.
struct Remote {
    terminal: Terminal,
    flag: Arc<AtomicBool>,
    /// What the process has said at its end.
    last: String,
}

impl Remote {
    /// What a command has led to: the screen is left when nobody answers any more.
    fn reply(&mut self, answer: Answer) -> Reply {
        match answer {
            Answer::Text(text) => Reply { text, after: None },
            Answer::Last(text) => {
                self.last = text;
                Reply { text: String::new(), after: Some(After::Run) }
            }
            Answer::Unheard => Reply { text: String::new(), after: Some(After::Run) },
        }
    }
}

impl Launch for Remote {
    fn view(&mut self, wanted: &Wanted) -> io::Result<View> {
        self.terminal.view(wanted)
    }

    fn command(&mut self, command: &str) -> io::Result<Reply> {
        let answer = self.terminal.ask(command, &self.flag)?;
        Ok(self.reply(answer))
    }

    fn interrupt(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.flag)
    }
}

/// Shows the launches of a process; returns what is to be seen when the screen has gone.
///
/// # Errors
/// If the terminal cannot be used, or the connection fails.
pub(super) fn screen(terminal: Terminal) -> io::Result<String> {
    let mut screen = Screen::open()?;
    let mut remote = Remote { terminal, flag: Arc::default(), last: String::new() };
    let flag = remote.interrupt();
    let answer = screen.watched(&flag, || remote.terminal.listen(&flag))??;
    let Reply { text, after } = remote.reply(answer);
    if after.is_none() {
        screen.say(&text);
        screen.show(&mut remote)?;
    }
    drop(screen);
    Ok(remote.last)
}
