//! Formats of elements, and what is read from them.

use simt::arith::soft::convert;
use simt::arith::{F16, F32, FpEnv, NanRule};

/// How one channel of an element is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the documentation")]
pub enum Channel {
    U8,
    U16,
    U32,
    S8,
    S16,
    S32,
    F16,
    F32,
    /// Fractions from 0 to 1, whatever the sampler says.
    Unorm8,
    Unorm16,
    /// Fractions from -1 to 1.
    Snorm8,
    Snorm16,
}

impl Channel {
    /// All of them, in the order of their numbers in descriptors.
    pub const ALL: [Self; 12] = [
        Self::U8,
        Self::U16,
        Self::U32,
        Self::S8,
        Self::S16,
        Self::S32,
        Self::F16,
        Self::F32,
        Self::Unorm8,
        Self::Unorm16,
        Self::Snorm8,
        Self::Snorm16,
    ];

    /// Bytes of a channel.
    #[must_use]
    pub const fn bytes(self) -> usize {
        match self {
            Self::U8 | Self::S8 | Self::Unorm8 | Self::Snorm8 => 1,
            Self::U16 | Self::S16 | Self::F16 | Self::Unorm16 | Self::Snorm16 => 2,
            Self::U32 | Self::S32 | Self::F32 => 4,
        }
    }

    /// Whether its integers have signs.
    #[must_use]
    pub const fn is_signed(self) -> bool {
        matches!(self, Self::S8 | Self::S16 | Self::S32 | Self::Snorm8 | Self::Snorm16)
    }

    /// Whether it holds integers that some samplers read as integers.
    #[must_use]
    pub const fn is_integer(self) -> bool {
        matches!(self, Self::U8 | Self::U16 | Self::U32 | Self::S8 | Self::S16 | Self::S32)
    }

    /// Whether a sampler reads integers: of 32 bits always, of fewer if it says so.
    #[must_use]
    pub const fn reads_integers(self, integers: bool) -> bool {
        match self {
            Self::U32 | Self::S32 => true,
            Self::U8 | Self::U16 | Self::S8 | Self::S16 => integers,
            _ => false,
        }
    }
}

/// How an element is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// Each channel.
    pub channel: Channel,
    /// Channels: 1, 2 or 4.
    pub channels: u8,
}

/// The components of a sampled value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Texel {
    /// Floats.
    Float([f32; 4]),
    /// Integers, extended to 32 bits.
    Int([u32; 4]),
}

impl Texel {
    /// The bits of the components.
    #[must_use]
    pub fn bits(self) -> [u32; 4] {
        match self {
            Self::Float(values) => values.map(f32::to_bits),
            Self::Int(values) => values,
        }
    }

    /// The components as half-precision floats; of integers the low bits.
    #[must_use]
    pub fn halves(self) -> [u16; 4] {
        match self {
            Self::Float(values) => values.map(half_of),
            Self::Int(values) => values.map(|value| value as u16),
        }
    }
}

impl Format {
    /// Bytes of an element.
    #[must_use]
    pub const fn bytes(self) -> usize {
        self.channel.bytes() * self.channels as usize
    }

    fn raw(self, bytes: &[u8], index: usize) -> u32 {
        let size = self.channel.bytes();
        let from = &bytes[index * size..][..size];
        let mut word = [0; 4];
        word[..size].copy_from_slice(from);
        let bits = u32::from_le_bytes(word);
        let unused = 32 - 8 * size as u32;
        match self.channel.is_signed() {
            true => ((bits << unused).cast_signed() >> unused).cast_unsigned(),
            false => bits,
        }
    }

    /// The element in these bytes. A component that is not stored is 0, the fourth 1.
    #[must_use]
    pub fn read(self, bytes: &[u8], integers: bool, srgb: bool) -> Texel {
        let stored = usize::from(self.channels);
        if self.channel.reads_integers(integers) {
            let mut out = [0, 0, 0, 1];
            (0..stored).for_each(|i| out[i] = self.raw(bytes, i));
            return Texel::Int(out);
        }
        let mut out = [0.0, 0.0, 0.0, 1.0];
        for (i, value) in out.iter_mut().enumerate().take(stored) {
            *value = self.fraction(self.raw(bytes, i));
            // The fourth component is no colour.
            if srgb && i < 3 && self.channel.bytes() == 1 {
                *value = linear(*value);
            }
        }
        Texel::Float(out)
    }

