//! Binding of arguments to a kernel's parameter block.
//!
//! If the name of any argument is that of a parameter, all names have to be, each at most once and
//! in any order; arguments without a name then fill the other parameters in order. Otherwise
//! arguments are bound in order, and their names only label buffers: parameters of compiled PTX
//! have names like `kernel_param_0`.

use isa::suggest::nearest;
use isa::{Diagnostic, Diagnostics, Span};
use simt::tensor::{Field, TensorMap};

use crate::argspec::{ArgSpec, ArgValue, BufferRef, TensorSpec};
use crate::elem::{ElemKind, Scalar, shortened};
use crate::kernel::{KernelInfo, ParamInfo, ParamKind};

/// Returns the address of a named buffer, or a diagnostic if there is none.
pub type AddressOf<'a> = dyn FnMut(&BufferRef, Span) -> Result<u64, Diagnostic> + 'a;

/// Size limit of a parameter block in bytes.
const MAX_PARAM_BYTES: u64 = 1 << 16;

/// Builds the parameter block of `kernel` from `args`; `span` is the place of the argument list.
///
/// # Errors
/// Returns a diagnostic for each problem: too few or too many arguments, unknown names, wrong types
/// and sizes.
pub fn bind(
    kernel: &KernelInfo,
    args: &[ArgSpec],
    span: Option<Span>,
    address_of: &mut AddressOf<'_>,
) -> Result<Vec<u8>, Diagnostics> {
    fill(kernel, args, span, &mut |param, arg| bytes_of(param, arg, address_of))
}

/// A parameter that holds the address of a buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pointer {
    /// Offset of the 8-byte address in the parameter block.
    pub offset: u64,
    /// The buffer's name.
    pub buffer: String,
}

/// Builds a parameter block like [`bind`] before the buffers have addresses. At each of the
/// returned pointers the block holds an offset from the start of a buffer, to which the buffer's
/// address has to be added. `known` rejects buffers that do not exist.
///
/// # Errors
/// Returns diagnostics like [`bind`].
pub fn bind_pointers(
    kernel: &KernelInfo,
    args: &[ArgSpec],
    span: Option<Span>,
    known: &mut dyn FnMut(&BufferRef, Span) -> Result<(), Diagnostic>,
) -> Result<(Vec<u8>, Vec<Pointer>), Diagnostics> {
    let mut pointers = Vec::new();
    let block = fill(kernel, args, span, &mut |param, arg| {
        let at = match &arg.value {
            ArgValue::Tensor(_) => Field::GlobalAddress.place().0,
            _ => 0,
        };
        if let Some(reference) = arg.value.buffer() {
            let (offset, buffer) = (param.offset + at, reference.name.clone());
            pointers.push(Pointer { offset, buffer });
        }
        bytes_of(param, arg, &mut |reference, span| known(reference, span).map(|()| 0))
    })?;
    Ok((block, pointers))
}

/// Encodes an argument for a parameter.
type BytesOf<'a> = dyn FnMut(&ParamInfo, &ArgSpec) -> Result<Vec<u8>, Diagnostic> + 'a;

fn fill(
    kernel: &KernelInfo,
    args: &[ArgSpec],
    span: Option<Span>,
    bytes_of: &mut BytesOf<'_>,
) -> Result<Vec<u8>, Diagnostics> {
    let mut found = Diagnostics::new();
    let size = kernel.params.iter().map(|p| p.offset.saturating_add(p.size)).max().unwrap_or(0);
    let order = ordered(kernel, args, span, &mut found);
    if size > MAX_PARAM_BYTES {
        let message = format!("{} takes {size} bytes of parameters", kernel.name);
        found.push(
            Diagnostic::error("arg::size", message).help("at most 65536 bytes can be passed"),
        );
    }
    if found.has_errors() {
        return Err(found);
    }
    let mut block = vec![0; size as usize];
    for (param, arg) in order {
        match bytes_of(param, arg) {
            Ok(bytes) => {
                let start = param.offset as usize;
                if let Some(to) = block.get_mut(start..start + bytes.len()) {
                    to.copy_from_slice(&bytes);
                }
            }
            Err(finding) => found.push(finding),
        }
    }
    if found.has_errors() { Err(found) } else { Ok(block) }
}

