//! Accesses of screened launches: code logs them for the host, see [`crate::screen_log`].

use super::{Lowering, Val, Vals};
use crate::frame::Frame;
use crate::screen_log::{ExemptCell, ExemptSite, LogAddresses, LogChunk, LogSite};
use cranelift_codegen::ir::InstBuilder;
use cranelift_codegen::ir::condcodes::IntCC;
use vector::{Access, Shape, Value};

impl Lowering<'_> {
    /// Logs an access in screened launches; otherwise this does nothing. The arguments are those of
    /// [`vector::Op::Load`].
    pub(super) fn log_access(&mut self, access: &Access, args: &[Value]) {
        if !self.code.screened.is_some_and(|judged| judged.includes(access.space)) {
            return;
        }
        let (addresses, address, rows) = self.logged_addresses(access, args);
        let span = match addresses {
            LogAddresses::Line(stride) => 31 * stride as u64 + access.bytes(),
            _ => access.bytes(),
        };
        let cell = self.lowered.exempt_sites.len() as u32;
        self.lowered.exempt_sites.push(ExemptSite { first: access.offset, span });
        let site = self.lowered.log_sites.len() as u32;
        self.lowered.log_sites.push(LogSite { step: access.step.step, addresses, cell });
        let done = self.b.create_block();
        if let (LogAddresses::Line(_), Some(address)) = (addresses, address) {
            // Accesses whose address is in the cell's range are exempt.
            let table = self.field64(Frame::EXEMPT);
            let at = i64::from(cell) * ExemptCell::SIZE;
            let low = self.load64(table, at + ExemptCell::LOW);
            let count = self.load64(table, at + ExemptCell::COUNT);
            let distance = self.b.ins().isub(address, low);
            let logged = self.b.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, distance, count);
            let log = self.b.create_block();
            self.b.ins().brif(logged, log, [], done, []);
            self.b.seal_block(log);
            self.b.switch_to_block(log);
        }
        let lanes = self.mask(args[0]);
        self.append_entry(site, lanes, address, &rows, addresses.chunks());
        self.judge_if_full(done);
    }

    /// Appends an entry to the log.
    fn append_entry(
        &mut self,
        site: u32,
        lanes: Val,
        address: Option<Val>,
        rows: &[Val],
        chunks: usize,
    ) {
        let log = self.field64(Frame::LOG);
        let site = self.iconst32(site);
        self.put_at(site, log, LogChunk::SITE);
        self.put_at(lanes, log, LogChunk::ON);
        self.put_at(self.context, log, LogChunk::WARP);
        let address = match address {
            Some(address) => address,
            None => self.iconst(0),
        };
        self.put_at(address, log, LogChunk::ADDRESS);
        self.store_vectors(rows, log, LogChunk::SIZE);
        let end = self.b.ins().iadd_imm_s(log, LogChunk::SIZE * chunks as i64);
        self.put_at(end, self.frame, Frame::LOG);
    }

    /// Has the host judge the log if there is no room for more, and goes on in a block.
    fn judge_if_full(&mut self, done: cranelift_codegen::ir::Block) {
        let (at, end) = (self.field64(Frame::LOG), self.field64(Frame::LOG_END));
        let full = self.b.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, at, end);
        let judge = self.b.create_block();
        self.b.set_cold_block(judge);
        self.b.ins().brif(full, judge, [], done, []);
        self.b.seal_block(judge);
        self.b.switch_to_block(judge);
        self.call_field(Frame::JUDGE);
        self.join(done);
    }

    /// Returns how the addresses of an access are logged, the scalar, and the rows.
    fn logged_addresses(
        &mut self,
        access: &Access,
        args: &[Value],
    ) -> (LogAddresses, Option<Val>, Vals) {
        let row = args[access.shape.operands()];
        let addresses = LogAddresses::of(access, self.is_wide(row));
        let scalar = (access.shape != Shape::Any).then(|| self.s(args[1]));
        let rows = match addresses {
            LogAddresses::Line(_) => Vals::new(),
            _ => self.row(row),
        };
        (addresses, scalar, rows)
    }
}
