//! A resolved scenario as text, with every default: TOML that reads back as the same scenario, and JSON.

use std::fmt::Write;

use serde::Serialize;
use serde_json::{Map, Value, json};
use windtunnel_cc::{ControllerParams, Feedback};
use windtunnel_qdisc::ecn::EcnMode;
use windtunnel_qdisc::{ChildSpec, Limit, QueueSpec, Takes};
use windtunnel_sim::Moment;
use windtunnel_sim::endpoint::{StackController, StackDescription};
use windtunnel_tcp::{Endpoint, FeedbackScheme};
use windtunnel_wire::Ecn;

use crate::model::{
    Active, Ect, Endpoints, FlowGroup, Hosts, Impairment, Link, Queue, Scenario, Shape, Transport,
};
use crate::parse::{OURS, SHADOW};
use crate::registry::{Described, MDS_SUFFIX, RESPONSE, SLOW_START};

impl Scenario {
    /// The scenario as JSON, in the form of the file.
    pub fn to_json(&self) -> String {
        format!("{:#}", Value::Object(self.tables()))
    }

    /// The scenario as a file with every default.
    pub fn to_toml(&self) -> String {
        let tables = self.tables();
        let mut text = String::new();
        for (key, value) in tables.iter().filter(|(_, value)| !is_section(value)) {
            write_entry(&mut text, key, value);
        }
        for (key, value) in &tables {
            match value {
                Value::Object(table) => write_section(&mut text, &format!("[{key}]"), table),
                Value::Array(tables) => {
                    for table in tables.iter().filter_map(Value::as_object) {
                        write_section(&mut text, &format!("[[{key}]]"), table);
                    }
                }
                _ => {}
            }
        }
        text
    }

    fn tables(&self) -> Map<String, Value> {
        let mut tables = entries([
            ("title", json!(self.title)),
            ("duration", json!(self.duration)),
            ("seed", json!(self.seed)),
            ("endpoints", json!(self.endpoints)),
            ("mtu", json!(self.mtu)),
        ]);
        match &self.shape {
            Shape::Dumbbell => {
                for link in &self.links {
                    tables.insert(link.name.clone(), Value::Object(line(link)));
                }
            }
            Shape::Graph(nodes) => {
                tables.insert("node".into(), nodes.iter().map(|name| json!({ "name": name })).collect());
                tables.insert("link".into(), self.links.iter().map(|link| graph_link(link, nodes)).collect());
            }
        }
        tables.insert("flow".into(), self.flows.iter().map(|group| self.flow(group)).collect());
        tables.insert("record".into(), Value::Object(object(&self.record)));
        if !self.windows.is_empty() {
            tables.insert("window".into(), json!(self.windows));
        }
        if !self.claims.is_empty() {
            tables.insert("claim".into(), json!(self.claims));
        }
        tables
    }

    fn flow(&self, group: &FlowGroup) -> Value {
        let mut flow = entries([("name", json!(group.name))]);
        flow.extend(controller(group).map(|cc| ("cc".to_owned(), cc)));
        flow.insert("rtt".into(), json!(group.route.rtt));
        if self.endpoints == Endpoints::Linux {
            flow.insert("app".into(), Value::Object(group.application.table()));
        }
        if let Shape::Graph(_) = self.shape {
            let names =
                |route: &[usize]| route.iter().map(|link| json!(self.links[*link].name)).collect::<Value>();
            flow.insert("path".into(), names(&group.route.forward));
            flow.insert("reverse".into(), names(&group.route.reverse));
        }
        let Hosts { sender, receiver } = &group.hosts;
        flow.extend(sender.as_ref().map(|name| ("sender_host".to_owned(), json!(name))));
        flow.extend(receiver.as_ref().map(|name| ("receiver_host".to_owned(), json!(name))));
        flow.extend(group.connection.as_ref().map(|name| ("connection".to_owned(), json!(name))));
        if let [Active { from: Moment::At(from), to }] = &group.active[..]
            && to.as_ref().is_none_or(|to| to.time().is_some())
        {
            flow.insert("start".into(), json!(from));
            flow.extend(to.as_ref().map(|to| ("stop".to_owned(), json!(to))));
            flow.insert("stagger".into(), json!(group.stagger));
        } else {
            flow.insert("active".into(), json!(group.active));
        }
        flow.insert("count".into(), json!(group.count));
        let Endpoint { feedback, paced, iw, ecn: code_point, dscp, .. } = group.endpoint;
        match &group.transport {
            Transport::Ideal { ack, .. } | Transport::Tcp { ack, .. } => {
                let needs = group.transport.controller().map(|cc| cc.needs()).unwrap_or_default();
                flow.insert("ecn".into(), ecn(feedback, needs.feedback));
                flow.extend(ect(code_point, needs.scalable));
                flow.extend(feedback.is_mds().then(|| ("mds_dscp".to_owned(), json!(dscp.get()))));
                flow.extend(entries([
                    ("pacing", json!(paced)),
                    ("iw", json!(format!("{} packets", iw.get() / group.endpoint.mss().get()))),
                    ("ack", json!(ack)),
                ]));
                flow.extend(group.unresponsive.map(|ignored| ("unresponsive".to_owned(), json!(ignored))));
                let mechanisms = group.transport.mechanisms();
                let rledbat = mechanisms.and_then(|tcp| tcp.rledbat.as_ref());
                flow.extend(
                    rledbat.map(|controller| ("rledbat".to_owned(), receiver_controller(&**controller))),
                );
                flow.extend(mechanisms.map(|tcp| ("tcp".to_owned(), Value::Object(object(tcp)))));
            }
            Transport::Udp => {
                flow.insert("ecn".into(), json!(code_point != Ecn::NotEct));
                flow.extend(ect(code_point, false));
            }
            Transport::Rtp { cc } => {
                flow.insert("ecn".into(), json!(code_point != Ecn::NotEct));
                flow.extend(ect(code_point, cc.needs().scalable));
            }
            Transport::Foreign(stack) => {
                let table = stack.description().map(|stack| Value::Object(stack.params.table()));
                flow.extend(table.map(|table| ("stack".to_owned(), table)));
                flow.insert("ecn".into(), json!(code_point != Ecn::NotEct));
            }
            Transport::Bsd42(_) => {}
        }
        Value::Object(flow)
    }
}

