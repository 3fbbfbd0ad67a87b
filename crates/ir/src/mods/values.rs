//! The values of modifiers, with their words in the text form.
//!
//! Those that the lane arithmetic and the memory know, too, are in `simt`.

use simt::word_enums;

word_enums! {
    /// Rounding of a floating-point result, or (the `i` forms) to an integral value.
    pub enum Rounding {
        /// To nearest, ties to even.
        Rn "rn",
        /// Toward zero.
        Rz "rz",
        /// Toward minus infinity.
        Rm "rm",
        /// Toward plus infinity.
        Rp "rp",
        /// To nearest, ties away from zero.
        Rna "rna",
        /// To an integral value: nearest, ties to even.
        Rni "rni",
        /// To an integral value: toward zero.
        Rzi "rzi",
        /// To an integral value: toward minus infinity.
        Rmi "rmi",
        /// To an integral value: toward plus infinity.
        Rpi "rpi",
    }
    /// How exact a floating-point function is.
    pub enum Precision {
        /// Our published approximation.
        Approx "approx",
        /// Full-range approximation (division).
        Full "full",
    }
    /// Comparisons. The `u` forms are true if an operand is NaN; on integers lo, ls, hi, hs are
    /// unsigned.
    pub enum Cmp {
        /// Equal.
        Eq "eq",
        /// Not equal.
        Ne "ne",
        /// Less.
        Lt "lt",
        /// Less or equal.
        Le "le",
        /// Greater.
        Gt "gt",
        /// Greater or equal.
        Ge "ge",
        /// Unsigned less.
        Lo "lo",
        /// Unsigned less or equal.
        Ls "ls",
        /// Unsigned greater.
        Hi "hi",
        /// Unsigned greater or equal.
        Hs "hs",
        /// Equal or unordered.
        Equ "equ",
        /// Not equal or unordered.
        Neu "neu",
        /// Less or unordered.
        Ltu "ltu",
        /// Less, equal or unordered.
        Leu "leu",
        /// Greater or unordered.
        Gtu "gtu",
        /// Greater, equal or unordered.
        Geu "geu",
        /// Neither is NaN.
        Num "num",
        /// One is NaN.
        Nan "isnan",
    }
    /// How a comparison is combined with a predicate.
    pub enum BoolOp {
        /// And.
        And "and",
        /// Or.
        Or "or",
        /// Exclusive or.
        Xor "xor",
    }
    /// Read-modify-write operations.
    pub enum AtomOp {
        /// Add.
        Add "add",
        /// Minimum.
        Min "min",
        /// Maximum.
        Max "max",
        /// Bitwise and.
        And "and",
        /// Bitwise or.
        Or "or",
        /// Bitwise exclusive or.
        Xor "xor",
        /// Exchange.
        Exch "exch",
        /// Compare and swap.
        Cas "cas",
        /// Wrapping increment: `old >= b ? 0 : old + 1`.
        Inc "inc",
        /// Wrapping decrement: `old == 0 || old > b ? b : old - 1`.
        Dec "dec",
    }
    /// Where a shuffle reads from.
    pub enum Shuffle {
        /// Lane minus the operand.
        Up "up",
        /// Lane plus the operand.
        Down "down",
        /// Lane exclusive-or the operand.
        Bfly "bfly",
        /// The operand.
        Idx "idx",
    }
    /// What a vote asks.
    pub enum Vote {
        /// Does the predicate hold in all lanes?
        All "all",
        /// In any?
        Any "any",
        /// Is it the same in all?
        Uni "uni",
        /// In which lanes?
        Ballot "ballot",
    }
    /// How a CTA barrier is used.
    pub enum Barrier {
        /// Arrive and wait.
        Sync "sync",
        /// Arrive only.
        Arrive "arrive",
        /// Arrive, wait, and count the threads whose predicate holds.
        RedPopc "popc",
        /// Arrive, wait, and ask whether all predicates hold.
        RedAnd "and",
        /// Arrive, wait, and ask whether any predicate holds.
        RedOr "or",
    }
    /// From where to where a bulk copy goes, and how it completes.
    pub enum Bulk {
        /// From global to shared memory, with a barrier in memory.
        Load "load",
        /// From the CTA's shared memory to that of a CTA of the cluster, with a barrier in memory.
        Send "send",
        /// From shared to global memory, in a group.
        Store "store",
    }
    /// Which elements of a tensor a copy moves.
    pub enum TensorMode {
        /// A box.
        Tile "tile",
        /// Four rows of a tensor of two dimensions.
        Rows "rows",
        /// Columns of pixels.
        Im2col "im2col",
        /// Columns of pixels along W.
        Im2colWide "im2col_w",
        /// Columns of 128 pixels along W.
        Im2colWide128 "im2col_w128",
    }
    /// Which coordinates a texture or a surface has.
    pub enum Geometry {
        /// One dimension.
        D1 "1d",
        /// Two dimensions.
        D2 "2d",
        /// Three dimensions.
        D3 "3d",
        /// Layers of one dimension.
        D1Layered "a1d",
        /// Layers of two dimensions.
        D2Layered "a2d",
        /// The six faces of a cube.
        Cube "cube",
        /// Layers of six faces.
        CubeLayered "acube",
    }
    /// What says which level of a mipmap is sampled.
    pub enum LevelMode {
        /// It is the first.
        Base "base",
        /// An operand behind the coordinates.
        Level "level",
        /// Two vectors of derivatives behind the coordinates.
        Grad "grad",
    }
    /// The component that `tld4` gathers.
    pub enum Component {
        /// The first.
        R "r",
        /// The second.
        G "g",
        /// The third.
        B "b",
        /// The fourth.
        A "a",
    }
    /// What becomes of a surface access out of bounds.
    pub enum Bounds {
        /// It faults.
        Trap "trap",
        /// It goes to the nearest place within.
        Clamp "clamp",
        /// Loads give zero, stores are dropped.
        Zero "zero",
    }
    /// What a query of a texture, sampler or surface gives.
    pub enum Query {
        /// Elements along the first dimension.
        Width "width",
        /// Along the second.
        Height "height",
        /// Along the third.
        Depth "depth",
        /// The type of channels, as OpenCL numbers it.
        ChannelDataType "channel_data_type",
        /// The order of channels, as OpenCL numbers it.
        ChannelOrder "channel_order",
        /// Whether coordinates are normalised.
        NormalizedCoords "normalized_coords",
        /// Layers.
        ArraySize "array_size",
        /// Levels of the mipmap.
        MipmapLevels "num_mipmap_levels",
        /// Samples of an element.
        Samples "num_samples",
        /// Whether coordinates are taken as not normalised.
        ForceUnnormalized "force_unnormalized_coords",
        /// 0 nearest, 1 linear.
        FilterMode "filter_mode",
        /// How coordinates out of range are treated along the first dimension.
        AddrMode0 "addr_mode_0",
        /// Along the second.
        AddrMode1 "addr_mode_1",
        /// Along the third.
        AddrMode2 "addr_mode_2",
        /// 0 linear memory, 1 an array.
        MemoryLayout "memory_layout",
    }
    /// The proxies whose accesses a fence orders against generic ones.
    pub enum Proxy {
        /// Other addresses of the same memory.
        Alias "alias",
        /// Asynchronous operations.
        Async "async",
        /// Asynchronous operations on global memory.
        AsyncGlobal "async_global",
        /// Asynchronous operations on shared memory.
        AsyncShared "async_shared",
    }
    /// Floating-point properties of `testp`.
    pub enum TestP {
        /// Neither infinite nor NaN.
        Finite "finite",
        /// Infinite.
        Infinite "infinite",
        /// Not NaN.
        Number "number",
        /// NaN.
        NotANumber "notanumber",
        /// Normal, or zero.
        Normal "normal",
        /// Subnormal.
        Subnormal "subnormal",
    }
    /// Sizes of a matrix product.
    pub enum MatrixShape {
        /// A is 8 by 4, B is 4 by 8.
        M8n8k4 "m8n8k4",
        /// A is 16 by 4, B is 4 by 8.
        M16n8k4 "m16n8k4",
        /// A is 16 by 8, B is 8 by 8.
        M16n8k8 "m16n8k8",
        /// A is 16 by 16, B is 16 by 8.
        M16n8k16 "m16n8k16",
        /// A is 16 by 32, B is 32 by 8.
        M16n8k32 "m16n8k32",
        /// A is 16 by 64, B is 64 by 8.
        M16n8k64 "m16n8k64",
        /// A is 16 by 128, B is 128 by 8.
        M16n8k128 "m16n8k128",
        /// A is 16 by 256, B is 256 by 8.
        M16n8k256 "m16n8k256",
        /// A is 8 by 16, B is 16 by 8.
        M8n8k16 "m8n8k16",
        /// A is 8 by 32, B is 32 by 8.
        M8n8k32 "m8n8k32",
        /// A is 8 by 128, B is 128 by 8.
        M8n8k128 "m8n8k128",
        /// A is 16 by 16, B is 16 by 16.
        M16n16k16 "m16n16k16",
        /// A is 16 by 8, B is 8 by 16.
        M16n16k8 "m16n16k8",
        /// A is 8 by 16, B is 16 by 32.
        M8n32k16 "m8n32k16",
        /// A is 32 by 16, B is 16 by 8.
        M32n8k16 "m32n8k16",
    }
    /// Elements of D, A, B and C of a matrix product.
    pub enum MatrixTypes {
        /// `f16` factors, `f16` sums.
        F16F16F16F16 "f16_f16_f16_f16",
        /// `f16` factors, a `f32` addend, `f16` sums.
        F16F16F16F32 "f16_f16_f16_f32",
        /// `f16` factors, a `f16` addend, `f32` sums.
        F32F16F16F16 "f32_f16_f16_f16",
        /// `f16` factors, `f32` sums.
        F32F16F16F32 "f32_f16_f16_f32",
        /// `bf16` factors, `f32` sums.
        F32Bf16Bf16F32 "f32_bf16_bf16_f32",
        /// `tf32` factors, `f32` sums.
        F32Tf32Tf32F32 "f32_tf32_tf32_f32",
        /// `f64` factors, `f64` sums.
        F64F64F64F64 "f64_f64_f64_f64",
        /// `s8` factors, `s32` sums.
        S32S8S8S32 "s32_s8_s8_s32",
        /// `s8` times `u8`, `s32` sums.
        S32S8U8S32 "s32_s8_u8_s32",
        /// `u8` times `s8`, `s32` sums.
        S32U8S8S32 "s32_u8_s8_s32",
        /// `u8` factors, `s32` sums.
        S32U8U8S32 "s32_u8_u8_s32",
        /// `s4` factors, `s32` sums.
        S32S4S4S32 "s32_s4_s4_s32",
        /// `s4` times `u4`, `s32` sums.
        S32S4U4S32 "s32_s4_u4_s32",
        /// `u4` times `s4`, `s32` sums.
        S32U4S4S32 "s32_u4_s4_s32",
        /// `u4` factors, `s32` sums.
        S32U4U4S32 "s32_u4_u4_s32",
        /// `b1` factors, `s32` sums.
        S32B1B1S32 "s32_b1_b1_s32",
        /// `e4m3` factors, `f32` sums.
        F32E4m3E4m3F32 "f32_e4m3_e4m3_f32",
        /// `e4m3` times `e5m2`, `f32` sums.
        F32E4m3E5m2F32 "f32_e4m3_e5m2_f32",
        /// `e5m2` times `e4m3`, `f32` sums.
        F32E5m2E4m3F32 "f32_e5m2_e4m3_f32",
        /// `e5m2` factors, `f32` sums.
        F32E5m2E5m2F32 "f32_e5m2_e5m2_f32",
        /// `e4m3` factors, `f16` sums.
        F16E4m3E4m3F16 "f16_e4m3_e4m3_f16",
        /// `e4m3` times `e5m2`, `f16` sums.
        F16E4m3E5m2F16 "f16_e4m3_e5m2_f16",
        /// `e5m2` times `e4m3`, `f16` sums.
        F16E5m2E4m3F16 "f16_e5m2_e4m3_f16",
        /// `e5m2` factors, `f16` sums.
        F16E5m2E5m2F16 "f16_e5m2_e5m2_f16",
    }
    /// Which matrix of a product a fragment is of.
    pub enum MatrixRole {
        /// The left factor.
        A "a",
        /// The right factor.
        B "b",
        /// What is added, or the result.
        C "c",
    }
    /// What elements of small matrices are in shared memory, where they are not of 16 bits.
    pub enum TileFormat {
        /// Bytes.
        Bits8 "bits8",
        /// Six bits each, side by side.
        Bits6 "bits6",
        /// Four bits each, side by side.
        Bits4 "bits4",
    }
    /// How matrices are stored.
    pub enum MatrixLayout {
        /// By rows.
        Row "row",
        /// By columns.
        Col "col",
        /// Both factors by rows.
        RowRow "row_row",
        /// The left factor by rows, the right one by columns.
        RowCol "row_col",
        /// The left factor by columns, the right one by rows.
        ColRow "col_row",
        /// Both factors by columns.
        ColCol "col_col",
    }
    /// Flags of which an instruction may have several.
    pub enum Flag {
        /// Flush subnormal inputs and results to zero of the same sign.
        Ftz "ftz",
        /// Saturate: integers to their range, floats to [0, 1].
        Sat "sat",
        /// NaN operands give NaN (minimum and maximum).
        Nan "nan",
        /// Negative results become zero.
        Relu "relu",
        /// The result's sign is the exclusive-or of both signs; the magnitudes are compared.
        XorSignAbs "xorsign",
        /// Out-of-range values become the largest finite one.
        SatFinite "satfinite",
        /// Shift amounts wrap instead of clamping.
        Wrap "wrap",
        /// `bfind` gives the shift that brings the bit to the top.
        ShiftAmt "shiftamt",
        /// The collective has no member mask: it takes the lanes that are active together.
        NoMask "nomask",
        /// `match` and `redux`: only if all agree.
        All "all_equal",
        /// The barrier counts every thread that executes it, in whichever warp it is.
        Aligned "aligned",
        /// Halfword selection of `dp2a`: the upper half.
        Upper "upper",
        /// Matrices are transposed on their way.
        Trans "trans",
        /// Fragments are those of `wmma`.
        Wmma "wmma",
        /// Half the elements of the left factor are stored; metadata says which.
        Sparse "sp",
        /// The indices of metadata increase.
        Ordered "ordered",
        /// The arrival at a barrier in memory must not complete the phase.
        NoComplete "nocomplete",
        /// The phases of a barrier in memory that follow expect as many arrivals fewer.
        Drop "drop",
        /// The pending count of a barrier in memory grows by as many arrivals first.
        Counted "counted",
        /// The arrival at a barrier in memory comes when the thread's `cpasync` are done.
        Copies "copies",
        /// A phase of a barrier in memory is named by its parity.
        Parity "parity",
        /// The left factor is negated.
        NegA "nega",
        /// The right factor is negated.
        NegB "negb",
        /// The left factor is stored by columns.
        TransA "transa",
        /// The right factor is stored by rows.
        TransB "transb",
        /// A shared address may be that of another CTA of the cluster.
        Cluster "cluster_address",
        /// A copy goes to several CTAs of the cluster.
        Multicast "multicast",
        /// A mask says which bytes of each 16 are copied.
        Masked "masked",
        /// Bytes at the ends of a copy are not copied.
        Trimmed "trimmed",
        /// A barrier in shared memory has the layout v1, which keeps reports.
        LayoutV1 "layout_v1",
        /// Waits only until copies have read their sources.
        Read "read",
        /// Offsets in elements follow the coordinates of a texture.
        Offset "offset",
        /// A surface is accessed by elements, whose format values are converted to.
        Formatted "formatted",
    }
}
