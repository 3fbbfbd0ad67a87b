//! The toy machine behind the laboratory's interface, as `--isa toy` uses it.

use isa::{Diagnostics, FileId};
use machines::{Command, Image, LaunchRequest, Subject, Unmonitored, find, load};

const SQUARES: &str = "
        .param out
        tid   r1
        mul   r2, r1, r1
        li    r3, 4
        mul   r3, r3, r1
        splat r4, s0
        add   r3, r3, r4
        sw    r2, 0(r3)
        halt
";

fn image(bytes: &[u8]) -> Image<'_> {
    Image { bytes, file: FileId(0) }
}

fn request(params: &[u8]) -> LaunchRequest<'_> {
    LaunchRequest {
        kernel: "main",
        grid: [5, 1, 1],
        block: [2, 1, 1],
        shared: 0,
        params,
        mechanism: "uniform",
        warp_size: 4,
        seed: 0,
        limit: Some(1000),
        detailed: true,
        engine: machines::Choice::Fast,
        level: None,
        threads: machines::HostThreads::default(),
        options: &[],
    }
}

#[test]
fn text_runs_and_reads_back() {
    let toy = find("toy").unwrap();
    let mut found = Diagnostics::new();
    let program = load(toy, image(SQUARES.as_bytes()), &[], &mut found).unwrap();
    assert_eq!(program.kernels()[0].params[0].name, "out");
    let mut context = program.context().unwrap();
    let out = context.allocate("out", &[0; 40]).unwrap();
    let params = out.to_le_bytes();
    let result = context.launch(&request(&params), &mut Unmonitored).unwrap();
    assert_eq!(result.end.name(), "done");
    let squares: Vec<u8> = (0..10u32).flat_map(|i| (i * i).to_le_bytes()).collect();
    assert_eq!(context.read(out, 40).unwrap(), squares);
    assert!(result.stats.counts.slots.identity_holds());
    // Eight instructions, each on a line of its own, issued by three groups.
    let lines: Vec<(u32, u64)> =
        result.stats.lines.iter().map(|l| (l.line, l.slots.issues())).collect();
    assert_eq!(lines, (3..11).map(|line| (line, 3)).collect::<Vec<_>>());
    // The second launch sees the memory of the first.
    let mut again = request(&params);
    again.limit = Some(1);
    assert_eq!(context.launch(&again, &mut Unmonitored).unwrap().end.name(), "limit");
    assert_eq!(context.read(out, 40).unwrap(), squares);
}

#[test]
fn requests_beyond_the_machine_are_refused() {
    let toy = find("toy").unwrap();
    let program = load(toy, image(b"halt"), &[], &mut Diagnostics::new()).unwrap();
    let mut context = program.context().unwrap();
    let mut about = |change: &dyn Fn(&mut LaunchRequest<'_>)| {
        let mut request = request(&[]);
        change(&mut request);
        context.launch(&request, &mut Unmonitored).map(|_| ()).unwrap_err().about
    };
    assert_eq!(about(&|r| r.warp_size = 65), Subject::WarpSize);
    assert_eq!(about(&|r| r.warp_size = 1 << 40), Subject::WarpSize);
    assert_eq!(about(&|r| r.grid = [u64::MAX, 2, 2]), Subject::Grid);
    assert_eq!(about(&|r| r.grid = [0, 1, 1]), Subject::Grid);
    assert_eq!(about(&|r| r.shared = 1), Subject::Shared);
}

#[test]
fn binaries_round_trip_and_the_suite_passes() {
    let toy = find("toy").unwrap();
    assert!(toy.supports(Command::Conform));
    let binary = toy.assemble(image(SQUARES.as_bytes())).unwrap();
    let text = toy.disassemble(image(&binary)).unwrap();
    assert_eq!(toy.assemble(image(text.as_bytes())).unwrap(), binary);
    assert!(load(toy, image(&binary), &[], &mut Diagnostics::new()).is_some());
    let cases = toy.conform().unwrap();
    let failed: Vec<_> = cases.iter().filter(|c| c.failure.is_some()).collect();
    assert!(cases.len() >= 50 && failed.is_empty(), "{failed:?}");
}

#[test]
fn errors_in_programs_are_reported() {
    let toy = find("toy").unwrap();
    for bytes in [&b"add r1"[..], b"", b".param", &[0; 8], b".org 0xffff\n.byte 1, 2"] {
        let mut found = Diagnostics::new();
        assert!(load(toy, image(bytes), &[], &mut found).is_none(), "{bytes:?}");
        assert!(found.has_errors(), "{bytes:?}");
    }
    assert!(toy.assemble(image(b"\xff")).is_err());
    assert!(toy.disassemble(image(&[0; 4])).is_err());
}
