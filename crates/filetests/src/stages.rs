//! Stages of the compiled tier: translation into the vector IR, its passes, and the selection of
//! machine instructions.
//!
//! A program in PTX or in the kernel IR is decoded and translated first; a function of the vector
//! IR (`.vir`) is taken as it is.

use std::fmt::{Display, Formatter};

use converge::catalogue::Entry;
use fast::{Kernel, Level, Order};
use ir::FuncId;
use isa::{Diagnostics, FileId};
use ptx::link::{LinkInput, link};
use simt::machine::Machine;
use vector::{Function, passes};
use vm::{Engine, Launch, Program, catalogued, load_variables};

use crate::file::{FILE, Stage, TestFile};

/// What is done to a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// It is translated for an order of a branch's sides, for launches in detail or others.
    Translate(Order, bool),
    /// These passes run.
    Passes(Vec<Pass>),
    /// Machine instructions are selected.
    Compile(Level),
    /// Files of PTX are linked.
    Link,
}

/// A pass over functions of the vector IR.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pass {
    name: &'static str,
    run: fn(&mut Function),
}

/// The passes by their names.
const PASSES: [Pass; 11] = [
    Pass { name: "nan", run: passes::remove_canonical_nans },
    Pass { name: "simplify", run: passes::simplify },
    Pass { name: "number", run: passes::number_values },
    Pass { name: "params", run: passes::remove_trivial_params },
    Pass { name: "forward", run: passes::forward_selected },
    Pass { name: "index", run: passes::index_addresses },
    Pass { name: "low", run: passes::narrow_low_words },
    Pass { name: "unused", run: passes::remove_unused },
    Pass { name: "total", run: passes::total_atomics },
    Pass { name: "hoist", run: passes::hoist },
    Pass { name: "optimize", run: passes::optimize },
];

impl PartialEq for Pass {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Pass {}

impl What {
    /// Reads the words of a directive: `translate [ORDER|detail]`, `compile LEVEL`, or names of
    /// passes.
    pub(crate) fn parse(words: &[String]) -> Result<Self, String> {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        match words[..] {
            [] => Err("say which stage to test".to_owned()),
            ["link"] => Ok(Self::Link),
            ["translate"] => Ok(Self::Translate(Order::Taken, false)),
            ["translate", "detail"] => Ok(Self::Translate(Order::Taken, true)),
            ["translate", order] => {
                let found = Order::ALL.into_iter().find(|o| o.0 == order);
                let found = found.ok_or_else(|| format!("`{order}` is not an order"))?;
                Ok(Self::Translate(found.1, false))
            }
            ["compile", level] => {
                match [Level::Avx512, Level::Avx2].into_iter().find(|l| l.name() == level) {
                    Some(level) => Ok(Self::Compile(level)),
                    None => Err(format!("`{level}` is not a level that has code")),
                }
            }
            _ => {
                let pass = |name: &&str| {
                    let pass = PASSES.into_iter().find(|pass| pass.name == *name);
                    pass.ok_or_else(|| format!("there is no stage `{name}`"))
                };
                words.iter().map(pass).collect::<Result<_, _>>().map(Self::Passes)
            }
        }
    }
}

impl Display for What {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Translate(..) => f.write_str("translate"),
            Self::Link => f.write_str("link"),
            Self::Compile(level) => write!(f, "compile {}", level.name()),
            Self::Passes(passes) => {
                let names: Vec<&str> = passes.iter().map(|pass| pass.name).collect();
                f.write_str(&names.join(" "))
            }
        }
    }
}

