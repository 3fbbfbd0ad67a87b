//! Which definition each name of each file refers to.

use ir::module::Var;
use rustc_hash::FxHashMap;

use super::{LinkError, LinkInput};
use crate::lower::{Binding, Object};

/// The number of a name in the output, and whether the output takes this definition of it.
#[derive(Clone, Copy)]
pub(super) struct Number {
    pub(super) index: u32,
    pub(super) kept: bool,
}

/// The numbers of all functions and variables, file by file.
pub(super) struct Resolved {
    pub(super) functions: Vec<Vec<Number>>,
    pub(super) vars: Vec<Vec<Number>>,
}

/// A function or a variable of a file.
trait Named<'o>: Copy {
    fn name(self) -> &'o str;

    /// Whether this definition of the same binding is taken before another.
    fn is_larger(self, other: Self) -> bool;

    /// Compares a definition or declaration with the one that was first.
    fn mismatch(one: Use<'o, Self>, first: Use<'o, Self>) -> Option<LinkError>;
}

/// A name in a file.
#[derive(Clone, Copy)]
struct Use<'o, T> {
    file: &'o str,
    item: T,
    binding: Binding,
}

/// A function, with the widths of the registers that it takes.
#[derive(Clone, Copy)]
struct Prototype<'o> {
    name: &'o str,
    params: &'o [u32],
}

impl<'o> Named<'o> for Prototype<'o> {
    fn name(self) -> &'o str {
        self.name
    }

    fn is_larger(self, _: Self) -> bool {
        false
    }

    /// Results are not compared: devices do not notice a result that one of both has not.
    fn mismatch(one: Use<'o, Self>, first: Use<'o, Self>) -> Option<LinkError> {
        let differ = one.item.params != first.item.params;
        let (name, file, first) = one.texts(first);
        // Two weak definitions of a function may differ: one is taken whole.
        let declared = one.binding == Binding::Undefined;
        (declared && differ).then_some(LinkError::Prototype { name, file, first })
    }
}

impl<'o> Named<'o> for &'o Var {
    fn name(self) -> &'o str {
        &self.name
    }

    fn is_larger(self, other: Self) -> bool {
        self.size > other.size
    }

    /// Common variables, and declarations of open arrays, have no size that has to match.
    fn mismatch(one: Use<'o, Self>, first: Use<'o, Self>) -> Option<LinkError> {
        let open = |u: Use<'o, Self>| {
            u.binding == Binding::Common || u.binding == Binding::Undefined && u.item.size == 0
        };
        let sizes = one.item.size != first.item.size && !open(one) && !open(first);
        let spaces = one.item.space != first.item.space;
        let (name, file, first) = one.texts(first);
        match (spaces, sizes) {
            (true, _) => Some(LinkError::Space { name, file, first }),
            (_, true) => Some(LinkError::Size { name, file, first }),
            _ => None,
        }
    }
}

impl<'o, T: Named<'o>> Use<'o, T> {
    /// The texts of an error: the name, and both files.
    fn texts(self, first: Self) -> (String, String, String) {
        (self.item.name().to_owned(), self.file.to_owned(), first.file.to_owned())
    }
}

pub(super) fn resolve(inputs: &[LinkInput<'_>]) -> Result<Resolved, Vec<LinkError>> {
    let functions = inputs.iter().map(|input| {
        let Object { module, functions, params, .. } = input.object;
        let prototypes = module.functions.iter().zip(params);
        let prototypes = prototypes.map(|(f, params)| Prototype { name: &f.name, params });
        uses(input.name, prototypes, functions)
    });
    let vars = inputs
        .iter()
        .map(|input| uses(input.name, input.object.module.vars.iter(), &input.object.vars));
    let mut errors = Vec::new();
    let functions = number(&functions.collect::<Vec<_>>(), &mut errors);
    let vars = number(&vars.collect::<Vec<_>>(), &mut errors);
    if errors.is_empty() { Ok(Resolved { functions, vars }) } else { Err(errors) }
}

fn uses<'o, T>(
    file: &'o str,
    items: impl Iterator<Item = T>,
    bindings: &[Binding],
) -> Vec<Use<'o, T>> {
    let items = items.zip(bindings.iter().copied());
    items.map(|(item, binding)| Use { file, item, binding }).collect()
}

