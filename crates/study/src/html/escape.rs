//! Escaping of text and JSON for the page.

use serde_json::Value;

/// Escapes text for use between tags or in a quoted attribute. Control characters that HTML does
/// not allow become U+FFFD.
pub(crate) fn text(raw: &str) -> String {
    let mut out = String::with_capacity(raw.len());
    for c in raw.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\t' => out.push_str("    "),
            c if c.is_control() && c != '\n' => out.push('\u{fffd}'),
            // Bidirectional control characters could make a listing misleading.
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// Escapes JSON for use inside a `script` element. The result has no markup characters and parses
/// to the same value.
pub(crate) fn json(value: &Value) -> String {
    let raw = value.to_string();
    let mut out = String::with_capacity(raw.len());
    for c in raw.chars() {
        match c {
            // These characters occur only inside strings.
            '<' => out.push_str("\\u003c"),
            '>' => out.push_str("\\u003e"),
            '&' => out.push_str("\\u0026"),
            '\u{2028}' => out.push_str("\\u2028"),
            '\u{2029}' => out.push_str("\\u2029"),
            c => out.push(c),
        }
    }
    out
}

/// Formats a count with thin spaces between groups of three digits.
pub(crate) fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push('\u{202f}');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn markup_in_text_is_text() {
        assert_eq!(
            text("</script><b a=\"x\">&'"),
            "&lt;/script&gt;&lt;b a=&quot;x&quot;&gt;&amp;&#39;"
        );
        assert_eq!(text("a\u{0}b\u{202e}c\td"), "a\u{fffd}b\u{fffd}c    d");
    }

    #[test]
    fn embedded_json_holds_no_markup_and_reads_as_before() {
        let value = json!({ "</script>": "<!-- & \u{2028}\u{2029} ]]>", "n": 1.5 });
        let text = json(&value);
        assert!(!text.contains(['<', '>', '&', '\u{2028}', '\u{2029}']), "{text}");
        assert_eq!(serde_json::from_str::<Value>(&text).expect("is JSON"), value);
    }

    #[test]
    fn counts_are_grouped_by_three() {
        let flat = |n| grouped(n).replace('\u{202f}', " ");
        assert_eq!(
            [flat(0), flat(999), flat(1000), flat(1_234_567)],
            ["0", "999", "1 000", "1 234 567"]
        );
    }
}
