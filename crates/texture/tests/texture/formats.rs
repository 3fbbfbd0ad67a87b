//! Formats against their definitions, for every value of a channel.

use half::f16;
use texture::{Channel, Format, Texel};

fn read(channel: Channel, bits: u32, integers: bool, srgb: bool) -> Texel {
    Format { channel, channels: 1 }.read(&bits.to_le_bytes(), integers, srgb)
}

fn float(channel: Channel, bits: u32) -> f32 {
    let Texel::Float([value, 0.0, 0.0, 1.0]) = read(channel, bits, false, false) else {
        panic!("{channel:?} gives a float and the components that are not stored");
    };
    value
}

#[test]
fn fractions_are_quotients() {
    for bits in 0..=0xffff_u32 {
        let signed = i32::from(bits as u16 as i16);
        let quotient = |value: f64, most: f64| (value / most).max(-1.0) as f32;
        assert_eq!(float(Channel::U16, bits), quotient(bits.into(), 65535.0));
        assert_eq!(float(Channel::Unorm16, bits), quotient(bits.into(), 65535.0));
        assert_eq!(float(Channel::S16, bits), quotient(signed.into(), 32767.0));
        assert_eq!(float(Channel::Snorm16, bits), quotient(signed.into(), 32767.0));
        let half = f16::from_bits(bits as u16).to_f32();
        assert_eq!(float(Channel::F16, bits).to_bits(), half.to_bits());
    }
    for bits in 0..=0xff_u32 {
        let signed = f64::from(bits as u8 as i8);
        assert_eq!(float(Channel::U8, bits), (f64::from(bits) / 255.0) as f32);
        assert_eq!(float(Channel::S8, bits), (signed / 127.0).max(-1.0) as f32);
        assert_eq!(read(Channel::U8, bits, true, false), Texel::Int([bits, 0, 0, 1]));
        let extended = i32::from(bits as u8 as i8).cast_unsigned();
        assert_eq!(read(Channel::S8, bits, true, false), Texel::Int([extended, 0, 0, 1]));
    }
}

/// Floats of all exponents, and the ones around each half and each tie between two.
#[test]
fn floats_are_stored_as_the_nearest_halves() {
    let format = Format { channel: Channel::F16, channels: 1 };
    let spread = (0..=u32::MAX).step_by(4099);
    let ties = (0..=0xffff_u16).flat_map(|half| {
        let bits = f16::from_bits(half).to_f32().to_bits();
        [-0x1001, -0x1000, -0xfff, -1, 0, 1, 0xfff, 0x1000, 0x1001]
            .map(|off: i32| bits.wrapping_add_signed(off))
    });
    for bits in spread.chain(ties) {
        let stored = format.write([bits; 4]);
        let half = f16::from_f32(f32::from_bits(bits)).to_le_bytes();
        assert_eq!(stored[..2], half, "{bits:#x}");
    }
}

/// Integers of 32 bits stay integers whatever the sampler says.
#[test]
fn wide_integers_are_integers() {
    for integers in [false, true] {
        for channel in [Channel::U32, Channel::S32] {
            assert_eq!(
                read(channel, 0x8000_0001, integers, false),
                Texel::Int([0x8000_0001, 0, 0, 1])
            );
        }
    }
}

/// IEC 61966-2-1, of colours but not of the fourth component.
#[test]
fn srgb_is_made_linear() {
    let format = Format { channel: Channel::U8, channels: 4 };
    for bits in 0..=0xff_u8 {
        let Texel::Float([red, .., alpha]) = format.read(&[bits; 4], false, true) else {
            panic!("a fraction is a float");
        };
        let value = f64::from(bits) / 255.0;
        let expected = match value <= 0.04045 {
            true => value / 12.92,
            false => ((value + 0.055) / 1.055).powf(2.4),
        };
        assert!((f64::from(red) - expected).abs() <= expected * 1e-6, "{bits}: {red}");
        assert_eq!(alpha, (f64::from(bits) / 255.0) as f32);
    }
}

/// What is stored and read again is the same; what is out of range saturates.
#[test]
fn stored_values_are_read_again() {
    for channel in Channel::ALL {
        let format = Format { channel, channels: 1 };
        for bits in 0..=0xffff_u32 {
            let bits = if channel.bytes() == 1 { bits & 0xff } else { bits };
            let texel = read(channel, bits, true, false);
            let again = format.write(texel.bits());
            let value = u32::from_le_bytes([again[0], again[1], again[2], again[3]]);
            let mask = u32::MAX >> (32 - 8 * channel.bytes() as u32);
            let nan = channel == Channel::F16 && f16::from_bits(bits as u16).is_nan();
            // The least signed fraction has two encodings.
            let least = matches!(channel, Channel::Snorm8 | Channel::Snorm16)
                && bits == 1 << (8 * channel.bytes() - 1);
            if !nan && !least {
                assert_eq!(value & mask, bits & mask, "{channel:?}");
            }
        }
    }
    let saturated = [
        (Channel::U8, 300, 255),
        (Channel::U16, 70_000, 65_535),
        (Channel::S8, (-200_i32).cast_unsigned(), 0x80),
        (Channel::S16, 40_000, 0x7fff),
        (Channel::Unorm8, 2.0_f32.to_bits(), 255),
        (Channel::Unorm8, f32::NAN.to_bits(), 0),
        (Channel::Snorm16, (-2.0_f32).to_bits(), 0x8001),
    ];
    for (channel, given, expected) in saturated {
        let bytes = Format { channel, channels: 1 }.write([given, 0, 0, 0]);
        let stored = u32::from(u16::from_le_bytes([bytes[0], bytes[1]]));
        let mask = u32::MAX >> (32 - 8 * channel.bytes() as u32);
        assert_eq!(stored & mask, expected, "{channel:?} of {given:#x}");
    }
}
