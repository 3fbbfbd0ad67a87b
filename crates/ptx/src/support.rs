//! The support table of the book, made from the table of forms and the list of opcodes.

use std::fmt::Write as _;

use crate::spelling::{Family, Form, Kind, Special, Target, Tier, all_forms, families};

const INTRODUCTION: &str = "\
# PTX: what is supported

<!-- Made from the table in crates/ptx/src/spelling by its tests (SIMTLAB_BLESS=1 writes it anew); do not edit. -->

Each row is a form of an opcode: types that take the same modifiers and operands. Every word in capitals or braces of the PTX manual
is a choice here, too; modifiers stand in any order. *Since* is the `.version` and `.target` from which on the form exists: a
file that says it is older gets a warning. *Status*:

- **runs**: executed, with the results that the PTX ISA states. Approximate functions are our own sequences of IEEE operations within
  the error bounds of the PTX ISA; their last bits are not a device's.
- **no effect**: takes an issue and changes nothing, because there is nothing here that it could change (caches, launches
  of other grids, monitors).
- **not supported**: `check` says so, with the line. The tier tells when an opcode is needed: 1 and 2 are ordinary kernels (94 of 100
  kernels seen in the wild need nothing else), 3 asynchronous copies, tensor cores and textures, 4 Hopper's clusters, 5
  Blackwell.

What `ptxas` decides otherwise stands in [PTX and ptxas](ptx-ptxas.md).
";

/// The page.
#[must_use]
pub fn page() -> String {
    let mut out = INTRODUCTION.to_owned();
    let _ = writeln!(out, "\n## Summary\n\n| tier | about | opcodes | with forms | forms |");
    let _ = writeln!(out, "|---|---|---|---|---|");
    for (tier, name) in TIERS {
        let of_tier: Vec<Family> = families().into_iter().filter(|f| f.tier == tier).collect();
        let with = of_tier.iter().filter(|f| forms_of(f.name).next().is_some()).count();
        let forms: usize = of_tier.iter().map(|f| forms_of(f.name).count()).sum();
        let about = tier.about();
        let _ = writeln!(out, "| {name} | {about} | {} | {with} | {forms} |", of_tier.len());
    }
    for (tier, name) in TIERS {
        let _ = writeln!(out, "\n## Tier {name}: {}\n", tier.about());
        let _ = writeln!(out, "| opcode | modifiers | types | since | status |");
        let _ = writeln!(out, "|---|---|---|---|---|");
        for family in families().into_iter().filter(|f| f.tier == tier) {
            rows(&mut out, &family);
        }
    }
    out.push_str(BEYOND);
    out
}

const TIERS: [(Tier, &str); 8] = [
    (Tier::One, "1"),
    (Tier::TwoA, "2a"),
    (Tier::TwoB, "2b"),
    (Tier::ThreeA, "3a"),
    (Tier::ThreeB, "3b"),
    (Tier::ThreeC, "3c"),
    (Tier::Four, "4"),
    (Tier::Five, "5"),
];

fn forms_of(opcode: &str) -> impl Iterator<Item = &'static Form> {
    all_forms().filter(move |f| f.opcode == opcode)
}

fn rows(out: &mut String, family: &Family) {
    let mut any = false;
    for form in forms_of(family.name) {
        any = true;
        let since = match (form.ptx, form.sm) {
            ((1, 0), 0) => String::new(),
            ((major, minor), 0) => format!("{major}.{minor}"),
            ((major, minor), sm) => format!("{major}.{minor}, sm_{sm}"),
        };
        let (name, status) = (form.opcode, status(form));
        let _ = writeln!(
            out,
            "| `{name}` | {} | {} | {since} | {status} |",
            modifiers(form),
            types(form)
        );
    }
    if !any {
        let _ = writeln!(out, "| `{}` | | | | not supported |", family.name);
    }
}

fn status(form: &Form) -> &'static str {
    match form.target {
        Target::Special(Special::Nop | Special::RegisterCount) => "no effect",
        _ => "runs",
    }
}

