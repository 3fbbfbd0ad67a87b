//! What a terminal shows, as cells.

use crossterm::style::ContentStyle;
use unicode_width::UnicodeWidthChar as _;

/// A part of a canvas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Area {
    pub(crate) x: u16,
    pub(crate) y: u16,
    pub(crate) width: u16,
    pub(crate) height: u16,
}

impl Area {
    /// Splits off the first rows.
    pub(crate) fn split_rows(self, height: u16) -> (Self, Self) {
        let height = height.min(self.height);
        let rest = Self { y: self.y + height, height: self.height - height, ..self };
        (Self { height, ..self }, rest)
    }

    /// Splits off the first columns.
    pub(crate) fn split_columns(self, width: u16) -> (Self, Self) {
        let width = width.min(self.width);
        let rest = Self { x: self.x + width, width: self.width - width, ..self };
        (Self { width, ..self }, rest)
    }
}

/// A column of a row. A character that is two columns wide leaves the second cell empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cell {
    pub(crate) text: String,
    pub(crate) style: ContentStyle,
}

/// A text in one style.
pub(crate) struct Span<'t> {
    pub(crate) text: &'t str,
    pub(crate) style: ContentStyle,
}

impl<'t> From<&'t str> for Span<'t> {
    fn from(text: &'t str) -> Self {
        Self { text, style: ContentStyle::new() }
    }
}

/// The cells of a terminal, row after row, and the cursor.
#[derive(Clone, Debug, Default)]
pub(crate) struct Canvas {
    width: u16,
    height: u16,
    cells: Vec<Cell>,
    /// Column and row of the cursor, if it is shown.
    pub(crate) cursor: Option<(u16, u16)>,
}

impl Canvas {
    pub(crate) fn new(width: u16, height: u16) -> Self {
        let blank = Cell { text: " ".to_owned(), style: ContentStyle::new() };
        let cells = vec![blank; usize::from(width) * usize::from(height)];
        Self { width, height, cells, cursor: None }
    }

    /// The whole.
    pub(crate) fn area(&self) -> Area {
        Area { x: 0, y: 0, width: self.width, height: self.height }
    }

    pub(crate) fn row(&self, y: u16) -> &[Cell] {
        &self.cells[usize::from(y) * usize::from(self.width)..][..usize::from(self.width)]
    }

    /// Writes texts, one behind the other, into a row of an area, as far as they have room. Control
    /// characters are left out; marks that take no room join the character before them.
    pub(crate) fn write<'t>(
        &mut self,
        area: Area,
        row: u16,
        spans: impl IntoIterator<Item = Span<'t>>,
    ) {
        if row >= area.height {
            return;
        }
        let first = usize::from(area.y + row) * usize::from(self.width) + usize::from(area.x);
        let cells = &mut self.cells[first..][..usize::from(area.width)];
        let mut at = 0;
        for (c, style) in spans.into_iter().flat_map(|s| s.text.chars().map(move |c| (c, s.style)))
        {
            let Some(width) = c.width() else { continue };
            if width == 0 {
                if let Some(before) = cells[..at].iter_mut().rfind(|cell| !cell.text.is_empty()) {
                    before.text.push(c);
                }
                continue;
            }
            if at + width > cells.len() {
                return;
            }
            for cell in &mut cells[at..at + width] {
                *cell = Cell { text: String::new(), style };
            }
            cells[at].text.push(c);
            at += width;
        }
    }

    /// Writes texts below each other.
    pub(crate) fn write_lines<'t>(
        &mut self,
        area: Area,
        lines: impl IntoIterator<Item = Span<'t>>,
    ) {
        for (row, line) in (0..area.height).zip(lines) {
            self.write(area, row, [line]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(canvas: &Canvas, y: u16) -> String {
        canvas.row(y).iter().map(|cell| cell.text.as_str()).collect()
    }

    #[test]
    fn texts_stay_in_their_area() {
        let mut canvas = Canvas::new(8, 2);
        let (_, right) = canvas.area().split_columns(3);
        canvas.write(right, 0, ["ab".into(), "cdefg".into()]);
        canvas.write(right, 2, ["below".into()]);
        assert_eq!(text(&canvas, 0), "   abcde");
        assert_eq!(text(&canvas, 1), "        ");
    }

    #[test]
    fn characters_take_their_columns() {
        let mut canvas = Canvas::new(6, 1);
        // A tab, a mark that joins, two characters of two columns, one that has no room.
        canvas.write(canvas.area(), 0, ["a\te\u{301}\u{4e16}\u{754c}!".into()]);
        assert_eq!(text(&canvas, 0), "ae\u{301}\u{4e16}\u{754c}");
        canvas.write(canvas.area(), 0, ["12345\u{4e16}".into()]);
        assert_eq!(canvas.row(0)[4].text, "5");
        assert_eq!(canvas.row(0)[5].text, "");
    }
}
