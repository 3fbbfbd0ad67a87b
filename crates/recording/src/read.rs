//! Reading: the text's structure, with the place of what is wrong, then what it may say.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use std::path::{Component, Path};

use debug::{Change, LanePlace, LaunchRecord, changes};
use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::error::Category;

use crate::{MOST_ITEMS, OPTIONS, Recording, RecordingError, VERSION};

/// What other texts may have.
#[derive(serde::Deserialize)]
struct Head {
    simtlab_recording: Option<u64>,
}

#[derive(serde::Deserialize)]
struct Document {
    words: Few<String>,
    files: Files,
    launches: Few<Launch>,
}

#[derive(serde::Deserialize)]
struct Launch {
    changes: Few<Edit>,
    branch: usize,
    position: u64,
    focus: (u64, u32, u32),
    digest: Hex64,
    again: Option<String>,
    ended: Option<String>,
}

#[derive(serde::Deserialize)]
struct Edit {
    branch: usize,
    position: u64,
    focus: (u64, u32, u32),
    command: String,
}

/// The contents of a file.
#[derive(serde::Deserialize)]
#[serde(rename_all = "lowercase")]
enum Contents {
    Text(String),
    Hex(HexBytes),
}

/// A list of [`MOST_ITEMS`] at most.
struct Few<T>(Vec<T>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Few<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct List<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for List<T> {
            type Value = Few<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "a list of at most {MOST_ITEMS}")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
                let mut out = Vec::new();
                while let Some(item) = list.next_element()? {
                    if out.len() == MOST_ITEMS {
                        return Err(A::Error::invalid_length(MOST_ITEMS + 1, &self));
                    }
                    out.push(item);
                }
                Ok(Few(out))
            }
        }
        deserializer.deserialize_seq(List(PhantomData))
    }
}

/// Files by their names, each of which comes once.
struct Files(BTreeMap<String, Vec<u8>>);

impl<'de> Deserialize<'de> for Files {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Map;
        impl<'de> Visitor<'de> for Map {
            type Value = Files;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "at most {MOST_ITEMS} files by name")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut out = BTreeMap::new();
                while let Some((name, contents)) = map.next_entry::<String, Contents>()? {
                    if out.len() == MOST_ITEMS {
                        return Err(A::Error::invalid_length(MOST_ITEMS + 1, &self));
                    }
                    if out.contains_key(&name) {
                        return Err(A::Error::custom(format!("the file `{name}` comes twice")));
                    }
                    let bytes = match contents {
                        Contents::Text(text) => text.into_bytes(),
                        Contents::Hex(HexBytes(bytes)) => bytes,
                    };
                    out.insert(name, bytes);
                }
                Ok(Files(out))
            }
        }
        deserializer.deserialize_map(Map)
    }
}

/// Bytes as pairs of hexadecimal digits.
struct HexBytes(Vec<u8>);

impl<'de> Deserialize<'de> for HexBytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let digit = |byte: u8| char::from(byte).to_digit(16);
        let pair = |pair: &[u8]| match *pair {
            [high, low] => Some((digit(high)? * 16 + digit(low)?) as u8),
            _ => None,
        };
        let bytes: Option<Vec<u8>> = text.as_bytes().chunks(2).map(pair).collect();
        bytes.map(HexBytes).ok_or_else(|| D::Error::custom("it is no pairs of hexadecimal digits"))
    }
}

/// A number of 64 bits in hexadecimal digits.
struct Hex64(u64);

impl<'de> Deserialize<'de> for Hex64 {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let number = u64::from_str_radix(&text, 16);
        number.map(Hex64).map_err(|_| D::Error::custom("it is no number of 16 hexadecimal digits"))
    }
}

/// Reads the text of a recording.
pub(crate) fn recording(text: &str) -> Result<Recording, RecordingError> {
    let head: Head = parsed(text, "")?;
    match head.simtlab_recording {
        Some(VERSION) => {}
        Some(other) => return Err(RecordingError::Version(other)),
        None => return Err(RecordingError::Other),
    }
    let document: Document = parsed(text, "the recording: ")?;
    let launches = document.launches.0.into_iter().map(Launch::record).collect();
    let recording = Recording { words: document.words.0, files: document.files.0, launches };
    files(&recording)?;
    words(&recording)?;
    commands(&recording)?;
    Ok(recording)
}

