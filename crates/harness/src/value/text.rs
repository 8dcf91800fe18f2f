//! How types that are written as one text are serialised and described to editors.

/// Serialises a type by its `Display` form and gives it a schema: text with a title and a pattern.
macro_rules! written_as_text {
    ($name:ident, $title:literal, $pattern:expr) => {
        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl schemars::JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({ "title": $title, "type": "string", "pattern": $pattern })
            }
        }
    };
}

pub(super) use written_as_text;
