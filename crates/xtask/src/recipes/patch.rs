//! Patches without line numbers, as CONTRIBUTING.md has them.
//!
//! `--- PATH` begins the changes of a file and `+++ PATH` a new file; what follows the path is a
//! remark. `@@` begins another place of the same file. Of the lines of a place, those with `+` are
//! added, those with `-` removed, and those with a space are in the file already; what is in the
//! file must be there once, in consecutive lines.

use anyhow::{Result, bail, ensure};

/// The change of one file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Change {
    /// From the repository's root.
    pub(super) path: String,
    is_new: bool,
    places: Vec<Place>,
}

/// One place of a change: lines before and after it.
#[derive(Debug, Default, PartialEq, Eq)]
struct Place {
    old: Vec<String>,
    new: Vec<String>,
    added: usize,
}

/// Reads the changes of a block.
pub(super) fn changes(block: &[&str]) -> Result<Vec<Change>> {
    let mut changes: Vec<Change> = Vec::new();
    for line in block {
        let head = ["--- ", "+++ "].into_iter().find_map(|mark| {
            let rest = line.strip_prefix(mark)?;
            Some((rest.split(' ').next().unwrap_or(rest), mark == "+++ "))
        });
        if let Some((path, is_new)) = head {
            let places = vec![Place::default()];
            changes.push(Change { path: path.to_owned(), is_new, places });
            continue;
        }
        let Some(change) = changes.last_mut() else { bail!("no file is named before: {line}") };
        if *line == "@@" {
            change.places.push(Place::default());
            continue;
        }
        let Some(place) = change.places.last_mut() else { continue };
        let text = |mark: char| line.strip_prefix(mark).map(str::to_owned);
        match (text('+'), text('-'), text(' ')) {
            (Some(added), ..) => {
                place.new.push(added);
                place.added += 1;
            }
            (_, Some(removed), _) => place.old.push(removed),
            (.., Some(kept)) => {
                place.old.push(kept.clone());
                place.new.push(kept);
            }
            _ => bail!("{}: neither added nor removed nor there: {line}", change.path),
        }
    }
    Ok(changes)
}

impl Change {
    /// Lines that it adds.
    pub(super) fn added(&self) -> usize {
        self.places.iter().map(|place| place.added).sum()
    }

    /// Returns the text of the changed file.
    pub(super) fn apply(&self, old: Option<&str>) -> Result<String> {
        let path = &self.path;
        ensure!(self.is_new == old.is_none(), "{path} is there already, or is not there");
        let mut lines: Vec<String> = old.unwrap_or_default().lines().map(str::to_owned).collect();
        for place in &self.places {
            if self.is_new {
                lines.extend(place.new.iter().cloned());
                continue;
            }
            let count = place.old.len();
            ensure!(count > 0, "{path}: a place without a line that is there");
            let mut found = (0..=lines.len().saturating_sub(count))
                .filter(|&at| lines.get(at..at + count) == Some(&*place.old));
            let (first, second) = (found.next(), found.next());
            let text = || place.old.join("\n");
            let Some(at) = first else { bail!("{path} does not have\n{}", text()) };
            ensure!(second.is_none(), "{path} has more than once\n{}", text());
            lines.splice(at..at + count, place.new.iter().cloned());
        }
        Ok(lines.join("\n") + "\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_found_and_changed() {
        let block = ["--- a.rs (why)", " two", "+new", "-three", "@@", "-four", "+4"];
        let found = changes(&block).expect("a patch");
        assert_eq!((found.len(), found[0].added(), &*found[0].path), (1, 2, "a.rs"));
        let text = found[0].apply(Some("one\ntwo\nthree\nfour\n")).expect("it applies");
        assert_eq!(text, "one\ntwo\nnew\n4\n");
        for wrong in [None, Some("one\n"), Some("two\nthree\ntwo\nthree\nfour\n")] {
            assert!(found[0].apply(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn new_files_are_not_there_before() {
        let found = changes(&["+++ b.ptx", "+one", "+", "+two"]).expect("a patch");
        assert_eq!(found[0].apply(None).expect("it applies"), "one\n\ntwo\n");
        assert!(found[0].apply(Some("")).is_err());
        assert!(changes(&["+one"]).is_err() && changes(&["--- a", "one"]).is_err());
    }
}
