//! Conditions on the state of a controller: each is about a flow that there is, and about a column that it has.

use windtunnel_cc::FlowInit;
use windtunnel_sim::When;
use windtunnel_sim::endpoint::OBSERVED;

use super::cursor::Cursor;
use super::document::Value;
use super::fault::Fault;
use super::nearest::nearest;
use crate::compile::controller_init;
use crate::model::{FlowGroup, Shape, Transport};

/// Checks all conditions of a scenario whose links and flows are read.
pub(super) fn check_conditions(root: &Cursor<'_>, shape: &Shape, flows: &[FlowGroup]) -> Result<(), Fault> {
    let links = match shape {
        Shape::Dumbbell => vec![root.get("bottleneck"), root.get("reverse")],
        Shape::Graph(_) => items(&root.get("link")),
    };
    for link in links {
        for change in items(&link.get("changes")) {
            check(&change.get("when"), flows)?;
        }
        for element in items(&link.get("impair")) {
            let during = element.get("during");
            check(&during.get("from"), flows)?;
            check(&during.get("to"), flows)?;
        }
    }
    for flow in items(&root.get("flow")) {
        for span in items(&flow.get("active")) {
            check(&span.get("from"), flows)?;
            check(&span.get("to"), flows)?;
        }
        for change in items(&flow.get("app").get("changes")) {
            check(&change.get("when"), flows)?;
        }
    }
    Ok(())
}

/// The values of a list, or the value itself.
fn items<'n>(at: &Cursor<'n>) -> Vec<Cursor<'n>> {
    match at.value() {
        Some(Value::List(items)) => (0..items.len()).map(|index| at.item(index)).collect(),
        _ => vec![at.clone()],
    }
}

/// Checks a moment that is a condition.
fn check(at: &Cursor<'_>, flows: &[FlowGroup]) -> Result<(), Fault> {
    let Some(Value::Table(_)) = at.value() else { return Ok(()) };
    let when: When = at.read()?;
    when.check().map_err(|error| at.out_of_range(error))?;
    let mut first = 0;
    for group in flows {
        first += group.count;
        if when.flow < first {
            return check_column(&when.column, &at.get("column"), group);
        }
    }
    Err(at.get("flow").not_allowed(format!("the number of a flow: there are {first}, numbered from 0 on")))
}

/// The columns of a flow over the stack of another crate are known when it is made.
fn check_column(column: &str, at: &Cursor<'_>, group: &FlowGroup) -> Result<(), Fault> {
    if let Transport::Foreign(_) = group.transport {
        return Ok(());
    }
    let Some(controller) = group.transport.controller() else {
        return Err(at.fault("is about a flow without a controller"));
    };
    let mut columns = OBSERVED.to_vec();
    let init: FlowInit = controller_init(&group.transport, &group.endpoint, 0);
    controller.build(init).probe(&mut |name, _| columns.push(name));
    if !columns.contains(&column) {
        let allowed = format!("a column of that flow: one of {}", columns.join(", "));
        return Err(at.not_allowed(allowed).with_hint(nearest(column, columns)));
    }
    Ok(())
}
