//! Calls of the client's function at the beginning and the end of calls.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use cuda_abi::DriverEvent;
use cuda_abi::host::{Ptr, address, put, put_u64};

use crate::client;
use crate::listener::{self, Call};
use crate::names::{DRIVER, RUNTIME, kept};
use crate::records::*;
use crate::state::{Subscriber, with};
use crate::status::{Outcome, Status};

/// The domains of which something is told.
static DOMAINS: [u32; 2] = [CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_CB_DOMAIN_RUNTIME_API];

/// The first subscriber's handle. It resembles no address.
const FIRST_HANDLE: u64 = 0x6375_7074_0000;

thread_local! {
    /// The word that the client may use from the beginning of a call to its end.
    static WORD: RefCell<Box<u64>> = RefCell::new(Box::new(0));
}

pub(crate) fn subscribe(out: Ptr, function: Ptr, data: Ptr) -> Outcome {
    if out == 0 || function == 0 {
        return Err(Status::INVALID_PARAMETER);
    }
    let handle = with(|state| {
        if state.subscriber.is_some() {
            return Err(Status::MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
        }
        state.subscribed += 1;
        Ok(FIRST_HANDLE + state.subscribed)
    })?;
    put_u64(out, handle)?;
    let (domains, numbers) = (BTreeSet::new(), BTreeMap::new());
    let subscriber = Subscriber { handle, function, data, domains, numbers };
    with(|state| state.subscriber = Some(subscriber));
    listener::update()
}

/// Does something with the subscriber of a handle.
fn of<T>(handle: u64, body: impl FnOnce(&mut Subscriber) -> T) -> Outcome<T> {
    with(|state| {
        let known = state.subscriber.as_mut().filter(|known| known.handle == handle);
        known.map(body).ok_or(Status::INVALID_PARAMETER)
    })
}

pub(crate) fn unsubscribe(handle: u64) -> Outcome {
    of(handle, |_| ())?;
    with(|state| state.subscriber = None);
    listener::update()
}

fn checked(domain: u32) -> Outcome {
    let known = 1..CUPTI_CB_DOMAIN_SIZE;
    if known.contains(&domain) { Ok(()) } else { Err(Status::INVALID_PARAMETER) }
}

pub(crate) fn enable(enable: u32, handle: u64, domain: u32, number: u32) -> Outcome {
    checked(domain)?;
    of(handle, |known| {
        known.numbers.insert((domain, number), enable != 0);
    })
}

pub(crate) fn enable_domain(enable: u32, handle: u64, domain: u32) -> Outcome {
    checked(domain)?;
    of(handle, |known| {
        known.numbers.retain(|(of, _), _| *of != domain);
        match enable {
            0 => known.domains.remove(&domain),
            _ => known.domains.insert(domain),
        };
    })
}

pub(crate) fn enable_all(enable: u32, handle: u64) -> Outcome {
    (1..CUPTI_CB_DOMAIN_SIZE).try_for_each(|domain| enable_domain(enable, handle, domain))
}

impl Subscriber {
    fn wants(&self, domain: u32, number: u32) -> bool {
        let own = self.numbers.get(&(domain, number)).copied();
        own.unwrap_or_else(|| self.domains.contains(&domain))
    }
}

pub(crate) fn is_enabled(out: Ptr, handle: u64, domain: u32, number: u32) -> Outcome {
    checked(domain)?;
    let wants = of(handle, |known| known.wants(domain, number))?;
    Ok(put(out, &u32::from(wants))?)
}

pub(crate) fn domains(count: Ptr, table: Ptr) -> Outcome {
    put(count, &DOMAINS.len())?;
    Ok(put(table, &address(&DOMAINS))?)
}

pub(crate) fn name(domain: u32, number: u32, out: Ptr) -> Outcome {
    let text = match domain {
        CUPTI_CB_DOMAIN_DRIVER_API => DRIVER.text(number),
        CUPTI_CB_DOMAIN_RUNTIME_API => RUNTIME.text(number),
        _ => None,
    };
    let text = text.ok_or(Status::INVALID_PARAMETER)?;
    Ok(put_u64(out, text.as_ptr().expose_provenance() as u64)?)
}

/// Tells the client of a call, with its arguments in the structure that NVIDIA's headers declare
/// for it.
pub(crate) fn tell(call: &Call, event: &DriverEvent, site: u32) {
    let told = with(|state| {
        let known = state.subscriber.as_ref();
        let known = known.filter(|k| call.number != 0 && k.wants(call.domain, call.number));
        let (function, data) = known.map(|known| (known.function, known.data))?;
        Some((function, data, state.context(event.context)))
    });
    let Some((function, data, uid)) = told else { return };
    let status = event.status;
    let has_ended = site == CUPTI_API_EXIT;
    let word = WORD.with_borrow_mut(|word| {
        if !has_ended {
            **word = 0;
        }
        address(&**word)
    });
    let told = CUpti_CallbackData {
        callbackSite: site,
        functionName: kept(&call.name),
        functionParams: event.arguments as u64,
        functionReturnValue: if has_ended { address(&status) as u64 } else { 0 },
        symbolName: 0,
        context: event.context,
        contextUid: uid,
        correlationData: word as u64,
        correlationId: call.correlation,
    };
    client::callback(function, data, call.domain.cast_signed(), call.number, address(&told));
}
