//! The derives of serde and schemars as they are without the feature `schema`: they accept the same attributes and write
//! nothing, so that the structs of parameters are the same with the feature and without it.

use proc_macro::TokenStream;

/// In place of schemars' derive.
#[proc_macro_derive(JsonSchema, attributes(schemars))]
pub fn json_schema(_item: TokenStream) -> TokenStream {
    TokenStream::new()
}

/// In place of serde's derive.
#[proc_macro_derive(Serialize, attributes(serde))]
pub fn serialize(_item: TokenStream) -> TokenStream {
    TokenStream::new()
}

/// In place of serde's derive.
#[proc_macro_derive(Deserialize, attributes(serde))]
pub fn deserialize(_item: TokenStream) -> TokenStream {
    TokenStream::new()
}
