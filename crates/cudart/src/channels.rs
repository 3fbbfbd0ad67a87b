//! Formats of arrays: channel descriptions of the runtime, and the driver's numbers.

use cuda_abi::{
    CUarray_format as Format, Outcome, Status, cudaChannelFormatDesc, cudaChannelFormatKind,
};

/// The normalised kinds: bits, channels, the driver's number.
const NORMALIZED: [(cudaChannelFormatKind, i32, u32, Format); 12] = {
    use cudaChannelFormatKind as K;
    [
        (K::UnsignedNormalized8X1, 8, 1, Format::UNORM_INT8X1),
        (K::UnsignedNormalized8X2, 8, 2, Format::UNORM_INT8X2),
        (K::UnsignedNormalized8X4, 8, 4, Format::UNORM_INT8X4),
        (K::UnsignedNormalized16X1, 16, 1, Format::UNORM_INT16X1),
        (K::UnsignedNormalized16X2, 16, 2, Format::UNORM_INT16X2),
        (K::UnsignedNormalized16X4, 16, 4, Format::UNORM_INT16X4),
        (K::SignedNormalized8X1, 8, 1, Format::SNORM_INT8X1),
        (K::SignedNormalized8X2, 8, 2, Format::SNORM_INT8X2),
        (K::SignedNormalized8X4, 8, 4, Format::SNORM_INT8X4),
        (K::SignedNormalized16X1, 16, 1, Format::SNORM_INT16X1),
        (K::SignedNormalized16X2, 16, 2, Format::SNORM_INT16X2),
        (K::SignedNormalized16X4, 16, 4, Format::SNORM_INT16X4),
    ]
};

/// The plain kinds: bits and the driver's number.
const PLAIN: [(cudaChannelFormatKind, i32, Format); 8] = {
    use cudaChannelFormatKind as K;
    [
        (K::Unsigned, 8, Format::UNSIGNED_INT8),
        (K::Unsigned, 16, Format::UNSIGNED_INT16),
        (K::Unsigned, 32, Format::UNSIGNED_INT32),
        (K::Signed, 8, Format::SIGNED_INT8),
        (K::Signed, 16, Format::SIGNED_INT16),
        (K::Signed, 32, Format::SIGNED_INT32),
        (K::Float, 16, Format::HALF),
        (K::Float, 32, Format::FLOAT),
    ]
};

/// Returns the driver's number of a format, and the channels.
pub(crate) fn format(desc: &cudaChannelFormatDesc) -> Outcome<(i32, u32)> {
    let invalid = Status::INVALID_CHANNEL_DESCRIPTOR;
    let bits = [desc.x, desc.y, desc.z, desc.w];
    let channels = bits.iter().take_while(|&&bits| bits != 0).count();
    let alike = bits[..channels].iter().all(|&bits| bits == desc.x);
    let rest = bits[channels..].iter().all(|&bits| bits == 0);
    if !matches!(channels, 1 | 2 | 4) || !alike || !rest {
        return Err(invalid);
    }
    let kind = cudaChannelFormatKind::of(desc.f).map_err(|_| invalid)?;
    let channels = channels as u32;
    let plain = PLAIN.iter().find(|row| row.0 == kind && row.1 == desc.x).map(|row| row.2);
    let normalized =
        NORMALIZED.iter().find(|row| (row.0, row.1, row.2) == (kind, desc.x, channels));
    let found = plain.or_else(|| normalized.map(|row| row.3)).ok_or(invalid)?;
    Ok((found as i32, channels))
}

/// Returns the description of a driver's format.
pub(crate) fn describe(format: i32, channels: u32) -> Outcome<cudaChannelFormatDesc> {
    let known = Format::of(format)?;
    let plain = PLAIN.iter().find(|row| row.2 == known).map(|row| (row.0, row.1));
    let normalized = NORMALIZED.iter().find(|row| row.3 == known).map(|row| (row.0, row.1));
    let (kind, bits) = plain.or(normalized).ok_or(Status::INVALID_VALUE)?;
    let of = |channel: u32| if channel < channels { bits } else { 0 };
    Ok(cudaChannelFormatDesc { x: of(0), y: of(1), z: of(2), w: of(3), f: kind as i32 })
}

/// Returns the bytes of an element.
pub(crate) fn element_bytes(format: i32, channels: u32) -> Outcome<u64> {
    Ok(describe(format, channels)?.x as u64 / 8 * u64::from(channels))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptions_and_numbers_name_the_same_formats() {
        let plain = PLAIN.iter().flat_map(|row| [1, 2, 4].map(|channels| (row.2, channels)));
        for (known, channels) in plain.chain(NORMALIZED.iter().map(|row| (row.3, row.2))) {
            let desc = describe(known as i32, channels).unwrap();
            assert_eq!(format(&desc), Ok((known as i32, channels)));
        }
    }

    #[test]
    fn wrong_descriptions_are_refused() {
        for (x, y, z, w, f) in [
            (0, 0, 0, 0, 0),
            (8, 8, 8, 0, 1),
            (8, 16, 0, 0, 1),
            (8, 0, 8, 0, 1),
            (8, 0, 0, 0, 2),
            (64, 0, 0, 0, 2),
            (32, 0, 0, 0, 3),
            (8, 8, 0, 0, 5),
            (-8, 0, 0, 0, 0),
            (8, 0, 0, 0, 99),
        ] {
            let wrong = format(&cudaChannelFormatDesc { x, y, z, w, f });
            assert_eq!(wrong, Err(Status::INVALID_CHANNEL_DESCRIPTOR));
        }
    }
}
