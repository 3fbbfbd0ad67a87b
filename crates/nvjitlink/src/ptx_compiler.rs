//! NVIDIA's PTX compiler: a text, the image that it becomes, and its logs.

use std::fmt::Write as _;

use modules::Module;

use crate::CompileResult;
use crate::ptxas::{self, ARCHITECTURES, AssemblerOptions, Target, fatal};

/// The outcome of a call.
pub(crate) type Outcome<T = ()> = Result<T, CompileResult>;

/// The name of texts, in messages.
const INPUT: &str = "application ptx input";

/// The target without an option.
const DEFAULT_TARGET: &str = "sm_75";

/// A function of the client that may cancel a compilation, and its argument.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FlowCallback {
    pub(crate) function: extern "C" fn(usize, usize) -> i32,
    pub(crate) payload: usize,
}

/// A text with what has become of it.
#[derive(Debug, Default)]
pub(crate) struct Compiler {
    text: Vec<u8>,
    pub(crate) callback: Option<FlowCallback>,
    image: Option<Vec<u8>>,
    errors: String,
    info: String,
}

/// Where a program reads the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Program,
    Errors,
    Info,
}

impl Compiler {
    pub(crate) fn new(text: Vec<u8>) -> Self {
        Self { text, ..Self::default() }
    }

    /// Compiles the text with options.
    pub(crate) fn compile(&mut self, words: &[String]) -> Outcome {
        self.image = None;
        self.errors.clear();
        self.info.clear();
        match self.made(words) {
            Ok(image) => {
                self.image = Some(image);
                Ok(())
            }
            Err((status, lines)) => {
                self.errors = lines;
                Err(status)
            }
        }
    }

    /// Drops the image.
    pub(crate) fn forget(&mut self) {
        self.image = None;
    }

    /// Returns the image, or a status with the lines of the error log.
    fn made(&mut self, words: &[String]) -> Result<Vec<u8>, (CompileResult, String)> {
        let failed = |lines| (CompileResult::ERROR_COMPILATION_FAILURE, lines);
        let options = AssemblerOptions::read(words).map_err(|m| failed(fatal(&m)))?;
        let arch = options.arch.as_deref().unwrap_or(DEFAULT_TARGET);
        let target = Target::of(arch).filter(|target| target.is_known()).ok_or_else(|| {
            failed(fatal(&format!("Value '{arch}' is not defined for option 'gpu-name'")))
        })?;
        let end = self.text.iter().position(|&byte| byte == 0).unwrap_or(self.text.len());
        if !hostmem::room_for_text(end) {
            return Err((CompileResult::ERROR_OUT_OF_MEMORY, String::new()));
        }
        let text = std::str::from_utf8(&self.text[..end])
            .map_err(|_| failed(fatal("the input is not a text")))?;
        known_version(text)?;
        ptxas::assemble(INPUT, text, target).map_err(failed)?;
        if target.is_virtual {
            return Err((CompileResult::PARSE_ONLY_SUCCESS, String::new()));
        }
        let mut info = String::new();
        if !options.compile_only {
            link(text, &options, target, &mut info).map_err(failed)?;
        }
        self.info = info;
        Ok(images::link(&[("ptx".to_owned(), text.to_owned())]))
    }

    /// Returns a result, with the null byte that texts end with. Logs without a line have no bytes.
    ///
    /// # Errors
    /// Returns the status if there is no such result.
    pub(crate) fn part(&self, part: Part) -> Outcome<Vec<u8>> {
        let text = |text: &str| match text {
            "" => Vec::new(),
            text => [text.as_bytes(), b"\0"].concat(),
        };
        match part {
            Part::Program => {
                self.image.clone().ok_or(CompileResult::ERROR_COMPILER_INVOCATION_INCOMPLETE)
            }
            Part::Errors => Ok(text(&self.errors)),
            Part::Info => Ok(text(&self.info)),
        }
    }
}

/// Checks that the version of a text is known.
fn known_version(text: &str) -> Result<(), (CompileResult, String)> {
    let Ok(header) = Module::check(INPUT, text) else { return Ok(()) };
    let newest = modules::ptx_versions().last().unwrap_or_default();
    match header.version {
        Some(version) if version > newest => {
            let lines = format!(
                "ptxas {INPUT}, line 1; fatal   : Unsupported .version {}.{}; current version is \
                 '{}.{}'\n",
                version.0, version.1, newest.0, newest.1
            );
            Err((CompileResult::ERROR_UNSUPPORTED_PTX_VERSION, lines))
        }
        _ => Ok(()),
    }
}

