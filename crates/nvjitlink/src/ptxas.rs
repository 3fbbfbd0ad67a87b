//! What NVIDIA's assembler does with PTX, as far as programs can tell without a device: it reads
//! options, and refuses texts that are wrong or too new.
//!
//! Options are those of `ptxas --help` of CUDA 13.5 that its library takes, too. None changes what
//! a program computes on the virtual device, so all are checked and none has an effect.

use ir::device::Capability;
use modules::Module;

/// The architectures that CUDA 12 and 13 compile for, in order.
pub(crate) const ARCHITECTURES: [u32; 22] =
    [50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 88, 89, 90, 100, 101, 103, 107, 110, 120, 121];

/// The value that an option has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Value {
    None,
    /// A number of registers.
    Registers,
    /// A number.
    Number,
    /// `true` or `false`.
    Flag,
    Word,
}

/// Options: the long name, the short one, the value.
const OPTIONS: &[(&str, &str, Value)] = &[
    ("Ofast-compile", "Ofc", Value::Word),
    ("allow-expensive-optimizations", "allow-expensive-optimizations", Value::Flag),
    ("apply-controls", "apply-controls", Value::Word),
    ("compile-as-tools-patch", "astoolspatch", Value::None),
    ("compile-only", "c", Value::None),
    ("compiler-annotations", "annotate", Value::None),
    ("def-load-cache", "dlcm", Value::Word),
    ("def-store-cache", "dscm", Value::Word),
    ("device-debug", "g", Value::None),
    ("device-function-maxrregcount", "func-maxrregcount", Value::Registers),
    ("device-stack-protector", "device-stack-protector", Value::Flag),
    ("disable-optimizer-constants", "disable-optimizer-consts", Value::None),
    ("disable-warnings", "w", Value::None),
    ("dont-merge-basicblocks", "no-bb-merge", Value::None),
    ("enable-func-clone-sc", "enable-func-clone-sc", Value::Flag),
    ("entry", "e", Value::Word),
    ("extensible-whole-program", "ewp", Value::None),
    ("fmad", "fmad", Value::Flag),
    ("force-load-cache", "flcm", Value::Word),
    ("force-store-cache", "fscm", Value::Word),
    ("g-tensor-memory-access-check", "g-tmem-access-check", Value::None),
    ("generate-line-info", "lineinfo", Value::None),
    ("gno-fabric-access-check", "gno-fabric-access-check", Value::None),
    ("gno-tensor-memory-access-check", "gno-tmem-access-check", Value::None),
    ("gpu-name", "arch", Value::Word),
    ("legacy-bar-warp-wide-behavior", "legacy-bar-warp-wide-behavior", Value::None),
    ("machine", "m", Value::Number),
    ("make-errors-visible-at-exit", "make-errors-visible-at-exit", Value::None),
    ("maxntid", "maxntid", Value::Word),
    ("maxrregcount", "maxrregcount", Value::Registers),
    ("minnctapersm", "minnctapersm", Value::Number),
    ("opt-level", "O", Value::Number),
    ("optimize-float-atomics", "opt-fp-atomics", Value::None),
    ("override-directive-values", "override-directive-values", Value::None),
    ("position-independent-code", "pic", Value::Flag),
    ("preserve-relocs", "preserve-relocs", Value::None),
    ("register-usage-level", "regUsageLevel", Value::Number),
    ("return-at-end", "ret-end", Value::None),
    ("sanitize", "sanitize", Value::Word),
    ("sp-bounds-check", "sp-bounds-check", Value::None),
    ("split-compile", "split-compile", Value::Number),
    (
        "suppress-async-bulk-multicast-advisory-warning",
        "suppress-async-bulk-multicast-advisory-warning",
        Value::None,
    ),
    ("suppress-debug-info", "suppress-debug-info", Value::None),
    ("suppress-double-demote-warning", "suppress-double-demote-warning", Value::None),
    (
        "suppress-position-independent-code-warning",
        "suppress-position-independent-code-warning",
        Value::None,
    ),
    ("suppress-sparse-mma-advisory-info", "suppress-sparse-mma-advisory-info", Value::None),
    ("suppress-stack-size-warning", "suppress-stack-size-warning", Value::None),
    ("uumn", "uumn", Value::None),
    ("verbose", "v", Value::None),
    ("warn-on-double-precision-use", "warn-double-usage", Value::None),
    ("warn-on-local-memory-usage", "warn-lmem-usage", Value::None),
    ("warn-on-spills", "warn-spills", Value::None),
    ("warning-as-error", "Werror", Value::None),
];

/// What the options say that matters here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct AssemblerOptions {
    /// The target, as it is written.
    pub(crate) arch: Option<String>,
    /// Names may stay undefined.
    pub(crate) compile_only: bool,
    pub(crate) verbose: bool,
    /// The kernels that are compiled; all if there is none.
    pub(crate) entries: Vec<String>,
}

impl AssemblerOptions {
    /// Reads options. A value follows `=`, or is the next word; that of `-O` follows at once.
    ///
    /// # Errors
    /// Returns the assembler's message.
    pub(crate) fn read(words: &[String]) -> Result<Self, String> {
        let mut found = Self::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let Some(dashed) = word.strip_prefix('-') else {
                return Err(format!("Input file '{word}' could not be opened"));
            };
            let (name, mut value) = match dashed.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (dashed, None),
            };
            let (name, value_kind) = match option(name) {
                Some(known) => known,
                // The level of optimisation may stand right behind its option.
                None if dashed.starts_with('O') => {
                    value = Some(dashed[1..].trim_start());
                    ("opt-level", Value::Number)
                }
                None => return Err(format!("Unknown option '{name}'")),
            };
            if value_kind != Value::None && value.is_none() {
                value = words.next().map(String::as_str);
            }
            check(name, value_kind, value)?;
            found.take(name, value.unwrap_or_default());
        }
        Ok(found)
    }

    fn take(&mut self, name: &str, value: &str) {
        match name {
            "gpu-name" => self.arch = Some(value.to_owned()),
            "compile-only" => self.compile_only = true,
            "verbose" => self.verbose = true,
            "entry" => self.entries.extend(value.split(',').map(str::to_owned)),
            _ => {}
        }
    }
}

