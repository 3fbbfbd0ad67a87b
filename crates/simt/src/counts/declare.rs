//! The declaration of counts.

/// Declares structs of counts. A row is
///
/// ```text
/// /// Documentation of the field.
/// source how field: Part = "Definition of the metric of this name.";
///     => metric Unit "Definition." |counts| formula;
/// ```
///
/// - `source`: `machine` if a machine counts it itself, `event` if an observer counts it.
/// - `how`: `sum` and `max` are numbers, which are added or of which the larger one is kept; `part`
///   is a struct of type `Part`.
/// - Rows with a definition, and formulas below any row, are metrics, in the order of their rows.
macro_rules! counters {
    ($(
        $(#[doc = $about:literal])*
        pub struct $name:ident {
            $(
                $(#[doc = $doc:literal])*
                $source:ident $how:ident $field:ident $(: $part:ty)? $(= $definition:literal)? ;
                $(=> $metric:ident $unit:ident $text:literal |$counts:ident| $formula:expr;)*
            )*
        }
    )*) => { $(
        $(#[doc = $about])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $name {
            $(
                $(#[doc = $doc])*
                $(#[doc = ""] #[doc = $definition])?
                pub $field: counters!(@type $how $($part)?),
            )*
        }

        impl $name {
            /// Adds other counts; of maxima, the larger one is kept.
            #[inline]
            pub fn add(&mut self, other: &Self) {
                self.add_times(other, 1);
            }

            /// Adds other counts `times` times; of maxima, the larger one is kept.
            #[inline]
            pub fn add_times(&mut self, other: &Self, times: u64) {
                $(counters!(@add $how self.$field, other.$field, times);)*
            }

            /// Returns the counts that `self` has of the machine, and those that `events` has of
            /// events.
            #[must_use]
            pub fn with_events(self, events: &Self) -> Self {
                let Self { .. } = events;
                Self { $($field: counters!(@from $source self.$field, events.$field),)* }
            }

            /// Returns all numbers but those of parts, in the order of their declaration.
            #[must_use]
            pub fn counters(&self) -> Vec<(Counter, u64)> {
                let mut list = Vec::new();
                $(
                    let about = counters!(@about [$($doc)*] $($definition)?);
                    counters!(@counter $how list, stringify!($field), about, self.$field);
                )*
                list
            }

            /// Returns the metrics with their values, in the order of reports.
            #[must_use]
            pub fn metrics(&self) -> Vec<(Metric, f64)> {
                let mut list = Vec::new();
                $(
                    counters!(@metric $how list, stringify!($field), self.$field $(, $definition)?);
                    $(
                        let formula = |$counts: &Self| Value::from($formula);
                        let (name, unit) = (stringify!($metric), Unit::$unit);
                        let metric = Metric { name, unit, definition: $text };
                        list.push((metric, formula(self).0));
                    )*
                )*
                list
            }
        }
    )* };
    (@type part $part:ty) => { $part };
    (@type $how:ident) => { u64 };
    (@add sum $sum:expr, $more:expr, $times:expr) => { $sum += $more * $times };
    (@add max $max:expr, $other:expr, $times:expr) => { $max = $max.max($other) };
    (@add part $part:expr, $other:expr, $times:expr) => { $part.add_times(&$other, $times) };
    (@from event $own:expr, $event:expr) => { $event };
    (@from machine $own:expr, $event:expr) => { $own };
    (@about [] $definition:literal) => { $definition };
    (@about [$($doc:literal)*] $($definition:literal)?) => { concat!($($doc),*) };
    (@counter part $list:ident, $name:expr, $about:ident, $value:expr) => { let _ = $about; };
    (@counter $how:ident $list:ident, $name:expr, $about:ident, $value:expr) => {
        $list.push((Counter { name: $name, about: $about.trim_ascii_start() }, $value));
    };
    (@metric part $list:ident, $name:expr, $part:expr) => { $list.extend(Part::metrics(&$part)); };
    (@metric $how:ident $list:ident, $name:expr, $value:expr) => {};
    (@metric $how:ident $list:ident, $name:expr, $value:expr, $definition:literal) => {
        let metric = Metric { name: $name, unit: Unit::Count, definition: $definition };
        $list.push((metric, Value::from($value).0));
    };
}

pub(super) use counters;
