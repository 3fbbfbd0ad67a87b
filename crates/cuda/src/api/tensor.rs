//! Tensor maps (`cuTensorMapEncodeTiled` and the like): the documented rules of every argument.

use cuda_abi::host::{Ptr, get_bytes, get_list, put_bytes};
use cuda_abi::{Outcome, Status};
use runtime::tensor::{
    BYTES, Fill, Interleave, MAX_RANK, Mode, TensorElement, TensorMap, TensorSwizzle,
};

use crate::state::Driver;

/// What all ways to encode a map have in common, as the client gives it.
pub(crate) struct Tensor {
    /// Where the map goes.
    pub(crate) out: Ptr,
    /// A `CUtensorMapDataType`.
    pub(crate) element: i32,
    /// Dimensions.
    pub(crate) rank: u32,
    /// The global address.
    pub(crate) address: u64,
    /// Elements along each dimension.
    pub(crate) extents: Ptr,
    /// Bytes along each dimension but the innermost.
    pub(crate) strides: Ptr,
    /// Element strides.
    pub(crate) steps: Ptr,
    /// A `CUtensorMapInterleave`.
    pub(crate) interleave: i32,
    /// A `CUtensorMapSwizzle`.
    pub(crate) swizzle: i32,
    /// A `CUtensorMapL2promotion`.
    pub(crate) promotion: i32,
    /// A `CUtensorMapFloatOOBfill`.
    pub(crate) fill: i32,
}

/// The columns of pixels of a map, as the client gives them.
pub(crate) struct Column {
    /// Elements of a pixel.
    pub(crate) channels: u32,
    /// Pixels of a column.
    pub(crate) pixels: u32,
}

/// Devices have tensor maps since compute capability 9.0.
pub(crate) fn supported(d: &Driver) -> Outcome {
    if d.settings.capability().major < 9 { Err(Status::NOT_SUPPORTED) } else { Ok(()) }
}

/// A number that must be one of an enum's.
fn one_of<T: Copy>(all: &[T], number: i32) -> Outcome<T> {
    let found = usize::try_from(number).ok().and_then(|index| all.get(index));
    found.copied().ok_or(Status::INVALID_VALUE)
}

/// The corners along D, H, W, which the map has in the order W, H, D.
fn corners(at: Ptr, rank: u32) -> Outcome<[i32; 3]> {
    let mut out = [0; 3];
    let given = get_list::<i32>(at, rank as usize - 2)?;
    for (to, corner) in out.iter_mut().zip(given.into_iter().rev()) {
        *to = corner;
    }
    Ok(out)
}

impl Tensor {
    fn map(&self, least: u32, mode: Mode) -> Outcome<TensorMap> {
        if !(least..=MAX_RANK as u32).contains(&self.rank) || !self.out.is_multiple_of(64) {
            return Err(Status::INVALID_VALUE);
        }
        let rank = self.rank as usize;
        let mut map = TensorMap {
            element: one_of(&TensorElement::ALL, self.element)?,
            rank: self.rank,
            address: self.address,
            extents: [1; MAX_RANK],
            strides: [0; MAX_RANK - 1],
            steps: [1; MAX_RANK],
            interleave: one_of(
                &[Interleave::None, Interleave::B16, Interleave::B32],
                self.interleave,
            )?,
            swizzle: one_of(&TensorSwizzle::ALL, self.swizzle)?,
            promotion: u8::try_from(self.promotion).map_err(|_| Status::INVALID_VALUE)?,
            fill: one_of(&[Fill::Zeros, Fill::Nan], self.fill)?,
            mode,
        };
        map.extents[..rank].copy_from_slice(&get_list::<u64>(self.extents, rank)?);
        map.steps[..rank].copy_from_slice(&get_list::<u32>(self.steps, rank)?);
        if rank > 1 {
            map.strides[..rank - 1].copy_from_slice(&get_list::<u64>(self.strides, rank - 1)?);
        }
        Ok(map)
    }

    fn put(&self, map: &TensorMap) -> Outcome {
        map.check().map_err(|_| Status::INVALID_VALUE)?;
        put_bytes(self.out, &map.encode())
    }

    /// `cuTensorMapEncodeTiled`.
    pub(crate) fn tiled(&self, boxes: Ptr) -> Outcome {
        let mut map = self.map(1, Mode::Tiled { extents: [1; MAX_RANK] })?;
        let rank = self.rank as usize;
        let mut extents = [1; MAX_RANK];
        extents[..rank].copy_from_slice(&get_list::<u32>(boxes, rank)?);
        map.mode = Mode::Tiled { extents };
        self.put(&map)
    }

    /// `cuTensorMapEncodeIm2col`.
    pub(crate) fn im2col(
        &self,
        [lower, upper]: [Ptr; 2],
        Column { channels, pixels }: Column,
    ) -> Outcome {
        let mode = Mode::Im2col { lower: [0; 3], upper: [0; 3], channels, pixels };
        let mut map = self.map(3, mode)?;
        let (lower, upper) = (corners(lower, self.rank)?, corners(upper, self.rank)?);
        map.mode = Mode::Im2col { lower, upper, channels, pixels };
        self.put(&map)
    }

