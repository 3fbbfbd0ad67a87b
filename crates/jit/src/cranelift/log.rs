//! Accesses of screened launches: code logs them for the host, see [`crate::screen_log`].

use super::{Lowering, Val, Vals};
use crate::frame::Frame;
use crate::screen_log::{ExemptCell, ExemptSite, LogAddresses, LogChunk, LogSite};
use cranelift_codegen::ir::InstBuilder;
use cranelift_codegen::ir::condcodes::IntCC;
use fast::code::Judged;
use ir::mods::Space;
use vector::{Access, Scale, Shape, Value};

/// A row that is an address by itself.
const PLAIN: Scale = Scale { shift: 0, signed: false };

impl Lowering<'_> {
    /// Logs an access in screened launches; otherwise this does nothing. The arguments are those of
    /// [`vector::Op::Load`].
    pub(super) fn log_access(&mut self, access: &Access, args: &[Value]) {
        let judged = match (self.code.screened, access.space) {
            (None | Some(Judged::Nothing), _) | (_, Space::Param | Space::Const) => false,
            (Some(Judged::Shared), space) => matches!(space, Space::Shared | Space::Generic),
            (Some(Judged::All), _) => true,
        };
        if !judged {
            return;
        }
        let (addresses, address, rows) = self.logged_addresses(access, args);
        let span = match addresses {
            LogAddresses::Line(stride) => 31 * stride as u64 + access.bytes(),
            _ => access.bytes(),
        };
        let cell = self.exempt_sites.len() as u32;
        self.exempt_sites.push(ExemptSite { first: access.offset, span });
        let site = self.log_sites.len() as u32;
        self.log_sites.push(LogSite { step: access.step.step, addresses, cell });
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
        let (scalar, row, scale) = match access.shape {
            Shape::One | Shape::Adjacent => {
                let stride = if access.shape == Shape::One { 0 } else { i64::from(access.word) };
                let address = self.s(args[1]);
                return (LogAddresses::Line(stride), Some(address), Vals::new());
            }
            Shape::Any => (None, args[1], PLAIN),
            Shape::Indexed(scale) => (Some(self.s(args[1])), args[2], scale),
        };
        let addresses = match self.is_wide(row) {
            true => LogAddresses::Wide(scale),
            false => LogAddresses::Narrow(scale),
        };
        (addresses, scalar, self.row(row))
    }
}
