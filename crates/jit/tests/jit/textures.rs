//! Textures and surfaces of random geometries, formats and samplers, against the exact engine: by
//! all lanes and some, by one handle and several, at coordinates inside, outside and without sense.

use crate::harness::common::launches::{launch, number, parsed};
use crate::harness::{Count, at_least, compare_tiers};
use ir::FuncId;
use ir::mods::Geometry;
use ir::testing::Rng;
use std::fmt::Write as _;
use texture::{
    AddressMode, BYTES, Channel, Descriptor, Filter, Format, Resource, Sampler, Shape, Storage,
};

/// Bytes of the elements of an object.
const ROOM: u64 = 8192;

/// Objects of a geometry: textures, then surfaces.
const OBJECTS: usize = 4;

/// Bytes of results of a thread.
const RESULTS: usize = 64;

fn any<T: Copy>(rng: &mut Rng, all: &[T]) -> T {
    all[rng.below(all.len())]
}

fn format(rng: &mut Rng) -> Format {
    // Those of most programs, and all.
    let common = [Channel::F32, Channel::U8, Channel::Unorm8, Channel::U32];
    let channel = if rng.one_in(2) { any(rng, &common) } else { any(rng, &Channel::ALL) };
    Format { channel, channels: any(rng, &[1, 1, 2, 4]) }
}

fn resource(rng: &mut Rng, geometry: Geometry, address: u64, surface: bool) -> Resource {
    let mut extent = || 1 + rng.below(9) as u32;
    let [x, y, z] = [extent(), extent(), extent()];
    let (extents, layers) = match geometry {
        Geometry::D1 => ([x, 1, 1], 1),
        Geometry::D2 => ([x, y, 1], 1),
        Geometry::D3 => ([x, y, z], 1),
        Geometry::D1Layered => ([x, 1, 1], 1 + z % 4),
        Geometry::D2Layered => ([x, y, 1], 1 + z % 4),
        Geometry::Cube => ([x, x, 1], 6),
        Geometry::CubeLayered => ([x, x, 1], 12),
    };
    let linear = match geometry {
        Geometry::D1 => Some(Storage::Linear),
        Geometry::D2 => Some(Storage::Pitched(256)),
        _ => None,
    };
    let storage = linear.filter(|_| rng.one_in(3)).unwrap_or(Storage::Array);
    let levels = match storage {
        Storage::Array if !surface && rng.one_in(3) => 1 + rng.below(3) as u32,
        _ => 1,
    };
    let shape = Shape { format: format(rng), geometry, extents, layers, levels };
    Resource::whole(storage, address, shape)
}

fn sampler(rng: &mut Rng) -> Sampler {
    let least = rng.below(3) as f32 / 2.0;
    Sampler {
        modes: std::array::from_fn(|_| any(rng, &AddressMode::ALL)),
        filter: any(rng, &Filter::ALL),
        level_filter: any(rng, &Filter::ALL),
        normalized: rng.one_in(2),
        integers: rng.one_in(3),
        srgb: rng.one_in(4),
        seamless: rng.one_in(2),
        anisotropy: 0,
        bias: rng.below(3) as f32 / 4.0,
        levels: [least, least + rng.below(3) as f32],
        border: [0.25, -1.0, 300.0, 7.5],
    }
}

/// Returns the objects of all geometries over a buffer of elements.
fn objects(rng: &mut Rng, elements: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    for &geometry in Geometry::ALL {
        for i in 0..OBJECTS {
            let surface = i >= OBJECTS / 2;
            let number = (bytes.len() / BYTES) as u64;
            let made = loop {
                let at = elements + ROOM * number;
                let resource = resource(rng, geometry, at, surface);
                if resource.check().is_ok() && resource.shape.bytes().is_some_and(|n| n <= ROOM) {
                    break Descriptor { surface, resource, sampler: sampler(rng) };
                }
            };
            bytes.extend(made.encode());
        }
    }
    bytes
}

