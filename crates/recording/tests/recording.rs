//! Recordings that are damaged, cut, or made to do harm are refused with a place or a name; others
//! come back as they were.

use std::collections::BTreeMap;
use std::path::{Component, Path};

use debug::{Change, LanePlace, LaunchRecord};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use proptest::sample::select;
use recording::{MOST_ITEMS, OPTIONS, Recording, RecordingError};

fn lane() -> impl Strategy<Value = LanePlace> {
    (any::<u64>(), any::<u32>(), any::<u32>()).prop_map(|(block, warp, lane)| LanePlace {
        block,
        warp,
        lane,
    })
}

fn change() -> impl Strategy<Value = Change> {
    let commands = ["set %r1 = 5", "set [out]:f32 = 1.5", "allocate \"x\u{7}\" 16", "set mask=3"];
    (0usize..9, any::<u64>(), lane(), select(commands.to_vec())).prop_map(
        |(branch, position, focus, command)| Change {
            branch,
            position,
            focus,
            command: command.to_owned(),
        },
    )
}

fn launch() -> impl Strategy<Value = LaunchRecord> {
    let word = prop::option::of("[a-z-]{1,12}");
    let place = (0usize..9, any::<u64>(), lane(), any::<u64>());
    (vec(change(), 0..4), place, word.clone(), word).prop_map(
        |(changes, (branch, position, focus, digest), again, ended)| LaunchRecord {
            changes,
            branch,
            position,
            focus,
            digest,
            again,
            ended,
        },
    )
}

/// A recording whose target is `k.ptx`.
fn recordings() -> impl Strategy<Value = Recording> {
    let contents = prop_oneof![
        any::<String>().prop_map(String::into_bytes),
        vec(any::<u8>(), 0..60),
        Just(b"</script><script>".to_vec()),
    ];
    let files = btree_map("[a-z]{1,6}(/[a-z0-9.]{1,6}x){0,2}", contents.clone(), 0..4);
    let option = (select(&OPTIONS[..]), "[a-z0-9=,.\\[\\]]{0,12}");
    let option = option.prop_map(|(name, value)| match name {
        "--option" => format!("{name}=seed={value}"),
        // Its value is a file of the recording.
        "--table" => format!("{name}={{{{k.ptx}}}}"),
        _ => format!("{name}={value}"),
    });
    (files, contents, vec(option, 0..5), vec(launch(), 0..3)).prop_map(
        |(mut files, program, options, launches)| {
            files.insert("k.ptx".to_owned(), program);
            let words = std::iter::once("{{k.ptx}}".to_owned()).chain(options).collect();
            Recording { words, files, launches }
        },
    )
}

/// A text that says where it is wrong.
fn refused(text: &str) -> Result<Option<Recording>, TestCaseError> {
    match Recording::from_json(text) {
        Ok(recording) => Ok(Some(recording)),
        Err(error) => {
            if let RecordingError::Json { line, message, .. } = &error {
                let lines = text.lines().count().max(1) + 1;
                prop_assert!(*line <= lines && !message.is_empty(), "{error}");
            }
            prop_assert!(!error.to_string().is_empty());
            Ok(None)
        }
    }
}

/// What always holds of a recording that was read.
fn harmless(recording: &Recording) -> Result<(), TestCaseError> {
    for name in recording.files.keys() {
        let mut parts = Path::new(name).components();
        prop_assert!(parts.all(|part| matches!(part, Component::Normal(_))), "{name}");
    }
    for change in recording.launches.iter().flat_map(|launch| &launch.changes) {
        prop_assert!(debug::changes(&change.command), "{change:?}");
    }
    let again = Recording::from_json(&recording.to_json());
    prop_assert_eq!(again.as_ref(), Ok(recording));
    Ok(())
}

