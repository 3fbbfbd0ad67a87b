//! The suite of barriers and locks: kernels that hang or not, each in a process of its own.
//!
//! A case is judged like any other: how it ends, then its buffers. Beside that it is run here under
//! several mechanisms, and the report tells which of them end as the device did.

mod probes;

use std::path::Path;

use lab::run::{Job, Variant};
use machines::{End, LaunchMonitor};

use super::{Case, Kind, Suite, VerifyError, at};
use probes::{PROBES, Probe};

/// What a case is worth, beside those of other suites.
const WORTH: u32 = 95;

/// Words of the buffer of flags.
const FLAGS: usize = 64;

/// Mechanisms that are tried, the one that cases ask for first.
const MECHANISMS: [&str; 4] = ["convergence-barriers", "ipdom", "min-pc", "serial"];

/// Issues of a block after which a kernel counts as hanging.
const LIMIT: u64 = 2_000_000;

pub(super) fn cases(folder: &Path) -> Result<Vec<Case>, VerifyError> {
    let folder = folder.join("cases").join("sync");
    std::fs::create_dir_all(&folder).map_err(at(&folder))?;
    PROBES.iter().map(|probe| write(&folder, probe)).collect()
}

fn write(folder: &Path, probe: &Probe) -> Result<Case, VerifyError> {
    let name = format!("sync-{}", probe.name);
    let (program, launch_file) =
        (folder.join(format!("{name}.ptx")), folder.join(format!("{name}.toml")));
    let Probe { blocks, threads, .. } = probe;
    let toml = format!(
        "schema = 1\nmachine = \"ptx\"\nmodule = \"{name}.ptx\"\n\n[run]\n\
         mechanism = \"{}\"\n\n[buffers]\nout = \"u32[{}]:zeros\"\n\
         flags = \"u32[{FLAGS}]:zeros\"\n\n[[launch]]\nkernel = \"k\"\ngrid = [{blocks}]\n\
         block = [{threads}]\nargs = [\"&out\", \"&flags\"]\n",
        MECHANISMS[0],
        blocks * threads
    );
    std::fs::write(&program, text(probe)).map_err(at(&program))?;
    std::fs::write(&launch_file, toml).map_err(at(&launch_file))?;
    Ok(Case {
        name,
        suite: Suite::Sync,
        kind: Kind::Compared,
        value: WORTH,
        launch_file,
        labels: Vec::new(),
        parts: vec![probe.question.to_owned()],
    })
}

/// The program. `%t` is the thread's number in its block, `%l` its lane, `%w` its warp, `%b` its
/// block, `%a` the address of its word of the output, `%f` that of the flags.
fn text(probe: &Probe) -> String {
    let Probe { question, threads, target, body, .. } = probe;
    format!(
        "// {question}\n.version 7.0\n.target {target}\n.address_size 64\n\
         .visible .entry k(.param .u64 p_out, .param .u64 p_flags)\n{{\n\
         .reg .u32 %t, %l, %w, %b, %g, %x<8>;\n.reg .u64 %a, %f, %i;\n.reg .pred %p<6>;\n\
         .shared .align 8 .u32 sm[64];\n\
         mov.u32 %t, %tid.x;\nmov.u32 %b, %ctaid.x;\nand.b32 %l, %t, 31;\nshr.u32 %w, %t, 5;\n\
         mad.lo.u32 %g, %b, {threads}, %t;\nmul.wide.u32 %i, %g, 4;\n\
         ld.param.u64 %a, [p_out];\nadd.u64 %a, %a, %i;\nld.param.u64 %f, [p_flags];\n\
         {body}\nret;\n}}\n"
    )
}

/// What the kernel asks, and how it ends here under several mechanisms.
pub(super) fn notes(case: &Case, job: &mut Job, monitor: &mut dyn LaunchMonitor) -> Vec<String> {
    let mut notes = case.parts.clone();
    for mechanism in MECHANISMS {
        let variant = Variant { limit: Some(LIMIT), ..Variant::of(mechanism, job.warp_size()) };
        let end = match job.run_variant(&variant, monitor) {
            Ok(run) => match run.ends.last() {
                None | Some(End::Done) => "ends".to_owned(),
                Some(End::Hang(stop)) => format!("hangs ({})", stop.code),
                Some(End::Fault(stop) | End::Differs(stop)) => format!("faults ({})", stop.code),
                Some(End::Interrupted) => "was interrupted".to_owned(),
            },
            Err(_) => "cannot run".to_owned(),
        };
        notes.push(format!("{mechanism}: {end}"));
    }
    notes
}