/// The definition that is taken of a name: its file and index, and the first definition.
struct Chosen<'o, T> {
    place: (usize, usize),
    taken: Use<'o, T>,
}

/// Returns whether a definition replaces the one that was taken so far.
fn replaces<'o, T: Named<'o>>(new: Use<'o, T>, taken: Use<'o, T>) -> bool {
    let rank = |binding| match binding {
        Binding::Strong => 2,
        Binding::Weak | Binding::Common => 1,
        Binding::Local | Binding::Undefined => 0,
    };
    let larger = (new.binding, taken.binding) == (Binding::Common, Binding::Common)
        && new.item.is_larger(taken.item);
    rank(new.binding) > rank(taken.binding) || larger
}

/// Chooses the definition of each name.
fn choose<'o, T: Named<'o>>(
    files: &[Vec<Use<'o, T>>],
    errors: &mut Vec<LinkError>,
) -> FxHashMap<&'o str, Chosen<'o, T>> {
    let mut chosen: FxHashMap<&str, Chosen<'o, T>> = FxHashMap::default();
    for (f, file) in files.iter().enumerate() {
        for (i, &new) in file.iter().enumerate().filter(|(_, u)| super::is_shared(u.binding)) {
            let new_choice = Chosen { place: (f, i), taken: new };
            let Some(known) = chosen.get_mut(new.item.name()) else {
                chosen.insert(new.item.name(), new_choice);
                continue;
            };
            if (new.binding, known.taken.binding) == (Binding::Strong, Binding::Strong) {
                let (name, file, first) = new.texts(known.taken);
                errors.push(LinkError::Multiple { name, file, first });
                continue;
            }
            errors.extend(T::mismatch(new, known.taken));
            if replaces(new, known.taken) {
                *known = new_choice;
            }
        }
    }
    chosen
}

/// Reports a name that no file defines, for the first file that uses it.
fn report_undefined(errors: &mut Vec<LinkError>, name: &str, file: &str) {
    let known = |error: &LinkError| match error {
        LinkError::Undefined { name: other, .. } => other == name,
        _ => false,
    };
    if !errors.iter().any(known) {
        errors.push(LinkError::Undefined { name: name.to_owned(), file: file.to_owned() });
    }
}

/// Numbers all names in the output, in the order in which definitions are kept.
fn number<'o, T: Named<'o>>(
    files: &[Vec<Use<'o, T>>],
    errors: &mut Vec<LinkError>,
) -> Vec<Vec<Number>> {
    let chosen = choose(files, errors);
    let none = Number { index: u32::MAX, kept: false };
    let mut numbers: Vec<Vec<Number>> = files.iter().map(|file| vec![none; file.len()]).collect();
    let mut next = 0;
    for (f, file) in files.iter().enumerate() {
        for (i, item) in file.iter().enumerate() {
            let own = chosen.get(item.item.name()).is_some_and(|c| c.place == (f, i));
            if item.binding == Binding::Local || own {
                numbers[f][i] = Number { index: next, kept: true };
                next += 1;
            }
        }
    }
    for (f, file) in files.iter().enumerate() {
        for (i, &item) in file.iter().enumerate() {
            if numbers[f][i].kept {
                continue;
            }
            let name = item.item.name();
            let Some(Chosen { place, taken }) = chosen.get(name) else {
                report_undefined(errors, name, item.file);
                continue;
            };
            if item.binding == Binding::Undefined {
                errors.extend(T::mismatch(item, *taken));
            }
            numbers[f][i].index = numbers[place.0][place.1].index;
        }
    }
    numbers
}
