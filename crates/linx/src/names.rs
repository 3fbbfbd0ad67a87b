//! Numbers with names in instruction fields: data types, convert types, tile operations, system
//! registers.

/// The numbering of the tile operations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum TileOps {
    /// 0x00 to 0x2a, as v0.4 has them.
    #[default]
    V04,
    /// The ten-bit numbers of v0.3.
    V03,
}

/// A tile operation: name, number in v0.4, number in v0.3, how many source tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TileOp {
    /// As written.
    pub name: &'static str,
    /// In v0.4.
    pub v04: u16,
    /// In v0.3.
    pub v03: u16,
    /// Source tiles.
    pub sources: u8,
}

const fn op(name: &'static str, v04: u16, v03: u16, sources: u8) -> TileOp {
    TileOp { name, v04, v03, sources }
}

/// The 43 tile operations by their v0.4 number.
pub const TILE_OPS: [TileOp; 43] = [
    op("TADD", 0x00, 0x000, 2),
    op("TSUB", 0x01, 0x001, 2),
    op("TMUL", 0x02, 0x002, 2),
    op("TDIV", 0x03, 0x003, 2),
    op("TMAX", 0x04, 0x004, 2),
    op("TMIN", 0x05, 0x005, 2),
    op("TAND", 0x06, 0x006, 2),
    op("TOR", 0x07, 0x007, 2),
    op("TXOR", 0x08, 0x008, 2),
    op("TSHL", 0x09, 0x009, 2),
    op("TSHR", 0x0a, 0x00a, 2),
    op("TRELU", 0x0b, 0x00d, 1),
    op("TPRELU", 0x0c, 0x00e, 2),
    op("TCVT", 0x0d, 0x00f, 1),
    op("TEXP", 0x0e, 0x040, 1),
    op("TLOG", 0x0f, 0x041, 1),
    op("TSQRT", 0x10, 0x042, 1),
    op("TRSQRT", 0x11, 0x043, 1),
    op("TROWMAX", 0x12, 0x020, 1),
    op("TROWMIN", 0x13, 0x021, 1),
    op("TROWSUM", 0x14, 0x022, 1),
    op("TCOLMAX", 0x15, 0x024, 1),
    op("TCOLMIN", 0x16, 0x025, 1),
    op("TCOLSUM", 0x17, 0x026, 1),
    op("TRECIP", 0x18, 0x044, 1),
    op("TEXPANDS", 0x19, 0x045, 0),
    op("TGATHER", 0x1a, 0x060, 2),
    op("TSCATTER", 0x1b, 0x061, 2),
    op("TRESHAPE", 0x1c, 0x062, 1),
    op("TTRANSPOSE", 0x1d, 0x063, 1),
    op("TCOLEXPAND", 0x1e, 0x0c0, 1),
    op("TROWEXPAND", 0x1f, 0x0c1, 1),
    op("TADDS", 0x20, 0x040, 1),
    op("TSUBS", 0x21, 0x041, 1),
    op("TMULS", 0x22, 0x042, 1),
    op("TDIVS", 0x23, 0x043, 1),
    op("TMAXS", 0x24, 0x044, 1),
    op("TMINS", 0x25, 0x045, 1),
    op("TANDS", 0x26, 0x046, 1),
    op("TORS", 0x27, 0x047, 1),
    op("TXORS", 0x28, 0x048, 1),
    op("TSHLS", 0x29, 0x049, 1),
    op("TSHRS", 0x2a, 0x04a, 1),
];

/// The v0.3 number that once had a name and is not an encoding of any version here.
pub const LEGACY_TILE_OP: u16 = 0x027;

impl TileOps {
    /// The operation of a number. Where two operations of v0.3 share a number, the scalar one has
    /// it.
    #[must_use]
    pub fn find(self, number: u64) -> Option<TileOp> {
        let is = |op: &&TileOp| u64::from(self.number(op)) == number;
        TILE_OPS.iter().rev().find(is).copied()
    }

    /// The number of an operation, whether or not another one has it.
    fn number(self, op: &TileOp) -> u16 {
        match self {
            Self::V04 => op.v04,
            Self::V03 => op.v03,
        }
    }

