//! Kinds of modifiers and their words.
//!
//! A word can belong to several kinds (`.lo` is a half of a product, or a comparison); the kinds
//! that the opcode takes decide which one is meant. Types are separate: see [`crate::ast::Type`].

use ir::mods::Kind as IrKind;
use std::iter;

macro_rules! kinds {
    ($( $(#[$doc:meta])* $kind:ident $what:literal { $($word:literal)+ } )+) => {
        /// A kind of modifier.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Kind {
            $($(#[$doc])* $kind,)+
            /// A kind of the kernel IR that PTX spells with the same words and that means the same:
            /// it needs no row here, and lowering copies its word.
            Ir(IrKind),
        }

        /// The kinds that PTX has for itself.
        #[derive(Clone, Copy)]
        enum PtxKind { $($kind),+ }

        const OWN: &[Kind] = &[$(Kind::$kind),+];

        impl Kind {
            /// Number of kinds.
            pub const COUNT: usize = OWN.len() + IrKind::ALL.len();

            /// Its number among all kinds.
            #[must_use]
            pub const fn index(self) -> usize {
                match self {
                    $(Self::$kind => PtxKind::$kind as usize,)+
                    Self::Ir(kind) => OWN.len() + kind as usize,
                }
            }

            /// Its words, without dots.
            #[must_use]
            pub const fn words(self) -> &'static [&'static str] {
                match self { $(Self::$kind => &[$($word),+],)+ Self::Ir(kind) => kind.words() }
            }

            /// Its name in messages.
            #[must_use]
            pub const fn what(self) -> &'static str {
                match self { $(Self::$kind => $what,)+ Self::Ir(kind) => kind.what() }
            }
        }
    };
}

const _: () = assert!(Kind::COUNT <= 256, "kinds fit a set");

impl Kind {
    /// All kinds, in order of their numbers.
    pub const ALL: [Self; Self::COUNT] = {
        let mut all = [OWN[0]; Self::COUNT];
        let mut i = 0;
        while i < all.len() {
            all[i] = if i < OWN.len() { OWN[i] } else { Self::Ir(IrKind::ALL[i - OWN.len()]) };
            i += 1;
        }
        all
    };
}

kinds! {
    /// Rounding of a floating-point result.
    Rounding "a rounding mode" { "rn" "rz" "rm" "rp" }
    /// Rounding with ties away from zero.
    Away "`.rna`" { "rna" }
    /// Rounding to an integral value.
    Integral "a rounding mode" { "rni" "rzi" "rmi" "rpi" }
    /// The accuracy of a function.
    Approx "`.approx`" { "approx" }
    /// Division over the full range.
    Full "`.full`" { "full" }
    /// Subnormals are flushed to zero.
    Ftz "`.ftz`" { "ftz" }
    /// The result saturates.
    Sat "`.sat`" { "sat" }
    /// The result saturates to the largest finite value.
    SatFinite "`.satfinite`" { "satfinite" }
    /// Negative results become 0.
    Relu "`.relu`" { "relu" }
    /// NaN operands give NaN.
    Nan "`.NaN`" { "NaN" }
    /// The sign is the exclusive or of the signs.
    XorSign "`.xorsign`" { "xorsign" }
    /// Magnitudes: of `.xorsign.abs`, and of `redux`.
    Abs "`.abs`" { "abs" }
    /// A part of a product.
    Half "`.lo`, `.hi` or `.wide`" { "lo" "hi" "wide" }
    /// Half of a 24-bit product, or of `dp2a`'s operand.
    LoHi "`.lo` or `.hi`" { "lo" "hi" }
    /// The carry flag is written.
    Carry "`.cc`" { "cc" }
    /// A comparison.
    Cmp "a comparison such as `.eq`" {
        "eq" "ne" "lt" "le" "gt" "ge" "lo" "ls" "hi" "hs" "equ" "neu" "ltu" "leu" "gtu" "geu" "num" "nan"
    }
    /// A state space.
    Space "a state space such as `.global`" {
        "const" "global" "local" "param" "shared" "shared::cta" "shared::cluster" "param::entry" "param::func"
    }
    /// The number of elements.
    Vector "`.v2`, `.v4` or `.v8`" { "v2" "v4" "v8" }
    /// Memory order.
    Order "a memory order" { "weak" "volatile" "relaxed" "acquire" "release" }
    /// Memory order of an atomic operation.
    AtomOrder "a memory order" { "relaxed" "acquire" "release" "acq_rel" }
    /// Memory order of a fence.
    FenceOrder "a memory order" { "sc" "acq_rel" "acquire" "release" }
    /// Scope.
    Scope "a scope" { "cta" "cluster" "gpu" "sys" }
    /// The scope of `membar`.
    Level "`.cta`, `.gl` or `.sys`" { "cta" "gl" "sys" }
    /// The use of caches by a load.
    Cache "a cache operator" { "ca" "cg" "cs" "lu" "cv" }
    /// The use of caches by a store.
    StCache "a cache operator" { "wb" "cg" "cs" "wt" }
    /// The only space that some operations work on.
    GlobalSpace "`.global`" { "global" }
    /// The action on all replicas of an address.
    Multimem "`.ld_reduce`, `.st` or `.red`" { "ld_reduce" "st" "red" }
    /// The precision of sums of narrow floats.
    Accumulator "`.acc::f32` or `.acc::f16`" { "acc::f32" "acc::f16" }
    /// The combination of `lop3`'s predicate.
    AndOr "`.and` or `.or`" { "and" "or" }
    /// The only rounding of 16-bit formats.
    Nearest "`.rn`" { "rn" }
    /// Reads through the non-coherent cache.
    NonCoherent "`.nc`" { "nc" }
    /// Subnormals are kept.
    NoFtz "`.noftz`" { "noftz" }
    /// `wmma.load`
    WmmaLoad "`.load`" { "load" }
    /// `wmma.store`
    WmmaStore "`.store`" { "store" }
    /// `wmma.mma`
    WmmaMma "`.mma`" { "mma" }
    /// The left factor is sparse.
    Sparse "`.sp`" { "sp" }
    /// The same, with increasing indices in its metadata.
    SparseOrdered "`.sp::ordered_metadata`" { "sp::ordered_metadata" }
    /// A factor of a product.
    Factor "`.a` or `.b`" { "a" "b" }
    /// The addend of a product.
    Addend "`.c`" { "c" }
    /// The result of a product.
    Sum "`.d`" { "d" }
    /// `.sync`
    Sync "`.sync`" { "sync" }
    /// `.aligned`
    Aligned "`.aligned`" { "aligned" }
    /// The question of `match`.
    Match "`.any` or `.all`" { "any" "all" }
    /// The action of a barrier.
    Barrier "`.sync`, `.arrive` or `.red`" { "sync" "arrive" "red" }
    /// The reduction of a barrier.
    RedOp "`.popc`, `.and` or `.or`" { "popc" "and" "or" }
    /// The barrier is one of the CTA.
    Cta "`.cta`" { "cta" }
    /// The barrier is one of the warp.
    Warp "`.warp`" { "warp" }
    /// Direction of a funnel shift.
    Direction "`.l` or `.r`" { "l" "r" }
    /// The effect of shift amounts beyond the width.
    ShiftMode "`.wrap` or `.clamp`" { "wrap" "clamp" }
    /// `bfind` gives a shift amount.
    ShiftAmt "`.shiftamt`" { "shiftamt" }
    /// `cvta` converts from generic.
    To "`.to`" { "to" }
    /// All threads of the warp go the same way.
    Uni "`.uni`" { "uni" }
    /// A cache level.
    CacheLevel "a cache level" { "L1" "L2" }
    /// `brx.idx`
    Idx "`.idx`" { "idx" }
    /// The action of `griddepcontrol`.
    Dependence "`.launch_dependents` or `.wait`" { "launch_dependents" "wait" }
    /// The action of `setmaxnreg`.
    RegisterCount "`.inc` or `.dec`" { "inc" "dec" }
    /// `cp.async`
    Async "`.async`" { "async" }
    /// The use of caches by a copy.
    CopyCache "`.ca` or `.cg`" { "ca" "cg" }
    /// The action on a group of copies.
    CopyGroup "`.commit_group`, `.wait_group` or `.wait_all`" { "commit_group" "wait_group" "wait_all" }
    /// The action of `wgmma`.
    GroupAction "`.mma_async`, `.fence`, `.commit_group` or `.wait_group`" {
        "mma_async" "fence" "commit_group" "wait_group"
    }
    /// `cvt.pack`
    Pack "`.pack`" { "pack" }
    /// Sizes of a matrix, or of a product of matrices.
    MatrixShape "sizes such as `.m16n8k16`" {
        "m8n8" "m8n16" "m16n8" "m16n16" "m8n8k4" "m16n8k4" "m16n8k8" "m16n8k16" "m16n8k32" "m16n8k64" "m16n8k128" "m16n8k256" "m8n8k16"
        "m8n8k32" "m8n8k128" "m16n16k16" "m16n16k8" "m8n32k16" "m32n8k16"
    }
    /// The storage order of a matrix, or of the left factor of a product.
    LayoutA "`.row` or `.col`" { "row" "col" }
    /// The storage order of the right factor of a product.
    LayoutB "a second `.row` or `.col`" { "row" "col" }
    /// Number of matrices.
    MatrixCount "`.x1`, `.x2` or `.x4`" { "x1" "x2" "x4" }
    /// What elements of 6 or 4 bits become.
    Unpacked "`.b8x16`" { "b8x16" }
    /// Elements of 6 or 4 bits in rows of 16 bytes.
    Packed "`.b6x16_p32` or `.b4x16_p64`" { "b6x16_p32" "b4x16_p64" }
    /// Matrices are transposed on their way.
    Trans "`.trans`" { "trans" }
    /// The product of two bits.
    BitOp "`.xor` or `.and`" { "xor" "and" }
    /// Memory-mapped input and output.
    Mmio "`.mmio`" { "mmio" }
    /// A cache policy for a fraction of the accesses.
    Fractional "`.fractional`" { "fractional" }
    /// A cache policy for a range of addresses.
    Range "`.range`" { "range" }
    /// A cache policy is made of an access property.
    PolicyCvt "`.cvt`" { "cvt" }
    /// The second level of caches.
    SecondLevel "`.L2`" { "L2" }
    /// The use of the second level of caches by accesses of a policy.
    Eviction "an eviction priority such as `.L2::evict_last`" {
        "L2::evict_last" "L2::evict_normal" "L2::evict_first" "L2::evict_unchanged"
    }
    /// The same for the other accesses.
    OtherEviction "`.L2::evict_first` or `.L2::evict_unchanged`" {
        "L2::evict_first" "L2::evict_unchanged"
    }
    /// The operation of a video instruction on its result and the third operand.
    SecondaryOp "`.add`, `.min` or `.max`" { "add" "min" "max" }
    /// Whether results of elements are added to the third operand.
    Accumulate "`.add`" { "add" }
    /// One is added to a sum of `vmad`.
    PlusOne "`.po`" { "po" }
    /// The shift of `vmad`'s result.
    Scale "`.shr7` or `.shr15`" { "shr7" "shr15" }
    /// A comparison of integers.
    IntegerCmp "a comparison such as `.eq`" { "eq" "ne" "lt" "le" "gt" "ge" }
    /// The initialisation of a barrier in memory.
    MbarInit "`.init`" { "init" }
    /// A barrier in memory ends.
    MbarInval "`.inval`" { "inval" }
    /// Arrivals at a barrier in memory.
    MbarArrive "`.arrive` or `.arrive_drop`" { "arrive" "arrive_drop" }
    /// The memory order of an arrival.
    ArriveOrder "`.release`" { "release" }
    /// Memory orders of an arrival of devices since sm_90.
    ArriveOrders "`.release` or `.relaxed`" { "release" "relaxed" }
    /// The memory order of a test.
    TestOrder "`.acquire`" { "acquire" }
    /// Memory orders of a test of devices since sm_90.
    TestOrders "`.acquire` or `.relaxed`" { "acquire" "relaxed" }
    /// A barrier in memory is asked whether a phase has completed.
    MbarTest "`.test_wait`" { "test_wait" }
    /// A barrier in memory is asked for its layout.
    MbarCheck "`.check_layout`" { "check_layout" }
    /// The layout of a barrier in memory.
    MbarLayout "`.layout::v0` or `.layout::v1`" { "layout::v0" "layout::v1" }
    /// The phase that completes with arrivals and bytes.
    PrimaryPhase "`.phase_type::primary`" { "phase_type::primary" }
    /// Which phase of a barrier in memory is meant.
    PhaseType "`.phase_type::primary` or `.phase_type::conditional`" {
        "phase_type::primary" "phase_type::conditional"
    }
    /// Number of arrivals that a state waits for.
    MbarPending "`.pending_count`" { "pending_count" }
    /// The arrival does not complete the phase.
    NoComplete "`.noComplete`" { "noComplete" }
    /// The phase is named by its parity.
    Parity "`.parity`" { "parity" }
    /// An arrival of copies at a barrier in memory.
    Arrive "`.arrive`" { "arrive" }
    /// The arrival is not counted first.
    NoIncrement "`.noinc`" { "noinc" }
    /// `cp.async.mbarrier`
    Mbarrier "`.mbarrier`" { "mbarrier" }
    /// The CTA's own shared memory.
    OwnShared "`.shared`" { "shared" "shared::cta" }
    /// Scopes of barriers in memory.
    MbarScope "`.cluster`" { "cta" "cluster" }
    /// Shared memory of the CTA, or of the cluster.
    MbarSpace "`.shared` or `.shared::cluster`" { "shared" "shared::cta" "shared::cluster" }
    /// Shared memory of the cluster.
    ClusterShared "`.shared::cluster`" { "shared::cluster" }
    /// Shared memory of the CTA.
    CtaShared "`.shared::cta`" { "shared::cta" }
    /// A barrier in memory expects bytes.
    ExpectTx "`.expect_tx`" { "expect_tx" }
    /// Bytes complete at a barrier in memory.
    CompleteTx "`.complete_tx`" { "complete_tx" }
    /// A barrier in memory is asked, after a wait.
    MbarTry "`.try_wait`" { "try_wait" }
    /// No memory order.
    Relaxed "`.relaxed`" { "relaxed" }
    /// The cluster.
    Cluster "`.cluster`" { "cluster" }
    /// A wait for the cluster.
    ClusterWait "`.wait`" { "wait" }
    /// Bulk copies.
    Bulk "`.bulk`" { "bulk" }
    /// A part of a tensor.
    Tensor "`.tensor`" { "tensor" }
    /// A surface is accessed by bytes.
    SurfaceBytes "`.b`" { "b" }
    /// A surface is accessed by elements.
    SurfaceElements "`.p`" { "p" }
    /// The size of a level is asked for.
    QueryLevel "`.level`" { "level" }
    /// Dimensions of a tensor.
    TensorRank "`.1d` to `.5d`" { "1d" "2d" "3d" "4d" "5d" }
    /// Four rows that a tensor copy reads.
    TensorGather "`.tile::gather4`" { "tile::gather4" }
    /// Four rows that a tensor copy writes.
    TensorScatter "`.tile::scatter4`" { "tile::scatter4" }
    /// Pixels along W that a tensor copy reads.
    TensorWide "`.im2col::w` or `.im2col::w::128`" { "im2col::w" "im2col::w::128" }
    /// How a tensor copy reads the tensor.
    TensorLoad "`.tile` or `.im2col`" { "tile" "im2col" }
    /// How a tensor copy writes the tensor.
    TensorStore "`.tile` or `.im2col_no_offs`" { "tile" "im2col_no_offs" }
    /// A tensor map.
    TensorMap "`.tensormap`" { "tensormap" }
    /// Accesses through tensor maps against generic ones.
    MapGeneric "`.tensormap::generic`" { "tensormap::generic" }
    /// A change of a tensor map.
    Replace "`.replace`" { "replace" }
    /// A tensor map of tiles.
    Tile "`.tile`" { "tile" }
    /// What is changed in a tensor map.
    MapField "a field of a tensor map such as `.box_dim`" {
        "global_address" "rank" "box_dim" "global_dim" "global_stride" "element_stride"
        "elemtype" "interleave_layout" "swizzle_mode" "swizzle_atomicity" "fill_mode"
    }
    /// The size of a tensor map.
    MapSize "`.b1024`" { "b1024" }
    /// Where a tensor map is changed.
    MapSpace "`.global` or `.shared::cta`" { "global" "shared::cta" }
    /// Where a tensor map is that is fetched.
    MapConst "`.const` or `.param`" { "const" "param" }
    /// A copy with a fence.
    CopyFence "`.cp_fenceproxy`" { "cp_fenceproxy" }
    /// Completion by bytes at a barrier in memory.
    Transactions "`.mbarrier::complete_tx::bytes`" { "mbarrier::complete_tx::bytes" }
    /// Completion in a group of bulk copies.
    BulkGroup "`.bulk_group`" { "bulk_group" }
    /// A copy to several CTAs.
    Multicast "`.multicast::cluster`" { "multicast::cluster" }
    /// A copy without some bytes at its ends.
    Trimmed "`.ignore_oob`" { "ignore_oob" }
    /// A priority in the second level of caches.
    FetchPriority "`.L2::evict_last` or `.L2::evict_normal`" { "L2::evict_last" "L2::evict_normal" }
    /// A copy of some bytes of each 16.
    ByteMask "`.cp_mask`" { "cp_mask" }
    /// A copy that combines.
    Reduce "`.reduce`" { "reduce" }
    /// A copy to a cache.
    Prefetch "`.prefetch`" { "prefetch" }
    /// A wait until sources have been read.
    ReadOnly "`.read`" { "read" }
    /// A fence between proxies.
    Proxy "`.proxy`" { "proxy" }
    /// Other addresses of the same memory.
    Alias "`.alias`" { "alias" }
    /// Accesses of the asynchronous proxy against generic ones.
    AsyncGeneric "`.async::generic`" { "async::generic" }
    /// A fence of one direction.
    OneWay "`.acquire` or `.release`" { "acquire" "release" }
    /// The memory that a fence takes effect on.
    SyncRestrict "`.sync_restrict::shared::cluster` or `.sync_restrict::shared::cta`" {
        "sync_restrict::shared::cluster" "sync_restrict::shared::cta"
    }
    /// Initialisations of barriers in memory.
    BarrierInit "`.mbarrier_init`" { "mbarrier_init" }
    /// The count of combined bits.
    Popc "`.popc`" { "popc" }
}

/// A set of kinds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kinds([u128; 2]);

impl Kinds {
    /// The set of these kinds.
    #[must_use]
    pub const fn of(kinds: &[Kind]) -> Self {
        let (mut bits, mut i) = ([0; 2], 0);
        while i < kinds.len() {
            bits[kinds[i].index() / 128] |= 1 << (kinds[i].index() % 128);
            i += 1;
        }
        Self(bits)
    }

    /// Returns whether a kind is in the set.
    #[must_use]
    pub const fn has(self, kind: Kind) -> bool {
        self.0[kind.index() / 128] >> (kind.index() % 128) & 1 != 0
    }

    /// Its kinds in order. Every instruction is spelled by these: only the set's bits are visited.
    pub fn iter(self) -> impl Iterator<Item = Kind> {
        let Self(mut bits) = self;
        iter::from_fn(move || {
            let half = usize::from(bits[0] == 0);
            let bit = bits[half].trailing_zeros() as usize;
            bits[half] &= bits[half].checked_sub(1)?;
            Some(Kind::ALL[128 * half + bit])
        })
    }
}

/// Returns whether a word is a hint about caches, which changes no result: `.L1::evict_last`,
/// `.L2::128B`, `.L2::cache_hint`.
#[must_use]
pub fn is_cache_hint(word: &str) -> bool {
    ["L1::", "L2::", "level::"].iter().any(|prefix| word.starts_with(prefix))
}