/// Resolves the names of a text, all of which it has to define.
fn link(
    text: &str,
    options: &AssemblerOptions,
    target: Target,
    info: &mut String,
) -> Result<(), String> {
    let module = Module::link_objects(&[(INPUT, text)], true)
        .map_err(|error| error.findings.iter().map(|line| fatal(line)).collect::<String>())?;
    if let Some(missing) = options.entries.iter().find(|name| module.kernel(name).is_none()) {
        return Err(fatal(&format!("Unknown function {missing}")));
    }
    for refused in module.refused() {
        // Writing to a string does not fail.
        let _ = writeln!(info, "ptxas warning : {refused}");
    }
    if options.verbose {
        for (_, kernel) in module.kernels() {
            let (name, number) = (&kernel.name, target.number);
            let _ = writeln!(
                info,
                "ptxas info    : Compiling entry function '{name}' for 'sm_{number}'"
            );
        }
    }
    Ok(())
}

/// Returns the versions of PTX that can be compiled, in order.
pub(crate) fn versions() -> Vec<[i32; 2]> {
    modules::ptx_versions().map(|(major, minor)| [major as i32, minor as i32]).collect()
}

/// Returns the architectures that can be compiled for, in order.
pub(crate) fn architectures() -> Vec<i32> {
    ARCHITECTURES.iter().map(|&number| number as i32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str =
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() { ret; }\n";
    const CALLER: &str = ".version 8.0\n.target sm_80\n.address_size 64\n.extern .func f();\n\
        .visible .entry k() { call f; ret; }\n";

    /// Compiles a text; returns the status and the error log.
    fn compile(text: impl AsRef<[u8]>, options: &[&str]) -> (i32, String) {
        let mut compiler = Compiler::new(text.as_ref().to_vec());
        let words: Vec<String> = options.iter().map(|&word| word.to_owned()).collect();
        let status = compiler.compile(&words).err().map_or(0, |status| status.0);
        let program = compiler.part(Part::Program);
        assert_eq!(program.is_ok(), status == 0, "{options:?}");
        let log = String::from_utf8(compiler.part(Part::Errors).unwrap()).unwrap();
        (status, log)
    }

    #[test]
    fn a_compiled_program_is_an_image_for_the_driver() {
        let mut compiler = Compiler::new(GOOD.into());
        let before = CompileResult::ERROR_COMPILER_INVOCATION_INCOMPLETE;
        assert_eq!(compiler.part(Part::Program), Err(before));
        assert_eq!(compiler.compile(&["-arch=sm_80".to_owned(), "-v".to_owned()]), Ok(()));
        let image = compiler.part(Part::Program).unwrap();
        let texts = vec![("ptx".to_owned(), GOOD.to_owned())];
        assert_eq!(images::from_bytes(&image, (8, 0)), Ok(texts));
        let info = compiler.part(Part::Info).unwrap();
        assert_eq!(info, b"ptxas info    : Compiling entry function 'k' for 'sm_80'\n\0");
        assert_eq!(compiler.compile(&[]), Err(CompileResult::ERROR_COMPILATION_FAILURE));
        assert_eq!(compiler.part(Part::Program), Err(before));
    }

    #[test]
    fn statuses_are_those_of_nvidias_library() {
        for (text, options, status, log) in [
            (GOOD, &["--gpu-name=sm_90a", "-e=k"][..], 0, ""),
            (GOOD, &[], 3, "ptxas fatal   : SM version specified by .target is higher than"),
            (GOOD, &["-arch=sm_75"], 3, "ptxas fatal   : SM version specified by .target"),
            (GOOD, &["-arch=foo"], 3, "ptxas fatal   : Value 'foo' is not defined for option"),
            (GOOD, &["-arch=sm_1"], 3, "ptxas fatal   : Value 'sm_1' is not defined for option"),
            (GOOD, &["-arch=compute_80"], 10, ""),
            (GOOD, &["-arch=sm_80", "--foo"], 3, "ptxas fatal   : Unknown option '-foo'\n"),
            (GOOD, &["-arch=sm_80", "-e=no"], 3, "ptxas fatal   : Unknown function no\n"),
            (CALLER, &["-arch=sm_80", "-c"], 0, ""),
            (CALLER, &["-arch=sm_80"], 3, "ptxas fatal   : Undefined reference to 'f' in 'app"),
            ("hello", &["-arch=sm_80"], 3, "ptxas application ptx input:1:1: expected a"),
            ("", &["-arch=sm_80"], 3, "ptxas "),
        ] {
            let (found, lines) = compile(text, options);
            assert_eq!(found, status, "{options:?}: {lines}");
            assert!(lines.starts_with(log) && lines.is_empty() == log.is_empty(), "{lines}");
        }
        let (status, log) = compile(GOOD.replace("8.0", "19.0"), &["-arch=sm_80"]);
        assert!(log.contains("Unsupported .version 19.0; current version is '9.5'"), "{log}");
        assert_eq!(status, 7);
        assert_eq!(compile(b"\xff\xfe", &["-arch=sm_80"]).0, 3);
        assert_eq!(compile([GOOD.as_bytes(), b"\0\xff"].concat(), &["-arch=sm_80"]).0, 0);
    }
}
