//! Floating-point numbers of eight bits, as OCP's specification of 8-bit formats and CUDA have
//! them: E4M3, without infinities, and E5M2. Conversions from `f32` round to nearest, ties to
//! even, and saturate.

/// A number with four bits of exponent and three of fraction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(transparent)]
pub struct E4M3(pub u8);

/// A number with five bits of exponent and two of fraction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(transparent)]
pub struct E5M2(pub u8);

fn decode(bits: u8, fraction_bits: i32, bias: i32) -> f32 {
    let sign = if bits & 0x80 == 0 { 1.0 } else { -1.0 };
    let magnitude = i32::from(bits & 0x7f);
    let (exponent, fraction) = (magnitude >> fraction_bits, magnitude & ((1 << fraction_bits) - 1));
    let (significand, exponent) = match exponent {
        0 => (fraction, 1),
        exponent => (fraction | 1 << fraction_bits, exponent),
    };
    sign * significand as f32 * 2_f32.powi(exponent - bias - fraction_bits)
}

/// Rounds to the code of the nearest finite number, of which `largest` is the last.
fn encode(value: f32, fraction_bits: i32, bias: i32, largest: u8, nan: u8) -> u8 {
    let sign = if value.is_sign_negative() { 0x80 } else { 0 };
    if value.is_nan() {
        return sign | nan;
    }
    let value = value.abs();
    if value >= decode(largest, fraction_bits, bias) {
        return sign | largest;
    }
    let least = 1 - bias;
    let exponent =
        if value == 0.0 { least } else { ((value.to_bits() >> 23) as i32 - 127).max(least) };
    // In units of the last place, which is exact; the carry of a fraction is one of the exponent.
    let units = (value * 2_f32.powi(fraction_bits - exponent)).round_ties_even() as i32;
    sign | (((exponent - least) << fraction_bits) + units) as u8
}

impl E4M3 {
    /// Returns the number.
    #[must_use]
    pub fn to_f32(self) -> f32 {
        if self.0 & 0x7f == 0x7f { f32::NAN } else { decode(self.0, 3, 7) }
    }
}

impl E5M2 {
    /// Returns the number.
    #[must_use]
    pub fn to_f32(self) -> f32 {
        match self.0 & 0x7f {
            0x7c => f32::INFINITY.copysign(if self.0 & 0x80 == 0 { 1.0 } else { -1.0 }),
            0x7d.. => f32::NAN,
            _ => decode(self.0, 2, 15),
        }
    }
}

/// Rounds a number to E4M3; what is too large becomes 448.
#[must_use]
pub fn to_e4m3(value: f32) -> E4M3 {
    E4M3(encode(value, 3, 7, 0x7e, 0x7f))
}

/// Rounds a number to E5M2; what is too large becomes 57344.
#[must_use]
pub fn to_e5m2(value: f32) -> E5M2 {
    E5M2(encode(value, 2, 15, 0x7b, 0x7e))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_finite_code_is_its_own_nearest() {
        for code in 0..=255_u8 {
            let x = E4M3(code).to_f32();
            assert!(x.is_nan() || to_e4m3(x) == E4M3(code), "{code:#x} {x}");
            let x = E5M2(code).to_f32();
            assert!(!x.is_finite() || to_e5m2(x) == E5M2(code), "{code:#x} {x}");
        }
        assert_eq!((E4M3(0x7e).to_f32(), E5M2(0x7b).to_f32()), (448.0, 57344.0));
        assert_eq!((to_e4m3(1e9).0, to_e4m3(f32::NEG_INFINITY).0), (0x7e, 0xfe));
    }

    #[test]
    fn between_two_codes_the_nearest_and_then_the_even_one() {
        for code in 0..0x7e_u8 {
            let (low, high) = (E4M3(code).to_f32(), E4M3(code + 1).to_f32());
            let middle = low + (high - low) / 2.0;
            assert_eq!(to_e4m3(middle).0, code + (code & 1), "{code:#x}");
            assert_eq!(to_e4m3(middle * 1.001).0, code + 1, "{code:#x}");
            assert_eq!(to_e4m3(-middle * 0.999).0, 0x80 | code, "{code:#x}");
        }
    }
}
