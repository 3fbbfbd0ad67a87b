//! The text of a kernel, the memory of its launch, and what all parts use.

use std::fmt::Write as _;

use ir::testing::Rng;

use super::{Buffer, Kernel};

/// Appends formatted lines to the body of a kernel.
macro_rules! emit {
    ($writer:expr, $($text:tt)*) => {{
        let text = format!($($text)*);
        $writer.lines(&text);
    }};
}
pub(super) use emit;

/// Bytes of the buffer that kernels only read.
pub(super) const INPUT: usize = 32 << 10;

/// The numbers of the buffers that tensors lie in: what is read, and what asynchronous operations
/// write.
const IN: usize = 0;
const MEM: usize = 2;

/// Orders and scopes of waits.
const ORDERS: &[&str] = &["", "", ".acquire.cta", ".acquire.cluster"];

/// A kernel that is being written.
pub(super) struct Writer {
    pub(super) rng: Rng,
    pub(super) grid: usize,
    pub(super) cluster: usize,
    /// Threads of a block.
    pub(super) threads: usize,
    /// Whether the kernel is for sm_90a, which alone has products of warp groups, and not for
    /// sm_100a.
    pub(super) groups: bool,
    pub(super) input: Vec<u8>,
    /// Results of threads, one list a block.
    out: Vec<Vec<u8>>,
    /// What operations write, before and after, one list a block.
    pub(super) mem: Vec<[Vec<u8>; 2]>,
    pub(super) maps: Vec<u8>,
    pub(super) addresses: Vec<(usize, Place)>,
    /// A number of each thread, which parts of the text between others change.
    noise: Vec<u32>,
    body: String,
    shared: String,
    /// Bytes of shared variables.
    pub(super) shared_bytes: usize,
    labels: usize,
    parts: Vec<&'static str>,
}

/// A place in a buffer: a byte of the input, or one of a block's part of what is written.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place {
    Input(usize),
    Written { block: usize, at: usize },
}

impl Writer {
    /// Begins a kernel with clusters of so many blocks, for sm_90a or sm_100a.
    pub(super) fn new(mut rng: Rng, cluster: usize, groups: bool) -> Self {
        let grid = cluster * (1 + rng.below(if cluster > 1 { 2 } else { 4 }));
        let warps = if groups { 4 + 4 * rng.below(2) } else { 1 + rng.below(5) };
        let warps = warps + usize::from(groups && rng.one_in(2));
        let input = (0..INPUT / 8).flat_map(|_| rng.bits().to_le_bytes()).collect();
        Self {
            grid,
            cluster,
            threads: 32 * warps,
            groups,
            input,
            out: vec![Vec::new(); grid],
            mem: vec![[const { Vec::new() }; 2]; grid],
            maps: Vec::new(),
            addresses: Vec::new(),
            noise: vec![0; grid * 32 * warps],
            body: String::new(),
            shared: String::new(),
            shared_bytes: 0,
            labels: 0,
            parts: Vec::new(),
            rng,
        }
    }

    /// Begins a part.
    pub(super) fn begin(&mut self, part: &'static str) {
        self.parts.push(part);
        emit!(self, "// {part}");
    }

    /// The number of the part, with which the names of its variables end.
    pub(super) fn number(&self) -> usize {
        self.parts.len()
    }