/// `SIMTLAB_FUZZ_COUNT` damaged texts; hundreds by default.
fn config() -> ProptestConfig {
    let count = std::env::var("SIMTLAB_FUZZ_COUNT").ok().and_then(|text| text.parse().ok());
    ProptestConfig {
        cases: count.unwrap_or(300),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn recordings_come_back(recording in recordings()) {
        let read = Recording::from_json(&recording.to_json());
        prop_assert_eq!(read.as_ref(), Ok(&recording));
        let page = recording.put_into("<html><body>text</body></html>");
        prop_assert_eq!(Recording::from_page(&page), Ok(recording));
    }

    #[test]
    fn cut_recordings_are_refused(recording in recordings(), part in 0.0..1.0f64) {
        let text = recording.to_json();
        // All but the last newline is needed.
        let end = (part * (text.len() - 2) as f64) as usize;
        let end = (0..=end).rev().find(|&end| text.is_char_boundary(end)).unwrap_or(0);
        prop_assert_eq!(refused(&text[..end])?, None);
    }

    #[test]
    fn damaged_recordings_are_refused_or_harmless(
        recording in recordings(),
        edits in vec((any::<prop::sample::Index>(), any::<u8>(), 0..4u8), 1..6),
    ) {
        let mut bytes = recording.to_json().into_bytes();
        for (index, byte, kind) in edits {
            let at = index.index(bytes.len().max(1));
            match kind {
                0 => bytes[at] = byte & 0x7f,
                1 => bytes[at] ^= 1 << (byte % 7),
                2 => { bytes.remove(at); }
                // A part of it twice: keys come again, lists grow.
                _ => {
                    let part = bytes[at..bytes.len().min(at + usize::from(byte))].to_vec();
                    bytes.splice(at..at, part);
                }
            }
            if bytes.is_empty() {
                break;
            }
        }
        // Files that are not text are refused before they come here.
        let text = String::from_utf8_lossy(&bytes);
        if let Some(recording) = refused(&text)? {
            harmless(&recording)?;
        }
        if let Ok(recording) = Recording::from_page(&text) {
            harmless(&recording)?;
        }
    }
}

fn error(recording: &Recording) -> String {
    Recording::from_json(&recording.to_json()).expect_err("it is refused").to_string()
}

fn plain() -> Recording {
    let files = BTreeMap::from([("k.ptx".to_owned(), Vec::new())]);
    Recording {
        words: vec!["{{k.ptx}}".to_owned()],
        files,
        launches: vec![LaunchRecord::default()],
    }
}

/// Whoever opens a recording of somebody else gets the launches and nothing more.
#[test]
fn recordings_write_and_read_nothing_of_their_own() {
    assert_eq!(Recording::from_json(&plain().to_json()), Ok(plain()));
    for (words, said) in [
        (vec!["/etc/passwd"], "word 0 of the command line, `/etc/passwd`, names no file"),
        (vec!["{{other.ptx}}"], "names no file of the recording"),
        (vec!["{{k.ptx}}/../x"], "names no file of the recording"),
        (vec!["{{k.ptx}}", "--script=x"], "is no option of a recording"),
        (vec!["{{k.ptx}}", "--record=x"], "is no option of a recording"),
        (vec!["{{k.ptx}}", "more.ptx"], "is no option with a value"),
        (vec!["{{k.ptx}}", "--arg=x=@/etc/passwd"], "reads a file outside of the recording"),
        (vec!["{{k.ptx}}", "--table=/etc/passwd"], "reads a file outside of the recording"),
        (vec!["{{k.ptx}}", "--option=table=/etc/passwd"], "reads a file outside of the recording"),
        (vec!["{{k.ptx}}", "--option=vcd=/tmp/x"], "writes a file"),
        (vec!["{{k.ptx}}", "--option=input=@/etc/passwd"], "reads a file outside"),
        (vec!["{{k.ptx}}", "--option=params=/etc/passwd"], "reads a file outside"),
        (vec![], "word 0 of the command line, ``, is missing"),
    ] {
        let words = words.into_iter().map(str::to_owned).collect();
        let text = error(&Recording { words, ..plain() });
        assert!(text.contains(said), "{said}: {text}");
    }
    let words = ["{{k.ptx}}", "--arg=x=@{{k.ptx}}", "--option=input=a@b", "--kernel=a@b"];
    let words = words.map(str::to_owned).into();
    let fine = Recording { words, ..plain() };
    assert_eq!(Recording::from_json(&fine.to_json()), Ok(fine));
    for name in ["", "/etc/x", "../x", "a/../../x", "a/./b/../x", "nul\0"] {
        let files = BTreeMap::from([(name.to_owned(), Vec::new()), ("k.ptx".to_owned(), vec![])]);
        let text = error(&Recording { files, ..plain() });
        assert!(text.contains("lies outside of the recording"), "{name:?}: {text}");
    }
    for command in ["log /tmp/x", "quit", "continue", "", "set-mask 3", "branch 0"] {
        let mut bad = plain();
        let change = Change {
            branch: 0,
            position: 3,
            focus: LanePlace::default(),
            command: command.to_owned(),
        };
        bad.launches[0].changes = vec![change];
        let text = error(&bad);
        assert!(text.starts_with("change 0 of launch 0, `"), "{command}: {text}");
    }
}

/// The place is that of what is wrong.
#[test]
fn errors_have_places() {
    let text = plain().to_json();
    for (from, to, said) in [
        ("\"words\"", "\"letters\"", "missing field `words`"),
        ("{\n", "\n", "line 2, column "),
        ("\"branch\": 0", "\"branch\": -1", "line 14, column "),
        ("\"digest\": \"0", "\"digest\": \"g", "it is no number of 16 hexadecimal digits"),
        ("\"text\": \"\"", "\"hex\": \"0\"", "it is no pairs of hexadecimal digits"),
        ("\"text\": \"\"", "\"hex\": \"0é\"", "it is no pairs of hexadecimal digits"),
        ("recording\": 1", "recording\": 9", "version 9 of recordings is not known"),
        ("simtlab_recording", "other", "it is no recording: it has no `simtlab_recording`"),
    ] {
        assert!(text.contains(from), "{from}: {text}");
        let error = Recording::from_json(&text.replacen(from, to, 1)).expect_err(from).to_string();
        assert!(error.contains(said), "{said}: {error}");
    }
    assert_eq!(Recording::from_page("<html></html>"), Err(RecordingError::Page));
}

/// Neither depth nor length exhausts the stack or memory.
#[test]
fn large_texts_are_refused_early() {
    let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(matches!(Recording::from_json(&deep), Err(RecordingError::Json { .. })));
    let head = "{\"simtlab_recording\": 1, \"files\": {}, \"launches\": [], \"words\": [";
    let deep = format!("{head}{deep}]}}");
    assert!(matches!(Recording::from_json(&deep), Err(RecordingError::Json { .. })));
    let many = format!("{head}{}\"\"]}}", "\"\",".repeat(MOST_ITEMS));
    let error = Recording::from_json(&many).expect_err("too many").to_string();
    assert!(error.contains("a list of at most 65536"), "{error}");
    let twice =
        plain().to_json().replace("\"files\": {", "\"files\": {\"k.ptx\": {\"text\": \"\"},");
    let error = Recording::from_json(&twice).expect_err("twice").to_string();
    assert!(error.contains("the file `k.ptx` comes twice"), "{error}");
}
