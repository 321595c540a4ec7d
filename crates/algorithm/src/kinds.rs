//! How a crate lists its built-in kinds once.

/// Lists the kinds of a family, in the order of listings and messages. Each line names a file and the parameters of the
/// kinds that it has. The macro exports what these files make public, and writes a function that passes each kind to a
/// visitor.
///
/// The `mod` lines stay outside, because rustfmt and cargo-mutants look for no files in macros.
///
/// ```
/// mod reno {
///     #[derive(Debug)]
///     pub struct RenoParams;
/// }
///
/// trait Kinds {
///     fn avoidance<P>(&mut self);
/// }
///
/// windtunnel_algorithm::kinds! {
///     pub fn visit(Kinds::avoidance);
///     reno: RenoParams;
/// }
///
/// struct Names(Vec<&'static str>);
///
/// impl Kinds for Names {
///     fn avoidance<P>(&mut self) {
///         self.0.push(std::any::type_name::<P>());
///     }
/// }
///
/// let mut names = Names(Vec::new());
/// visit(&mut names);
/// assert!(names.0[0].ends_with("RenoParams"));
/// ```
#[macro_export]
macro_rules! kinds {
    ($vis:vis fn $visit:ident($visitor:ident::$family:ident); $($file:ident: $($params:ident),+;)+) => {
        $(pub use $file::*;)+

        /// Passes each of these kinds to `visitor`, in the order of listings and messages.
        $vis fn $visit(visitor: &mut impl $visitor) {
            $($(visitor.$family::<$file::$params>();)+)+
        }
    };
}
