//! Values to bytes and back.

use std::fmt;

/// Bytes that cannot be what was expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed;

impl fmt::Display for Malformed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a message from inside the sandbox cannot be read")
    }
}

impl std::error::Error for Malformed {}

/// Gathers the bytes of a message.
#[derive(Debug, Default)]
pub struct Writer(pub Vec<u8>);

/// Takes a message apart.
#[derive(Debug)]
pub struct Reader<'a>(pub &'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], Malformed> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(Malformed)?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        self.take(N)?.first_chunk().copied().ok_or(Malformed)
    }
}

/// A value with a form on the wire.
pub trait Wire: Sized {
    /// Appends the value.
    fn put(&self, writer: &mut Writer);
    /// Reads a value.
    fn take(reader: &mut Reader<'_>) -> Result<Self, Malformed>;

    /// The value as a whole message.
    fn to_bytes(&self) -> Vec<u8> {
        let mut writer = Writer::default();
        self.put(&mut writer);
        writer.0
    }

    /// A whole message as a value; bytes left over are an error.
    fn from_bytes(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader(bytes);
        let value = Self::take(&mut reader)?;
        if reader.0.is_empty() { Ok(value) } else { Err(Malformed) }
    }
}

impl Wire for u32 {
    fn put(&self, writer: &mut Writer) {
        writer.0.extend_from_slice(&self.to_le_bytes());
    }

    fn take(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        reader.array().map(u32::from_le_bytes)
    }
}

impl Wire for u64 {
    fn put(&self, writer: &mut Writer) {
        writer.0.extend_from_slice(&self.to_le_bytes());
    }

    fn take(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        reader.array().map(u64::from_le_bytes)
    }
}

/// A string, a path or a file, as bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Blob(pub Vec<u8>);

impl<T: AsRef<[u8]> + ?Sized> From<&T> for Blob {
    fn from(bytes: &T) -> Self {
        Self(bytes.as_ref().to_vec())
    }
}

impl fmt::Display for Blob {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&String::from_utf8_lossy(&self.0))
    }
}

impl Wire for Blob {
    fn put(&self, writer: &mut Writer) {
        length(self.0.len()).put(writer);
        writer.0.extend_from_slice(&self.0);
    }

    fn take(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let count = u32::take(reader)?;
        reader.take(count as usize).map(|bytes| Self(bytes.to_vec()))
    }
}

impl<T: Wire> Wire for Vec<T> {
    fn put(&self, writer: &mut Writer) {
        length(self.len()).put(writer);
        self.iter().for_each(|value| value.put(writer));
    }

    fn take(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let count = u32::take(reader)?;
        // No room is set aside for a count that a sender makes up.
        (0..count).map(|_| T::take(reader)).collect()
    }
}

impl<T: Wire> Wire for Option<T> {
    fn put(&self, writer: &mut Writer) {
        u32::from(self.is_some()).put(writer);
        if let Some(value) = self {
            value.put(writer);
        }
    }

    fn take(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        match u32::take(reader)? {
            0 => Ok(None),
            1 => T::take(reader).map(Some),
            _ => Err(Malformed),
        }
    }
}

impl<A: Wire, B: Wire> Wire for (A, B) {
    fn put(&self, writer: &mut Writer) {
        self.0.put(writer);
        self.1.put(writer);
    }

    fn take(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok((A::take(reader)?, B::take(reader)?))
    }
}

/// No message comes near 4 GiB; one that did would be cut here and refused as malformed by the reader.
fn length(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

/// A structure whose form on the wire is that of its fields in order.
macro_rules! record {
    ($(#[$about:meta])* pub struct $name:ident { $($(#[$field_about:meta])* pub $field:ident: $type:ty,)* }) => {
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct $name { $($(#[$field_about])* pub $field: $type,)* }

        impl $crate::wire::Wire for $name {
            fn put(&self, writer: &mut $crate::wire::Writer) {
                $($crate::wire::Wire::put(&self.$field, writer);)*
            }

            fn take(reader: &mut $crate::wire::Reader<'_>) -> Result<Self, $crate::wire::Malformed> {
                Ok(Self { $($field: $crate::wire::Wire::take(reader)?,)* })
            }
        }
    };
}

/// An enumeration whose form on the wire is a number for the choice, then its fields in order.
macro_rules! choices {
    (
        $(#[$about:meta])*
        pub enum $name:ident {
            $($(#[$choice_about:meta])* $choice:ident = $tag:literal { $($(#[$field_about:meta])* $field:ident: $type:ty),* $(,)? },)*
        }
    ) => {
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum $name { $($(#[$choice_about])* $choice { $($(#[$field_about])* $field: $type,)* },)* }

        impl $crate::wire::Wire for $name {
            fn put(&self, writer: &mut $crate::wire::Writer) {
                match self {
                    $(Self::$choice { $($field,)* } => {
                        $crate::wire::Wire::put(&($tag as u32), writer);
                        $($crate::wire::Wire::put($field, writer);)*
                    })*
                }
            }

            fn take(reader: &mut $crate::wire::Reader<'_>) -> Result<Self, $crate::wire::Malformed> {
                match <u32 as $crate::wire::Wire>::take(reader)? {
                    $($tag => Ok(Self::$choice { $($field: $crate::wire::Wire::take(reader)?,)* }),)*
                    _ => Err($crate::wire::Malformed),
                }
            }
        }
    };
}

pub(crate) use {choices, record};