/// Pairs parameters with arguments.
fn ordered<'k, 'a>(
    kernel: &'k KernelInfo,
    args: &'a [ArgSpec],
    span: Option<Span>,
    found: &mut Diagnostics,
) -> Vec<(&'k ParamInfo, &'a ArgSpec)> {
    if args.iter().any(|a| is_parameter(kernel, a)) {
        by_name(kernel, args, span, found)
    } else {
        in_order(kernel, args, span, found)
    }
}

/// Returns each argument with the number of its parameter. Errors are left to [`bind`].
pub fn parameters<'a>(
    kernel: &KernelInfo,
    args: &'a [ArgSpec],
) -> impl Iterator<Item = (usize, &'a ArgSpec)> {
    let pairs = ordered(kernel, args, None, &mut Diagnostics::new());
    let number = |param: &ParamInfo| kernel.params.iter().position(|p| std::ptr::eq(p, param));
    pairs.into_iter().filter_map(move |(param, arg)| Some((number(param)?, arg)))
}

/// Returns whether an argument has the name of a parameter.
#[must_use]
pub fn is_parameter(kernel: &KernelInfo, arg: &ArgSpec) -> bool {
    arg.name.as_ref().is_some_and(|name| kernel.params.iter().any(|p| p.name == *name))
}

/// Formats a signature as `k(.u32 n, .u64 x)`, with optional parameters in brackets.
fn signature(kernel: &KernelInfo) -> String {
    const SHOWN: usize = 12;
    let shown = |(index, p): (usize, &ParamInfo)| {
        let text = format!("{} {}", p.spelling, p.name);
        if index < least(kernel) { text } else { format!("[{text}]") }
    };
    let mut params: Vec<String> = kernel.params.iter().take(SHOWN).enumerate().map(shown).collect();
    if kernel.params.len() > SHOWN {
        params.push(format!("and {} more", kernel.params.len() - SHOWN));
    }
    format!("{}({})", kernel.name, params.join(", "))
}

fn at(finding: Diagnostic, span: Option<Span>, text: &str) -> Diagnostic {
    match span {
        Some(span) => finding.at(span, text),
        None => finding,
    }
}

/// Returns the number of required arguments.
fn least(kernel: &KernelInfo) -> usize {
    kernel.params.len().saturating_sub(kernel.optional)
}

fn in_order<'k, 'a>(
    kernel: &'k KernelInfo,
    args: &'a [ArgSpec],
    span: Option<Span>,
    found: &mut Diagnostics,
) -> Vec<(&'k ParamInfo, &'a ArgSpec)> {
    let (wanted, given) = (kernel.params.len(), args.len());
    if !(least(kernel)..=wanted).contains(&given) {
        let plural = if wanted == 1 { "" } else { "s" };
        let most = if kernel.optional > 0 { "at most " } else { "" };
        let message =
            format!("{} takes {most}{wanted} argument{plural}, {given} given", kernel.name);
        let finding = Diagnostic::error("arg::count", message).note(signature(kernel));
        // Points at the first superfluous argument, or at the list.
        let place = args.get(wanted).map(|a| a.span).or(span);
        let label = if given > wanted { "not taken" } else { "too few" };
        let help = if given > wanted {
            "leave the last ones away"
        } else {
            "add the others, in this order"
        };
        found.push(at(finding, place, label).help(help));
    }
    kernel.params.iter().zip(args).collect()
}

