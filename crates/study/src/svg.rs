//! Pictures as SVG text. Text of users reaches a picture only through [`escape`]. Places are in
//! pixels, from the upper left corner.

use std::fmt::Write as _;

/// A plot: the name of its file, its title, and the SVG.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plot {
    /// The name without extension.
    pub name: &'static str,
    /// What it shows, in one line.
    pub title: String,
    /// The picture.
    pub svg: String,
}

/// Colours that are told apart with any colour vision (Okabe and Ito, 2008), then darker ones.
const COLOURS: [&str; 16] = [
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000", "#8c6d00",
    "#004b75", "#8c3e00", "#00664b", "#854c6c", "#2e7497", "#96690a", "#666666", "#b8a000",
];

/// Forms of marks.
const MARKS: [&str; 6] = ["circle", "square", "triangle", "diamond", "cross", "plus"];

const STYLE: &str = "text{font:12px system-ui,sans-serif;fill:#222}.title{font-weight:600;font-size:14px}.small{font-size:10px;fill:#444}\
.grid{stroke:#ddd}.axis{stroke:#666;stroke-dasharray:3 3}.ok{fill:#e7f2ec}.hang{fill:#d55e00}.order{fill:#f0e0a0}.racy{fill:#cbb7d6}\
.fault,.error{fill:#222}.unsound{fill:#e69f00}.none{fill:#eee}.on-dark{fill:#fff}.frame{fill:none;stroke:#ccc}";

/// A picture that is being drawn.
#[derive(Debug)]
pub struct Svg {
    out: String,
}

/// Returns the colour of a series.
#[must_use]
pub fn colour(index: usize) -> &'static str {
    COLOURS[index % COLOURS.len()]
}

/// Returns the mark of a series.
#[must_use]
pub fn mark(index: usize) -> &'static str {
    MARKS[index % MARKS.len()]
}

/// Escapes text for elements and attributes.
#[must_use]
pub fn escape(text: &str) -> String {
    crate::html::escape::text(text)
}

/// A place or a size: x and y.
pub type Point = (f64, f64);

impl Svg {
    /// Begins a picture of a size, with its title.
    #[must_use]
    pub fn new(width: f64, height: f64, title: &str) -> Self {
        let mut out = String::new();
        let title = escape(title);
        let _ = write!(
            out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" height=\"{height:.0}\" role=\"img\" aria-label=\"{title}\">\n\
             <style>{STYLE}</style>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n<text class=\"title\" x=\"12\" y=\"22\">{title}</text>\n"
        );
        Self { out }
    }

    /// Ends the picture, and returns its text.
    #[must_use]
    pub fn finish(mut self) -> String {
        self.out.push_str("</svg>\n");
        self.out
    }

    /// Draws a line of a class of the style: `grid` or `axis`.
    pub fn line(&mut self, a: Point, b: Point, class: &str) {
        let ((ax, ay), (bx, by)) = (a, b);
        let _ = writeln!(
            self.out,
            "<line class=\"{class}\" x1=\"{ax:.1}\" y1=\"{ay:.1}\" x2=\"{bx:.1}\" y2=\"{by:.1}\"/>"
        );
    }

    /// Writes text with an anchor: `start`, `middle` or `end`.
    pub fn text(&mut self, (x, y): Point, anchor: &str, text: &str) {
        let text = escape(text);
        let _ = writeln!(
            self.out,
            "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{text}</text>"
        );
    }

    /// Writes small text.
    pub fn small(&mut self, (x, y): Point, text: &str) {
        let text = escape(text);
        let _ = writeln!(self.out, "<text class=\"small\" x=\"{x:.1}\" y=\"{y:.1}\">{text}</text>");
    }

    /// Writes text that rises to the right.
    pub fn slanted(&mut self, (x, y): Point, text: &str) {
        let text = escape(text);
        let _ = writeln!(
            self.out,
            "<text x=\"{x:.1}\" y=\"{y:.1}\" transform=\"rotate(-55 {x:.1} {y:.1})\">{text}</text>"
        );
    }

