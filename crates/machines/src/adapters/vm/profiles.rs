//! Real machines as choices of mechanism, width and options: what is known of them, and from where.
//!
//! A profile models which lanes run together and who is waited for, not time. None has been checked
//! on the machine itself unless its text says so.

use crate::interface::Profile;

const PER_WARP: &[(&str, &str)] = &[("barriers", "per-warp")];

/// All profiles. docs/machine-profiles.md lists them.
pub(in super::super) const PROFILES: &[Profile] = &[
    Profile {
        name: "pascal",
        about: "NVIDIA before Volta (sm_20 to sm_62)",
        source: "a stack with immediate post-dominators (Fung et al., MICRO 2007; GPGPU-Sim); barriers \
                 count warps as if all their threads were active (PTX ISA, bar, targets before sm_70)",
        limits: "the compiler's choice of SSY and PBK is taken to be the immediate post-dominator; \
                 which side runs first is not published",
        mechanism: "ipdom",
        warp_size: 32,
        settings: PER_WARP,
    },
    Profile {
        name: "turing",
        about: "NVIDIA since Volta (sm_70 and later)",
        source: "convergence barriers (US patent 10,067,768; Huerta et al., Hanoi, 2024); barriers count \
                 threads (PTX ISA, barrier, sm_70 and later)",
        limits: "barriers are placed by our pass, not by ptxas; when the hardware yields is not published",
        mechanism: "convergence-barriers",
        warp_size: 32,
        settings: &[("barriers", "per-thread")],
    },
    Profile {
        name: "gcn",
        about: "AMD GCN and CDNA, wave64",
        source: "an EXEC mask that the compiler saves and restores (GCN3 ISA; LLVM, SILowerControlFlow); \
                 s_barrier counts waves",
        limits: "64 threads in lockstep of which programs for 32 see two warps; scalar branches around \
                 short code (s_cbranch_execz) are at every region",
        mechanism: "exec-mask",
        warp_size: 64,
        settings: PER_WARP,
    },
    Profile {
        name: "rdna",
        about: "AMD RDNA, wave32",
        source: "as gcn, with waves of 32 lanes (RDNA ISA); s_barrier counts waves",
        limits: "as gcn",
        mechanism: "exec-mask",
        warp_size: 32,
        settings: PER_WARP,
    },
    Profile {
        name: "vortex",
        about: "Vortex, four threads a warp",
        source: "vx_split, vx_join and vx_pred around branches (Tine et al., MICRO 2021); vx_bar counts \
                 warps",
        limits: "regions are those of our pass; the number of threads is a parameter of the design, 4 by \
                 default",
        mechanism: "split-join",
        warp_size: 4,
        settings: PER_WARP,
    },
    Profile {
        name: "intel-eu",
        about: "Intel EU, SIMD16",
        source: "channel enables with if, else, endif, while, whose jumps (JIP) are taken when no channel \
                 is left (Intel graphics PRM, volume 7); the gateway's barriers count EU threads",
        limits: "an IP of each channel lets goto and join meet elsewhere (UIP), which is not modelled: \
                 unstructured code costs what the EXEC mask pass makes of it",
        mechanism: "exec-mask",
        warp_size: 16,
        settings: PER_WARP,
    },
    Profile {
        name: "apple",
        about: "Apple GPU, SIMD groups of 32",
        source: "a nesting counter of each lane in r0l, with if_icmp, else_icmp, pop_exec and jumps when \
                 no lane is active (Johnson's reverse engineering of the G13); barriers count SIMD groups",
        limits: "known by reverse engineering alone; costs of counter operations are those of the EXEC \
                 mask pass",
        mechanism: "exec-mask",
        warp_size: 32,
        settings: PER_WARP,
    },
];