/// Writes lines that leave a random coordinate in `%f`: a float, or an element.
fn coordinate(rng: &mut Rng, text: &mut String, to: &str, whole: bool) {
    let salt = rng.bits() as u32 | 1;
    let _ =
        write!(text, "  %x = mad.u32 %i, {salt}, {}\n  %x = mul.u32 %x, 0x85ebca6b\n", salt / 3);
    let _ = write!(text, "  %y = shr.u32 %x, 15\n  %x = xor.b32 %x, %y\n");
    if whole {
        let _ = write!(text, "  %y = rem.u32 %x, 14\n  {to} = sub.u32 %y, 3\n");
        return;
    }
    // From -2 to 14 elements, or -1 to 3 textures; some exactly between elements; some odd.
    let (scale, bias) = any(
        rng,
        &[(0x3e80_0000, 0xc000_0000), (0x3d80_0000, 0xbf80_0000), (0x3f00_0000, 0x3f00_0000u32)],
    );
    let _ = write!(text, "  %y = and.b32 %x, 63\n  %y = cvt.rn.f32.u32 %y\n");
    let _ = writeln!(text, "  {to} = fma.rn.f32 %y, {scale:#x}, {bias:#x}");
    if rng.one_in(2) {
        let _ = write!(text, "  %y = shr.u32 %x, 6\n  %y = cvt.rn.f32.u32 %y\n");
        let _ = writeln!(text, "  {to} = fma.rn.f32 %y, 0x33000000, {to}");
    }
    if rng.one_in(4) {
        let _ = write!(text, "  %y = shr.u32 %x, 20\n  %q = setp.lt.u32 %y, 100\n");
        let _ = write!(text, "  %y = mul.u32 %x, 0x9e3779b1\n  {to} = selp.b32 %y, {to}, %q\n");
    }
}

/// Writes lines that leave a handle in `%h`.
fn handle(rng: &mut Rng, text: &mut String, geometry: Geometry, surface: bool) {
    let of_geometry = Geometry::ALL.iter().position(|&g| g == geometry).unwrap_or(0) * OBJECTS;
    let first = of_geometry + if surface { OBJECTS / 2 } else { 0 };
    let one = first + rng.below(OBJECTS / 2);
    if !rng.one_in(4) {
        let _ = writeln!(text, "  %h = add.u64 %o, {}", BYTES * one);
        return;
    }
    let _ = write!(
        text,
        "  %x = mul.u32 %i, 0x9e3779b1\n  %x = shr.u32 %x, 31\n  %h = mulwide.u32 %x, {BYTES}
  %h = add.u64 %h, %o\n  %h = add.u64 %h, {}\n",
        BYTES * first
    );
}

fn sampled(rng: &mut Rng, text: &mut String, guard: &str) {
    let geometry = any(rng, Geometry::ALL);
    handle(rng, text, geometry, false);
    let word = geometry.word();
    let dimensions = geometry.dimensions();
    let cube = geometry.is_cube();
    let gathers = rng.one_in(6) && dimensions == 2;
    let whole = !gathers && !cube && rng.one_in(5);
    let offset = !cube && rng.one_in(5);
    let lod = if gathers { "" } else { any(rng, &["base", "base", "level", "grad"]) };
    let lod = if whole && lod == "grad" { "level" } else { lod };
    let mut operands = String::new();
    if geometry.is_layered() {
        coordinate(rng, text, "%c7", true);
        operands.push_str(", %c7");
    }
    for i in 0..dimensions {
        coordinate(rng, text, &format!("%c{i}"), whole);
        let _ = write!(operands, ", %c{i}");
    }
    let more = match lod {
        "level" => 1,
        "grad" => 2 * dimensions,
        _ => 0,
    };
    for i in 0..more {
        coordinate(rng, text, &format!("%l{i}"), whole);
        let _ = write!(operands, ", %l{i}");
    }
    if offset {
        for i in 0..dimensions {
            let _ = write!(operands, ", {}", [0u32, 1, 7, u32::MAX][(i + rng.below(4)) % 4]);
        }
    }
    let offset = if offset { ".offset" } else { "" };
    let from = if whole { "s32" } else { "f32" };
    let (results, op) = if gathers {
        let component = any(rng, &["r", "g", "b", "a"]);
        (4, format!("tld4.{component}.{word}{offset}.{}.f32", any(rng, &["u32", "f32"])))
    } else {
        let ty = any(rng, &["f32", "u32", "s32", "f32", "f16x2", "f16"]);
        let results = if ty == "f16x2" { 2 } else { 4 };
        (results, format!("tex.{lod}.{word}{offset}.{ty}.{from}"))
    };
    let half = op.contains(".f16.");
    // At times the sampler is that of another texture, in all lanes or in some.
    let sampler = any(rng, &["%h", "%h", "%s"]);
    if sampler == "%s" {
        let of = rng.below(Geometry::ALL.len()) * OBJECTS;
        let _ = writeln!(text, "  %s = add.u64 %o, {}", BYTES * of);
        if rng.one_in(2) {
            let _ = write!(text, "  %q = setp.lt.u32 %x, 0x80000000\n  %s = selp.b64 %s, %h, %q\n");
        }
    }
    let results: Vec<String> =
        (0..results).map(|i| format!("{}{i}", if half { "%w" } else { "%r" })).collect();
    let _ = writeln!(text, "  {guard}{} = {op} %h, {sampler}{operands}", results.join(", "));
    mix(text, &results, half);
}