fn controller(group: &FlowGroup) -> Option<Value> {
    let (name, params) = match (&group.transport, group.transport.controller()) {
        // Tahoe grows like Reno, so its name says more than its growth.
        (_, Some(cc)) => (group.cc_name.strip_suffix(MDS_SUFFIX).unwrap_or(&group.cc_name), cc.to_map()),
        (Transport::Bsd42(params), None) => (&*group.cc_name, object(&**params)),
        (Transport::Foreign(stack), None) => return in_stack(group, stack.description()?),
        (_, None) => return None,
    };
    let mut cc = entries([("kind", json!(name))]);
    cc.extend(params);
    Some(Value::Object(cc))
}

/// The controller of a receiver, whose slow start and response cannot be chosen.
fn receiver_controller(params: &dyn ControllerParams) -> Value {
    let mut controller = entries([("kind", json!(params.name()))]);
    controller.extend(params.to_map().into_iter().filter(|(key, _)| key != SLOW_START && key != RESPONSE));
    Value::Object(controller)
}

/// The controllers of a flow over the stack of another crate.
fn in_stack(group: &FlowGroup, stack: StackDescription<'_>) -> Option<Value> {
    let mut cc = match &stack.controllers.decides {
        StackController::Own(name) => entries([("kind", json!(name))]),
        StackController::Ours(params) => {
            let name = group.cc_name.strip_suffix(&format!("-in-{}", stack.params.name()))?;
            entries([(OURS, named(name, &**params))])
        }
    };
    if let Some(shadow) = &stack.controllers.shadow {
        cc.insert(SHADOW.to_owned(), named(shadow.name(), &**shadow));
    }
    Some(Value::Object(cc))
}

/// A controller under the name that a scenario has for it.
fn named(name: &str, params: &dyn ControllerParams) -> Value {
    let mut cc = entries([("kind", json!(name.strip_suffix(MDS_SUFFIX).unwrap_or(name)))]);
    cc.extend(params.to_map());
    Value::Object(cc)
}

fn line(link: &Link) -> Map<String, Value> {
    let mut table = Map::new();
    if let Some(rate) = &link.rate {
        table.insert("rate".into(), json!(rate));
        table.extend(object(&link.params));
        table.insert("queue".into(), queue(&link.queue));
    }
    if !link.elements.is_empty() {
        table.insert("impair".into(), link.elements.iter().map(impairment).collect());
    }
    table
}

fn impairment(Impairment { element, only, during }: &Impairment) -> Value {
    let mut table = element.table();
    table.extend(only.iter().map(|only| ("only".to_owned(), json!(only))));
    table.extend(during.iter().map(|during| ("during".to_owned(), json!(during))));
    Value::Object(table)
}

fn graph_link(link: &Link, nodes: &[String]) -> Value {
    let (from, to) = link.ends.expect("links of a graph have ends");
    let mut table =
        entries([("name", json!(link.name)), ("from", json!(nodes[from])), ("to", json!(nodes[to]))]);
    table.extend(line(link));
    Value::Object(table)
}

