//! The built-in controllers with their defaults, for programs that choose one by name.

use std::sync::Arc;

use windtunnel_algorithm::Params;

use crate::controller::ControllerParams;
use crate::kinds::Kinds;
use crate::style::Style;
use crate::windowed::{AvoidanceParams, ResponseParams, SlowStartParams, WindowedConfig};

/// Returns each controller with its defaults, in the order of listings. A growth function has its usual slow start and
/// the conventional response, in the variants of `style`.
///
/// ```
/// use windtunnel_cc::{AnyParams, Style, catalogue};
///
/// let cubic = catalogue(Style::Linux).into_iter().find(|params| params.name() == "cubic");
/// assert!(cubic.is_some());
/// ```
pub fn catalogue(style: Style) -> Vec<Arc<dyn ControllerParams>> {
    let mut catalogue = Catalogue { style, controllers: Vec::new() };
    crate::visit(&mut catalogue);
    catalogue.controllers
}

struct Catalogue {
    style: Style,
    controllers: Vec<Arc<dyn ControllerParams>>,
}

impl Kinds for Catalogue {
    fn avoidance<P: Params + AvoidanceParams>(&mut self) {
        self.controllers.push(Arc::new(WindowedConfig::usual(Arc::new(P::default()), self.style)));
    }

    fn slow_start<P: Params + SlowStartParams>(&mut self) {}

    fn response<P: Params + ResponseParams>(&mut self) {}

    fn controller<P: Params + ControllerParams>(&mut self) {
        self.controllers.push(Arc::new(P::default()));
    }
}