fn by_name<'k, 'a>(
    kernel: &'k KernelInfo,
    args: &'a [ArgSpec],
    span: Option<Span>,
    found: &mut Diagnostics,
) -> Vec<(&'k ParamInfo, &'a ArgSpec)> {
    let mut order: Vec<(&ParamInfo, &ArgSpec)> = Vec::new();
    for arg in args {
        let Some(name) = arg.name.as_deref() else { continue };
        let Some(param) = kernel.params.iter().find(|p| p.name == name) else {
            let message = format!("{} has no parameter `{}`", kernel.name, shortened(name));
            let help = match nearest(name, kernel.params.iter().map(|p| p.name.as_str())) {
                Some(near) => format!("did you mean {near}?"),
                None => "name all arguments after parameters, or none".to_owned(),
            };
            let finding = Diagnostic::error("arg::name", message).at(arg.span, "");
            found.push(finding.note(signature(kernel)).help(help));
            continue;
        };
        if let Some((_, first)) = order.iter().find(|(p, _)| p.name == param.name) {
            let finding = Diagnostic::error("arg::name", format!("`{name}` is given twice"));
            found.push(finding.at(arg.span, "second time").also(first.span, "first time"));
            continue;
        }
        order.push((param, arg));
    }
    let free: Vec<&ParamInfo> =
        kernel.params.iter().filter(|p| !order.iter().any(|(q, _)| q.name == p.name)).collect();
    let unnamed: Vec<&ArgSpec> = args.iter().filter(|a| a.name.is_none()).collect();
    if let Some(first) = unnamed.get(free.len()) {
        let message = format!("{} takes no more arguments", kernel.name);
        let finding = Diagnostic::error("arg::count", message).at(first.span, "not taken");
        found.push(finding.note(signature(kernel)).help("leave it away"));
    }
    order.extend(free.iter().copied().zip(unnamed.iter().copied()));
    let must = &kernel.params[..least(kernel)];
    let unfilled = free.get(unnamed.len()..).unwrap_or_default();
    let missing: Vec<&ParamInfo> =
        unfilled.iter().copied().filter(|p| must.iter().any(|q| q.name == p.name)).collect();
    if !missing.is_empty() {
        let names: Vec<&str> = missing.iter().map(|p| p.name.as_str()).collect();
        let message = format!("no argument is given for {}", names.join(", "));
        let finding = Diagnostic::error("arg::count", message).note(signature(kernel));
        found.push(at(finding, span, "too few").help("add them"));
    }
    order
}

fn bytes_of(
    param: &ParamInfo,
    arg: &ArgSpec,
    address_of: &mut AddressOf<'_>,
) -> Result<Vec<u8>, Diagnostic> {
    let address = match &arg.value {
        ArgValue::Scalar(scalar) => return scalar_bytes(param, arg, *scalar),
        ArgValue::Bytes(bytes) => return raw_bytes(param, arg, bytes),
        // Buffers are created and named before arguments are bound.
        ArgValue::Buffer(spec) => {
            let finding = Diagnostic::error("arg::buffer", "the buffer has not been made");
            return Err(finding.at(spec.span, ""));
        }
        ArgValue::Reference(reference) => {
            addressable(param, arg)?;
            address_of(reference, arg.span)?.wrapping_add(reference.offset)
        }
        ArgValue::Tensor(spec) => return tensor_bytes(param, arg, spec, address_of),
    };
    Ok(address.to_le_bytes()[..param.size.min(8) as usize].to_vec())
}

fn mismatch(param: &ParamInfo, arg: &ArgSpec, message: String) -> Diagnostic {
    Diagnostic::error("arg::type", message)
        .at(arg.span, format!("for parameter {} {}", param.spelling, param.name))
}

fn addressable(param: &ParamInfo, arg: &ArgSpec) -> Result<(), Diagnostic> {
    if param.size == 8 && matches!(param.kind, ParamKind::Integer | ParamKind::Bits) {
        return Ok(());
    }
    let message = format!(
        "a buffer's address has 8 bytes, which {} {} cannot hold",
        param.spelling, param.name
    );
    Err(mismatch(param, arg, message).help("pass a value: type:value"))
}

fn tensor_bytes(
    param: &ParamInfo,
    arg: &ArgSpec,
    spec: &TensorSpec,
    address_of: &mut AddressOf<'_>,
) -> Result<Vec<u8>, Diagnostic> {
    let address = address_of(&spec.buffer, arg.span)?.wrapping_add(spec.buffer.offset);
    // Maps are made with the buffers, before arguments are bound.
    let Some(map) = spec.map else {
        let finding = Diagnostic::error("arg::tensormap", "the tensor map has not been made");
        return Err(finding.at(arg.span, ""));
    };
    let map = TensorMap { address, ..map };
    map.check().map_err(|reason| {
        Diagnostic::error("arg::tensormap", reason.to_string()).at(arg.span, "")
    })?;
    raw_bytes(param, arg, &map.encode())
}