/// Returns the text that comes of a stage.
pub(crate) fn text(file: &TestFile, stage: &Stage) -> Result<String, String> {
    if file.path.extension().is_some_and(|e| e == "vir") {
        let function = vector::parse(&file.text).map_err(|error| error.to_string())?;
        verified(&function)?;
        let What::Passes(passes) = &stage.what else {
            return Err("a function of the vector IR only takes passes".to_owned());
        };
        return passed(function, passes);
    }
    if stage.what == What::Link {
        return linked(&file.text);
    }
    let kernel = decoded(file, stage)?;
    let translated = |order, detailed| {
        let function = vector::translate::translate(kernel.code(), order, detailed);
        function.map_err(|error| error.to_string())
    };
    match &stage.what {
        What::Translate(order, detailed) => Ok(translated(*order, *detailed)?.to_string()),
        What::Passes(passes) => passed(translated(Order::Taken, false)?, passes),
        What::Link => Err("the text is linked as it is".to_owned()),
        What::Compile(level) => {
            jit::Compiled::listing(&kernel, *level).map_err(|refused| refused.to_string())
        }
    }
}

/// The line before each file of a text to be linked; its name follows.
const FILE_LINE: &str = "//: file: ";

/// Links the files of a text: the module, or the errors, a line each.
fn linked(text: &str) -> Result<String, String> {
    let mut files = Vec::new();
    for (i, part) in text.split(FILE_LINE).skip(1).enumerate() {
        let (name, text) = part.split_once('\n').ok_or("a file has no text")?;
        let (tree, mut found) = ptx::parse(FileId(i as u32), text);
        let (object, more) = ptx::lower_object(&tree, ptx::Select::All);
        found.append(more);
        files.push((name, object.ok_or_else(|| refused(&found))?));
    }
    // Names in parentheses are those of files of libraries.
    let inputs = |library: bool| -> Vec<LinkInput<'_>> {
        let files = files.iter().filter(|(name, _)| name.starts_with('(') == library);
        files.map(|(name, object)| LinkInput { name, object }).collect()
    };
    match link(&inputs(false), &inputs(true)) {
        Ok(module) => Ok(ir::text::print(&module)),
        Err(errors) => Ok(errors.iter().map(|error| format!("{error}\n")).collect()),
    }
}

/// The text of diagnostics.
fn refused(found: &Diagnostics) -> String {
    let list: Vec<String> = found.iter().map(|d| format!("{d:?}")).collect();
    list.join("\n")
}

fn verified(function: &Function) -> Result<(), String> {
    function.verify().map_err(|error| format!("{error}\n{function}"))
}

fn passed(mut function: Function, passes: &[Pass]) -> Result<String, String> {
    for pass in passes {
        (pass.run)(&mut function);
        verified(&function)?;
    }
    Ok(function.to_string())
}

/// Returns the decoded kernel of a program.
fn decoded(file: &TestFile, stage: &Stage) -> Result<Kernel, String> {
    let module = if file.path.extension().is_some_and(|e| e == "ir") {
        ir::text::parse(FILE, &file.text).map_err(|found| refused(&found))?
    } else {
        let (tree, found) = ptx::parse(FILE, &file.text);
        let (module, more) = ptx::lower(&tree, ptx::Select::All);
        module.ok_or_else(|| format!("{}{}", refused(&found), refused(&more)))?
    };
    let program = Program::link(module).map_err(|error| format!("{error:?}"))?;
    let functions = program.module().functions.iter().enumerate();
    let wanted = stage.kernel.as_deref();
    let mut functions = functions.filter(|f| {
        wanted.map_or(matches!(f.1.signature, ir::module::Signature::Kernel { .. }), |w| {
            w == f.1.name
        })
    });
    let (index, function) = functions.next().ok_or("there is no such kernel")?;
    let entry = Entry::find("ipdom").map_err(|error| error.to_string())?;
    let mut launch = Launch::new(FuncId(index as u32), catalogued(entry));
    let variables = load_variables(&program, &mut launch.memory);
    launch.variables = variables.map_err(|error| format!("{error:?}"))?;
    launch.block = stage.block;
    let size = function.params().iter().map(|p| p.offset + p.size).max().unwrap_or(0);
    launch.params = vec![0; size as usize];
    let state = Engine::<1>.launch(&program, launch).map_err(|error| error.to_string())?;
    fast::prepare(&program, &state, true).map_err(|declined| format!("{declined:?}"))
}
