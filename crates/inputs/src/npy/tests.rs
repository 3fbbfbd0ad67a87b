//! The byte strings were written by NumPy 2 (and ml_dtypes for bfloat16).

use super::*;
use crate::array::Array;
use crate::elem::ElemType;
use proptest::prelude::*;

const F32: &[u8] = b"\x93NUMPY\x01\x00v\x00{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }                                                          \x0a\x00\x00\x00\x00\x00\x00\x80?\x00\x00\x00@\x00\x00@@\x00\x00\x80@\x00\x00\xa0@";
const U64_SCALAR: &[u8] = b"\x93NUMPY\x01\x00v\x00{'descr': '<u8', 'fortran_order': False, 'shape': (), }                                                              \x0a\x07\x00\x00\x00\x00\x00\x00\x00";
const HALF: &[u8] = b"\x93NUMPY\x01\x00v\x00{'descr': '<f2', 'fortran_order': False, 'shape': (2,), }                                                            \x0a\x00<\x00A";
const BYTES: &[u8] = b"\x93NUMPY\x01\x00v\x00{'descr': '|u1', 'fortran_order': False, 'shape': (3,), }                                                            \x0a\x01\x02\x03";
const FORTRAN: &[u8] = b"\x93NUMPY\x01\x00v\x00{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3, 4), }                                                        \x0a\x00\x0c\x04\x10\x08\x14\x01\x0d\x05\x11\x09\x15\x02\x0e\x06\x12\x0a\x16\x03\x0f\x07\x13\x0b\x17";
const BFLOAT: &[u8] = b"\x93NUMPY\x01\x00v\x00{'descr': '<V2', 'fortran_order': False, 'shape': (2,), }                                                            \x0a\x80?\x00@";

const CAP: u64 = 1 << 20;

fn with_header(version: &[u8; 2], header: &str, data: &[u8]) -> Vec<u8> {
    let mut file = b"\x93NUMPY".to_vec();
    file.extend_from_slice(version);
    match version[0] {
        1 => file.extend_from_slice(&(header.len() as u16).to_le_bytes()),
        _ => file.extend_from_slice(&(header.len() as u32).to_le_bytes()),
    }
    file.extend_from_slice(header.as_bytes());
    file.extend_from_slice(data);
    file
}

fn failure(file: &[u8]) -> String {
    read(file, CAP).expect_err("must not be read").to_string()
}

#[test]
fn arrays_of_numpy_are_read() {
    let a = read(F32, CAP).expect("2x3 f32");
    assert_eq!((a.ty(), a.shape()), (ElemType::F32, &[2, 3][..]));
    assert_eq!(a.get(4), Some(u64::from(4.0_f32.to_bits())));
    let a = read(U64_SCALAR, CAP).expect("one u64");
    assert_eq!((a.ty(), a.shape(), a.get(0)), (ElemType::U64, &[][..], Some(7)));
    assert_eq!(read(HALF, CAP).expect("f16").get(1), Some(0x4100));
    assert_eq!(read(BFLOAT, CAP).expect("bf16").ty(), ElemType::B16);
    let a = read(FORTRAN, CAP).expect("Fortran order");
    assert_eq!(a.data(), (0..24).collect::<Vec<u8>>());
}

#[test]
fn written_files_equal_those_of_numpy() {
    for file in [F32, U64_SCALAR, HALF, BYTES] {
        let mut out = Vec::new();
        write(&mut out, &read(file, CAP).expect("readable")).expect("a vector takes all");
        assert_eq!(out, file);
    }
    let bf16 = read(BFLOAT, CAP).expect("bf16").with_type(ElemType::Bf16).expect("same size");
    let mut out = Vec::new();
    write(&mut out, &bf16).expect("a vector takes all");
    assert_eq!(out, BFLOAT);
}

#[test]
fn versions_2_and_3_and_big_endian() {
    let header = "{'shape': (2,), \"descr\": '>i2', 'fortran_order': False}\n";
    for version in [[1, 0], [2, 0], [3, 0]] {
        let a =
            read(&with_header(&version, header, &[0xff, 0xfe, 1, 2])[..], CAP).expect("readable");
        assert_eq!((a.get(0), a.get(1)), (Some(0xfffe), Some(0x0102)));
    }
    assert_eq!(
        failure(&with_header(&[4, 0], header, &[])),
        "version 4.0 of the .npy format is not known"
    );
}

#[test]
fn damaged_files_are_errors() {
    assert_eq!(failure(b""), "not an .npy file: it does not start with \\x93NUMPY");
    assert_eq!(failure(b"PK\x03\x04 an archive"), failure(b""));
    assert_eq!(failure(&F32[..8]), "the file ends after 0 of 2 bytes of the header's length");
    assert_eq!(failure(&F32[..40]), "the file ends after 30 of 118 bytes of the header");
    assert_eq!(failure(&F32[..140]), "the file ends after 12 of 24 bytes of the elements");
    let longer = [F32, &[0]].concat();
    assert_eq!(
        failure(&longer),
        "there are bytes after the last element, which ends at byte 152 of the file"
    );
}

