//! `Debug` for types that hold values without one.

/// Implements `Debug` with some fields of a type.
macro_rules! debug_fields {
    ($type:ident $(, $field:ident)*) => {
        impl std::fmt::Debug for $type {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.debug_struct(stringify!($type))$(.field(stringify!($field), &self.$field))*.finish_non_exhaustive()
            }
        }
    };
}

pub(crate) use debug_fields;
