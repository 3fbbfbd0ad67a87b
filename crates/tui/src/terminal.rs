//! The terminal itself: taken, drawn on and given back.

use std::io::{self, Write as _, stdout};
use std::panic;
use std::sync::Once;

use crossterm::cursor::{Hide, MoveTo, Show};
use crossterm::style::{Attribute, ContentStyle, PrintStyledContent, SetAttribute, StyledContent};
use crossterm::terminal::{
    Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode,
    enable_raw_mode, size,
};
use crossterm::{execute, queue};

use crate::canvas::{Area, Canvas, Cell};

/// The terminal of this process, given back when this is dropped.
pub(crate) struct Terminal {
    /// What is seen.
    shown: Canvas,
}

impl Terminal {
    /// Takes the terminal: keys arrive one by one, and its contents come back at the end.
    pub(crate) fn open() -> io::Result<Self> {
        static HOOK: Once = Once::new();
        // A message of a panic is of no use on a screen that goes away.
        HOOK.call_once(|| {
            let before = panic::take_hook();
            panic::set_hook(Box::new(move |info| {
                restore();
                before(info);
            }));
        });
        enable_raw_mode()?;
        execute!(stdout(), EnterAlternateScreen)?;
        Ok(Self { shown: Canvas::default() })
    }

    /// Draws a canvas of the terminal's size, and shows the rows that have changed.
    pub(crate) fn draw(&mut self, draw: impl FnOnce(&mut Canvas)) -> io::Result<()> {
        let (width, height) = size()?;
        let mut canvas = Canvas::new(width, height);
        draw(&mut canvas);
        let mut out = io::BufWriter::new(stdout().lock());
        queue!(out, Hide)?;
        let resized = self.shown.area() != canvas.area();
        if resized {
            queue!(out, Clear(ClearType::All))?;
        }
        let Area { height, .. } = canvas.area();
        for y in (0..height).filter(|&y| resized || self.shown.row(y) != canvas.row(y)) {
            queue!(out, MoveTo(0, y))?;
            write_row(&mut out, canvas.row(y))?;
        }
        if let Some((x, y)) = canvas.cursor {
            queue!(out, MoveTo(x, y), Show)?;
        }
        out.flush()?;
        self.shown = canvas;
        Ok(())
    }
}

/// Writes the cells of a row, those of one style together.
fn write_row(out: &mut impl io::Write, row: &[Cell]) -> io::Result<()> {
    for part in row.chunk_by(|a, b| a.style == b.style) {
        let text: String = part.iter().map(|cell| cell.text.as_str()).collect();
        queue!(out, PrintStyledContent(StyledContent::new(part[0].style, text)))?;
        if part[0].style != ContentStyle::new() {
            queue!(out, SetAttribute(Attribute::Reset))?;
        }
    }
    Ok(())
}

/// Gives the terminal back. If that fails there is none any more.
fn restore() {
    let _ = disable_raw_mode();
    let _ = execute!(stdout(), LeaveAlternateScreen, Show);
}

impl Drop for Terminal {
    fn drop(&mut self) {
        restore();
    }
}
