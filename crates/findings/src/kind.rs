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
    /// Volatile accesses that nothing orders, which are no races by the memory model.
    Volatile,
    /// Races by the memory model that change no result on a device, and copies of padding.
    Strict,
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
    pub const ALL: [Self; 9] = [
        Self::Memory,
        Self::Race,
        Self::Volatile,
        Self::Strict,
        Self::Init,
        Self::Sync,
        Self::Api,
        Self::Leak,
        Self::Schedule,
    ];

    /// Returns whether it finds, beside what `race` finds, what correct results may rely on.
    const fn is_strict(self) -> bool {
        matches!(self, Self::Volatile | Self::Strict)
    }

    /// Returns the name on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Race => "race",
            Self::Volatile => "volatile",
            Self::Strict => "strict",
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
pub struct CheckSet(u16);

impl CheckSet {
    /// Parses names with commas between them; `all` stands for every check but `volatile` and
    /// `strict`, which stand for `race` as well.
    ///
    /// # Errors
    /// Returns a message that names the checks, if a name is none of them.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut set = Self::default();
        for name in text.split(',').map(str::trim) {
            if name == "all" {
                let usual = Check::ALL.iter().filter(|check| !check.is_strict());
                usual.for_each(|check| set.insert(*check));
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
        if check.is_strict() {
            self.insert(Check::Race);
        }
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
    RaceOfVolatiles "race-of-volatiles" Volatile Warning EXIT_FOUND {
        "Two threads access the same bytes, at least one of them by a volatile access, and nothing \
         orders them."
        cause "Volatile accesses reach memory one by one, but order no others: a thread may read \
               the value of before, and two that update a variable may lose an update. By the \
               memory model it is no race; `all` leaves this check out, for flags that threads \
               wait for are such accesses by intention."
        cure "Put a barrier, `__syncwarp()` or a fence of the right scope between them, or make \
              both atomic."
        examples "checks/race-of-volatiles.ptx" "checks/race-of-volatiles-mended.ptx"
    }
    RaceWithSilentStore "race-with-silent-store" Strict Warning EXIT_FOUND {
        "A thread reads what another one writes, nothing orders them, and the write stores what is there."
        cause "The read has the same value whatever comes first, but by the memory model it is a race: a compiler may use the place of a \
               write for something else before. `all` leaves this check out, for code that compacts arrays in place writes so."
        cure "Write only where the value is another one, or put a barrier or a fence between the accesses."
        examples "checks/race-with-silent-store.ptx" "checks/race-with-silent-store-mended.ptx"
    }
    UnfencedOverwrite "unfenced-overwrite" Strict Warning EXIT_FOUND {
        "A thread writes what another one has accessed before, and only relaxed accesses order them."
        cause "The first has passed a barrier after its read, or a fence after its write, and told the second by a relaxed store, \
               atomic or volatile access that it may write. No read can see that write on a device, and the write stays, but by the \
               memory model it is a race: relaxed accesses order no others. \
               `all` leaves this check out, for code that compacts arrays in place works so."
        cure "Put `__threadfence()` before the store and behind the load that sees it, or make them release and acquire."
        examples "checks/unfenced-overwrite.ptx" "checks/unfenced-overwrite-mended.ptx"
    }
    UnfinishedRead "unfinished-read" Race Error EXIT_FOUND {
        "A thread reads what an asynchronous operation writes, and has not waited for the operation."
        cause "`cp.async`, a bulk copy or an asynchronous store writes its destination at any time \
               until it completes. Whoever reads before may see the bytes that were there."
        cure "Wait for the phase of the barrier at which the operation completes, or for its group, before the read."
        examples "checks/unfinished-read.ptx" "checks/unfinished-read-mended.ptx"
    }
    WrongPhase "wrong-phase" Race Error EXIT_FOUND {
        "A thread waits for a phase of a barrier that had completed before, and reads what an asynchronous operation writes."
        cause "A wait with the parity of an earlier phase ends at once. The operation completes a later phase."
        cure "Begin with parity 0, and flip the parity each time that the thread has gone around all barriers."
        examples "checks/wrong-phase.ptx" "checks/wrong-phase-mended.ptx"
    }
    OverwrittenInFlight "overwritten-in-flight" Race Error EXIT_FOUND {
        "Bytes are overwritten that an asynchronous operation may still read or write, or an operation overwrites what threads may still \
         read."
        cause "A buffer is used again before all that used it are done: a copy to it is issued while other threads read it, or it is \
               written while a copy or a product of a warp group reads it."
        cure "Let those that use the buffer arrive at a barrier when they are done, and wait for that barrier before the buffer is used again; \
              wait for `cp.async.bulk.wait_group.read` or `wgmma.wait_group` where operations read it."
        examples "checks/overwritten-in-flight.ptx" "checks/overwritten-in-flight-mended.ptx"
    }
    MissingProxyFence "missing-proxy-fence" Race Error EXIT_FOUND {
        "An asynchronous operation reads what threads have written, and no proxy fence is between them."
        cause "Bulk copies and products of warp groups access memory through the async proxy. What threads write is visible to it only \
               behind a `fence.proxy.async`, even if a barrier orders both."
        cure "Put `fence.proxy.async` between the writes and the barrier that orders them with the operation."
        examples "checks/missing-proxy-fence.ptx" "checks/missing-proxy-fence-mended.ptx"
    }
    BarrierBeforeInit "barrier-before-init" Race Error EXIT_FOUND {
        "A thread uses a barrier in shared memory, and nothing orders that with the barrier's initialisation or end."
        cause "The thread may find a barrier that is not initialised, or that is no more."
        cure "Put `__syncthreads()` between the initialisation and the first use; for other blocks of the cluster \
              `fence.mbarrier_init` and a barrier of the cluster."
        examples "checks/barrier-before-init.ptx" "checks/barrier-before-init-mended.ptx"
    }
    EarlyExit "early-exit" Race Error EXIT_FOUND {
        "A block may end before other blocks or asynchronous operations have accessed its shared memory."
        cause "Shared memory belongs to another block as soon as all threads of its block have ended. Accesses by other blocks of the \
               cluster and by copies are then to memory of somebody else, or fault."
        cure "Wait for the operation before the block ends; in a cluster, let a barrier of the cluster be the last thing that its blocks do."
        examples "checks/early-exit.ptx" "checks/early-exit-mended.ptx"
    }
    RegisterInFlight "register-in-flight" Race Error EXIT_FOUND {
        "An instruction accesses an accumulator of a product of a warp group, or a register of its first factor, before a wait for the \
         product."
        cause "`wgmma.mma_async` reads and writes registers at any time until a `wgmma.wait_group` for it. The value is undefined before."
        cure "Put `wgmma.wait_group` between the product and the access."
        examples "checks/register-in-flight.ptx" "checks/register-in-flight-mended.ptx"
    }
    MissingRegisterFence "missing-register-fence" Race Error EXIT_FOUND {
        "No `wgmma.fence` is between an access to a register and a product of a warp group with it, or before the first product."
        cause "Products access registers asynchronously, and only `wgmma.fence` orders that with other instructions."
        cure "Put `wgmma.fence` before the first product, and after each access to its registers."
        examples "checks/missing-register-fence.ptx" "checks/missing-register-fence-mended.ptx"
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
    UninitialisedPadding "uninitialised-padding" Strict Warning EXIT_FOUND {
        "The host copies bytes that nobody has written, and they lie as padding of a structure does."
        cause "Kernels store the members of a structure; the bytes between them, which bring the next one to its alignment, are copied with \
               it. That is no defect as long as nobody reads them; elements of one or two bytes that were left out may lie so, too."
        cure "Nothing, if it is padding: `all` leaves this check out. Elements: a kernel with enough threads, or `cudaMemset` before it."
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
    TransactionBytes "transaction-bytes" Sync Error EXIT_FOUND {
        "A barrier in shared memory expects other bytes of transactions than operations complete."
        cause "The bytes of `expect_tx` and those of the copies differ. The phase never completes, or completes too early, or a later one has \
               what is left."
        cure "Expect exactly the bytes that the copies of the phase write to this block, of multicasts those that other blocks issue, too."
        examples "checks/transaction-bytes.ptx" "checks/transaction-bytes-mended.ptx"
    }
    ArrivalCount "arrival-count" Sync Error EXIT_FOUND {
        "A barrier in shared memory takes more arrivals than threads make, and threads wait for ever."
        cause "The count of `mbarrier.init` and the number of threads that arrive in a phase differ."
        cure "Initialise the barrier with the number of arrivals of a phase."
        examples "checks/arrival-count.ptx" "checks/arrival-count-mended.ptx"
    }
    RepeatedInit "repeated-init" Sync Error EXIT_FOUND {
        "A barrier in shared memory is initialised that is a barrier already."
        cause "`mbarrier.init` of a barrier that is not invalidated is undefined: threads that \
               wait for it, and bytes that it expects, are lost."
        cure "Initialise a barrier once; if its memory is used for another, put `mbarrier.inval` \
              and a barrier of the block between."
        examples "checks/repeated-init.ptx" "checks/repeated-init-mended.ptx"
    }
    BarrierDeadlock "barrier-deadlock" Sync Error EXIT_FOUND {
        "Threads wait for a phase of a barrier in shared memory at which nobody arrives."
        cause "The threads that arrive wait for something else, or the phase is another one than that which they complete: producer and \
               consumer wait for each other."
        cure "The notes say who arrived in the phase before and what that thread waits for: mend the parity, or the order of waits."
        examples "checks/barrier-deadlock.ptx" "checks/barrier-deadlock-mended.ptx"
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
