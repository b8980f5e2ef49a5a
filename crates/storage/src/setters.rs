//! The setters of options, from a list of their fields.

/// Defines setters of public fields, in the `impl` block of their type. Every field comes with the type of its
/// setter's argument. The field takes the argument converted by `into`; `each T` stands for an iterator of `T`, whose
/// items are converted and collected.
///
/// ```
/// #[derive(Default)]
/// pub struct Options {
///     /// The number of threads.
///     pub threads: usize,
///     /// The most documents.
///     pub most: Option<u64>,
///     /// The names of fields.
///     pub fields: Vec<String>,
/// }
///
/// impl Options {
///     tokapi_storage::setters! { threads: usize, most: impl Into<Option<u64>>, fields: each impl Into<String> }
/// }
///
/// let options = Options::default().threads(2).most(10).fields(["title"]);
/// assert_eq!((options.threads, options.most), (2, Some(10)));
/// assert_eq!(options.fields, ["title"]);
/// ```
#[doc(hidden)]
#[macro_export]
macro_rules! setters {
    () => {};
    ($(#[$attribute:meta])* $name:ident: each $item:ty $(, $($rest:tt)*)?) => {
        #[doc = concat!("Sets [`", stringify!($name), "`](Self::", stringify!($name), ").")]
        $(#[$attribute])*
        pub fn $name(mut self, $name: impl IntoIterator<Item = $item>) -> Self {
            self.$name = $name.into_iter().map(Into::into).collect();
            self
        }
        $crate::setters! { $($($rest)*)? }
    };
    ($(#[$attribute:meta])* $name:ident: $argument:ty $(, $($rest:tt)*)?) => {
        #[doc = concat!("Sets [`", stringify!($name), "`](Self::", stringify!($name), ").")]
        $(#[$attribute])*
        pub fn $name(mut self, $name: $argument) -> Self {
            self.$name = $name.into();
            self
        }
        $crate::setters! { $($($rest)*)? }
    };
}
