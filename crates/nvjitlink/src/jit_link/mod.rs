//! A link: its inputs, its image and its logs.

mod options;

use std::fmt::Write as _;
use std::time::Instant;

use cuda_abi::Status;
use images::{Form, Text};
use modules::Module;

use crate::LinkResult;
use crate::lto::{self, LtoInput};
use crate::ptxas;
use options::LinkOptions;

/// The outcome of a call.
pub(crate) type Outcome<T = ()> = Result<T, LinkResult>;

/// A kind of input (`nvJitLinkInputType`): its number and the end of its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct InputKind {
    number: i32,
    name: &'static str,
    /// The forms of images that it takes.
    forms: &'static [Form],
}

/// The kinds that can be linked.
const KINDS: [InputKind; 8] = [
    InputKind { number: 1, name: "CUBIN", forms: &[Form::Linked, Form::MachineCode] },
    InputKind { number: 2, name: "PTX", forms: &[Form::Ptx, Form::Linked] },
    InputKind { number: 3, name: "LTOIR", forms: &[Form::LtoIr, Form::FatBinary] },
    InputKind { number: 4, name: "FATBIN", forms: &[Form::FatBinary] },
    InputKind { number: 5, name: "OBJECT", forms: &[Form::Object, Form::MachineCode] },
    InputKind { number: 6, name: "LIBRARY", forms: &[Form::Library] },
    // No program has files of an index.
    InputKind { number: 7, name: "INDEX", forms: &[] },
    InputKind {
        number: 10,
        name: "ANY",
        forms: &[
            Form::Linked,
            Form::MachineCode,
            Form::Ptx,
            Form::LtoIr,
            Form::FatBinary,
            Form::Object,
            Form::Library,
        ],
    },
];

/// Where a program reads the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Cubin,
    Ptx,
    LtoIr,
    Errors,
    Info,
}

/// A link of inputs to an image.
#[derive(Debug, Default)]
pub(crate) struct Link {
    /// Nothing if they were refused: then the link has logs alone.
    options: Option<LinkOptions>,
    texts: Vec<Text>,
    lto: Vec<LtoInput>,
    /// Whether CUDA's device runtime library is one of the inputs.
    runtime: bool,
    image: Option<Vec<u8>>,
    ptx: Option<Vec<u8>>,
    errors: String,
    info: String,
}

impl Link {
    /// Begins a link with options. Without valid ones there is a link, too, for its error log.
    pub(crate) fn new(words: Vec<String>) -> (Self, Outcome) {
        let mut link = Self::default();
        match LinkOptions::read(words) {
            Ok(options) => {
                link.options = Some(options);
                (link, Ok(()))
            }
            Err((status, text)) => {
                if !text.is_empty() {
                    link.errors = text + "\n";
                }
                (link, Err(status))
            }
        }
    }

    /// Adds a line to the error log, and returns the status.
    fn fail<T>(&mut self, status: LinkResult, text: &str) -> Outcome<T> {
        // Writing to a string does not fail.
        let _ = writeln!(self.errors, "ERROR {}: {text}", status.name());
        Err(status)
    }

    /// Adds a file.
    pub(crate) fn add_file(&mut self, kind: i32, path: &str) -> Outcome {
        match std::fs::read(path) {
            Ok(bytes) => self.add(kind, bytes, path),
            Err(_) => self.fail(LinkResult::ERROR_INVALID_INPUT, &format!("no such file: {path}")),
        }
    }

    /// Adds an input.
    pub(crate) fn add(&mut self, kind: i32, bytes: Vec<u8>, name: &str) -> Outcome {
        let Some(kind) = KINDS.into_iter().find(|known| known.number == kind) else {
            let text = format!("unsupported input type: {name}");
            return self.fail(LinkResult::ERROR_INCORRECT_INPUT_TYPE, &text);
        };
        let Some(options) = self.options.clone() else {
            return Err(LinkResult::ERROR_INVALID_INPUT);
        };
        if bytes.is_empty() {
            return Err(LinkResult::ERROR_INVALID_INPUT);
        }
        let form = images::form(&bytes).filter(|form| kind.forms.contains(form));
        let Some(form) = form else { return self.other_form(kind, name) };
        // Ours stands in for it.
        if form == Form::Library && name.contains("cudadevrt") {
            self.runtime = true;
            return Ok(());
        }
        if form == Form::MachineCode {
            let text = format!("{name} is machine code, which the virtual device does not run");
            return self.fail(LinkResult::ERROR_INVALID_INPUT, &text);
        }
        let capability = options.target.capability();
        match images::from_bytes(&bytes, (capability.major as i32, capability.minor as i32)) {
            Ok(texts) => self.add_texts(&options, form, texts, name),
            Err(_) if images::has_lto_ir(&bytes) => {
                self.add_lto_ir(&options, LtoInput { kind: kind.number, bytes, name: name.into() })
            }
            Err(Status::NO_BINARY_FOR_GPU) if !images::has_device_code(&bytes) => Ok(()),
            Err(Status::NO_BINARY_FOR_GPU) => {
                let text = format!("{name} holds no PTX; machine code does not run");
                self.fail(LinkResult::ERROR_INVALID_INPUT, &text)
            }
            Err(_) => self.fail(LinkResult::ERROR_INVALID_INPUT, &format!("bad input: {name}")),
        }
    }

    fn other_form(&mut self, kind: InputKind, name: &str) -> Outcome {
        if kind.name == "ANY" {
            let text = format!("unrecognized input type: {name}");
            return self.fail(LinkResult::ERROR_UNRECOGNIZED_INPUT, &text);
        }
        let text = format!("{name} does not match type NVJITLINK_INPUT_{}", kind.name);
        self.fail(LinkResult::ERROR_INCORRECT_INPUT_TYPE, &text)
    }

