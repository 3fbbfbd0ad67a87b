//! Plans.

use culibs::device::{get_host_list, put_host};
use culibs::handles::Handles;
use culibs::stream::{check_context, check_stream, context, submit};
use culibs::{Error, Number, Outcome, Ptr};
use fourier::{Precision, TransformKind};
use num_complex::Complex;

use crate::layout::{Given, Layout, Types};
use crate::status::{CUFFT_INVALID_PLAN, CUFFT_INVALID_TYPE};
use crate::transform::run;

/// What a plan's handle stands for.
#[derive(Clone)]
struct Plan {
    context: u64,
    stream: u64,
    layout: Option<Layout>,
}

/// Handles are small numbers here: `cufftHandle` is an `int`.
static PLANS: Handles<Plan> = Handles::new(0x100);

pub(crate) fn create(out: Ptr) -> Outcome {
    let context = context()?;
    let plan = PLANS.add(Plan { context, stream: 0, layout: None });
    put_host(out, plan as i32).inspect_err(|_| drop(PLANS.remove(plan)))
}

fn get(plan: i32) -> Outcome<Plan> {
    let found = PLANS.get(plan as u64)?;
    check_context(found.context)?;
    Ok(found)
}

pub(crate) fn destroy(plan: i32) -> Outcome {
    PLANS.remove(plan as u64).map(drop)
}

/// Checks that a handle is a plan's.
pub(crate) fn known(plan: i32) -> Outcome {
    get(plan).map(drop)
}

pub(crate) fn set_stream(plan: i32, stream: u64) -> Outcome {
    get(plan)?;
    check_stream(stream)?;
    PLANS.with(plan as u64, |plan| {
        plan.stream = stream;
        Ok(())
    })
}

/// The arguments of plans with layouts; lists are on the host, of numbers of 32 bits, or of 64.
#[derive(Clone, Copy)]
pub(crate) struct Many {
    pub(crate) rank: i32,
    pub(crate) sizes: Ptr,
    pub(crate) input: (Ptr, i64, i64),
    pub(crate) output: (Ptr, i64, i64),
    pub(crate) batch: i64,
    pub(crate) wide: bool,
}

impl Many {
    fn list(&self, at: Ptr) -> Outcome<Vec<i64>> {
        let rank = usize::try_from(self.rank).map_err(|_| Error::InvalidValue)?;
        if !(1..=3).contains(&rank) {
            return Err(Error::InvalidValue);
        }
        match self.wide {
            true => get_host_list(at, rank),
            false => Ok(get_host_list::<i32>(at, rank)?.into_iter().map(i64::from).collect()),
        }
    }

    pub(crate) fn layout(&self, types: Types) -> Outcome<Layout> {
        // Without sizes on either side, all of the layout is the usual one.
        let usual = self.input.0 == 0 || self.output.0 == 0;
        let side = |(embed, stride, distance)| match usual {
            true => Ok(Given::default()),
            false => Ok(Given { embed: Some(self.list(embed)?), stride, distance }),
        };
        let (input, output) = (side(self.input)?, side(self.output)?);
        Layout::new(&self.list(self.sizes)?, types, self.batch, input, output)
    }
}

/// Describes dense arrays.
pub(crate) fn dense(sizes: &[i32], kind: i32, batch: i32) -> Outcome<Layout> {
    let sizes: Vec<i64> = sizes.iter().map(|&n| n.into()).collect();
    Layout::new(&sizes, Types::of(kind)?, batch.into(), Given::default(), Given::default())
}

/// Tells the size of the work area, if the client asks.
fn tell_size(out: Ptr) -> Outcome {
    if out == 0 { Ok(()) } else { put_host(out, 0_usize) }
}

/// Makes a plan, and tells the size of its work area.
pub(crate) fn make(plan: i32, layout: Outcome<Layout>, size: Ptr) -> Outcome {
    get(plan)?;
    let layout = layout?;
    PLANS.with(plan as u64, |plan| {
        if plan.layout.is_some() {
            return Err(Error::Status(CUFFT_INVALID_PLAN));
        }
        plan.layout = Some(layout);
        Ok(())
    })?;
    tell_size(size)
}

/// Creates and makes a plan.
pub(crate) fn create_and_make(out: Ptr, layout: Outcome<Layout>) -> Outcome {
    let layout = layout?;
    let context = context()?;
    let plan = PLANS.add(Plan { context, stream: 0, layout: Some(layout) });
    put_host(out, plan as i32).inspect_err(|_| drop(PLANS.remove(plan)))
}

/// Tells the size of the work area of a plan that could be made.
pub(crate) fn size_of(layout: Outcome<Layout>, size: Ptr) -> Outcome {
    layout?;
    put_host(size, 0_usize)
}

/// The same for a plan with a handle.
pub(crate) fn size_of_plan(plan: i32, layout: Outcome<Layout>, size: Ptr) -> Outcome {
    get(plan)?;
    size_of(layout, size)
}

/// Tells the size of the work area of a plan.
pub(crate) fn size_of_made(plan: i32, size: Ptr) -> Outcome {
    get(plan)?.layout.ok_or(Error::Status(CUFFT_INVALID_PLAN))?;
    put_host(size, 0_usize)
}

/// Executes a plan of this type (`cufftType`), or of any.
pub(crate) fn execute(plan: i32, kind: Option<i32>, from: u64, to: u64, direction: i32) -> Outcome {
    let Plan { stream, layout, .. } = get(plan)?;
    let layout = layout.ok_or(Error::Status(CUFFT_INVALID_PLAN))?;
    if let Some(kind) = kind
        && layout.types != Types::of(kind)?
    {
        return Err(Error::Status(CUFFT_INVALID_TYPE));
    }
    let inverse = match (layout.types.kind, direction) {
        (TransformKind::Complex, -1) => false,
        (TransformKind::Complex, 1) => true,
        (TransformKind::Complex, _) => return Err(Error::InvalidValue),
        (kind, _) => kind == TransformKind::Inverse,
    };
    if from == 0 || to == 0 {
        return Err(Error::InvalidValue);
    }
    fn go<T: Precision + Number>(
        stream: u64,
        layout: Layout,
        from: u64,
        to: u64,
        inverse: bool,
    ) -> Outcome
    where
        Complex<T>: Number,
    {
        submit(stream, move || run::<T>(&layout, from, to, inverse))
    }
    match layout.types.is_double() {
        true => go::<f64>(stream, layout, from, to, inverse),
        false => go::<f32>(stream, layout, from, to, inverse),
    }
}

/// Chooses devices: the first alone.
pub(crate) fn set_devices(plan: i32, count: i32, list: Ptr) -> Outcome {
    get(plan)?;
    if count != 1 {
        return Err(Error::NotSupported);
    }
    match get_host_list::<i32>(list, 1)?[0] {
        0 => Ok(()),
        _ => Err(Error::Status(crate::status::CUFFT_INVALID_DEVICE)),
    }
}
