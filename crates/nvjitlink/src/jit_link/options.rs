//! The options of a link, as `nvJitLink.h` lists them.

use crate::LinkResult;
use crate::ptxas::{AssemblerOptions, Target};

/// Options without a value.
const FLAGS: [&str; 12] = [
    "-time",
    "-verbose",
    "-lto",
    "-dlto",
    "-ptx",
    "-g",
    "-lineinfo",
    "-optimize-unused-variables",
    "-nvvm-latest",
    "-no-cache",
    "-device-stack-protector",
    "-r",
];

/// Options with a value, which follows at once.
const WITH_VALUE: [&str; 13] = [
    "-arch=",
    "-maxrregcount=",
    "-ftz=",
    "-prec-div=",
    "-prec-sqrt=",
    "-fma=",
    "-kernels-used=",
    "-variables-used=",
    "-Xptxas=",
    "-Xnvvm=",
    "-split-compile=",
    "-split-compile-extended=",
    "-jump-table-density=",
];

/// What the options say that matters here.
#[derive(Clone, Debug)]
pub(crate) struct LinkOptions {
    pub(crate) target: Target,
    pub(crate) lto: bool,
    /// The result is PTX, of LTO-IR alone.
    pub(crate) ptx: bool,
    /// The result is to be linked again.
    pub(crate) relocatable: bool,
    pub(crate) verbose: bool,
    pub(crate) time: bool,
    /// The message of the assembler for wrong options of its own, which each PTX input gets.
    pub(crate) assembler: Result<(), String>,
    /// All options, as they were given.
    pub(crate) words: Vec<String>,
}

/// A refused option: the status, and the text without the end of the line.
type Refusal = (LinkResult, String);

impl LinkOptions {
    /// Reads options.
    ///
    /// # Errors
    /// Returns the status, and the text for the error log.
    pub(crate) fn read(words: Vec<String>) -> Result<Self, Refusal> {
        let mut arch = None;
        for word in &words {
            if let Some(value) = value(word)? {
                arch = Some(target(word, value)?);
            }
        }
        let Some(target) = arch else {
            return Err((LinkResult::ERROR_MISSING_ARCH, String::new()));
        };
        let has = |name: &str| words.iter().any(|word| word == name);
        let (lto, ptx) = (has("-lto") || has("-dlto"), has("-ptx"));
        let incompatible = |text: &str| Err((LinkResult::ERROR_INCOMPATIBLE_OPTIONS, text.into()));
        if ptx && !lto {
            return incompatible("ERROR: -ptx requires -lto");
        }
        if target.is_virtual && !ptx {
            return incompatible("ERROR: virtual arch requires -ptx");
        }
        let assembler = assembler(&words);
        let (relocatable, verbose, time) = (has("-r"), has("-verbose"), has("-time"));
        Ok(Self { target, lto, ptx, relocatable, verbose, time, assembler, words })
    }
}

/// Checks the form of an option, and returns the value of `-arch`.
fn value(word: &str) -> Result<Option<&str>, Refusal> {
    let refused = |text: String| Err((LinkResult::ERROR_UNRECOGNIZED_OPTION, text));
    if let Some(name) = WITH_VALUE.iter().find(|name| word.starts_with(**name)) {
        let value = &word[name.len()..];
        if value.is_empty() {
            return refused(missing(word));
        }
        return Ok((*name == "-arch=").then_some(value));
    }
    if let Some(level) = word.strip_prefix("-Ofc=") {
        if matches!(level, "0" | "min" | "mid" | "max") {
            return Ok(None);
        }
        return refused(format!(
            "unsupported value of --Ofast-compile (-Ofc): {level}. Only 0, min, mid, and max are \
             supported."
        ));
    }
    match word.strip_prefix("-O") {
        Some("0" | "3") => return Ok(None),
        Some(level) if !level.is_empty() && level.bytes().all(|b| b.is_ascii_digit()) => {
            return refused(format!(
                "unsupported value of -O: {level}. Only 0 and 3 are supported."
            ));
        }
        _ => {}
    }
    if FLAGS.contains(&word) { Ok(None) } else { refused(format!("unrecognized option: {word}")) }
}

fn missing(word: &str) -> String {
    format!("ERROR NVJITLINK_ERROR_UNRECOGNIZED_OPTION: missing option value ({word})")
}

