//! What programs find out about the machine, as text.

use std::fmt;

use crate::config::{Config, Level, ZmodeBit};
use crate::csr;

/// The discovery registers of a configuration, and what they say.
impl fmt::Display for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (capabilities, info) = csr::discovery(self);
        writeln!(f, "cap.pmask.cap (0x7c7) {capabilities:#x}, xpm.info (0xfc0) {info:#x}")?;
        if !self.pmask {
            return writeln!(f, "no PMASK; at most {} lanes", self.most_lanes());
        }
        let level = match self.level {
            Level::M1 => "M1",
            Level::M2 => "M2",
        };
        let (banks, lanes) = (self.banks, self.most_lanes());
        let programmable = banks.saturating_sub(1);
        writeln!(
            f,
            "level {level}; bank 0 and {programmable} programmable, {} bits each; at most {lanes} lanes",
            self.maskw
        )?;
        let zmode = match (self.zero, self.zmode_bit) {
            (false, ZmodeBit::Bit3) => "merge, bit 3",
            (false, ZmodeBit::Bit11) => "merge, bit 11",
            (true, ZmodeBit::Bit3) => "zero, bit 3",
            (true, ZmodeBit::Bit11) => "zero, bit 11",
        };
        writeln!(f, "ZMODE after reset: {zmode} of cap.prec.mode")?;
        let algebra = self.scalar_algebra && banks <= 1;
        let parts = [
            ("bp.any, bp.none", self.has("FUSED")),
            ("pmmov.to_p0 with a bank", self.to_p0_bank),
            ("tests by lane under RSV", self.lane_forms),
            ("svcompress, svexpand, svpopcnt.pm", self.cexp),
            ("pcmp, ptestnz with a bank", self.pcmp_bank),
            ("mask algebra on P0", algebra),
            ("RT.BBOX", self.rt),
        ];
        let named = |wanted: bool| {
            let named = parts.iter().filter(|(_, has)| *has == wanted).map(|(name, _)| *name);
            named.collect::<Vec<_>>().join("; ")
        };
        writeln!(f, "has: {}", named(true))?;
        writeln!(f, "has not: {}", named(false))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_are_those_that_programs_read() {
        let config = Config { banks: 2, ..Config::default() };
        let text = config.to_string();
        // PMASK, one programmable bank, level bit; M2, MASKW 64, VLMAX 64, four extras.
        assert!(
            text.starts_with("cap.pmask.cap (0x7c7) 0x13, xpm.info (0xfc0) 0x40403e\n"),
            "{text}"
        );
        assert!(text.contains("bank 0 and 1 programmable, 64 bits each"), "{text}");
        let none = Config { pmask: false, ..Config::default() }.to_string();
        assert!(none.contains("0x7c7) 0x0"), "{none}");
    }
}
