//! Typed records: one declaration gives the struct, its strict reader, its key list, its JSON Schema and its places.

/// Declares a record: a mapping with a fixed set of optional keys.
///
/// ```
/// use fullsend_yaml::{Located, record};
///
/// record! {
///     /// A file to copy into the sandbox.
///     pub struct HostFile {
///         /// Where it lies on the host.
///         src: Located<String> = required,
///         /// Skip it when it does not exist.
///         optional: Located<bool>,
///     }
/// }
///
/// assert_eq!(HostFile::KEYS, ["src", "optional"]);
/// ```
///
/// Each field becomes `pub field: Option<T>`; its doc comment becomes the description in the JSON Schema. A key that is
/// not a Rust identifier is written `field as "the-key": T`. A key that the record is useless without is marked
/// `= required`; its absence is reported when the record is read. (A key that something else may supply, such as the base
/// of a harness, is not marked: whether it is missing is known only later.)
#[macro_export]
macro_rules! record {
    (
        $(#[$meta:meta])*
        $vis:vis struct $name:ident {
            $( $(#[$field_meta:meta])* $field:ident $(as $key:literal)? : $type:ty $(= $required:ident)? ),* $(,)?
        }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Default, PartialEq)]
        #[derive($crate::macro_support::serde::Serialize, $crate::macro_support::schemars::JsonSchema)]
        #[serde(crate = "fullsend_yaml::macro_support::serde")]
        #[schemars(crate = "fullsend_yaml::macro_support::schemars", deny_unknown_fields)]
        $vis struct $name {
            $(
                $(#[$field_meta])*
                #[serde(skip_serializing_if = "Option::is_none")]
                $(#[serde(rename = $key)])?
                $(#[schemars($required)])?
                pub $field: Option<$type>,
            )*
        }

        impl $name {
            /// The keys of this record, in documentation order.
            pub const KEYS: &'static [&'static str] = &[$($crate::record!(@key $field $($key)?)),*];
        }

        impl $crate::FromNode for $name {
            fn from_node(node: &$crate::Node<'_>, reader: &mut $crate::Reader<'_>) -> Option<Self> {
                let entries = reader.mapping(node)?;
                let mut record = Self::default();
                for entry in entries {
                    match &*entry.key {
                        $($crate::record!(@key $field $($key)?) => record.$field = reader.field(entry),)*
                        _ => reader.unknown_key(entry, Self::KEYS),
                    }
                }
                $($crate::record!(@required reader node ($crate::record!(@key $field $($key)?)) $($required)?);)*
                Some(record)
            }
        }

        impl $crate::Walk for $name {
            fn walk(&self, visitor: &mut $crate::Visitor<'_>) {
                $(if let Some(value) = &self.$field {
                    visitor.key($crate::record!(@key $field $($key)?), value);
                })*
            }
        }
    };
    (@required $reader:ident $node:ident ($key:expr)) => {};
    (@required $reader:ident $node:ident ($key:expr) required) => { $reader.required($node, $key, Self::KEYS) };
    (@key $field:ident) => { stringify!($field) };
    (@key $field:ident $key:literal) => { $key };
}