    /// Returns the number of a name.
    ///
    /// # Errors
    /// Returns a message if there is no such operation, or if another one has its number.
    pub fn by_name(self, name: &str) -> Result<u16, String> {
        let same = |op: &&TileOp| op.name.eq_ignore_ascii_case(name);
        let op = TILE_OPS.iter().find(same).ok_or(format!("`{name}` is not a tile operation"))?;
        let number = self.number(op);
        match self.find(u64::from(number)) {
            Some(owner) if owner.name != op.name => Err(format!(
                "{} has no encoding in the v0.3 numbering: {number:#05x} is {}",
                op.name, owner.name
            )),
            _ => Ok(number),
        }
    }

    /// Explains why a number is not an operation's.
    #[must_use]
    pub fn refusal(self, number: u64) -> String {
        match self {
            Self::V03 if number == u64::from(LEGACY_TILE_OP) => {
                format!("{number:#05x} is legacy, not canonical")
            }
            Self::V03 => format!("{number:#05x} is not a tile operation of v0.3"),
            Self::V04 => match TILE_OPS.iter().find(|op| u64::from(op.v03) == number) {
                Some(op) => {
                    format!("{number:#05x} is not a tile operation of v0.4: {} of v0.3", op.name)
                }
                None => format!("{number:#05x} is not a tile operation: reserved"),
            },
        }
    }

    /// The legal numbers as ranges of the table's text form.
    pub(crate) fn legal(self) -> String {
        match self {
            Self::V04 => "0..42".to_owned(),
            Self::V03 => {
                let mut all: Vec<u16> = TILE_OPS.iter().map(|op| op.v03).collect();
                all.sort_unstable();
                all.dedup();
                all.iter().map(ToString::to_string).collect::<Vec<_>>().join("|")
            }
        }
    }
}

/// Data types of block headers.
pub const DATA_TYPES: [(&str, i64); 18] = [
    ("FP64", 0),
    ("FP32", 1),
    ("FP16", 2),
    ("FP8", 3),
    ("BF16", 6),
    ("FPL8", 7),
    ("FP4", 11),
    ("FPL4", 12),
    ("INT64", 16),
    ("INT32", 17),
    ("INT16", 18),
    ("INT8", 19),
    ("INT4", 20),
    ("UINT64", 24),
    ("UINT32", 25),
    ("UINT16", 26),
    ("UINT8", 27),
    ("UINT4", 28),
];

/// Float formats of convert instructions; the second names are other spellings.
pub const CONVERT_FLOAT: [(&str, &str); 15] = [
    ("fd", "fp64"),
    ("fs", "fp32"),
    ("tf32", "tf32"),
    ("hf32", "hf32"),
    ("fh", "fp16"),
    ("bf16", "bf16"),
    ("hif8", "hif8"),
    ("e4m3", "e4m3"),
    ("e5m2", "e5m2"),
    ("e3m2", "e3m2"),
    ("e2m3", "e2m3"),
    ("e2m1", "e2m1"),
    ("e1m2", "e1m2"),
    ("e3m4", "e3m4"),
    ("e8m0", "e8m0"),
];

/// Integer formats of convert instructions.
pub const CONVERT_INT: [(&str, &str); 15] = [
    ("ud", "u64"),
    ("uw", "u32"),
    ("uh", "u16"),
    ("ub", "u8"),
    ("u4", "u4"),
    ("u2", "u2"),
    ("u1", "u1"),
    ("bool", "bool"),
    ("sd", "s64"),
    ("sw", "s32"),
    ("sh", "s16"),
    ("sb", "s8"),
    ("s4", "s4"),
    ("s2", "s2"),
    ("s1", "s1"),
];

/// Names of two-bit types of scalar converts: floats, signed and unsigned integers.
pub const SCALAR_FLOAT: [(&str, &str); 4] =
    [("fd", "fp64"), ("fs", "fp32"), ("fd.2", "fd.2"), ("fd.3", "fd.3")];
/// See [`SCALAR_FLOAT`].
pub const SCALAR_SIGNED: [(&str, &str); 4] =
    [("sd", "s64"), ("sw", "s32"), ("sd.2", "sd.2"), ("sd.3", "sd.3")];
/// See [`SCALAR_FLOAT`].
pub const SCALAR_UNSIGNED: [(&str, &str); 4] =
    [("ud", "u64"), ("uw", "u32"), ("ud.2", "ud.2"), ("ud.3", "ud.3")];

/// Operations of the form `B.ARG format` that have names; the others are numbers.
pub const ARG_FORMATS: [(&str, i64); 4] = [("ND2NZ", 2), ("ND2ZN", 3), ("DN2ZN", 8), ("DN2NZ", 9)];

