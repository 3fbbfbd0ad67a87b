//! "Did you mean": the known name nearest to one that is not known.

/// Names looked at, so that a text full of unknown names costs little for each.
const MOST_NAMES: usize = 5000;
/// Longer names are not compared.
const LONGEST: usize = 64;

/// The name nearest to `wrong` in edits (insert, delete, replace, swap neighbours), if it is near:
/// at most one edit for every three characters, and some character the same. Of equally near ones
/// the first.
#[must_use]
pub fn nearest<'a>(wrong: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wrong: Vec<char> = wrong.chars().take(LONGEST + 1).collect();
    if wrong.len() > LONGEST {
        return None;
    }
    let most = wrong.len().div_ceil(3);
    let near = |name: &&str| name.len().abs_diff(wrong.len()) <= most;
    let candidates = names.into_iter().take(MOST_NAMES).filter(near);
    let scored = candidates.map(|name| (distance(&wrong, &name.chars().collect::<Vec<_>>()), name));
    let alike =
        |&(edits, name): &(usize, &str)| edits <= most && edits < name.len().max(wrong.len());
    scored.filter(alike).min_by_key(|&(edits, _)| edits).map(|(_, name)| name)
}

/// Edits between two texts, upper and lower case the same.
fn distance(a: &[char], b: &[char]) -> usize {
    let same = |i: usize, j: usize| a[i].eq_ignore_ascii_case(&b[j]);
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 0..a.len() {
        let mut row = vec![i + 1];
        for j in 0..b.len() {
            let replace = last[j] + usize::from(!same(i, j));
            let mut least = replace.min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && same(i, j - 1) && same(i - 1, j) {
                least = least.min(before_last[j - 1] + 1);
            }
            row.push(least);
        }
        before_last = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_only() {
        let names = ["add", "addi", "sub", "branch"];
        assert_eq!(nearest("adi", names), Some("add"));
        assert_eq!(nearest("addii", names), Some("addi"));
        assert_eq!(nearest("brnach", names), Some("branch"));
        assert_eq!(nearest("SUB", names), Some("sub"));
        assert_eq!(nearest("xyz", names), None);
        assert_eq!(nearest("y", ["x", "xy"]), Some("xy"));
        assert_eq!(nearest("y", ["x"]), None);
        assert_eq!(nearest(&"x".repeat(100_000), names), None);
    }
}
