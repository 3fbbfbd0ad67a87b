//! Any text as a recording, or as a page with one: an answer with a place, no panic, hang or
//! growth. What is read is written and read again to the same recording; its files lie below one
//! folder, its command line and its commands do nothing but choose and change launches.

#![no_main]

use std::path::{Component, Path};

use libfuzzer_sys::fuzz_target;
use recording::{OPTIONS, Recording};

fuzz_target!(|text: &str| {
    let read = if text.starts_with('<') { Recording::from_page } else { Recording::from_json };
    let recording = match read(text) {
        Ok(recording) => recording,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    for name in recording.files.keys() {
        let mut parts = Path::new(name).components();
        assert!(parts.all(|part| matches!(part, Component::Normal(_))), "{name}");
    }
    for word in &recording.words[1..] {
        let name = word.split_once('=').map(|(name, _)| name);
        assert!(name.is_some_and(|name| OPTIONS.contains(&name)), "{word}");
    }
    for change in recording.launches.iter().flat_map(|launch| &launch.changes) {
        assert!(debug::changes(&change.command), "{change:?}");
    }
    assert_eq!(Recording::from_json(&recording.to_json()).as_ref(), Ok(&recording));
    let page = recording.put_into("<html><body></body></html>");
    assert_eq!(Recording::from_page(&page), Ok(recording));
});