    /// Adds texts, each of which has to be one that can be assembled.
    fn add_texts(
        &mut self,
        options: &LinkOptions,
        form: Form,
        mut texts: Vec<Text>,
        name: &str,
    ) -> Outcome {
        for (text_name, text) in &mut texts {
            // What was linked before keeps its names.
            if form != Form::Linked {
                name.clone_into(text_name);
            }
            let refused = match &options.assembler {
                Err(message) => Err(ptxas::fatal(message)),
                Ok(()) => ptxas::assemble(name, text, options.target),
            };
            if let Err(lines) = refused {
                self.errors.push_str(&lines);
                let text = format!("JIT the PTX ({name})");
                return self.fail(LinkResult::ERROR_PTX_COMPILE, &text);
            }
        }
        self.texts.extend(texts);
        Ok(())
    }

    fn add_lto_ir(&mut self, options: &LinkOptions, input: LtoInput) -> Outcome {
        if !options.lto {
            let name = &input.name;
            let text = format!("{name}: LTO-IR input cannot be used without LTO enabled (-lto)");
            return self.fail(LinkResult::ERROR_LTO_NOT_ENABLED, &text);
        }
        self.lto.push(input);
        Ok(())
    }

    /// Links all inputs.
    pub(crate) fn complete(&mut self) -> Outcome {
        let Some(options) = self.options.clone() else {
            return Err(LinkResult::ERROR_INVALID_INPUT);
        };
        let begun = Instant::now();
        self.image = None;
        self.ptx = None;
        if options.ptx && self.lto.is_empty() && self.texts.is_empty() {
            return self.fail(LinkResult::ERROR_NVVM_COMPILE, "there is no LTO-IR");
        }
        if options.ptx && (self.lto.is_empty() || !self.texts.is_empty()) {
            let text = "-ptx requires that all inputs have LTOIR";
            return self.fail(LinkResult::ERROR_INCORRECT_INPUT_TYPE, text);
        }
        let mut texts = self.texts.clone();
        if !self.lto.is_empty() {
            let text = self.compile_lto_ir(&options)?;
            if options.ptx {
                self.ptx = Some([text.as_bytes(), b"\0"].concat());
                return Ok(());
            }
            texts.push(("ltoPtx".to_owned(), text));
        }
        if texts.is_empty() {
            texts.push(("empty".to_owned(), empty(&options)));
        }
        if !options.relocatable {
            self.link(&options, &texts)?;
        }
        self.image = Some(images::link(&texts));
        if options.time {
            let time = begun.elapsed().as_secs_f64() * 1e3;
            // Writing to a string does not fail.
            let _ = writeln!(self.info, "nvJitLinkComplete time to finish: {time:.6}");
        }
        Ok(())
    }

    fn compile_lto_ir(&mut self, options: &LinkOptions) -> Outcome<String> {
        match lto::compile(&options.words, &self.lto) {
            Ok(compiled) => {
                self.info.push_str(&compiled.info);
                Ok(compiled.text)
            }
            Err((status, lines)) => {
                self.errors.push_str(&lines);
                Err(status)
            }
        }
    }

    /// Resolves names between texts.
    fn link(&mut self, options: &LinkOptions, texts: &[Text]) -> Outcome {
        let total = texts.iter().map(|(_, text)| text.len()).sum();
        if !hostmem::room_for_text(total) {
            return self.fail(LinkResult::ERROR_INTERNAL, "out of memory");
        }
        let named: Vec<(&str, &str)> =
            texts.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
        let module = match Module::link_objects(&named, self.runtime) {
            Ok(module) => module,
            Err(error) => {
                for line in &error.findings {
                    // Writing to a string does not fail.
                    let _ = writeln!(self.errors, "error   : {line}");
                }
                return Err(LinkResult::ERROR_INTERNAL);
            }
        };
        for refused in module.refused() {
            let _ = writeln!(self.info, "warning : {refused}");
        }
        if options.verbose {
            for (_, kernel) in module.kernels() {
                let (name, number) = (&kernel.name, options.target.number);
                let _ = writeln!(
                    self.info,
                    "ptxas info    : Compiling entry function '{name}' for 'sm_{number}'"
                );
            }
        }
        Ok(())
    }

    /// Returns a result, with the null byte that texts end with. Logs without a line have no bytes.
    ///
    /// # Errors
    /// Returns the status if there is no such result.
    pub(crate) fn part(&self, part: Part) -> Outcome<Vec<u8>> {
        let options = self.options.as_ref();
        let wanted = |given: bool| {
            if given { LinkResult::ERROR_INTERNAL } else { LinkResult::ERROR_INVALID_INPUT }
        };
        let text = |text: &str| match text {
            "" => Vec::new(),
            text => [text.as_bytes(), b"\0"].concat(),
        };
        match part {
            Part::Cubin => self.image.clone().ok_or(LinkResult::ERROR_INTERNAL),
            Part::Ptx => self.ptx.clone().ok_or(wanted(options.is_some_and(|o| o.ptx))),
            // NVIDIA's library makes PTX of it, and nothing keeps it.
            Part::LtoIr => Err(wanted(options.is_some_and(|o| o.lto))),
            Part::Errors => Ok(text(&self.errors)),
            Part::Info => Ok(text(&self.info)),
        }
    }
}

/// PTX without definitions.
fn empty(options: &LinkOptions) -> String {
    format!(".version 8.0\n.target sm_{}\n.address_size 64\n", options.target.number)
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