    /// Appends lines of text.
    pub(super) fn lines(&mut self, text: &str) {
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let indent = if line.ends_with(':') { "" } else { "  " };
            let _ = writeln!(self.body, "{indent}{line}");
        }
    }

    /// A new label.
    pub(super) fn label(&mut self) -> String {
        self.labels += 1;
        format!("L{}", self.labels)
    }

    /// Declares a shared variable.
    pub(super) fn shared(&mut self, name: &str, bytes: usize, align: usize) {
        self.shared_bytes = self.shared_bytes.next_multiple_of(align) + bytes;
        let _ = writeln!(self.shared, "  .shared .align {align} .b8 {name}[{bytes}];");
    }

    /// Declares barriers, which thread 0 initialises with counts; all threads wait for that.
    pub(super) fn barriers(&mut self, barriers: &[(&str, usize, usize)]) {
        let behind = self.label();
        emit!(self, "setp.ne.u32 %p0, %thread, 0;\n@%p0 bra {behind};");
        for &(name, count, arrivals) in barriers {
            self.shared(name, 8 * count, 8);
            for i in 0..count {
                emit!(self, "mbarrier.init.shared.b64 [{name}+{}], {arrivals};", 8 * i);
            }
        }
        let visible = if self.rng.one_in(2) {
            "fence.mbarrier_init.release.cluster;"
        } else {
            "fence.proxy.async.shared::cta;"
        };
        emit!(self, "{visible}\n{behind}:");
        self.everyone();
    }

    /// All threads of a block wait for each other.
    pub(super) fn everyone(&mut self) {
        let how = ["bar.sync 0;", "barrier.sync.aligned 0;", "barrier.cta.sync.aligned 0;"];
        let how = how[self.rng.below(3)];
        emit!(self, "{how}");
    }

    /// All threads of a cluster wait for each other.
    pub(super) fn whole_cluster(&mut self) {
        let how = self.rng.one_in(2);
        let [arrive, wait] = match how {
            true => ["barrier.cluster.arrive;", "barrier.cluster.wait;"],
            false => ["barrier.cluster.arrive.release;", "barrier.cluster.wait.acquire;"],
        };
        emit!(self, "{arrive}\n{wait}");
    }

    /// Waits until a phase of a barrier completes: an address and a parity, in registers or not.
    pub(super) fn wait(&mut self, barrier: &str, parity: &str) {
        self.wait_for(barrier, parity, (".parity", ORDERS));
    }

    /// Waits for the phase of a parity, in which other blocks of the cluster take part.
    pub(super) fn wait_in_cluster(&mut self, barrier: &str, parity: &str) {
        self.wait_for(barrier, parity, (".parity", &[".acquire.cluster"]));
    }

    /// Waits until the phase completes of which an arrival returned the state.
    pub(super) fn wait_state(&mut self, barrier: &str, state: &str) {
        self.wait_for(barrier, state, ("", ORDERS));
    }

    fn wait_for(&mut self, barrier: &str, phase: &str, (kind, orders): (&str, &[&str])) {
        let (again, behind) = (self.label(), self.label());
        let how = ["try_wait", "try_wait", "test_wait"][self.rng.below(3)];
        let space = self.space();
        let order = orders[self.rng.below(orders.len())];
        let hint = if how == "try_wait" && self.rng.one_in(4) { ", 1000" } else { "" };
        let test =
            format!("mbarrier.{how}{kind}{order}{space}.b64 %p0, [{barrier}], {phase}{hint};");
        match self.rng.below(2) {
            0 => emit!(self, "{again}:\n{test}\n@!%p0 bra {again};"),
            _ => emit!(self, "{again}:\n{test}\n@%p0 bra {behind};\nbra.uni {again};\n{behind}:"),
        }
    }

    /// How an instruction names the shared memory of its own block.
    pub(super) fn space(&mut self) -> &'static str {
        [".shared", ".shared::cta"][self.rng.below(2)]
    }

    /// An order and a scope of an arrival that releases.
    pub(super) fn release(&mut self) -> &'static str {
        ["", "", ".release.cta", ".release.cluster"][self.rng.below(4)]
    }

    /// Has all threads give a word each, which a register holds.
    pub(super) fn give(&mut self, register: &str, value: impl Fn(usize, usize) -> u32) {
        self.give_some(register, self.threads, value);
    }

    /// Has the first threads give a word each, which a register holds. Others do not come here.
    pub(super) fn give_some(
        &mut self,
        register: &str,
        threads: usize,
        value: impl Fn(usize, usize) -> u32,
    ) {
        let at = self.results(4 * self.threads);
        emit!(self, "st.global.u32 [%mine+{at}], {register};");
        for block in 0..self.grid {
            for thread in 0..threads {
                self.result(block, at + 4 * thread, &value(block, thread).to_le_bytes());
            }
        }
    }

    /// Makes room for results of a block; returns its offset.
    pub(super) fn results(&mut self, bytes: usize) -> usize {
        let at = self.out[0].len();
        self.out.iter_mut().for_each(|out| out.resize(at + bytes.next_multiple_of(16), 0));
        at
    }

    /// Sets the expected bytes of a result.
    pub(super) fn result(&mut self, block: usize, at: usize, bytes: &[u8]) {
        self.out[block][at..at + bytes.len()].copy_from_slice(bytes);
    }

    /// Makes room for what operations of a block write, with random bytes; returns its offset.
    pub(super) fn written(&mut self, bytes: usize) -> usize {
        let at = self.mem[0][0].len();
        for of in &mut self.mem {
            let random = (0..bytes.next_multiple_of(128)).map(|_| self.rng.bits() as u8);
            let random: Vec<u8> = random.collect();
            of.iter_mut().for_each(|list| list.extend(&random));
        }
        at
    }

    /// A number that divergent threads change, of those that a test admits.
    pub(super) fn noise(&mut self, runs: impl Fn(usize) -> bool) {
        if self.rng.one_in(2) {
            return;
        }
        let (mask, value) = ([1, 3, 7, 31][self.rng.below(4)], self.rng.below(8) as u32);
        let (add, most) = (self.rng.bits() as u32 | 1, 1 + self.rng.below(5) as u32);
        let (again, behind) = (self.label(), self.label());
        emit!(
            self,
            "and.b32 %n0, %thread, {mask};
            setp.lt.u32 %p0, %n0, {value};
            @%p0 bra {behind};
            rem.u32 %n0, %thread, {most};
            {again}:
            mad.lo.u32 %noise, %noise, 1664525, {add};
            sub.s32 %n0, %n0, 1;
            setp.ge.s32 %p0, %n0, 0;
            @%p0 bra {again};
            {behind}:"
        );
        for (number, noise) in self.noise.iter_mut().enumerate() {
            let thread = number % self.threads;
            if !runs(thread) || thread as u32 & mask < value {
                continue;
            }
            for _ in 0..=thread as u32 % most {
                *noise = noise.wrapping_mul(1_664_525).wrapping_add(add);
            }
        }
    }

    /// A word of the input.
    pub(super) fn word(&self, at: usize) -> u32 {
        self.input[at..].first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes))
    }

    /// Puts bytes into the input, at an offset that is a multiple of 16, beyond what is random.
    pub(super) fn provide(&mut self, bytes: &[u8]) -> usize {
        let at = self.input.len();
        self.input.extend(bytes);
        self.input.resize(self.input.len().next_multiple_of(128), 0);
        at
    }

    /// Waits until all blocks have ended what others may still access, and ends.
    pub(super) fn finish(mut self, seed: u64) -> Kernel {
        let noise = std::mem::take(&mut self.noise);
        let threads = self.threads;
        self.give("%noise", |block, thread| noise[block * threads + thread]);
        if self.cluster > 1 {
            self.whole_cluster();
        }
        let text = self.text();
        let (out, mem) = (self.out[0].len(), self.mem[0][0].len());
        let address = |&(at, place): &(usize, Place)| match place {
            Place::Input(byte) => (at, IN, byte as u64),
            Place::Written { block, at: byte } => (at, MEM, (block * mem + byte) as u64),
        };
        let addresses = self.addresses.iter().map(address).collect();
        let buffer =
            |name, before: Vec<u8>, after, addresses| Buffer { name, before, after, addresses };
        let maps = std::mem::take(&mut self.maps);
        let all =
            |side: usize| self.mem.iter().flat_map(|of| of[side].clone()).collect::<Vec<u8>>();
        let buffers = vec![
            buffer("in", self.input.clone(), self.input.clone(), Vec::new()),
            buffer("out", vec![0; out * self.grid], self.out.concat(), Vec::new()),
            buffer("mem", all(0), all(1), Vec::new()),
            buffer("maps", maps.clone(), maps, addresses),
        ];
        let (grid, cluster) = (self.grid as u32, self.cluster as u32);
        let block = self.threads as u32;
        Kernel { seed, ptx: text, grid, cluster, block, buffers, parts: self.parts }
    }

    fn text(&self) -> String {
        let target = if self.groups { "sm_90a" } else { "sm_100a" };
        let cluster = match self.cluster {
            1 => String::new(),
            size => format!(" .reqnctapercluster {size}"),
        };
        let (out, mem) = (self.out[0].len(), self.mem[0][0].len());
        format!(
            ".version 9.3
.target {target}
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out, .param .u64 mem, .param .u64 maps){cluster}
{{
  .reg .pred %p<8>;
  .reg .b16 %h<4>;
  .reg .b32 %r<32>, %n<2>, %d<128>, %a<4>;
  .reg .b32 %thread, %cta, %lane, %warp, %rank, %acc, %noise;
  .reg .b64 %in, %out, %mem, %every, %maps, %mine, %w<16>;
{}  ld.param.u64 %in, [in];
  ld.param.u64 %out, [out];
  ld.param.u64 %every, [mem];
  ld.param.u64 %maps, [maps];
  mov.u32 %thread, %tid.x;
  mov.u32 %cta, %ctaid.x;
  mov.u32 %rank, %cluster_ctarank;
  and.b32 %lane, %thread, 31;
  shr.u32 %warp, %thread, 5;
  mov.u32 %noise, 0;
  mad.wide.u32 %out, %cta, {out}, %out;
  mad.wide.u32 %mine, %thread, 4, %out;
  mad.wide.u32 %mem, %cta, {mem}, %every;
{}  ret;
}}
",
            self.shared, self.body
        )
    }
}
