//! The kinds of findings, and the checks that make them.

use std::fmt;

use isa::Severity;
use isa::suggest::nearest;

/// The exit code of a run with findings, where a kernel that faults or hangs does not have its own.
pub const EXIT_FOUND: u8 = 6;

/// The exit code of a run in which a kernel faults or hangs.
pub const EXIT_STOPPED: u8 = 3;

/// A check, as users select it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Check {
    /// Accesses outside of allocations, and whatever else stops a kernel. Always on.
    Memory,
    /// Accesses that nothing orders.
    Race,
    /// Memory that is read before it is written.
    Init,
    /// Barriers and collectives that not all threads reach.
    Sync,
    /// Calls of the driver or the runtime that fail.
    Api,
    /// Device memory that is not freed.
    Leak,
    /// Results, hangs and faults that depend on the schedule.
    Schedule,
}

impl Check {
    /// All checks.
    pub const ALL: [Self; 7] =
        [Self::Memory, Self::Race, Self::Init, Self::Sync, Self::Api, Self::Leak, Self::Schedule];

    /// Returns the name on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Race => "race",
            Self::Init => "init",
            Self::Sync => "sync",
            Self::Api => "api",
            Self::Leak => "leak",
            Self::Schedule => "schedule",
        }
    }
}

/// A set of checks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CheckSet(u8);

impl CheckSet {
    /// Parses names with commas between them; `all` stands for every check.
    ///
    /// # Errors
    /// Returns a message that names the checks, if a name is none of them.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut set = Self::default();
        for name in text.split(',').map(str::trim) {
            if name == "all" {
                Check::ALL.iter().for_each(|check| set.insert(*check));
                continue;
            }
            match Check::ALL.iter().find(|check| check.name() == name) {
                Some(check) => set.insert(*check),
                None => return Err(unknown(name)),
            }
        }
        Ok(set)
    }

    fn insert(&mut self, check: Check) {
        self.0 |= 1 << check as u8;
    }

    /// Returns whether a check is in the set.
    #[must_use]
    pub const fn has(self, check: Check) -> bool {
        self.0 >> check as u8 & 1 != 0
    }

    /// Returns whether a check is in the set that has to see each event of a launch.
    #[must_use]
    pub const fn observes(self) -> bool {
        self.has(Check::Race) || self.has(Check::Init) || self.has(Check::Sync)
    }
}

fn unknown(name: &str) -> String {
    let names: Vec<&str> = Check::ALL.iter().map(|check| check.name()).chain(["all"]).collect();
    let near = nearest(name, names.iter().copied());
    let hint = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
    format!("there is no check `{name}`: they are {}{hint}", names.join(", "))
}

