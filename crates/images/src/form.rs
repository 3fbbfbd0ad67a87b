//! What some bytes are: the forms in which device code comes.

use super::text::LINKED;
use super::{fat, host_object};

/// The form of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// PTX.
    Ptx,
    /// Texts that a linker of this project has joined.
    Linked,
    /// A fat binary.
    FatBinary,
    /// Machine code of a device.
    MachineCode,
    /// NVIDIA's intermediate language for optimisation at link time.
    LtoIr,
    /// An object file of the host.
    Object,
    /// A static library of the host.
    Library,
}

/// The first bytes of LTO-IR.
const LTO_IR: &[u8] = &[0xed, 0x43, 0x4e, 0x7f];

/// Returns the form of some bytes; `None` for any other file.
#[must_use]
pub fn form(bytes: &[u8]) -> Option<Form> {
    if host_object::is_library(bytes) {
        return Some(Form::Library);
    }
    if host_object::is_object(bytes) {
        let of_device = host_object::is_of_device(bytes);
        return Some(if of_device { Form::MachineCode } else { Form::Object });
    }
    if bytes.starts_with(&fat::MAGIC) {
        return fat::total_len(bytes).map(|_| Form::FatBinary);
    }
    if bytes.starts_with(LTO_IR) {
        return Some(Form::LtoIr);
    }
    if bytes.starts_with(LINKED.as_bytes()) {
        return Some(Form::Linked);
    }
    has_version(bytes).then_some(Form::Ptx)
}

/// Returns whether a text has the directive with which every PTX file begins.
fn has_version(bytes: &[u8]) -> bool {
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    std::str::from_utf8(&bytes[..end]).is_ok_and(|text| text.contains(".version"))
}

/// Returns whether an image holds device code of any kind, which objects and libraries of the host
/// need not.
#[must_use]
pub fn has_device_code(bytes: &[u8]) -> bool {
    host_object::fat_binaries(bytes).is_none_or(|binaries| !binaries.is_empty())
}

/// Returns whether an image is LTO-IR or a container that holds some.
#[must_use]
pub fn has_lto_ir(bytes: &[u8]) -> bool {
    match form(bytes) {
        Some(Form::LtoIr) => true,
        Some(Form::FatBinary) => fat::has_lto_ir(bytes),
        Some(Form::Object | Form::Library) => {
            let binaries = host_object::fat_binaries(bytes).unwrap_or_default();
            binaries.into_iter().any(fat::has_lto_ir)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::fat::writer::{entry, fat};
    use super::*;

    #[test]
    fn images_are_known_by_their_beginning() {
        let mut device = b"\x7fELF\x02\x01\x01".to_vec();
        device.resize(18, 0);
        let host = [&device[..], &[62, 0]].concat();
        device.extend([190, 0]);
        for (bytes, wanted) in [
            (&b"// a comment\n.version 8.0\n\0rest"[..], Some(Form::Ptx)),
            (b"//simtlab-linked 3 a\n...", Some(Form::Linked)),
            (b"\xed\x43\x4e\x7f\x01", Some(Form::LtoIr)),
            (b"!<arch>\n", Some(Form::Library)),
            (&device, Some(Form::MachineCode)),
            (&host, Some(Form::Object)),
            (&fat(&[]), Some(Form::FatBinary)),
            (&fat(&[])[..8], None),
            (b"hello", None),
            (b"", None),
            (b"\0.version", None),
            (b"\xff.version", None),
        ] {
            assert_eq!(form(bytes), wanted, "{bytes:?}");
        }
    }

    #[test]
    fn lto_ir_is_found_in_containers() {
        let mut lto = entry(80, 0, 0, b"code");
        lto[0] = 8;
        assert!(has_lto_ir(b"\xed\x43\x4e\x7f") && has_lto_ir(&fat(&[lto])));
        assert!(has_device_code(b".version 8.0") && !has_device_code(b"!<arch>\n"));
        assert!(!has_lto_ir(&fat(&[entry(80, 0, 0, b"text")])) && !has_lto_ir(b".version 8.0"));
    }
}