/// Registers by their 5-bit codes.
pub(crate) const REGISTERS: [&str; 32] = [
    "zero", "sp", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "ra", "s0", "s1", "s2", "s3",
    "s4", "s5", "s6", "s7", "s8", "x0", "x1", "x2", "x3", "t#1", "t#2", "t#3", "t#4", "u#1", "u#2",
    "u#3", "u#4",
];

/// System registers that are not of one ring.
pub const SYSTEM_REGISTERS: [(&str, i64); 16] = [
    ("TP", 0x0000),
    ("GP", 0x0001),
    ("TIME", 0x0010),
    ("CSTATE", 0x0020),
    ("LXLCID", 0x0021),
    ("VENDOR", 0x0022),
    ("VERSION", 0x0023),
    ("LCFR", 0x0024),
    ("LCFR_EN", 0x0025),
    ("LB0", 0x0050),
    ("LB1", 0x0051),
    ("LB2", 0x0052),
    ("LC0", 0x0053),
    ("LC1", 0x0054),
    ("LC2", 0x0055),
    ("CYCLE", 0x0C00),
];

/// System registers of one ring: the full number is `ring << 12 | index`.
pub const RING_REGISTERS: [(&str, i64); 41] = [
    ("ECSTATE", 0xF00),
    ("EVBASE", 0xF01),
    ("TRAPNO", 0xF02),
    ("TRAPARG0", 0xF03),
    ("ETEMP", 0xF05),
    ("ETEMP0", 0xF06),
    ("ECONFIG", 0xF07),
    ("IPENDING", 0xF08),
    ("TOPEI", 0xF09),
    ("EOIEI", 0xF0A),
    ("TTBR0", 0xF10),
    ("TTBR1", 0xF11),
    ("TCR", 0xF12),
    ("MAIR", 0xF13),
    ("IOTTBR", 0xF14),
    ("IOTCR", 0xF15),
    ("IOMAIR", 0xF16),
    ("TIMER_TIME", 0xF20),
    ("TIMER_TIMECMP", 0xF21),
    ("EBARG0", 0xF40),
    ("EBARG_BPC_CUR", 0xF41),
    ("EBARG_BPC_TGT", 0xF42),
    ("EBARG_TPC", 0xF43),
    ("EBARG_LRA", 0xF44),
    ("EBARG_TQ0", 0xF45),
    ("EBARG_TQ1", 0xF46),
    ("EBARG_TQ2", 0xF47),
    ("EBARG_TQ3", 0xF48),
    ("EBARG_UQ0", 0xF49),
    ("EBARG_UQ1", 0xF4A),
    ("EBARG_UQ2", 0xF4B),
    ("EBARG_UQ3", 0xF4C),
    ("EBARG_LB", 0xF4D),
    ("EBARG_LC", 0xF4E),
    ("EBARG_EXTCTX_PTR", 0xF4F),
    ("EBARG_EXTCTX_META", 0xF50),
    ("EBARG_TPLFLAGS", 0xF51),
    ("DBGID", 0xF80),
    ("DBCR0", 0xF90),
    ("DCCR0", 0xFA0),
    ("DWCR0", 0xFB0),
];

/// The name of a system register: `CSTATE`, `EVBASE_ACR1`.
#[must_use]
pub fn system_register(id: i64) -> Option<String> {
    if let Some((name, _)) = SYSTEM_REGISTERS.iter().find(|(_, n)| *n == id) {
        return Some((*name).to_owned());
    }
    let (ring, index) = (id >> 12, id & 0xfff);
    let (name, _) = RING_REGISTERS.iter().find(|(_, n)| *n == index)?;
    (0..16).contains(&ring).then(|| format!("{name}_ACR{ring}"))
}

/// The number of a system register by its name.
#[must_use]
pub fn system_register_id(name: &str) -> Option<i64> {
    let same = |entry: &&(&str, i64), text: &str| entry.0.eq_ignore_ascii_case(text);
    if let Some((_, id)) = SYSTEM_REGISTERS.iter().find(|e| same(e, name)) {
        return Some(*id);
    }
    let at = name.to_ascii_uppercase().rfind("_ACR")?;
    let ring: i64 = name.get(at + 4..)?.parse().ok()?;
    let (_, index) = RING_REGISTERS.iter().find(|e| same(e, &name[..at]))?;
    (0..16).contains(&ring).then_some(ring << 12 | index)
}