/// A row of the table of kinds.
#[derive(Clone, Copy, Debug)]
pub struct KindRow {
    /// The kind.
    pub kind: Kind,
    /// Its name in reports and suppressions.
    pub name: &'static str,
    /// The check that makes it.
    pub check: Check,
    /// How bad it is.
    pub severity: Severity,
    /// The exit code of a run with such a finding.
    pub exit_code: u8,
    /// What is wrong, in one sentence.
    pub about: &'static str,
    /// Why it is wrong, and what devices do.
    pub cause: &'static str,
    /// What to do.
    pub cure: &'static str,
    /// The file tests with the defect and without it, below `crates/filetests/tests`; `None` for
    /// what only programs that use the driver can do.
    pub examples: Option<[&'static str; 2]>,
}

macro_rules! examples {
    () => {
        None
    };
    ($bad:literal $good:literal) => {
        Some([$bad, $good])
    };
}

macro_rules! kinds {
    ($($kind:ident $name:literal $check:ident $severity:ident $exit:ident {
        $about:literal cause $cause:literal cure $cure:literal
        $(examples $bad:literal $good:literal)?
    })*) => {
        /// The kind of a finding.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Kind {
            $(#[doc = $about] $kind,)*
        }

        /// The table of kinds, in the order of reports.
        pub const KINDS: &[KindRow] = &[$(KindRow {
            kind: Kind::$kind,
            name: $name,
            check: Check::$check,
            severity: Severity::$severity,
            exit_code: $exit,
            about: $about,
            cause: $cause,
            cure: $cure,
            examples: examples!($($bad $good)?),
        },)*];
    };
}

kinds! {
    Fault "fault" Memory Error EXIT_STOPPED {
        "An instruction faults."
        cause "An access outside of its allocation or not aligned, a trap, a failed assertion, or another fault; the finding has its \
               code. It ends the kernel on a device, too, or corrupts memory there."
        cure "Compare the index of these lanes with the size of the allocation: the message names both."
        examples "checks/fault.ptx" "checks/fault-mended.ptx"
    }
    Hang "hang" Memory Error EXIT_STOPPED {
        "The kernel does not end."
        cause "No lane can go on (`deadlock`), the state of the whole launch repeats (`repeats`), or the limit of issues is reached \
               (`limit`)."
        cure "The notes say which lanes wait for which. A mechanism with forward progress may run the kernel: see mechanisms.md."
        examples "checks/hang.ptx" "checks/hang-mended.ptx"
    }
    RaceInWarp "race-in-warp" Race Error EXIT_FOUND {
        "Two lanes of a warp access the same bytes, at least one of them writes, and nothing orders them."
        cause "Lanes of a warp run in no order that a program may rely on since compute capability 7.0, even where they execute one \
               instruction after another together."
        cure "Put `__syncwarp()` between the accesses, or exchange the values with a shuffle."
        examples "checks/race-in-warp.ptx" "checks/race-in-warp-mended.ptx"
    }
    RaceInBlock "race-in-block" Race Error EXIT_FOUND {
        "Two threads of a block access the same bytes, at least one of them writes, and nothing orders them."
        cause "The threads are in different warps, which run in any order. Results depend on it, and differ between devices and runs."
        cure "Put `__syncthreads()` between the accesses, or make both atomic."
        examples "checks/race-in-block.ptx" "checks/race-in-block-mended.ptx"
    }
    RaceBetweenBlocks "race-between-blocks" Race Error EXIT_FOUND {
        "Threads of two blocks access the same bytes, at least one of them writes, and nothing orders them."
        cause "Blocks run in any order, at the same time or one after another."
        cure "Make both accesses atomic, release and acquire at the scope of the device, or use two launches."
        examples "checks/race-between-blocks.ptx" "checks/race-between-blocks-mended.ptx"
    }
    RaceOfEqualWrites "race-of-equal-writes" Race Warning EXIT_FOUND {
        "Two threads write the same value to the same bytes, and nothing orders them."
        cause "The result is the same in every order here, and the memory model leaves it undefined all the same: compilers may split a \
               write, or use its place for something else before."
        cure "Let one thread write, or make both writes atomic."
        examples "checks/race-of-equal-writes.ptx" "checks/race-of-equal-writes-mended.ptx"
    }
    UninitialisedGlobal "uninitialised-global" Init Error EXIT_FOUND {
        "Global memory is read that nobody has written since it was allocated, and the value decides something."
        cause "Device memory has no contents when it is allocated. It reads as zero here; on a device it has what was there before. The value \
               decides a branch or an address, or reaches the host."
        cure "Write the memory before: `cudaMemset`, a copy, or a kernel."
        examples "checks/uninitialised-global.ptx" "checks/uninitialised-global-mended.ptx"
    }
    UninitialisedShared "uninitialised-shared" Init Error EXIT_FOUND {
        "Shared memory is read that no thread of the block has written, and the value decides something."
        cause "Shared memory has no contents when a block begins. It reads as zero here; on a device it has what another block left. The \
               value decides a branch or an address, or reaches the host."
        cure "Write the bytes before, and put a barrier between the writes and the reads."
        examples "checks/uninitialised-shared.ptx" "checks/uninitialised-shared-mended.ptx"
    }
    UninitialisedLocal "uninitialised-local" Init Error EXIT_FOUND {
        "Local memory is read that the thread has not written, and the value decides something."
        cause "A local variable without an initial value has what another function or thread left there. The value decides a branch or an \
               address, or reaches the host."
        cure "Give the variable a value on every path that reads it."
        examples "checks/uninitialised-local.ptx" "checks/uninitialised-local-mended.ptx"
    }
    UninitialisedRegister "uninitialised-register" Init Error EXIT_FOUND {
        "A register decides something that was not written on this path."
        cause "Compilers keep local variables in registers. One without an initial value has any."
        cure "Give the variable a value on every path that reads it."
        examples "checks/uninitialised-register.ptx" "checks/uninitialised-register-mended.ptx"
    }
    UninitialisedCopy "uninitialised-copy" Init Warning EXIT_FOUND {
        "The host copies bytes of device memory that nobody has written."
        cause "A kernel did not write all of a buffer, or less was to be copied. The bytes read as zero here."
        cure "Copy what was written, or write all of it: `cudaMemset` before the kernel, or a kernel with enough threads."
    }
    DivergentBarrier "divergent-barrier" Sync Error EXIT_FOUND {
        "Some threads of a warp execute a barrier of the block, and others go on without it."
        cause "`__syncthreads()` in a branch is defined only if all threads of the block take the branch. Devices before compute \
               capability 7.0 count whole warps; later ones wait for each thread that has not ended, and may never go on."
        cure "Move the barrier out of the branch, so that all threads execute it."
        examples "checks/divergent-barrier.ptx" "checks/divergent-barrier-mended.ptx"
    }
    AbsentLanes "absent-lanes" Sync Error EXIT_FOUND {
        "The member mask of a collective names lanes that do not execute it."
        cause "`__shfl_sync`, `__ballot_sync`, `__syncwarp` and their like wait for every lane that the mask names. Lanes in another \
               branch never come: the result is undefined, and the warp may wait for ever."
        cure "Name the lanes that take part, or move the collective out of the branch."
        examples "checks/absent-lanes.ptx" "checks/absent-lanes-mended.ptx"
    }
    FailedCall "failed-call" Api Error EXIT_FOUND {
        "A call of the driver or of the runtime fails."
        cause "The arguments are wrong: memory that is freed twice or was never allocated, a copy beyond an allocation, a launch that no \
               device can run. The call has no effect, and the program goes on if it does not look at the status."
        cure "Repair the arguments, and look at the status of every call."
    }
    Leak "leak" Leak Warning EXIT_FOUND {
        "Device memory is not freed before its context or the program ends."
        cause "Nobody frees the allocation. A program that allocates again and again runs out of memory."
        cure "Free what the call has allocated."
    }
    OrderDependentHang "order-dependent-hang" Schedule Error EXIT_STOPPED {
        "The kernel ends in some schedules and hangs in others."
        cause "Threads wait for others that run only in some orders: lanes of a warp that wait for each other, locks that are taken in \
               opposite orders, blocks that are not resident together, a flag that is set once and missed. A device may choose any of \
               these orders, and another one tomorrow."
        cure "Replay the schedule with `simtlab run --schedule FILE`: its notes say which lanes wait for which."
        examples "explore/lock-in-a-warp.ptx" "explore/lock-in-a-warp-mended.ptx"
    }
    OrderDependentFault "order-dependent-fault" Schedule Error EXIT_STOPPED {
        "The kernel ends in some schedules and faults in others."
        cause "A thread reads what another one writes, in some orders before it is written or after it has become invalid, and uses it \
               as an address, a size or a condition."
        cure "Replay the schedule with `simtlab run --schedule FILE`, and order the two accesses."
        examples "explore/index-of-a-race.ptx" "explore/index-of-a-race-mended.ptx"
    }
    OrderDependentResult "order-dependent-result" Schedule Warning EXIT_FOUND {
        "The kernel ends with other results in other schedules."
        cause "Two accesses to the same bytes come in either order: they race, or they are atomic and their order is not fixed. Sums of \
               floating-point numbers differ in their last bits, tickets and lists in their order."
        cure "If the results have to be the same, let one thread write, or reduce in a fixed order, or compare what does not depend on \
              the order."
        examples "explore/last-writer.ptx" "explore/last-writer-mended.ptx"
    }
}

impl Kind {
    /// Returns the row of the table.
    #[must_use]
    pub fn row(self) -> &'static KindRow {
        &KINDS[self as usize]
    }

    /// Returns the name in reports and suppressions.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// Returns the kind of a name.
    ///
    /// # Errors
    /// Returns a message with the nearest name, if there is no such kind.
    pub fn find(name: &str) -> Result<Self, String> {
        if let Some(row) = KINDS.iter().find(|row| row.name == name) {
            return Ok(row.kind);
        }
        let near = nearest(name, KINDS.iter().map(|row| row.name));
        let hint = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
        Err(format!("there is no kind of finding `{name}`{hint}"))
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
