//! A kernel as a tree of statements: rendered as PTX, and edited when it is minimised.

use std::fmt::Write as _;

/// A statement. Lines that only make sense together are one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stmt {
    /// Lines of PTX.
    Code(Vec<String>),
    /// A branch to one of two lists of statements.
    If {
        /// The number of its labels.
        id: usize,
        /// Lines that compute the guard.
        test: Vec<String>,
        /// The predicate, negated or not, under which `then` runs.
        guard: String,
        /// What runs where the guard holds.
        then: Vec<Stmt>,
        /// What runs where it does not.
        otherwise: Vec<Stmt>,
    },
    /// Runs the body until the counter is zero; tested behind the body, or before it.
    Loop {
        /// The number of its labels.
        id: usize,
        /// How many loops it is in: its counter is `%n` with this number, its test `%c`.
        depth: usize,
        /// Lines that set the counter.
        init: Vec<String>,
        /// Whether the counter is tested before the body.
        tested_first: bool,
        /// What is repeated.
        body: Vec<Stmt>,
    },
    /// `brx.idx`.
    Switch {
        /// The number of its labels.
        id: usize,
        /// Lines that compute the index.
        index: Vec<String>,
        /// The register of the index, which is below the number of arms.
        register: String,
        /// The arms.
        arms: Vec<Vec<Stmt>>,
    },
}

impl Stmt {
    /// One line of PTX.
    pub fn line(text: impl Into<String>) -> Self {
        Self::Code(vec![text.into()])
    }

    fn children(&self) -> Vec<&Vec<Self>> {
        match self {
            Self::Code(_) => Vec::new(),
            Self::If { then, otherwise, .. } => vec![otherwise, then],
            Self::Loop { body, .. } => vec![body],
            Self::Switch { arms, .. } => arms.iter().collect(),
        }
    }

    fn children_mut(&mut self) -> Vec<&mut Vec<Self>> {
        match self {
            Self::Code(_) => Vec::new(),
            Self::If { then, otherwise, .. } => vec![otherwise, then],
            Self::Loop { body, .. } => vec![body],
            Self::Switch { arms, .. } => arms.iter_mut().collect(),
        }
    }
}

/// A function with its own registers, of the same names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Function {
    /// What stands before the braces.
    pub head: String,
    /// Its statements.
    pub body: Vec<Stmt>,
}

/// The shape of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Blocks.
    pub grid: u32,
    /// Threads of a block by dimension.
    pub block: [u32; 3],
}

/// A kernel with all that its launch depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// The seed that it was made from.
    pub seed: u64,
    /// The name of its entry function, with which the names of its other functions begin.
    pub name: String,
    /// The shape of its launch.
    pub shape: Shape,
    /// Functions, and the kernel last.
    pub functions: Vec<Function>,
}

/// Version and target of a file.
const HEAD: &str = "\
.version 9.5
.target sm_100a
.address_size 64
";

/// Variables of a file.
const VARIABLES: &str = "\
.global .align 32 .b8 gv[512];
.const .align 32 .b8 cv[64] = { 0,0,0,0, 0,0,128,127, 0,0,192,127, 255,255,255,255, 1,0,0,0, \
0,0,0,128, \
0,0,128,191, 255,255,127,127, 0,0,0,0, 0,0,240,127, 1,0,0,0, 0,0,0,0, 0,124,0,126, 1,0,255,251, \
3,0,0,0, 31,0,0,0 };
";

/// Registers of every function.
const REGISTERS: &str = "\
.reg .pred %p<6>, %c<8>, %up<2>;
.reg .b16 %h<6>, %uh<2>;
.reg .b32 %r<10>, %u<6>, %t<6>, %n<8>, %i, %g, %sm, %m, %all;
.reg .b64 %d<8>, %v<3>, %a<6>, %in, %racy, %wide, %own, %gg;
.reg .b128 %q<3>;
.shared .align 32 .b8 sm[2048];
.local .align 32 .b8 lm[128];
";

/// PTX, and the statement that each line of it comes from, numbered in the order of the text.
pub struct Text {
    /// The text.
    pub ptx: String,
    /// The number of the statement that each line comes from.
    pub statements: Vec<Option<usize>>,
}

impl Text {
    fn line(&mut self, text: &str, statement: Option<usize>) {
        self.ptx.push_str(text);
        self.ptx.push('\n');
        self.statements.push(statement);
    }
}

impl Kernel {
    /// The kernel as PTX.
    #[must_use]
    pub fn text(&self) -> Text {
        let mut out = Text { ptx: String::new(), statements: Vec::new() };
        for line in HEAD.lines().chain(VARIABLES.lines()) {
            out.line(line, None);
        }
        self.render(&mut out);
        out
    }

    /// Its functions.
    fn render(&self, out: &mut Text) {
        let mut next = 0;
        for function in &self.functions {
            out.line(&function.head, None);
            out.line("{", None);
            for line in REGISTERS.lines() {
                out.line(line, None);
            }
            render(&function.body, &mut next, out);
            out.line("ret;", None);
            out.line("}", None);
        }
    }

    /// The number of statements, those inside of others included.
    #[must_use]
    pub fn count(&self) -> usize {
        fn all(list: &[Stmt]) -> usize {
            list.iter().map(|s| 1 + s.children().iter().map(|c| all(c)).sum::<usize>()).sum()
        }
        self.functions.iter().map(|f| all(&f.body)).sum()
    }

