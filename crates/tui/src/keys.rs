//! What keys mean: a line of text with its history, and what else they do.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use debug::{After, View};

/// Longest command that can be typed.
const LONGEST: usize = 2048;
/// Lines that a page key moves.
const PAGE: i64 = 10;

/// What a key asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// The line has changed, or nothing has.
    None,
    Command(String),
    Leave(After),
    /// The next pane beside the program.
    Pane,
    /// Source lines or those of the program.
    Source,
    /// The program is scrolled by so many lines.
    Program(i64),
    /// Answers are scrolled back by so many lines.
    Answers(isize),
}

/// The commands of keys.
const COMMANDS: [(KeyCode, KeyModifiers, &str); 10] = [
    (KeyCode::Right, KeyModifiers::NONE, "stepi"),
    (KeyCode::Left, KeyModifiers::NONE, "reverse-stepi"),
    (KeyCode::Right, KeyModifiers::SHIFT, "next"),
    (KeyCode::Left, KeyModifiers::SHIFT, "reverse-next"),
    (KeyCode::F(5), KeyModifiers::NONE, "continue"),
    (KeyCode::F(6), KeyModifiers::NONE, "reverse-continue"),
    (KeyCode::F(10), KeyModifiers::NONE, "next"),
    (KeyCode::F(9), KeyModifiers::NONE, "reverse-next"),
    (KeyCode::F(11), KeyModifiers::NONE, "step"),
    (KeyCode::F(8), KeyModifiers::NONE, "reverse-step"),
];

/// Whether a key interrupts what runs.
pub(crate) fn interrupts(key: KeyEvent) -> bool {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    key.code == KeyCode::Esc || control && key.code == KeyCode::Char('c')
}

/// What a key does.
pub(crate) fn action(key: KeyEvent, line: &mut Line, view: &View) -> Action {
    let empty = line.text.is_empty();
    let command =
        COMMANDS.iter().find(|(code, with, _)| key.code == *code && key.modifiers == *with);
    if let Some((code, _, command)) = command
        && (empty || matches!(code, KeyCode::F(_)))
    {
        return Action::Command((*command).to_owned());
    }
    match key.code {
        KeyCode::Char('d') if key.modifiers.contains(KeyModifiers::CONTROL) && empty => {
            return Action::Leave(After::Stop);
        }
        KeyCode::Char(c)
            if !key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT) =>
        {
            line.push(c);
        }
        KeyCode::Backspace => drop(line.text.pop()),
        KeyCode::Enter => return line.enter().map_or(Action::None, Action::Command),
        KeyCode::Up => line.recall(true),
        KeyCode::Down => line.recall(false),
        KeyCode::Tab => return neighbour(view.neighbours[1]),
        KeyCode::BackTab => return neighbour(view.neighbours[0]),
        KeyCode::F(1) => return Action::Command("help".to_owned()),
        KeyCode::F(2) => return Action::Source,
        KeyCode::F(3) => return Action::Pane,
        KeyCode::PageUp if key.modifiers.contains(KeyModifiers::SHIFT) => {
            return Action::Answers(PAGE as isize);
        }
        KeyCode::PageDown if key.modifiers.contains(KeyModifiers::SHIFT) => {
            return Action::Answers(-PAGE as isize);
        }
        KeyCode::PageUp => return Action::Program(-PAGE),
        KeyCode::PageDown => return Action::Program(PAGE),
        _ if interrupts(key) => line.text.clear(),
        _ => {}
    }
    Action::None
}

/// Puts the focus on a lane.
fn neighbour(lane: Option<u32>) -> Action {
    lane.map_or(Action::None, |lane| Action::Command(format!("focus lane {lane}")))
}

/// The command line, with what was entered before.
#[derive(Clone, Debug, Default)]
pub(crate) struct Line {
    text: String,
    history: Vec<String>,
    /// How far back the history is recalled.
    back: usize,
}

impl Line {
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    fn push(&mut self, c: char) {
        if self.text.len() < LONGEST {
            self.text.push(c);
        }
    }

    /// What was entered; the last command again if that is nothing.
    fn enter(&mut self) -> Option<String> {
        self.back = 0;
        if self.text.trim().is_empty() {
            self.text.clear();
            return self.history.last().cloned();
        }
        let text = std::mem::take(&mut self.text);
        if self.history.last() != Some(&text) {
            self.history.push(text.clone());
        }
        Some(text)
    }

    fn recall(&mut self, older: bool) {
        self.back = match older {
            true => (self.back + 1).min(self.history.len()),
            false => self.back.saturating_sub(1),
        };
        let index = self.history.len() - self.back;
        self.text = self.history.get(index).cloned().unwrap_or_default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_repeats_and_recalls() {
        let mut line = Line::default();
        assert_eq!(line.enter(), None);
        "stepi".chars().for_each(|c| line.push(c));
        assert_eq!(line.enter().as_deref(), Some("stepi"));
        assert_eq!(line.enter().as_deref(), Some("stepi"));
        "list".chars().for_each(|c| line.push(c));
        line.enter();
        line.recall(true);
        line.recall(true);
        line.recall(true);
        assert_eq!(line.text(), "stepi");
        line.recall(false);
        assert_eq!(line.text(), "list");
        line.recall(false);
        assert_eq!(line.text(), "");
    }
}
