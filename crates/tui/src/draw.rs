//! The layout of the terminal.

use debug::View;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Paragraph};

use crate::Typed;

/// The smallest terminal in which anything can be seen.
const LEAST: (u16, u16) = (60, 16);

/// What keys do, in one line.
const KEYS: &str = "\u{2190} \u{2192} issue  F8/F11 step  F9/F10 next  F6/F5 run  Tab lane  F2 source  F3 pane  F1 help  ^D quit";

/// Draws all.
pub(crate) fn draw(frame: &mut Frame<'_>, view: &View, typed: &Typed<'_>) {
    let area = frame.area();
    if area.width < LEAST.0 || area.height < LEAST.1 {
        let (width, height) = (area.width, area.height);
        let text = format!("the terminal is {width}x{height}; {}x{} are needed", LEAST.0, LEAST.1);
        frame.render_widget(Paragraph::new(text), area);
        return;
    }
    let rows = [
        Constraint::Length(1),
        Constraint::Min(8),
        Constraint::Length((area.height / 4).max(4)),
        Constraint::Length(1),
        Constraint::Length(1),
    ];
    let [title, middle, answers, input, keys] = Layout::vertical(rows).areas(area);
    let sides = [Constraint::Percentage(52), Constraint::Percentage(48)];
    let [program, right] = Layout::horizontal(sides).spacing(1).areas(middle);
    let high = (view.lanes.len() as u16).saturating_add(1).clamp(3, right.height / 2);
    let parts = [Constraint::Length(high), Constraint::Min(3)];
    let [lanes, pane] = Layout::vertical(parts).areas(right);
    let inverse = Style::new().add_modifier(Modifier::REVERSED);
    frame.render_widget(Paragraph::new(view.title.as_str()).style(inverse), title);
    draw_program(frame, view, program);
    draw_lanes(frame, view, lanes);
    draw_rows(frame, view, pane);
    draw_answers(frame, typed, answers);
    let runs = typed.runs;
    let prompt = if runs { "runs; Esc interrupts" } else { "(simtlab) " };
    let typed = if runs { "" } else { typed.input };
    // The end of a long command is seen.
    let room = (input.width as usize).saturating_sub(prompt.len() + 1);
    let hidden = typed.chars().count().saturating_sub(room);
    let shown: String = typed.chars().skip(hidden).collect();
    let width = prompt.len() + shown.chars().count();
    frame.render_widget(Paragraph::new(format!("{prompt}{shown}")), input);
    if !runs {
        frame.set_cursor_position((input.x + width as u16, input.y));
    }
    let dim = Style::new().add_modifier(Modifier::DIM);
    frame.render_widget(Paragraph::new(KEYS).style(dim), keys);
}

fn titled(title: &str) -> Block<'_> {
    Block::new().borders(ratatui::widgets::Borders::TOP).title(title)
}

fn draw_program(frame: &mut Frame<'_>, view: &View, area: Rect) {
    let height = area.height.saturating_sub(1) as usize;
    let most = view.lines.len().saturating_sub(height);
    let first = view.middle.saturating_sub(height / 2).min(most);
    let shown = view.lines.iter().skip(first).take(height);
    let wide = shown.clone().map(|line| line.number.len()).max().unwrap_or(0);
    let lines = shown.map(|line| {
        let sign = if line.here { "=>" } else { "  " };
        let stop = if line.stops { "b" } else { " " };
        let text = format!("{sign}{stop}{:>wide$}  {}", line.number, line.text);
        let style = match (line.here, line.stops) {
            (true, _) => Style::new().fg(Color::Yellow).add_modifier(Modifier::BOLD),
            (_, true) => Style::new().fg(Color::Red),
            _ => Style::new(),
        };
        Line::styled(text, style)
    });
    let lines: Vec<Line<'_>> = lines.collect();
    frame.render_widget(Paragraph::new(lines).block(titled(&view.program)), area);
}

/// The colour of a letter that says what a lane does.
fn colour(letter: char) -> Color {
    match letter {
        '#' => Color::Green,
        '-' => Color::Yellow,
        '.' => Color::Red,
        'w' => Color::Blue,
        _ => Color::DarkGray,
    }
}

fn draw_lanes(frame: &mut Frame<'_>, view: &View, area: Rect) {
    let line = |(index, text): (usize, &String)| {
        let warp = text.trim_start_matches(['*', ' ']).starts_with("warp");
        // Behind the number of a warp stand its lanes.
        let split = text.char_indices().nth(11).map_or(text.len(), |(at, _)| at);
        match warp && index > 0 {
            false => Line::raw(text.clone()),
            true => {
                let (name, lanes) = text.split_at(split);
                let lane = |c: char| Span::styled(c.to_string(), Style::new().fg(colour(c)));
                let name = Span::raw(name.to_owned());
                Line::from_iter(std::iter::once(name).chain(lanes.chars().map(lane)))
            }
        }
    };
    let lines: Vec<Line<'_>> = view.lanes.iter().enumerate().map(line).collect();
    frame.render_widget(Paragraph::new(lines).block(titled("lanes")), area);
}

fn draw_rows(frame: &mut Frame<'_>, view: &View, area: Rect) {
    let line = |text: &String| match text.starts_with('*') {
        true => Line::styled(text.clone(), Style::new().fg(Color::Yellow)),
        false => Line::raw(text.clone()),
    };
    let lines: Vec<Line<'_>> = view.rows.iter().map(line).collect();
    frame.render_widget(Paragraph::new(lines).block(titled(&view.pane)), area);
}

fn draw_answers(frame: &mut Frame<'_>, typed: &Typed<'_>, area: Rect) {
    let height = area.height.saturating_sub(1) as usize;
    let last = typed.answers.len().saturating_sub(typed.scrolled);
    let first = last.saturating_sub(height);
    let lines: Vec<Line<'_>> =
        typed.answers.range(first..last).map(|text| Line::raw(text.as_str())).collect();
    frame.render_widget(Paragraph::new(lines).block(titled("answers")), area);
}

#[cfg(test)]
mod tests {
    use super::*;
    use debug::ProgramLine;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

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
            let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("a terminal");
            terminal.draw(|frame| draw(frame, &view, &typed)).expect("drawn");
            // The backend has no text of a terminal without columns.
            if (20..60).contains(&width) && height > 0 {
                let text = terminal.backend().to_string();
                assert!(text.contains("the terminal is"), "{text}");
            }
        }
    }
}