/// Mixes results into `%a`.
fn mix(text: &mut String, results: &[String], half: bool) {
    for result in results {
        if half {
            let _ = writeln!(text, "  %y = cvt.u32.u16 {result}");
        }
        let result = if half { "%y" } else { result };
        let _ = writeln!(text, "  %a = mad.u32 %a, 31, {result}");
    }
}

fn accessed(rng: &mut Rng, text: &mut String, guard: &str, writes: bool) {
    let surfaces =
        [Geometry::D1, Geometry::D2, Geometry::D3, Geometry::D1Layered, Geometry::D2Layered];
    let geometry = any(rng, &surfaces);
    handle(rng, text, geometry, true);
    let (word, bounds) = (geometry.word(), any(rng, &["clamp", "zero"]));
    let mut operands = String::new();
    if geometry.is_layered() {
        coordinate(rng, text, "%c7", true);
        operands.push_str(", %c7");
    }
    let (ty, bytes) = any(rng, &[("b8", 1), ("b16", 2), ("b32", 4), ("b32", 4), ("b64", 8)]);
    let count = any(rng, &[1, 2, if bytes < 8 { 4 } else { 2 }]);
    let kind = rng.below(4);
    let formatted = writes && kind == 1;
    coordinate(rng, text, "%c0", true);
    if !formatted {
        let unit = if writes && kind == 0 { 4 } else { bytes * count };
        let _ = writeln!(text, "  %c0 = mul.u32 %c0, {unit}");
    }
    for i in 0..geometry.dimensions() {
        if i > 0 {
            coordinate(rng, text, &format!("%c{i}"), true);
        }
        let _ = write!(operands, ", %c{i}");
    }
    operands.push_str(&", 0".repeat(3 - geometry.coordinates()));
    let register = |i| match ty {
        "b8" | "b16" => format!("%w{i}"),
        "b64" => format!("%d{i}"),
        _ => format!("%r{i}"),
    };
    let values: Vec<String> = (0..count).map(register).collect();
    if !writes {
        let to = values.join(", ");
        let _ = writeln!(text, "  {guard}{to} = suld.{word}.{bounds}.{ty} %h{operands}");
        for value in &values {
            match ty {
                "b8" | "b16" => mix(text, std::slice::from_ref(value), true),
                "b64" => {
                    let _ = writeln!(text, "  %r0, %r1 = unpack.b64.b32 {value}");
                    mix(text, &["%r0".to_owned(), "%r1".to_owned()], false);
                }
                _ => mix(text, std::slice::from_ref(value), false),
            }
        }
        return;
    }
    let _ = match kind {
        0 => {
            let op = any(rng, &["add.u32", "min.s32", "max.u32", "and.b32", "or.b32", "min.u32"]);
            writeln!(text, "  {guard}sured.{word}.{bounds}.{op} %h{operands}, %a")
        }
        1 => {
            let values = ["%a", "%i", "%c0", "%a"].join(", ");
            writeln!(text, "  {guard}sust.{word}.{bounds}.formatted.b32 %h{operands}, {values}")
        }
        _ => {
            let from = values.join(", ");
            writeln!(text, "  {guard}sust.{word}.{bounds}.{ty} %h{operands}, {from}")
        }
    };
}

