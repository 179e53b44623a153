//! The list of deliberate faults of a protocol, from which its enumeration is made.

/// Defines an enumeration of deliberate faults, each with a name for the command line and with words about it.
macro_rules! faults {
    ($(#[doc = $of:literal])+ $kind:ident: $($(#[doc = $doc:literal])+ $name:ident = $word:literal,)+) => {
        $(#[doc = $of])+
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $kind {
            /// Everything as it should be.
            #[default]
            None,
            $($(#[doc = $doc])+ $name,)+
        }

        impl $kind {
            /// All faults there are.
            pub const ALL: &[$kind] = &[$($kind::$name,)+];

            /// Its name, as it is given on the command line.
            pub fn name(self) -> &'static str {
                match self {
                    $kind::None => "none",
                    $($kind::$name => $word,)+
                }
            }

            /// What it is, in words.
            pub fn about(self) -> &'static str {
                match self {
                    $kind::None => "everything as it should be",
                    $($kind::$name => concat!($($doc,)+).trim_ascii(),)+
                }
            }
        }
    };
}

pub(crate) use faults;
