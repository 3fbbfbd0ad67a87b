//! What all pages have: the head of the document, and sections.

use std::fmt::Write as _;

const STYLE: &str = include_str!("report.css");

/// Begins a page whose content security policy is `policy`, up to the beginning of its body. The
/// title is text of HTML.
pub(crate) fn begin(out: &mut String, policy: &str, title: &str) {
    let _ = write!(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n"
    );
}

/// Writes a section with its heading.
pub(crate) fn section(out: &mut String, id: &str, title: &str, body: &str) {
    let _ = write!(
        out,
        "<section id=\"{id}\" aria-labelledby=\"h-{id}\">\n\
         <h2 id=\"h-{id}\">{title}</h2>\n{body}</section>\n"
    );
}