/// Returns the long name and the value of an option, by either name. Long names have a second dash.
fn option(name: &str) -> Option<(&'static str, Value)> {
    let found = match name.strip_prefix('-') {
        Some(long) => OPTIONS.iter().find(|row| row.0 == long),
        None => OPTIONS.iter().find(|row| row.1 == name || row.0 == name),
    };
    found.map(|row| (row.0, row.2))
}

fn check(name: &str, kind: Value, value: Option<&str>) -> Result<(), String> {
    let Some(value) = value else {
        let missing = format!("Option '--{name}' requires an argument");
        return if kind == Value::None { Ok(()) } else { Err(missing) };
    };
    let good = match kind {
        Value::None => false,
        Value::Registers => matches!(value, "archmax" | "archmin") || value.parse::<i64>().is_ok(),
        Value::Number => value.trim().parse::<i64>().is_ok(),
        Value::Flag => matches!(value, "true" | "false"),
        Value::Word => true,
    };
    if good { Ok(()) } else { Err(format!("Invalid value '{value}' for option '{name}'")) }
}

/// A target of compilation: `sm_90a`, or `compute_90a` for a virtual one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) number: u32,
    pub(crate) is_virtual: bool,
}

impl Target {
    /// Reads the name of a target. Targets of all generations are read, also unknown ones.
    pub(crate) fn of(name: &str) -> Option<Self> {
        let name = name.trim_end();
        let (number, is_virtual) = match name.strip_prefix("sm_") {
            Some(number) => (number, false),
            None => (name.strip_prefix("compute_")?, true),
        };
        let number = number.strip_suffix(['a', 'f']).unwrap_or(number);
        let digits = number.bytes().all(|b| b.is_ascii_digit());
        Some(Self { number: number.parse().ok().filter(|_| digits)?, is_virtual })
    }

    pub(crate) fn is_known(self) -> bool {
        ARCHITECTURES.contains(&self.number)
    }

    pub(crate) fn capability(self) -> Capability {
        Capability::of_target(self.number)
    }
}

/// Checks that a text can be assembled for a target, before it is linked.
///
/// # Errors
/// Returns the lines that the assembler says.
pub(crate) fn assemble(name: &str, text: &str, target: Target) -> Result<(), String> {
    let header = Module::check_object(name, text).map_err(|findings| {
        let lines = findings.findings.iter().map(|line| format!("ptxas {line}\n"));
        lines.collect::<String>() + "ptxas fatal   : Ptx assembly aborted due to errors\n"
    })?;
    if header.target.is_some_and(|newest| newest > target.capability()) {
        let too_new = "SM version specified by .target is higher than default SM version assumed";
        return Err(fatal(too_new));
    }
    Ok(())
}

/// Returns the line of a message that ends the assembler.
pub(crate) fn fatal(message: &str) -> String {
    format!("ptxas fatal   : {message}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &[&str]) -> Result<AssemblerOptions, String> {
        let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        AssemblerOptions::read(&words)
    }

    #[test]
    fn options_are_read_in_all_forms() {
        for words in [
            &["-arch=sm_80", "-v", "-c"][..],
            &["-arch", "sm_80", "--verbose", "--compile-only", "-O3", "-O", "0", "-O 3"],
            &["--gpu-name=sm_80", "-v", "-c", "--maxrregcount=32", "-maxrregcount", "archmax"],
            &["--gpu-name", "sm_80", "--fmad=true", "-v", "-c", "--opt-level=3", "-e", "k"],
        ] {
            let found = read(words).unwrap();
            assert_eq!(found.arch.as_deref(), Some("sm_80"), "{words:?}");
            assert!(found.verbose && found.compile_only, "{words:?}");
        }
        assert_eq!(read(&["-e=a,b", "--entry=c"]).unwrap().entries, ["a", "b", "c"]);
    }

    #[test]
    fn wrong_options_have_the_message_of_the_assembler() {
        for (words, message) in [
            (&["--foo"][..], "Unknown option '-foo'"),
            (&["--foo=3"], "Unknown option '-foo'"),
            (&["-arch sm_80"], "Unknown option 'arch sm_80'"),
            (&["foo"], "Input file 'foo' could not be opened"),
            (&["-maxrregcount=foo"], "Invalid value 'foo' for option 'maxrregcount'"),
            (&["-v=1"], "Invalid value '1' for option 'verbose'"),
            (&["-O", ""], "Invalid value '' for option 'opt-level'"),
            (&["-arch"], "Option '--gpu-name' requires an argument"),
            (&["--O3"], "Unknown option '-O3'"),
        ] {
            assert_eq!(read(words), Err(message.to_owned()), "{words:?}");
        }
    }

    #[test]
    fn targets_are_read_by_name() {
        let target = |name| Target::of(name).map(|t| (t.number, t.is_virtual));
        assert_eq!(target("sm_80"), Some((80, false)));
        assert_eq!(target("sm_90a"), Some((90, false)));
        assert_eq!(target("sm_120f "), Some((120, false)));
        assert_eq!(target("compute_75"), Some((75, true)));
        for name in ["", "sm_", "sm_8x", "SM_80", "sm_+80", "80", "sm_99999999999", "sm_80af"] {
            assert_eq!(target(name), None, "{name}");
        }
    }
}
