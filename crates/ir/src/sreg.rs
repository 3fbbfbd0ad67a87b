//! Special registers: what a thread can ask about where it runs.

macro_rules! sregs {
    ($( #[doc = $doc:literal] $variant:ident $word:literal )+) => {
        /// A special register. Names are PTX's without the percent sign.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Sreg { $(#[doc = $doc] $variant),+ }

        impl Sreg {
            /// All special registers.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// Its name.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }

            /// What it holds.
            #[must_use]
            pub fn doc(self) -> &'static str {
                match self { $(Self::$variant => $doc.trim_start()),+ }
            }

            /// The one of a name.
            #[must_use]
            pub fn from_name(name: &str) -> Option<Self> {
                match name { $($word => Some(Self::$variant),)+ _ => None }
            }
        }
    };
}

sregs! {
    /// Thread index in the CTA, x.
    TidX "tid.x"
    /// Thread index in the CTA, y.
    TidY "tid.y"
    /// Thread index in the CTA, z.
    TidZ "tid.z"
    /// CTA size, x.
    NtidX "ntid.x"
    /// CTA size, y.
    NtidY "ntid.y"
    /// CTA size, z.
    NtidZ "ntid.z"
    /// CTA index in the grid, x.
    CtaidX "ctaid.x"
    /// CTA index in the grid, y.
    CtaidY "ctaid.y"
    /// CTA index in the grid, z.
    CtaidZ "ctaid.z"
    /// Grid size, x.
    NctaidX "nctaid.x"
    /// Grid size, y.
    NctaidY "nctaid.y"
    /// Grid size, z.
    NctaidZ "nctaid.z"
    /// Index of the CTA's cluster in the grid of clusters, x.
    ClusterIdX "clusterid.x"
    /// Index of the CTA's cluster in the grid of clusters, y.
    ClusterIdY "clusterid.y"
    /// Index of the CTA's cluster in the grid of clusters, z.
    ClusterIdZ "clusterid.z"
    /// Clusters of the grid, x.
    NclusterIdX "nclusterid.x"
    /// Clusters of the grid, y.
    NclusterIdY "nclusterid.y"
    /// Clusters of the grid, z.
    NclusterIdZ "nclusterid.z"
    /// CTA index in the cluster, x.
    ClusterCtaidX "cluster_ctaid.x"
    /// CTA index in the cluster, y.
    ClusterCtaidY "cluster_ctaid.y"
    /// CTA index in the cluster, z.
    ClusterCtaidZ "cluster_ctaid.z"
    /// Cluster size, x.
    ClusterNctaidX "cluster_nctaid.x"
    /// Cluster size, y.
    ClusterNctaidY "cluster_nctaid.y"
    /// Cluster size, z.
    ClusterNctaidZ "cluster_nctaid.z"
    /// Rank of the CTA in its cluster: its linear index.
    ClusterCtaRank "cluster_ctarank"
    /// CTAs of a cluster.
    ClusterNctaRank "cluster_nctarank"
    /// Whether the launch, or the kernel, says that there are clusters: 1, else 0.
    ExplicitCluster "is_explicit_cluster"
    /// Lane in the architectural warp.
    LaneId "laneid"
    /// Architectural warp in the CTA.
    WarpId "warpid"
    /// Architectural warps of the CTA.
    NWarpId "nwarpid"
    /// Multiprocessor: the resident slot of the CTA.
    SmId "smid"
    /// Multiprocessors: resident slots.
    NSmId "nsmid"
    /// Launch number.
    GridId "gridid"
    /// The lane's own bit.
    LaneMaskEq "lanemask_eq"
    /// Bits of lanes up to and with its own.
    LaneMaskLe "lanemask_le"
    /// Bits of lanes below its own.
    LaneMaskLt "lanemask_lt"
    /// Bits of lanes from its own on.
    LaneMaskGe "lanemask_ge"
    /// Bits of lanes above its own.
    LaneMaskGt "lanemask_gt"
    /// Issues of the block so far, low 32 bits. Depends on the schedule.
    Clock "clock"
    /// Issues of the block so far, high 32 bits. Depends on the schedule.
    ClockHi "clock_hi"
    /// Issues of the block so far. Depends on the schedule.
    Clock64 "clock64"
    /// Nanoseconds: one an issue of the block. Depends on the schedule.
    GlobalTimer "globaltimer"
    /// The same, low half. Depends on the schedule.
    GlobalTimerLo "globaltimer_lo"
    /// The same, high half. Depends on the schedule.
    GlobalTimerHi "globaltimer_hi"
    /// Bytes of dynamic shared memory.
    DynamicSmemSize "dynamic_smem_size"
    /// Bytes of shared memory of the CTA, static and dynamic, in whole units of allocation.
    TotalSmemSize "total_smem_size"
    /// The same with the bytes that the system keeps.
    AggrSmemSize "aggr_smem_size"
    /// Offset where the shared memory that the system keeps of the CTA begins.
    ReservedSmemBegin "reserved_smem_offset_begin"
    /// Offset behind the part of it that programs may use.
    ReservedSmemEnd "reserved_smem_offset_end"
    /// Offset behind all of it.
    ReservedSmemCap "reserved_smem_offset_cap"
    /// Offset of the first use of it.
    ReservedSmem0 "reserved_smem_offset_0"
    /// Offset of the second use of it: barriers of tiles of several warps.
    ReservedSmem1 "reserved_smem_offset_1"
    /// Bytes of static shared memory of the CTA, and the offset where dynamic shared memory begins.
    DynamicSmemBase "dynamic_smem_base"
    /// High half of the address of a cooperative launch's grid workspace; 0 in other launches.
    EnvReg1 "envreg1"
    /// Low half of the address of a cooperative launch's grid workspace; 0 in other launches.
    EnvReg2 "envreg2"
}

impl Sreg {
    /// Returns whether a program that reads it can access the shared memory that the system keeps.
    #[must_use]
    pub const fn locates_reserved_shared(self) -> bool {
        matches!(
            self,
            Self::ReservedSmemBegin
                | Self::ReservedSmemEnd
                | Self::ReservedSmemCap
                | Self::ReservedSmem0
                | Self::ReservedSmem1
        )
    }

    /// Whether its value depends on the schedule rather than on the launch alone.
    #[must_use]
    pub const fn observes_schedule(self) -> bool {
        matches!(
            self,
            Self::Clock
                | Self::ClockHi
                | Self::Clock64
                | Self::GlobalTimer
                | Self::GlobalTimerLo
                | Self::GlobalTimerHi
                | Self::SmId
        )
    }
}
