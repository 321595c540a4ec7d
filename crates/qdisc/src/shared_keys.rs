//! Keys that two structs of parameters share: a discipline takes some keys of the AQM of its bands, an AQM those of the
//! law that it builds on.
//!
//! Each struct writes such a key itself, because the struct is the schema: it says what the key means there, and in which
//! order keys are listed. Serde could embed the other struct (`flatten`), but with all of its keys, and messages would no
//! longer say where a wrong value is written and which keys there are.

/// Writes `Default` and the functions that give the other parameters. First come the keys of the struct's own with their
/// defaults, then for each function the parameters that it starts from and the keys that are shared. Defaults of shared
/// keys are those of the parameters it starts from.
macro_rules! shared_keys {
    (
        $params:ident { $($own:ident: $default:expr),* $(,)? }
        $(
            $(#[$doc:meta])*
            fn $part:ident: $of:ident = $base:expr => { $($key:ident),+ $(,)? }
        )+
    ) => {
        impl Default for $params {
            fn default() -> $params {
                $(let $part: $of = $base;)+
                $params { $($own: $default,)* $($($key: $part.$key,)+)+ }
            }
        }

        impl $params {
            $(
                $(#[$doc])*
                fn $part(&self) -> $of {
                    let mut $part: $of = $base;
                    $params { $($key: $part.$key,)+ .. } = self.clone();
                    $part
                }
            )+
        }
    };
}

pub(crate) use shared_keys;