    fn fraction(self, bits: u32) -> f32 {
        let signed = bits.cast_signed() as f32;
        match self.channel {
            Channel::F32 | Channel::U32 | Channel::S32 => f32::from_bits(bits),
            Channel::F16 => float_of(bits as u16),
            Channel::U8 | Channel::Unorm8 => bits as f32 / 255.0,
            Channel::U16 | Channel::Unorm16 => bits as f32 / 65535.0,
            Channel::S8 | Channel::Snorm8 => (signed / 127.0).max(-1.0),
            Channel::S16 | Channel::Snorm16 => (signed / 32767.0).max(-1.0),
        }
    }

    /// The border colour as this format is read.
    #[must_use]
    pub fn border(self, colour: [f32; 4], integers: bool) -> Texel {
        if !self.channel.reads_integers(integers) {
            return Texel::Float(colour);
        }
        Texel::Int(colour.map(|value| match self.channel.is_signed() {
            true => (value as i32).cast_unsigned(),
            false => value as u32,
        }))
    }

    /// The bytes of an element whose components are these: floats for formats of fractions and
    /// floats, integers for the others. Values out of range saturate.
    #[must_use]
    pub fn write(self, values: [u32; 4]) -> [u8; 16] {
        let mut out = [0; 16];
        let size = self.channel.bytes();
        for (i, &bits) in values.iter().enumerate().take(usize::from(self.channels)) {
            let stored = self.stored(bits).to_le_bytes();
            out[i * size..][..size].copy_from_slice(&stored[..size]);
        }
        out
    }

    fn stored(self, bits: u32) -> u32 {
        let (float, signed) = (f32::from_bits(bits), bits.cast_signed());
        // The casts saturate, and make 0 of NaN.
        let unsigned = |most: f32| (float.clamp(0.0, 1.0) * most).round_ties_even() as u32;
        let fraction = |most: f32| (float.clamp(-1.0, 1.0) * most).round_ties_even() as i32;
        match self.channel {
            Channel::U32 | Channel::S32 | Channel::F32 => bits,
            Channel::U8 => bits.min(0xff),
            Channel::U16 => bits.min(0xffff),
            Channel::S8 => signed.clamp(-128, 127).cast_unsigned(),
            Channel::S16 => signed.clamp(-32768, 32767).cast_unsigned(),
            Channel::F16 => half_of(float).into(),
            Channel::Unorm8 => unsigned(255.0),
            Channel::Unorm16 => unsigned(65535.0),
            Channel::Snorm8 => fraction(127.0).cast_unsigned(),
            Channel::Snorm16 => fraction(32767.0).cast_unsigned(),
        }
    }
}

/// The half-precision float nearest to a value, ties to even, with the leading bits of a NaN.
fn half_of(value: f32) -> u16 {
    let env = FpEnv { nan: NanRule::Propagate, ..FpEnv::PTX };
    convert::<F32, F16>(value.to_bits().into(), env).0 as u16
}

/// The value of a half-precision float. Samples read many: the exponent is moved by a product,
/// which is exact, for subnormal numbers, too.
fn float_of(half: u16) -> f32 {
    const SCALE: f32 = f32::from_bits((127 + 112) << 23);
    let magnitude = u32::from(half & 0x7fff) << 13;
    let bits = match half & 0x7c00 == 0x7c00 {
        // Infinities keep their fraction of 0; NaN becomes quiet.
        true => 0x7f80_0000 | magnitude | u32::from(half & 0x3ff != 0) << 22,
        false => (f32::from_bits(magnitude) * SCALE).to_bits(),
    };
    f32::from_bits(bits | u32::from(half & 0x8000) << 16)
}

/// A component of sRGB as a linear one: IEC 61966-2-1.
fn linear(value: f32) -> f32 {
    let value = f64::from(value);
    let out = match value <= 0.04045 {
        true => value / 12.92,
        false => libm::pow((value + 0.055) / 1.055, 2.4),
    };
    out as f32
}