fn scalar_bytes(param: &ParamInfo, arg: &ArgSpec, scalar: Scalar) -> Result<Vec<u8>, Diagnostic> {
    let size = scalar.ty.bytes() as u64;
    if size != param.size {
        let message = format!("{} has {size} bytes, the parameter {}", scalar.ty, param.size);
        let bits = param.size.saturating_mul(8);
        let letter = if scalar.ty.kind() == ElemKind::Float { 'f' } else { 'u' };
        let help = match param.size {
            1 | 2 | 4 | 8 => format!("write {letter}{bits}:..."),
            _ => format!("write bytes[...] with {} bytes", param.size),
        };
        return Err(mismatch(param, arg, message).help(help));
    }
    let float = scalar.ty.kind() == ElemKind::Float;
    let fits = match param.kind {
        ParamKind::Float => float || scalar.ty.kind() == ElemKind::Bits,
        ParamKind::Integer => !float,
        ParamKind::Bits | ParamKind::Aggregate => true,
    };
    if !fits {
        let message = format!("{} is passed where the kernel takes {}", scalar.ty, param.spelling);
        let (kind, bits) = (if float { 's' } else { 'f' }, scalar.ty.bits());
        let help =
            format!("write {kind}{bits}:..., or b{bits}:0x... for these bits whatever they mean");
        return Err(mismatch(param, arg, message).help(help));
    }
    Ok(scalar.to_le_bytes())
}

