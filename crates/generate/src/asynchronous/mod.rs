//! Random kernels of asynchronous operations, with the memory that they leave.
//!
//! A kernel is a row of parts, each an exchange of threads through barriers in shared memory, bulk
//! copies, copies of tensors, products of warp groups, or the shared memory of a cluster. It has no
//! races and gives the same in every order of asynchronous steps. What memory holds behind it is
//! computed beside it, in plain arithmetic over the layouts that the PTX ISA documents, and takes
//! nothing from an engine but the layout of a tensor map.
//!
//! | module | |
//! |---|---|
//! | `barriers` | producers and consumers, turns of all threads, counts, copies of threads |
//! | `bulk` | bulk copies and reductions |
//! | `tensor` | copies of tensors of 1 to 5 dimensions |
//! | `product` | asynchronous products of warp groups |
//! | `cluster` | the shared memory of other blocks of a cluster |
//! | `writer` | the text, the memory, and what all parts use |

mod barriers;
mod bulk;
mod cluster;
mod product;
mod tensor;
mod writer;

use ir::testing::Rng;
use writer::Writer;

/// A buffer in global memory, whose address is a parameter of the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Buffer {
    /// The name of the parameter.
    pub name: &'static str,
    /// What it holds before the launch.
    pub before: Vec<u8>,
    /// What it holds behind it.
    pub after: Vec<u8>,
    /// Where it holds addresses, of bytes of other buffers: a place, the number of the buffer, the
    /// byte.
    pub addresses: Vec<(usize, usize, u64)>,
}

/// A kernel, its launch, and what it gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// The seed that it was made from.
    pub seed: u64,
    /// Its text.
    pub ptx: String,
    /// Blocks.
    pub grid: u32,
    /// Blocks of a cluster.
    pub cluster: u32,
    /// Threads of a block.
    pub block: u32,
    /// Its parameters, in order.
    pub buffers: Vec<Buffer>,
    /// The kinds of its parts.
    pub parts: Vec<&'static str>,
}

/// A kind of parts: its name, what appends one, and how often it is chosen.
type Part = (&'static str, fn(&mut Writer), usize);

/// Parts of every kernel.
const PARTS: &[Part] = &[
    ("ring", barriers::ring, 4),
    ("turns", barriers::turns, 3),
    ("counts", barriers::counts, 2),
    ("thread_copies", barriers::thread_copies, 2),
    ("loads", bulk::loads, 2),
    ("stores", bulk::stores, 3),
    ("tensor_load", tensor::load, 5),
    ("tensor_store", tensor::store, 3),
];

/// Parts of kernels for sm_90a.
const OF_WARP_GROUPS: &[Part] = &[("product", product::product, 6)];

/// Parts of kernels with clusters.
const OF_CLUSTERS: &[Part] = &[
    ("cluster_stores", cluster::stores, 3),
    ("cluster_sends", cluster::sends, 3),
    ("multicast", cluster::multicast, 3),
    ("cluster_accesses", cluster::accesses, 2),
    ("cluster_arrivals", cluster::arrivals, 2),
    ("cluster_lanes", cluster::lanes, 3),
    ("tensor_multicast", tensor::multicast, 3),
];

/// Bytes of shared memory behind which there may be no room for another part.
const ROOM: usize = 6 << 10;

/// The names of all kinds of parts.
pub fn parts() -> impl Iterator<Item = &'static str> {
    [PARTS, OF_WARP_GROUPS, OF_CLUSTERS].into_iter().flatten().map(|part| part.0)
}

fn pick(rng: &mut Rng, parts: &[&[Part]]) -> Part {
    let all: Vec<Part> = parts.iter().copied().flatten().copied().collect();
    let mut rest = rng.below(all.iter().map(|part| part.2).sum());
    for &part in &all {
        if rest < part.2 {
            return part;
        }
        rest -= part.2;
    }
    all[0]
}

fn append(writer: &mut Writer, (name, part, _): Part) {
    writer.begin(name);
    part(writer);
    writer.noise(|_| true);
}

/// Returns the kernel of a seed.
#[must_use]
pub fn kernel(seed: u64) -> Kernel {
    let mut rng = Rng::new(seed ^ 0x61_73_79_6e_63);
    let cluster = [1, 1, 1, 2, 4, 3][rng.below(6)];
    let groups = rng.below(3) > 0;
    let mut writer = Writer::new(rng, cluster, groups);
    for _ in 0..1 + writer.rng.below(3) {
        if writer.shared_bytes > ROOM {
            break;
        }
        let clustered = cluster > 1 && writer.rng.below(3) > 0;
        let parts: &[&[Part]] = match (clustered, groups) {
            (true, _) => &[OF_CLUSTERS],
            (false, true) => &[PARTS, OF_WARP_GROUPS],
            (false, false) => &[PARTS],
        };
        let part = pick(&mut writer.rng, parts);
        append(&mut writer, part);
    }
    writer.finish(seed)
}

/// Returns the kernel of a seed that has one part, of the kind of a name; `None` if there is no
/// such kind.
#[must_use]
pub fn kernel_of(name: &str, seed: u64) -> Option<Kernel> {
    let is_it = |part: &&Part| part.0 == name;
    let mut rng = Rng::new(seed ^ 0x70_61_72_74);
    let of = |parts: &[Part]| parts.iter().find(is_it).copied();
    let groups = of(OF_WARP_GROUPS).is_some() || rng.one_in(2);
    let cluster = if of(OF_CLUSTERS).is_some() { 2 + rng.below(3) } else { 1 };
    let part = [PARTS, OF_WARP_GROUPS, OF_CLUSTERS].into_iter().find_map(of)?;
    let mut writer = Writer::new(rng, cluster, groups);
    append(&mut writer, part);
    Some(writer.finish(seed))
}