fn parsed<'t, T: Deserialize<'t>>(text: &'t str, of: &str) -> Result<T, RecordingError> {
    serde_json::from_str(text).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        // The message ends with the place, which has a field of its own.
        let message = error.to_string();
        let place = format!(" at line {line} column {column}");
        let message = message.strip_suffix(&place).unwrap_or(&message);
        let of = if error.classify() == Category::Data { of } else { "" };
        RecordingError::Json { line, column, message: format!("{of}{message}") }
    })
}

impl Launch {
    fn record(self) -> LaunchRecord {
        let changes = self.changes.0.into_iter().map(|edit| Change {
            branch: edit.branch,
            position: edit.position,
            focus: lane(edit.focus),
            command: edit.command,
        });
        LaunchRecord {
            changes: changes.collect(),
            branch: self.branch,
            position: self.position,
            focus: lane(self.focus),
            digest: self.digest.0,
            again: self.again,
            ended: self.ended,
        }
    }
}

fn lane((block, warp, lane): (u64, u32, u32)) -> LanePlace {
    LanePlace { block, warp, lane }
}

/// Files lie below the folder into which they are unpacked.
fn files(recording: &Recording) -> Result<(), RecordingError> {
    let inside = |name: &String| {
        let normal = |part: Component<'_>| matches!(part, Component::Normal(_));
        !name.is_empty() && !name.contains('\0') && Path::new(name).components().all(normal)
    };
    match recording.files.keys().find(|name| !inside(name)) {
        Some(name) => Err(RecordingError::Outside(name.clone())),
        None => Ok(()),
    }
}

/// The target is a file of the recording; options choose what runs, and name files of the recording
/// alone.
fn words(recording: &Recording) -> Result<(), RecordingError> {
    let own = |name: &str| {
        let name = name.strip_prefix("{{").and_then(|rest| rest.split_once("}}"));
        name.is_some_and(|(name, _)| recording.files.contains_key(name))
    };
    let wrong = |index: usize, word: &str| -> Option<&'static str> {
        if index == 0 {
            let whole = own(word) && word.ends_with("}}") && word.matches("{{").count() == 1;
            return (!whole).then_some("names no file of the recording");
        }
        let Some((name, value)) = word.split_once('=') else {
            return Some("is no option with a value");
        };
        if !OPTIONS.contains(&name) {
            return Some("is no option of a recording");
        }
        // An option's value may be a file as a whole, an argument's in part.
        let option = (name == "--option").then(|| value.split_once('=')).flatten();
        if matches!(option, Some(("vcd" | "changes", _))) {
            return Some("writes a file");
        }
        let elsewhere = match name {
            "--table" => Some(value),
            "--option" => match option {
                // The values of these are always files.
                Some(("params" | "table", file)) => Some(file),
                Some((_, value)) => value.strip_prefix('@'),
                None => None,
            },
            "--arg" => value.split('@').skip(1).find(|name| !own(name)),
            _ => None,
        };
        let elsewhere = elsewhere.is_some_and(|name| !own(name));
        elsewhere.then_some("reads a file outside of the recording")
    };
    if recording.words.is_empty() {
        let (index, word, why) = (0, String::new(), "is missing");
        return Err(RecordingError::Word { index, word, why });
    }
    for (index, word) in recording.words.iter().enumerate() {
        if let Some(why) = wrong(index, word) {
            return Err(RecordingError::Word { index, word: word.clone(), why });
        }
    }
    Ok(())
}

/// Commands change the launch.
fn commands(recording: &Recording) -> Result<(), RecordingError> {
    for (launch, record) in recording.launches.iter().enumerate() {
        let wrong = |change: &Change| !changes(&change.command);
        if let Some(change) = record.changes.iter().position(wrong) {
            let command = record.changes[change].command.clone();
            let why = "does not change the launch";
            return Err(RecordingError::Change { launch, change, command, why });
        }
    }
    Ok(())
}