    /// `cuTensorMapEncodeIm2colWide`.
    pub(crate) fn im2col_wide(
        &self,
        [lower, upper]: [i32; 2],
        Column { channels, pixels }: Column,
        mode: i32,
    ) -> Outcome {
        let wide128 = one_of(&[false, true], mode)?;
        let mode = Mode::Im2colWide { lower, upper, channels, pixels, wide128 };
        self.put(&self.map(3, mode)?)
    }
}

/// `cuTensorMapReplaceAddress`.
pub(crate) fn replace_address(at: Ptr, address: u64) -> Outcome {
    let mut bytes = [0; BYTES];
    if !at.is_multiple_of(64) {
        return Err(Status::INVALID_VALUE);
    }
    get_bytes(at, &mut bytes)?;
    let map = TensorMap::decode(&bytes).map_err(|_| Status::INVALID_VALUE)?;
    let map = TensorMap { address, ..map };
    map.check().map_err(|_| Status::INVALID_VALUE)?;
    put_bytes(at, &map.encode())
}

#[cfg(test)]
mod tests {
    use super::*;
    use cuda_abi::host::address;

    #[repr(align(64))]
    struct Map([u8; BYTES]);

    /// A map of floats, 64 by 32, with a box of 16 by 8.
    struct Arguments {
        map: Map,
        extents: [u64; 5],
        strides: [u64; 4],
        boxes: [u32; 5],
        steps: [u32; 5],
    }

    fn arguments() -> Arguments {
        Arguments {
            map: Map([0; BYTES]),
            extents: [64, 32, 4, 2, 2],
            strides: [256, 8192, 32768, 65536],
            boxes: [16, 8, 1, 1, 1],
            steps: [1; 5],
        }
    }

    impl Arguments {
        fn tensor(&mut self, rank: u32) -> Tensor {
            Tensor {
                out: std::ptr::from_mut(&mut self.map).addr(),
                element: 7,
                rank,
                address: 0x1_0000,
                extents: address(&self.extents),
                strides: address(&self.strides),
                steps: address(&self.steps),
                interleave: 0,
                swizzle: 2,
                promotion: 2,
                fill: 1,
            }
        }

        fn decoded(&self) -> TensorMap {
            TensorMap::decode(&self.map.0).expect("it was encoded")
        }
    }

    #[test]
    fn a_tiled_map_has_what_the_call_has() {
        let mut a = arguments();
        let boxes = address(&a.boxes);
        assert_eq!(a.tensor(2).tiled(boxes), Ok(()));
        let map = a.decoded();
        assert_eq!((map.element, map.rank, map.address), (TensorElement::F32, 2, 0x1_0000));
        assert_eq!((map.extents, map.strides), ([64, 32, 1, 1, 1], [256, 0, 0, 0]));
        assert_eq!(map.mode, Mode::Tiled { extents: [16, 8, 1, 1, 1] });
        assert_eq!((map.swizzle, map.fill), (TensorSwizzle::B64, Fill::Nan));
        let at = std::ptr::from_mut(&mut a.map).addr();
        assert_eq!(replace_address(at, 0x2_0000), Ok(()));
        assert_eq!(a.decoded().address, 0x2_0000);
        assert_eq!(replace_address(at, 0x2_0008), Err(Status::INVALID_VALUE));
        let empty = Map([0; BYTES]);
        assert_eq!(replace_address(address(&empty), 0x2_0000), Err(Status::INVALID_VALUE));
    }

    #[test]
    fn wrong_arguments_are_invalid_values() {
        let mut a = arguments();
        let boxes = address(&a.boxes);
        let changes: [fn(&mut Tensor); 12] = [
            |t| t.out += 16,
            |t| t.out = 0,
            |t| t.element = 16,
            |t| t.element = -1,
            |t| t.rank = 0,
            |t| t.rank = 6,
            |t| t.address += 4,
            |t| t.interleave = 3,
            |t| t.swizzle = 1,
            |t| t.promotion = 4,
            |t| t.fill = 2,
            |t| t.extents = 0,
        ];
        for (i, change) in changes.into_iter().enumerate() {
            let mut tensor = a.tensor(2);
            change(&mut tensor);
            assert_eq!(tensor.tiled(boxes), Err(Status::INVALID_VALUE), "change {i}");
        }
    }

    #[test]
    fn corners_of_pixels_are_in_order() {
        let mut a = arguments();
        let (lower, upper) = ([-3, -2, -1], [1, 2, 3]);
        let corners = [address(&lower), address(&upper)];
        let column = || Column { channels: 16, pixels: 64 };
        assert_eq!(a.tensor(5).im2col(corners, column()), Ok(()));
        let mode = Mode::Im2col { lower: [-1, -2, -3], upper: [3, 2, 1], channels: 16, pixels: 64 };
        assert_eq!(a.decoded().mode, mode);
        assert_eq!(a.tensor(2).im2col(corners, column()), Err(Status::INVALID_VALUE));
        assert_eq!(a.tensor(4).im2col_wide([-1, 1], column(), 0), Ok(()));
        assert_eq!(a.tensor(4).im2col_wide([-1, 1], column(), 2), Err(Status::INVALID_VALUE));
    }
}