fn raw_bytes(param: &ParamInfo, arg: &ArgSpec, bytes: &[u8]) -> Result<Vec<u8>, Diagnostic> {
    if bytes.len() as u64 == param.size {
        return Ok(bytes.to_vec());
    }
    let message = format!("{} bytes are passed, the parameter has {}", bytes.len(), param.size);
    let help = match arg.value {
        ArgValue::Tensor(_) => {
            "a tensor map has 128 bytes: const __grid_constant__ CUtensorMap".to_owned()
        }
        _ => format!("write bytes[...] with {} bytes", param.size),
    };
    Err(mismatch(param, arg, message).help(help))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::argspec::parse_argument;
    use crate::elem::ElemType;
    use isa::FileId;

    fn kernel() -> KernelInfo {
        let param = |name: &str, spelling: &str, offset, size, kind| ParamInfo {
            name: name.into(),
            spelling: spelling.into(),
            offset,
            size,
            kind,
        };
        KernelInfo {
            name: "k".into(),
            params: vec![
                param("n", ".u32", 0, 4, ParamKind::Integer),
                param("x", ".u64", 8, 8, ParamKind::Integer),
                param("a", ".f32", 16, 4, ParamKind::Float),
            ],
            ..KernelInfo::default()
        }
    }

    fn run(args: &[&str]) -> Result<Vec<u8>, Vec<String>> {
        run_kernel(&kernel(), args)
    }

    fn run_kernel(kernel: &KernelInfo, args: &[&str]) -> Result<Vec<u8>, Vec<String>> {
        let span = |text: &str| Span::new(FileId(0), 0, text.len() as u32);
        let specs: Vec<ArgSpec> =
            args.iter().map(|t| parse_argument(t, span(t)).expect("an argument")).collect();
        bind(kernel, &specs, None, &mut |reference, span| match reference.name.as_str() {
            "known" => Ok(0x2000),
            _ => Err(Diagnostic::error("t::t", "unknown").at(span, "")),
        })
        .map_err(|found| {
            let line =
                |d: &Diagnostic| format!("{} | {}", d.message, d.help.as_deref().unwrap_or(""));
            found.iter().map(line).collect()
        })
    }

    #[test]
    fn in_order_and_by_name_give_the_same_block() {
        let mut block = vec![0; 20];
        block[0] = 7;
        block[9] = 0x20;
        block[8] = 4;
        block[16..].copy_from_slice(&1.5_f32.to_le_bytes());
        assert_eq!(run(&["u32:7", "&known+4", "f32:1.5"]), Ok(block.clone()));
        assert_eq!(run(&["a=f32:1.5", "n=s32:7", "x=&known+4"]), Ok(block.clone()));
        assert_eq!(run(&["x=&known+4", "s32:7", "f32:1.5"]), Ok(block.clone()));
        // None of these names is a parameter's, so they are labels.
        assert_eq!(run(&["count=u32:7", "out=&known+4", "scale=b32:0x3fc00000"]), Ok(block));
    }

    #[test]
    fn tensor_maps_have_the_address_of_their_buffer() {
        let map = ParamInfo {
            name: "map".into(),
            spelling: ".b8[128]".into(),
            offset: 64,
            size: 128,
            kind: ParamKind::Aggregate,
        };
        let mut kernel =
            KernelInfo { name: "k".into(), params: vec![map], ..KernelInfo::default() };
        let text = "&x+16:tensormap(box=[8,16])";
        let mut arg = parse_argument(text, Span::new(FileId(0), 0, 27)).expect("an argument");
        let given = std::slice::from_ref(&arg);
        let unmade = bind(&kernel, given, None, &mut |_, _| Ok(0x2000)).expect_err("no map");
        assert_eq!(
            unmade.iter().next().map(|d| &*d.message),
            Some("the tensor map has not been made")
        );
        let ArgValue::Tensor(spec) = &mut arg.value else { panic!("a tensor map") };
        spec.make(ElemType::F32, &[32, 64], arg.span).expect("a map");
        let expected = TensorMap { address: 0x2010, ..spec.map.expect("made") };
        let block = bind(&kernel, &[arg.clone()], None, &mut |_, _| Ok(0x2000)).expect("a block");
        assert_eq!(TensorMap::decode(block[64..].try_into().expect("128 bytes")), Ok(expected));
        let message =
            |found: Diagnostics| found.iter().map(|d| d.message.clone()).collect::<String>();
        let odd =
            bind(&kernel, &[arg.clone()], None, &mut |_, _| Ok(0x2008)).expect_err("its address");
        assert_eq!(message(odd), "the address 0x2018 is not a multiple of 16");
        let (block, pointers) =
            bind_pointers(&kernel, &[arg.clone()], None, &mut |_, _| Ok(())).expect("a block");
        assert_eq!(block[80..88], 16_u64.to_le_bytes());
        assert_eq!(pointers, [Pointer { offset: 80, buffer: "x".into() }]);
        kernel.params[0].size = 8;
        let small = bind(&kernel, &[arg], None, &mut |_, _| Ok(0x2000)).expect_err("too small");
        assert_eq!(message(small), "128 bytes are passed, the parameter has 8");
    }

    #[test]
    fn optional_parameters_are_zero() {
        let kernel = KernelInfo { optional: 2, ..kernel() };
        let run = |args: &[&str]| run_kernel(&kernel, args);
        let mut block = vec![0; 20];
        block[0] = 5;
        assert_eq!(run(&["u32:5"]), Ok(block.clone()));
        block[16..].copy_from_slice(&1.5_f32.to_le_bytes());
        assert_eq!(run(&["a=f32:1.5", "n=u32:5"]), Ok(block));
        let few = "k takes at most 3 arguments, 0 given | add the others, in this order";
        assert_eq!(run(&[]), Err(vec![few.to_owned()]));
        let missing = "no argument is given for n | add them";
        assert_eq!(run(&["x=&known"]), Err(vec![missing.to_owned()]));
        assert_eq!(signature(&kernel), "k(.u32 n, [.u64 x], [.f32 a])");
    }

    #[test]
    fn arguments_that_do_not_fit_are_errors() {
        let failure = |args: &[&str]| run(args).expect_err("must not bind").join("\n");
        assert_eq!(
            failure(&["u32:7"]),
            "k takes 3 arguments, 1 given | add the others, in this order"
        );
        assert_eq!(
            failure(&["u32:7", "&known", "f32:1", "u8:1"]),
            "k takes 3 arguments, 4 given | leave the last ones away"
        );
        assert_eq!(
            failure(&["u64:7", "&known", "f32:1"]),
            "u64 has 8 bytes, the parameter 4 | write u32:..."
        );
        assert_eq!(
            failure(&["f32:7", "&known", "u32:1"]),
            "f32 is passed where the kernel takes .u32 | write s32:..., or b32:0x... for these bits whatever they mean\nu32 is passed where the kernel takes .f32 | write f32:..., or b32:0x... for these bits whatever they mean"
        );
        assert_eq!(
            failure(&["&known", "u64:0", "f32:1"]),
            "a buffer's address has 8 bytes, which .u32 n cannot hold | pass a value: type:value"
        );
        assert_eq!(
            failure(&["n=u32:7", "y=&known", "a=f32:1"]),
            "k has no parameter `y` | did you mean x?\nno argument is given for x | add them"
                .replace("did you mean x?", "name all arguments after parameters, or none")
        );
        assert_eq!(failure(&["n=u32:7", "n=u32:8", "x=u64:0", "a=f32:1"]), "`n` is given twice | ");
        assert_eq!(
            failure(&["bytes[00]", "u64:0", "f32:1"]),
            "1 bytes are passed, the parameter has 4 | write bytes[...] with 4 bytes"
        );
        assert_eq!(failure(&["u32:7", "&other", "f32:1"]), "unknown | ");
    }
}