    /// Draws a line through points.
    pub fn path(&mut self, points: &[Point], colour: &str) {
        let text: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let _ = writeln!(
            self.out,
            "<polyline fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.5\" points=\"{}\"/>",
            text.join(" ")
        );
    }

    /// Draws a mark of a series, with a label.
    pub fn mark(&mut self, (x, y): Point, mark: &str, colour: &str, label: &str) {
        let label = escape(label);
        let path = match mark {
            "square" => format!("M{:.1} {:.1}h8v8h-8z", x - 4.0, y - 4.0),
            "triangle" => format!("M{x:.1} {:.1}l4.5 8h-9z", y - 5.0),
            "diamond" => format!("M{x:.1} {:.1}l5 5-5 5-5-5z", y - 5.0),
            "cross" => format!("M{:.1} {:.1}l8 8m0-8l-8 8", x - 4.0, y - 4.0),
            "plus" => format!("M{x:.1} {:.1}v10m-5-5h10", y - 5.0),
            _ => format!("M{:.1} {y:.1}a4 4 0 1 0 8 0a4 4 0 1 0-8 0", x - 4.0),
        };
        let fill = if matches!(mark, "cross" | "plus") { "none" } else { colour };
        let _ = writeln!(
            self.out,
            "<path d=\"{path}\" fill=\"{fill}\" stroke=\"{colour}\" stroke-width=\"1.5\"><title>{label}</title></path>"
        );
    }

    /// Draws a rectangle with a label.
    pub fn rect(&mut self, (x, y): Point, (w, h): Point, colour: &str, label: &str) {
        let (label, w) = (escape(label), w.max(0.5));
        let _ = writeln!(
            self.out,
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{w:.1}\" height=\"{h:.1}\" fill=\"{colour}\"><title>{label}</title></rect>"
        );
    }

    /// Draws a square cell of a class, with a sign and a label.
    pub fn cell(&mut self, (x, y): Point, size: f64, class: &str, sign: &str, label: &str) {
        let (label, sign) = (escape(label), escape(sign));
        let dark = matches!(class, "hang" | "fault" | "error");
        let ink = if dark { " class=\"on-dark\"" } else { "" };
        let (tx, ty) = (x + size / 2.0, y + size * 0.72);
        let _ = writeln!(
            self.out,
            "<g><rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{size:.1}\" height=\"{size:.1}\"/><text{ink} x=\"{tx:.1}\" y=\"{ty:.1}\" text-anchor=\"middle\">{sign}</text><title>{label}</title></g>"
        );
    }

    /// Draws a value from 0 to 100 as a shade, with the number.
    pub fn shade(&mut self, (x, y): Point, (w, h): Point, percent: f64, label: &str) {
        let label = escape(label);
        let share = (percent / 100.0).clamp(0.0, 1.0);
        let channel = |full: f64, none: f64| none + (full - none) * share;
        let (r, g, b) = (channel(0.0, 250.0), channel(90.0, 250.0), channel(150.0, 245.0));
        let ink = if share > 0.5 { " on-dark" } else { "" };
        let (tx, ty) = (x + w / 2.0, y + h * 0.72);
        let _ = writeln!(
            self.out,
            "<g><rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{w:.1}\" height=\"{h:.1}\" fill=\"rgb({r:.0},{g:.0},{b:.0})\"/><text class=\"small{ink}\" x=\"{tx:.1}\" y=\"{ty:.1}\" text-anchor=\"middle\">{percent:.0}</text><title>{label}</title></g>"
        );
    }
    /// Fills an area, given as the data of an SVG path, at an opacity from 0 to 1.
    pub fn area(&mut self, path: &str, opacity: f64, colour: &str) {
        let _ = writeln!(
            self.out,
            "<path d=\"{path}\" fill=\"{colour}\" fill-opacity=\"{opacity:.2}\"/>"
        );
    }

    /// Draws an empty rectangle with a label.
    pub fn frame(&mut self, (x, y): Point, (w, h): Point, label: &str) {
        let label = escape(label);
        let _ = writeln!(
            self.out,
            "<rect class=\"frame\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{w:.1}\" height=\"{h:.1}\"><title>{label}</title></rect>"
        );
    }
}
