//! The key `connection`: flows that are subflows of one connection over several paths.

use std::collections::BTreeMap;

use windtunnel_sim::application::ApplicationConfig;

use super::cursor::Cursor;
use super::fault::Fault;
use crate::model::{FlowGroup, Transport};

/// The maximum number of subflows of a connection: each ACK reads the state of all.
const MOST_SUBFLOWS: u32 = 64;

/// Checks the subflows of all connections; `flows` is the list of the groups.
pub(super) fn connections(groups: &[FlowGroup], flows: &Cursor<'_>) -> Result<(), Fault> {
    let mut connections: BTreeMap<&str, (&FlowGroup, u32)> = BTreeMap::new();
    for (index, group) in groups.iter().enumerate() {
        let Some(name) = &group.connection else { continue };
        let at = flows.item(index);
        check(group, name, &at)?;
        let (first, count) = connections.entry(name).or_insert((group, 0));
        if first.cc_name != group.cc_name || first.transport.controller() != group.transport.controller() {
            let first = &first.name;
            return Err(at.get("cc").fault(format!(
                "differs from that of `{first}`: all subflows of a connection have the same controller"
            )));
        }
        *count += group.count;
        if *count > MOST_SUBFLOWS {
            let problem = format!("has more than {MOST_SUBFLOWS} subflows here");
            return Err(at.get("connection").fault(problem));
        }
    }
    Ok(())
}

fn check(group: &FlowGroup, name: &str, flow: &Cursor<'_>) -> Result<(), Fault> {
    let at = flow.get("connection");
    if name.is_empty() {
        return Err(at.not_allowed("a name that is not empty"));
    }
    if group.application != ApplicationConfig::Bulk {
        let application = group.application.kind();
        return Err(at.fault(format!(
            "does not go with `{application}`: nothing divides data among subflows, which always have some (`bulk`)"
        )));
    }
    match group.transport {
        Transport::Ideal { .. } | Transport::Tcp { .. } => {}
        Transport::Bsd42(_) => {
            return Err(at.fault("does not go with `bsd42`, which has no congestion control"));
        }
        Transport::Udp | Transport::Rtp { .. } | Transport::Foreign(_) => {
            return Err(at.fault("belongs to the TCP here: other stacks do not know their subflows"));
        }
    }
    match ["stop", "active"].into_iter().find(|key| flow.get(key).is_given()) {
        Some(key) => {
            Err(flow.get(key).fault("does not go with `connection`: a subflow stays to the end of the run"))
        }
        None => Ok(()),
    }
}
