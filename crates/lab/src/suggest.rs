//! "Did you mean": the known word nearest to one that is not known.

/// The candidate nearest to `word`, if one is near enough to be a likely slip of the fingers.
///
/// Distance counts insertions, deletions, substitutions and swaps of neighbours, ignoring case; a candidate is near
/// enough when at most a third of the longer word differs (one difference is always allowed for words of two or
/// more letters). Of equally near ones the first wins, so the result depends on the order of candidates alone.
#[must_use]
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word: Vec<char> = word.chars().take(MAX_LEN + 1).map(|c| c.to_ascii_lowercase()).collect();
    if word.is_empty() || word.len() > MAX_LEN {
        return None;
    }
    let mut best: Option<(usize, &str)> = None;
    for candidate in candidates {
        let chars: Vec<char> = candidate.chars().map(|c| c.to_ascii_lowercase()).collect();
        let longer = chars.len().max(word.len());
        if longer < 2 || chars.len() > MAX_LEN {
            continue;
        }
        let distance = distance(&word, &chars);
        if distance <= (longer / 3).max(1) && best.is_none_or(|(d, _)| distance < d) {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// Words longer than this are not compared: the work is quadratic in the length.
const MAX_LEN: usize = 64;

/// Optimal string alignment distance.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let same = usize::from(a[i - 1] != b[j - 1]);
            row[j] = (last[j] + 1).min(row[j - 1] + 1).min(last[j - 1] + same);
            let swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if swapped {
                row[j] = row[j].min(before_last[j - 2] + 1);
            }
        }
        before_last = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_recognised_and_strangers_are_not() {
        let words = ["kernel", "grid", "block", "shared", "args"];
        assert_eq!(nearest("kernal", words), Some("kernel"));
        assert_eq!(nearest("gird", words), Some("grid"));
        assert_eq!(nearest("BLOCKS", words), Some("block"));
        assert_eq!(nearest("threads", words), None);
        assert_eq!(nearest("", words), None);
        assert_eq!(nearest(&"k".repeat(1 << 20), words), None);
    }
}
