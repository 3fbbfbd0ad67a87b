//! Options of machines.

use clap::Args as Group;

/// Options of one machine or another.
#[derive(Debug, Default, Group)]
#[command(next_help_heading = "Machine options")]
pub(crate) struct MachineOptions {
    /// An option of the machine by name
    #[arg(long = "option", value_name = "NAME=VALUE")]
    pub(crate) options: Vec<String>,
    /// pmask: mask banks, the virtual bank 0 included
    #[arg(long, value_name = "1..4")]
    pub(crate) banks: Option<String>,
    /// pmask: conformance level
    #[arg(long, value_name = "m1|m2")]
    pub(crate) level: Option<String>,
    /// ptx, ir: when steps of asynchronous operations are done
    #[arg(long = "async", value_name = "early|late|random:SEED")]
    pub(crate) asynchrony: Option<String>,
    /// ptx, ir: blocks of a cluster along x, y, z
    #[arg(long, value_name = "X,Y,Z")]
    pub(crate) cluster: Option<String>,
    /// ptx, ir: how products of matrices of floats are added: as devices do, exactly, or by fused
    /// multiply-adds of single precision
    #[arg(long, value_name = "device|exact|f32")]
    pub(crate) matrix_sums: Option<String>,
    /// pmask: whether PMASK exists
    #[arg(long, value_name = "on|off")]
    pub(crate) pmask: Option<String>,
    /// pmask: bits of a mask bank
    #[arg(long, value_name = "1..64")]
    pub(crate) maskw: Option<String>,
    /// pmask: what becomes of lanes that are off, after reset
    #[arg(long, value_name = "merge|zero")]
    pub(crate) zmode: Option<String>,
    /// pmask: the bit of CAP.PREC.MODE that is ZMODE
    #[arg(long, value_name = "3|11")]
    pub(crate) zmode_bit: Option<String>,
    /// pmask: vector length after reset
    #[arg(long, value_name = "N")]
    pub(crate) vl: Option<String>,
    /// pmask: `bp.any` and `bp.none`
    #[arg(long, value_name = "on|off")]
    pub(crate) fused_branches: Option<String>,
    /// pmask: `pmmov.to_p0` with a bank
    #[arg(long, value_name = "on|off")]
    pub(crate) to_p0_bank: Option<String>,
    /// pmask: lane data to masks under RSV
    #[arg(long, value_name = "on|off")]
    pub(crate) lane_forms: Option<String>,
    /// pmask: on a machine with one bank, mask algebra acts on P0
    #[arg(long)]
    pub(crate) scalar_algebra: bool,
    /// pmask: RT.BBOX
    #[arg(long)]
    pub(crate) rt: bool,
    /// pmask: random predicates at reset
    #[arg(long, value_name = "SEED")]
    pub(crate) reset_random: Option<String>,
    /// linx: lanes of a group
    #[arg(long, value_name = "1..64")]
    pub(crate) group_width: Option<String>,
    /// linx: inactive lanes of a pushed entry
    #[arg(long, value_name = "merge|zero|poison")]
    pub(crate) inactive: Option<String>,
    /// linx: where a body may go
    #[arg(long, value_name = "first-terminator|taken-path")]
    pub(crate) region: Option<String>,
    /// linx: one lane at a time, `p` only a branch flag
    #[arg(long)]
    pub(crate) replay: bool,
    /// linx: ranges ADDRESS+LENGTH to map when a trap reports an address there; prf, pmask: to map
    /// before the launch
    #[arg(long, value_name = "RANGES")]
    pub(crate) map: Option<String>,
    /// A named set of choices; prf: founding, cardinal, clean; pmask: full, p0-only
    #[arg(long, value_name = "NAME")]
    pub(crate) profile: Option<String>,
    /// prf: threads of a block
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<String>,
    /// prf: blocks
    #[arg(long, value_name = "N")]
    pub(crate) blocks: Option<String>,
    /// prf: where to start
    #[arg(long, value_name = "PC")]
    pub(crate) entry: Option<String>,
    /// prf: run on the cycle-level model
    #[arg(long)]
    pub(crate) timing: bool,
    /// prf: what orders a warp's instructions on the cycle-level model
    #[arg(long, value_name = "faithful|interlocked")]
    pub(crate) hazards: Option<String>,
    /// prf: which warp fetches on the cycle-level model
    #[arg(long, value_name = "round-robin|greedy-then-oldest")]
    pub(crate) scheduler: Option<String>,
    /// prf: sizes and latencies of the cycle-level model
    #[arg(long, value_name = "FILE.toml")]
    pub(crate) params: Option<String>,
    /// prf: write a timeline of the cycle-level model for Perfetto or Chrome
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<String>,
}

impl MachineOptions {
    /// The options that were given: the command line's name, the machine's, the value.
    pub(crate) fn given(&self) -> Vec<(&'static str, String, String)> {
        let named = [
            ("async", &self.asynchrony),
            ("cluster", &self.cluster),
            ("matrix-sums", &self.matrix_sums),
            ("banks", &self.banks),
            ("level", &self.level),
            ("pmask", &self.pmask),
            ("maskw", &self.maskw),
            ("zmode", &self.zmode),
            ("zmode-bit", &self.zmode_bit),
            ("vl", &self.vl),
            ("fused-branches", &self.fused_branches),
            ("to-p0-bank", &self.to_p0_bank),
            ("lane-forms", &self.lane_forms),
            ("reset-random", &self.reset_random),
            ("group-width", &self.group_width),
            ("inactive", &self.inactive),
            ("region", &self.region),
            ("map", &self.map),
            ("profile", &self.profile),
            ("threads", &self.threads),
            ("blocks", &self.blocks),
            ("entry", &self.entry),
            ("hazards", &self.hazards),
            ("scheduler", &self.scheduler),
            ("params", &self.params),
            ("trace", &self.trace),
        ];
        let named = named
            .into_iter()
            .filter_map(|(name, value)| Some((name, name.to_owned(), value.clone()?)));
        let switches = [
            ("scalar-algebra", self.scalar_algebra),
            ("rt", self.rt),
            ("replay", self.replay),
            ("timing", self.timing),
        ];
        let switches = switches.into_iter().filter(|(_, on)| *on);
        let switches = switches.map(|(name, _)| (name, name.to_owned(), "on".to_owned()));
        let free = self.options.iter().map(|text| {
            let (name, value) = text.split_once('=').unwrap_or((text, "on"));
            ("option", name.to_owned(), value.to_owned())
        });
        named.chain(switches).chain(free).collect()
    }
}