fn kernel(rng: &mut Rng, writes: bool) -> String {
    let mut text = String::from(
        "kernel @k(o: u64 global, out: u64 global) {
  reg %t, %i, %x, %y, %a, %c0, %c1, %c2, %c7: b32
  reg %l0, %l1, %l2, %l3, %l4, %l5, %r0, %r1, %r2, %r3: b32
  reg %w0, %w1, %w2, %w3: b16
  reg %o, %h, %s, %at, %d0, %d1, %out: b64
  reg %p, %q: pred
entry:
  %o = ld.param.u64 [@o]
  %out = ld.param.u64 [@out]
  %t = sreg.u32 tid.x
  %x = sreg.u32 tid.y
  %t = mad.u32 %x, 16, %t
  %x = sreg.u32 tid.z
  %t = mad.u32 %x, 64, %t
  %i = sreg.u32 ctaid.x
  %i = mad.u32 %i, 1024, %t
",
    );
    let parts = 1 + rng.below(6);
    for part in 0..parts {
        let _ =
            write!(text, "  %x = mad.u32 %i, 0x9e3779b1, {part}\n  %x = mul.u32 %x, 0x85ebca6b\n");
        let _ = writeln!(text, "  %p = setp.lt.u32 %x, 0xa0000000");
        let guard = any(rng, &["", "", "@%p ", "@!%p "]);
        match rng.below(if writes { 4 } else { 3 }) {
            0 | 1 => sampled(rng, &mut text, guard),
            2 => accessed(rng, &mut text, guard, false),
            _ => accessed(rng, &mut text, guard, true),
        }
        if rng.one_in(6) {
            let surface = rng.one_in(2);
            handle(rng, &mut text, Geometry::D2, surface);
            let asked = any(rng, &["width", "height", "channel_order", "num_mipmap_levels"]);
            let _ = writeln!(text, "  %r0 = txq.{asked} %h");
            mix(&mut text, &["%r0".to_owned()], false);
        }
    }
    let _ = write!(
        text,
        "  %at = mulwide.u32 %i, {RESULTS}
  %at = add.u64 %at, %out
  st.global.u32 [%at], %a
  st.global.u32 [%at + 4], %r0
  st.global.u64 [%at + 8], %d0
  ret
}}
"
    );
    text
}

fn run(seed: u64, writes: bool, count: &mut Count) {
    let mut rng = Rng::new(seed);
    let text = kernel(&mut rng, writes);
    let module = parsed(&text);
    let (program, mut launch) = launch(&module, FuncId(0), seed);
    launch.grid = [1 + (seed % 5) as u32, 1, 1];
    let number = Geometry::ALL.len() * OBJECTS;
    let elements = launch.memory.allocate("elements", ROOM * number as u64).expect("room");
    let content: Vec<u8> = (0..ROOM as usize * number / 4)
        .flat_map(|_| match rng.one_in(16) {
            true => (rng.value() as u32).to_le_bytes(),
            false => ((rng.below(4096) as f32 - 1024.0) / 8.0).to_le_bytes(),
        })
        .collect();
    launch.memory.host_write(elements, &content).expect("it is there");
    let made = objects(&mut rng, elements.0);
    let objects = launch.memory.allocate("objects", made.len() as u64).expect("room");
    launch.memory.host_write(objects, &made).expect("it is there");
    let threads = 1024 * u64::from(launch.grid[0]);
    let out = launch.memory.allocate("out", threads * RESULTS as u64).expect("room");
    launch.params = [objects.0, out.0].into_iter().flat_map(u64::to_le_bytes).collect();
    if let Err(what) = compare_tiers(&program, &launch, count) {
        panic!("{seed}: {what}\n{text}");
    }
}

/// `KERNELS=1000 SEED=1 cargo test --workspace --test jit -- textures` runs more.
#[test]
fn random_textures_and_surfaces_are_exact() {
    let (first, kernels) = (number("SEED", 0), number("KERNELS", 40));
    for writes in [false, true] {
        let mut count = Count::default();
        (first..first + kernels).for_each(|seed| run(seed, writes, &mut count));
        assert!(count.compared >= at_least(6 * kernels) || count.steps == 0, "{count:?}");
        assert!(count.parallel > 0 || count.steps == 0, "{count:?}");
    }
}