/// Required words, then optional ones in brackets.
fn modifiers(form: &Form) -> String {
    let words = |kind: Kind| match form.words(kind) {
        [only] => format!("`.{only}`"),
        all => all.iter().map(|w| format!("`.{w}`")).collect::<Vec<_>>().join(" "),
    };
    let needed: Vec<String> = form.required.iter().map(words).collect();
    let mut text = needed.join("; ");
    for kind in form.optional {
        if !text.is_empty() {
            text.push(' ');
        }
        let _ = write!(text, "[{}]", words(*kind));
    }
    if form.hints {
        text.push_str(" [cache hints]");
    }
    for rule in form.rules() {
        let _ = write!(text, "; {}", rule.text);
    }
    if forms_of(form.opcode).any(|other| form.differs_by_count(other)) {
        let _ = write!(text, "; {} operands", form.args.len());
    }
    text.trim_start_matches("; ").trim().to_owned()
}

fn types(form: &Form) -> String {
    let set = |position: usize| {
        let words: Vec<String> =
            form.type_set(position).iter().map(|t| format!("`.{}`", t.word())).collect();
        words.join(" ")
    };
    // For products: the result, both factors, the addend.
    let between = if form.types > 2 { "; " } else { " from " };
    (0..form.types).map(set).collect::<Vec<_>>().join(between)
}

const BEYOND: &str = "
## Beside opcodes

| what | status |
|---|---|
| `.version` 1.0 to 9.5 (those that exist), `.target sm_XX` with and without `a` or `f`, `.address_size 64` | read; anything else is an error |
| `.address_size 32` | not supported: addresses have 64 bits, as on every device since sm_90 |
| `.entry`, `.func` with bodies and prototypes, several results, `.reg` and `.param` parameters, `.alias`, `.noreturn` | runs |
| `.maxntid`, `.reqntid` | a launch beyond them is refused |
| `.reqnctapercluster`, `.maxclusterrank`, `.explicitcluster`, `.blocksareclusters` | clusters of the launch; one that goes against them is refused |
| `.minnctapersm`, `.maxnctapersm`, `.maxnreg`, `.pragma` | read, no effect |
| `.global`, `.const`, `.shared`, `.local`, `.param`, `.reg` variables; vectors, arrays, initialisers with addresses, `generic(x)`, `mask(x)` aside | runs |
| `.extern .shared x[]` | runs: dynamic shared memory |
| `.extern` variables and functions | linked within the file; what no text defines is an error where it is used |
| `.weak`, `.common`, `.visible`, `.attribute(.managed)` | read; a weak definition is a definition |
| `.local` variables of the module | not supported, as by `ptxas` with its ABI; those of functions run |
| constant banks `.const[1]` to `.const[10]` | not supported; PTX 2.2 took them away |
| `.global` variables of `.texref`, `.samplerref`, `.surfref`; the independent texture mode | runs: a variable is the object whose bytes it holds; the address of one is a handle |
| the same with initialisers, in arrays or as parameters; `.tex` | not supported |
| `tex` and `tld4` of multisampled textures (`.2dms`, `.a2dms`) and of depths, with a predicate of residency | not supported: no texture of CUDA is one |
| `.loc`, `.file`, `.section` with debug data | lines of the source are told in faults, statistics and reports, faults and hangs with the inlined calls that they belong to |
| `.branchtargets`, `.calltargets`, `.callprototype` | runs |
| the address of a parameter of a device function | the parameter is copied to local memory |
| `vprintf`, `__assertfail`, `malloc`, `free` | runs; other system functions are undefined names |
| `%tid %ntid %ctaid %nctaid %laneid %warpid %nwarpid %smid %nsmid %gridid %lanemask_* %clock* %globaltimer*`, sizes of shared memory | runs; clocks count issues |
| `%clusterid %nclusterid %cluster_* %is_explicit_cluster` | runs |
| `%envreg1`, `%envreg2` | the address of the grid's workspace in cooperative launches, high and low half; 0 in others |
| other `%envreg0` to `%envreg31`, `%pm*`, `%current_graph_exec` | read as 0 |
";