    /// The same without the statements of these numbers, and what is in them.
    #[must_use]
    pub fn without(&self, gone: &dyn Fn(usize) -> bool) -> Self {
        self.edited(&mut |number, stmt| if gone(number) { Vec::new() } else { vec![stmt] })
    }

    /// The same with what is in a statement in its place.
    #[must_use]
    pub fn unwrapped(&self, number: usize) -> Self {
        self.edited(&mut |at, mut stmt| {
            if at != number || matches!(stmt, Stmt::Code(_)) {
                return vec![stmt];
            }
            stmt.children_mut().into_iter().flat_map(std::mem::take).collect()
        })
    }

    /// The same without one line of a statement of several.
    #[must_use]
    pub fn without_line(&self, number: usize, line: usize) -> Self {
        self.edited(&mut |at, mut stmt| {
            if let Stmt::Code(lines) = &mut stmt
                && at == number
                && line < lines.len()
            {
                lines.remove(line);
            }
            vec![stmt]
        })
    }

    /// The lines of each statement of lines, by number.
    #[must_use]
    pub fn lines(&self) -> Vec<(usize, usize)> {
        fn all(list: &[Stmt], next: &mut usize, out: &mut Vec<(usize, usize)>) {
            for stmt in list {
                if let Stmt::Code(lines) = stmt {
                    out.push((*next, lines.len()));
                }
                *next += 1;
                for inner in stmt.children() {
                    all(inner, next, out);
                }
            }
        }
        let (mut next, mut out) = (0, Vec::new());
        for function in &self.functions {
            all(&function.body, &mut next, &mut out);
        }
        out
    }

    /// The same with each statement as `edit` has it, by number; what is in a statement comes
    /// first.
    fn edited(&self, edit: &mut dyn FnMut(usize, Stmt) -> Vec<Stmt>) -> Self {
        fn all(
            list: &[Stmt],
            next: &mut usize,
            edit: &mut dyn FnMut(usize, Stmt) -> Vec<Stmt>,
        ) -> Vec<Stmt> {
            let mut out = Vec::new();
            for stmt in list {
                let number = *next;
                *next += 1;
                let mut stmt = stmt.clone();
                for inner in stmt.children_mut() {
                    *inner = all(inner, next, edit);
                }
                out.extend(edit(number, stmt));
            }
            out
        }
        let (mut next, mut kernel) = (0, self.clone());
        for function in &mut kernel.functions {
            function.body = all(&function.body, &mut next, edit);
        }
        kernel
    }
}

/// One file with several kernels of different names. `head` declares version, target and address
/// size. A comment `// NAME` stands before each kernel.
#[must_use]
pub fn module(head: &str, kernels: &[Kernel]) -> String {
    let mut out = Text { ptx: format!("{head}{VARIABLES}"), statements: Vec::new() };
    for kernel in kernels {
        out.line(&format!("// {}", kernel.name), None);
        kernel.render(&mut out);
    }
    out.ptx
}

/// Statements as PTX.
pub(crate) fn text_of(list: &[Stmt]) -> String {
    let mut out = Text { ptx: String::new(), statements: Vec::new() };
    render(list, &mut 0, &mut out);
    out.ptx
}

fn render(list: &[Stmt], next: &mut usize, out: &mut Text) {
    for stmt in list {
        let number = Some(*next);
        *next += 1;
        match stmt {
            Stmt::Code(lines) => lines.iter().for_each(|line| out.line(line, number)),
            Stmt::If { id, test, guard, then, otherwise } => {
                test.iter().for_each(|line| out.line(line, number));
                out.line(&format!("@{guard} bra then_{id};"), number);
                render(otherwise, next, out);
                out.line(&format!("bra end_{id};"), number);
                out.line(&format!("then_{id}:"), number);
                render(then, next, out);
                out.line(&format!("end_{id}:"), number);
            }
            Stmt::Loop { id, depth, init, tested_first, body } => {
                init.iter().for_each(|line| out.line(line, number));
                let test = format!("setp.eq.u32 %c{depth}, %n{depth}, 0;");
                let leave = format!("@%c{depth} bra end_{id};");
                let count = format!("sub.u32 %n{depth}, %n{depth}, 1;");
                out.line(&format!("again_{id}:"), number);
                if *tested_first {
                    [&test, &leave, &count].into_iter().for_each(|line| out.line(line, number));
                    render(body, next, out);
                    out.line(&format!("bra again_{id};"), number);
                } else {
                    render(body, next, out);
                    out.line(&test, number);
                    out.line(&format!("@!%c{depth} {count}"), number);
                    out.line(&format!("@!%c{depth} bra again_{id};"), number);
                }
                out.line(&format!("end_{id}:"), number);
            }
            Stmt::Switch { id, index, register, arms } => {
                index.iter().for_each(|line| out.line(line, number));
                let mut table = format!("table_{id}: .branchtargets ");
                for k in 0..arms.len() {
                    let _ = write!(table, "{}arm_{id}_{k}", if k == 0 { "" } else { ", " });
                }
                out.line(&format!("{table};"), number);
                out.line(&format!("brx.idx {register}, table_{id};"), number);
                for (k, arm) in arms.iter().enumerate() {
                    out.line(&format!("arm_{id}_{k}:"), number);
                    render(arm, next, out);
                    out.line(&format!("bra end_{id};"), number);
                }
                out.line(&format!("end_{id}:"), number);
            }
        }
    }
}

/// Instructions, one a line.
pub(crate) fn code(lines: &[&str]) -> Stmt {
    Stmt::Code(lines.iter().map(|&line| line.to_owned()).collect())
}