#[test]
fn huge_claims_are_refused_before_allocating() {
    let file = with_header(
        &[1, 0],
        "{'descr':'<f8','fortran_order':False,'shape':(4294967296,4294967296)}",
        &[],
    );
    assert_eq!(
        failure(&file),
        "the number of bytes of f64[4294967296,4294967296] does not fit 64 bits"
    );
    let file =
        with_header(&[1, 0], "{'descr':'<f8','fortran_order':False,'shape':(1073741824,)}", &[]);
    assert_eq!(failure(&file), "8.0 GiB are more than the limit of 1.0 MiB");
    let file =
        with_header(&[1, 0], "{'descr':'<f8','fortran_order':False,'shape':(100000,)}", &[1]);
    assert_eq!(failure(&file), "the file ends after 1 of 800000 bytes of the elements");
    let mut file = b"\x93NUMPY\x02\x00\xff\xff\xff\xff".to_vec();
    file.extend_from_slice(b"{");
    assert_eq!(failure(&file), "the header claims 4294967295 bytes; at most 65536 are read");
    let empty = with_header(
        &[1, 0],
        "{'descr':'<f8','fortran_order':True,'shape':(4294967296,4294967296,4294967296,0)}",
        &[],
    );
    assert_eq!(read(&empty[..], CAP).expect("no element").len(), 0);
}

#[test]
fn headers_that_are_not_the_dictionary() {
    let of = |header: &str| failure(&with_header(&[1, 0], header, &[0; 8]));
    assert_eq!(of(""), "the header is malformed at byte 0: expected `{`");
    assert_eq!(of("{'descr': '<f4'}"), "the header has no `fortran_order`");
    assert_eq!(
        of("{'descr': '<f4', 'descr': '<f4'}"),
        "the header has an unknown or repeated key `descr`"
    );
    assert_eq!(of("{'dtype': '<f4'}"), "the header has an unknown or repeated key `dtype`");
    assert_eq!(
        of("{'descr': '<f4}"),
        "the header is malformed at byte 10: expected a quoted string without escapes"
    );
    assert_eq!(
        of("{'shape': (-1,)}"),
        "the header is malformed at byte 11: expected an extent that fits 64 bits"
    );
    assert_eq!(
        of("{'shape': (18446744073709551616,)}"),
        "the header is malformed at byte 11: expected an extent that fits 64 bits"
    );
    assert_eq!(
        of("{'fortran_order': 1}"),
        "the header is malformed at byte 18: expected True or False"
    );
    assert_eq!(
        of(&format!("{{'shape': ({})}}", "1,".repeat(65))),
        "the header is malformed at byte 139: expected at most 64 extents"
    );
    let typed =
        |descr: &str| of(&format!("{{'descr': {descr}, 'fortran_order': False, 'shape': (1,)}}"));
    assert_eq!(
        typed("'|O'"),
        "elements of type `|O` cannot be read: it holds pickled Python objects"
    );
    assert_eq!(
        typed("'<c8'"),
        "elements of type `<c8` cannot be read: complex numbers have no counterpart"
    );
    assert_eq!(
        typed("'<f16'"),
        "elements of type `<f16` cannot be read: only floats of 2, 4 and 8 bytes have a counterpart"
    );
    assert!(typed("[('x', '<f4')]").ends_with("cannot be read: it is a record of several fields"));
}

proptest! {
    #[test]
    fn written_arrays_are_read_back(
        index in 0..ElemType::ALL.len(),
        shape in prop::collection::vec(0_u64..5, 0..4),
        seed in any::<u64>(),
    ) {
        let ty = ElemType::ALL[index];
        let elements: u64 = shape.iter().product();
        let bits: Vec<u64> = (0..elements).map(|i| seed.wrapping_mul(i | 1) & ty.mask()).collect();
        let array = Array::from_bits(ty, &bits).with_shape(shape).expect("same number");
        let mut file = Vec::new();
        write(&mut file, &array).expect("a vector takes all");
        let back = read(&file[..], CAP).expect("what was written");
        prop_assert_eq!(back.data(), array.data());
        prop_assert_eq!(back.shape(), array.shape());
        prop_assert_eq!(back.ty().bytes(), ty.bytes());
    }

    #[test]
    fn damage_never_panics(at in 0..F32.len(), byte in any::<u8>(), cut in 0..=F32.len()) {
        let mut file = F32.to_vec();
        file[at] = byte;
        let _ = read(&file[..cut], CAP);
    }
}
