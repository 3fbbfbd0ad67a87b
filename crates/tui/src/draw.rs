//! The layout of the terminal.

use crossterm::style::{Color, ContentStyle, Stylize as _};
use debug::View;

use crate::Typed;
use crate::canvas::{Area, Canvas, Span};

/// The smallest terminal in which anything can be seen.
const LEAST: (u16, u16) = (60, 16);

/// What keys do, in one line.
const KEYS: &str = "\u{2190} \u{2192} issue  F8/F11 step  F9/F10 next  F6/F5 run  Tab lane  F2 source  F3 pane  F1 help  ^D quit";

/// Draws all.
pub(crate) fn draw(canvas: &mut Canvas, view: &View, typed: &Typed<'_>) {
    let area = canvas.area();
    if area.width < LEAST.0 || area.height < LEAST.1 {
        let (width, height) = (area.width, area.height);
        let text = format!("the terminal is {width}x{height}; {}x{} are needed", LEAST.0, LEAST.1);
        canvas.write(area, 0, [text.as_str().into()]);
        return;
    }
    let high = (area.height / 4).max(4);
    let (title, rest) = area.split_rows(1);
    let (middle, rest) = rest.split_rows(rest.height - high - 2);
    let (answers, rest) = rest.split_rows(high);
    let (input, keys) = rest.split_rows(1);
    let (program, rest) = middle.split_columns(half(middle.width));
    let (_, right) = rest.split_columns(1);
    let high = (view.lanes.len() as u16).saturating_add(1).clamp(3, right.height / 2);
    let (lanes, pane) = right.split_rows(high);
    let wide = usize::from(title.width);
    let text = format!("{:wide$}", view.title);
    canvas.write(title, 0, [Span { text: &text, style: ContentStyle::new().reverse() }]);
    draw_program(canvas, view, program);
    draw_lanes(canvas, view, lanes);
    draw_rows(canvas, view, pane);
    draw_answers(canvas, typed, answers);
    draw_input(canvas, typed, input);
    canvas.write(keys, 0, [Span { text: KEYS, style: ContentStyle::new().dim() }]);
}

/// The columns of the program: a little more than half of those that are left beside the gap.
fn half(width: u16) -> u16 {
    (u32::from(width - 1) * 52 / 100) as u16
}

fn draw_input(canvas: &mut Canvas, typed: &Typed<'_>, area: Area) {
    let runs = typed.runs;
    let prompt = if runs { "runs; Esc interrupts" } else { "(simtlab) " };
    let typed = if runs { "" } else { typed.input };
    // The end of a long command is seen.
    let room = usize::from(area.width).saturating_sub(prompt.len() + 1);
    let hidden = typed.chars().count().saturating_sub(room);
    let shown: String = typed.chars().skip(hidden).collect();
    canvas.write(area, 0, [prompt.into(), shown.as_str().into()]);
    if !runs {
        let width = prompt.len() + shown.chars().count();
        canvas.cursor = Some((area.x + width as u16, area.y));
    }
}

/// Draws a line with a title; what is below it is returned.
fn draw_title(canvas: &mut Canvas, title: &str, area: Area) -> Area {
    let line = "\u{2500}".repeat(area.width.into());
    canvas.write(area, 0, [title.into(), line.as_str().into()]);
    area.split_rows(1).1
}

fn draw_program(canvas: &mut Canvas, view: &View, area: Area) {
    let area = draw_title(canvas, &view.program, area);
    let height = usize::from(area.height);
    let most = view.lines.len().saturating_sub(height);
    let first = view.middle.saturating_sub(height / 2).min(most);
    let shown = view.lines.iter().skip(first).take(height);
    let wide = shown.clone().map(|line| line.number.len()).max().unwrap_or(0);
    for (row, line) in (0..).zip(shown) {
        let sign = if line.here { "=>" } else { "  " };
        let stop = if line.stops { "b" } else { " " };
        let text = format!("{sign}{stop}{:>wide$}  {}", line.number, line.text);
        let style = match (line.here, line.stops) {
            (true, _) => ContentStyle::new().with(Color::DarkYellow).bold(),
            (_, true) => ContentStyle::new().with(Color::DarkRed),
            _ => ContentStyle::new(),
        };
        canvas.write(area, row, [Span { text: &text, style }]);
    }
}

/// The colour of a letter that says what a lane does.
fn colour(letter: char) -> Color {
    match letter {
        '#' => Color::DarkGreen,
        '-' => Color::DarkYellow,
        '.' => Color::DarkRed,
        'w' => Color::DarkBlue,
        _ => Color::DarkGrey,
    }
}

fn draw_lanes(canvas: &mut Canvas, view: &View, area: Area) {
    let area = draw_title(canvas, "lanes", area);
    for (row, text) in (0..area.height).zip(&view.lanes) {
        let warp = text.trim_start_matches(['*', ' ']).starts_with("warp");
        if !warp || row == 0 {
            canvas.write(area, row, [text.as_str().into()]);
            continue;
        }
        // Behind the number of a warp stand its lanes.
        let split = text.char_indices().nth(11).map_or(text.len(), |(at, _)| at);
        let (name, lanes) = text.split_at(split);
        let lanes = lanes.split_inclusive(|_| true).map(|text| {
            let colour = text.chars().next().map_or(Color::Reset, colour);
            Span { text, style: ContentStyle::new().with(colour) }
        });
        canvas.write(area, row, std::iter::once(name.into()).chain(lanes));
    }
}

fn draw_rows(canvas: &mut Canvas, view: &View, area: Area) {
    let area = draw_title(canvas, &view.pane, area);
    let lines = view.rows.iter().map(|text| match text.starts_with('*') {
        true => Span { text, style: ContentStyle::new().with(Color::DarkYellow) },
        false => text.as_str().into(),
    });
    canvas.write_lines(area, lines);
}

fn draw_answers(canvas: &mut Canvas, typed: &Typed<'_>, area: Area) {
    let area = draw_title(canvas, "answers", area);
    let last = typed.answers.len().saturating_sub(typed.scrolled);
    let first = last.saturating_sub(area.height.into());
    canvas.write_lines(area, typed.answers.range(first..last).map(|text| text.as_str().into()));
}

#[cfg(test)]
mod tests {
    use super::*;
    use debug::ProgramLine;

    /// Terminals of any size are drawn, and small ones say so.
    #[test]
    fn any_size_is_drawn() {
        let line = ProgramLine {
            number: "7".to_owned(),
            text: "ret;".repeat(40),
            here: true,
            stops: true,
        };
        let view = View {
            lines: vec![line; 30],
            middle: 29,
            lanes: vec!["* warp 0   ##..ww--xx".to_owned(); 50],
            rows: vec!["*%r1 5".to_owned(); 50],
            ..View::default()
        };
        let (answers, input) = (vec!["\u{2190} \t".to_owned(); 50].into(), "x".repeat(300));
        let typed = Typed { answers: &answers, scrolled: 70, input: &input, runs: false };
        for (width, height) in (0..140).step_by(7).flat_map(|w| (0..50).map(move |h| (w, h))) {
            let mut canvas = Canvas::new(width, height);
            draw(&mut canvas, &view, &typed);
            if (20..60).contains(&width) && height > 0 {
                let text: String = canvas.row(0).iter().map(|cell| cell.text.as_str()).collect();
                assert!(text.starts_with("the terminal is"), "{text}");
            }
        }
    }
}