fn target(word: &str, value: &str) -> Result<Target, Refusal> {
    let target = Target::of(value).ok_or((LinkResult::ERROR_UNRECOGNIZED_OPTION, missing(word)))?;
    if target.is_known() {
        return Ok(target);
    }
    let number = target.number;
    // Older generations than those that CUDA 12 compiles for.
    let (status, what) = match number {
        10..50 => (LinkResult::ERROR_UNSUPPORTED_ARCH, "unsupported"),
        _ => (LinkResult::ERROR_UNRECOGNIZED_ARCH, "unrecognized"),
    };
    Err((status, format!("ERROR {}: {what} architecture (compute_{number})", status.name())))
}

/// Checks the options that the assembler gets.
fn assembler(words: &[String]) -> Result<(), String> {
    let given = words.iter().filter_map(|word| match word.strip_prefix("-Xptxas=") {
        Some(option) => Some(option.to_owned()),
        None => word.starts_with("-maxrregcount=").then(|| word.clone()),
    });
    AssemblerOptions::read(&given.collect::<Vec<String>>()).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &[&str]) -> Result<LinkOptions, (i32, String)> {
        let words = words.iter().map(|&word| word.to_owned()).collect();
        LinkOptions::read(words).map_err(|(status, text)| (status.0, text))
    }

    #[test]
    fn all_options_of_the_header_are_taken() {
        for option in [
            "-maxrregcount=32",
            "-time",
            "-verbose",
            "-lto",
            "-O0",
            "-O3",
            "-Ofc=mid",
            "-g",
            "-lineinfo",
            "-ftz=1",
            "-prec-div=0",
            "-prec-sqrt=0",
            "-fma=1",
            "-kernels-used=k",
            "-variables-used=v",
            "-optimize-unused-variables",
            "-Xptxas=-v",
            "-nvvm-latest",
            "-split-compile=0",
            "-split-compile-extended=2",
            "-jump-table-density=50",
            "-no-cache",
            "-device-stack-protector",
            "-r",
            "-arch=sm_90a",
        ] {
            let found = read(&["-arch=sm_80", option]).unwrap();
            assert_eq!(found.assembler, Ok(()), "{option}");
        }
        let found = read(&["-arch=compute_80", "-ptx", "-dlto"]).unwrap();
        assert!(found.lto && found.ptx && found.target.is_virtual);
    }

    #[test]
    fn refused_options_have_the_status_and_the_words_of_nvidias_library() {
        for (words, status, text) in [
            (&[][..], 2, ""),
            (&["-lto"], 2, ""),
            (&["-arch=sm_80", "-foo"], 1, "unrecognized option: -foo"),
            (&["-arch=sm_80", ""], 1, "unrecognized option: "),
            (&["-arch", "sm_80"], 1, "unrecognized option: -arch"),
            (&["--arch=sm_80"], 1, "unrecognized option: --arch=sm_80"),
            (&["-arch=sm_80", "-O"], 1, "unrecognized option: -O"),
            (&["-arch=sm_80", "-O1"], 1, "unsupported value of -O: 1. Only 0 and 3 are supported."),
            (
                &["-arch=sm_80", "-Ofc=foo"],
                1,
                "unsupported value of --Ofast-compile (-Ofc): foo. Only 0, min, mid, and max are \
                 supported.",
            ),
            (
                &["-arch=foo"],
                1,
                "ERROR NVJITLINK_ERROR_UNRECOGNIZED_OPTION: missing option value (-arch=foo)",
            ),
            (
                &["-arch=sm_80", "-kernels-used="],
                1,
                "ERROR NVJITLINK_ERROR_UNRECOGNIZED_OPTION: missing option value (-kernels-used=)",
            ),
            (
                &["-arch=sm_30"],
                17,
                "ERROR NVJITLINK_ERROR_UNSUPPORTED_ARCH: unsupported architecture (compute_30)",
            ),
            (
                &["-arch=sm_200"],
                16,
                "ERROR NVJITLINK_ERROR_UNRECOGNIZED_ARCH: unrecognized architecture (compute_200)",
            ),
            (&["-arch=sm_80", "-ptx"], 11, "ERROR: -ptx requires -lto"),
            (&["-arch=compute_80"], 11, "ERROR: virtual arch requires -ptx"),
            (&["-arch=compute_80", "-lto"], 11, "ERROR: virtual arch requires -ptx"),
        ] {
            let found = read(words).map(|_| ());
            assert_eq!(found, Err((status, text.to_owned())), "{words:?}");
        }
        let late = read(&["-arch=sm_80", "-Xptxas=-foo"]).unwrap();
        assert_eq!(late.assembler, Err("Unknown option 'foo'".to_owned()));
    }
}
