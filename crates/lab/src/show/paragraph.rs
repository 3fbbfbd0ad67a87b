//! Text in lines of at most 80 columns.

/// Appends text in lines of at most 80 columns, indented by two, with `label` before the first.
pub fn paragraph(out: &mut String, label: &str, text: &str) {
    let indent = 2 + label.chars().count();
    let mut line = format!("  {label}");
    let mut empty = true;
    for word in text.split_whitespace() {
        if !empty && line.chars().count() + 1 + word.chars().count() > 80 {
            out.push_str(&line);
            out.push('\n');
            line = " ".repeat(indent);
            empty = true;
        }
        if !empty {
            line.push(' ');
        }
        line.push_str(word);
        empty = false;
    }
    out.push_str(line.trim_end());
    out.push('\n');
}