fn queue(queue: &Queue) -> Value {
    let Queue { spec, limit, ecn_mode, mds_dscp, age } = queue;
    let mut table = nested(spec, *limit, *ecn_mode);
    table.insert("mds_dscp".into(), json!(mds_dscp.get()));
    table.insert("age".into(), json!(age));
    Value::Object(table)
}

/// A queue and all that is nested in it.
fn nested(spec: &QueueSpec, limit: Limit, ecn_mode: EcnMode) -> Map<String, Value> {
    let QueueSpec { params, parts } = spec;
    let mut table = params.table();
    for (slot, aqm) in params.slots().iter().zip(&parts.aqms) {
        table.extend(aqm.iter().map(|aqm| (slot.key.to_owned(), Value::Object(aqm.table()))));
    }
    let holds = match limit {
        Limit::Unlimited => "unlimited".to_owned(),
        Limit::Packets(n) => format!("{n} packets"),
        Limit::Bytes(bytes) => bytes.to_string(),
        Limit::Time(time) => time.to_string(),
    };
    table.insert("limit".into(), json!(holds));
    table.insert("ecn_mode".into(), json!(ecn_mode));
    let child = |ChildSpec { spec, limit: own, ecn_mode: mode }: &ChildSpec| {
        Value::Object(nested(spec, own.unwrap_or(limit), mode.unwrap_or(ecn_mode)))
    };
    for (slot, children) in params.children().iter().zip(&parts.children) {
        let value = match (slot.takes, &children[..]) {
            (Takes::One, [only]) => child(only),
            _ => children.iter().map(child).collect(),
        };
        table.insert(slot.key.into(), value);
    }
    table
}

/// Returns parameters as a JSON object. Parameters that are not set are omitted, because TOML has no null.
pub(crate) fn object<T: Serialize>(params: &T) -> Map<String, Value> {
    match serde_json::to_value(params) {
        Ok(Value::Object(mut object)) => {
            object.retain(|_, value| !value.is_null());
            object
        }
        _ => Map::new(),
    }
}

fn entries<const N: usize>(entries: [(&str, Value); N]) -> Map<String, Value> {
    entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

/// Returns true for values that TOML writes as a separate section.
fn is_section(value: &Value) -> bool {
    matches!(value, Value::Object(_) | Value::Array(_))
}

fn write_section(text: &mut String, header: &str, table: &Map<String, Value>) {
    text.extend(["\n", header, "\n"]);
    for (key, value) in table {
        write_entry(text, key, value);
    }
}

fn write_entry(text: &mut String, key: &str, value: &Value) {
    text.extend([key, " = "]);
    write_value(text, value);
    text.push('\n');
}

fn write_value(text: &mut String, value: &Value) {
    match value {
        Value::String(content) => write_string(text, content),
        Value::Array(items) => {
            text.push('[');
            for (index, item) in items.iter().enumerate() {
                text.push_str(if index > 0 { ", " } else { "" });
                write_value(text, item);
            }
            text.push(']');
        }
        Value::Object(table) => {
            text.push('{');
            for (index, (key, item)) in table.iter().enumerate() {
                text.extend([if index > 0 { ", " } else { " " }, key, " = "]);
                write_value(text, item);
            }
            text.push_str(" }");
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {
            text.push_str(&value.to_string());
        }
    }
}

/// A basic string: control characters are escaped.
fn write_string(text: &mut String, content: &str) {
    text.push('"');
    for c in content.chars() {
        match c {
            '"' => text.push_str("\\\""),
            '\\' => text.push_str("\\\\"),
            '\n' => text.push_str("\\n"),
            '\t' => text.push_str("\\t"),
            c if c.is_ascii_control() => {
                let _ = write!(text, "\\u{:04X}", u32::from(c));
            }
            c => text.push(c),
        }
    }
    text.push('"');
}

/// Returns `true` or `false` for the schemes that these denote with this need, otherwise the name of the scheme.
fn ecn(scheme: FeedbackScheme, needs: Feedback) -> Value {
    match scheme {
        FeedbackScheme::None => json!(false),
        FeedbackScheme::Rfc3168 if matches!(needs, Feedback::None | Feedback::Classic) => json!(true),
        FeedbackScheme::Mds => json!(true),
        scheme => json!(scheme),
    }
}

/// The code point of ECN-capable packets, unless it is the usual one.
fn ect(code_point: Ecn, scalable: bool) -> Option<(String, Value)> {
    let ect = match code_point {
        Ecn::Ect1 => Ect::Ect1,
        Ecn::Ect0 if scalable => Ect::Ect0,
        Ecn::Ect0 | Ecn::NotEct | Ecn::Ce => return None,
    };
    Some(("ect".to_owned(), json!(ect)))
}
