//! Routes through a graph of links.

use std::collections::{BTreeMap, VecDeque};

use windtunnel_sim::element::tunnels_match;

use super::cursor::Cursor;
use super::fault::Fault;
use super::nearest::nearest;
use crate::model::Link;

/// The maximum number of links in one direction of a path: a packet counts its hops in a byte.
const LONGEST: usize = 100;

/// A graph whose nodes and links can be found by name.
#[derive(Debug)]
pub(crate) struct Graph<'l> {
    pub(crate) links: &'l [Link],
    nodes: &'l [String],
    node_index: BTreeMap<&'l str, usize>,
    link_index: BTreeMap<&'l str, usize>,
    /// The links that leave each node, in the order of the file.
    leaving: Vec<Vec<usize>>,
}

impl<'l> Graph<'l> {
    pub(crate) fn new(nodes: &'l [String], links: &'l [Link]) -> Graph<'l> {
        let mut leaving = vec![Vec::new(); nodes.len()];
        for (index, link) in links.iter().enumerate() {
            if let Some((from, _)) = link.ends {
                leaving[from].push(index);
            }
        }
        let node_index = nodes.iter().enumerate().map(|(index, name)| (name.as_str(), index)).collect();
        let link_index = links.iter().enumerate().map(|(index, link)| (link.name.as_str(), index)).collect();
        Graph { links, nodes, node_index, link_index, leaving }
    }

    /// The node called `name`.
    pub(crate) fn node(&self, name: &str, at: &Cursor<'_>) -> Result<usize, Fault> {
        find(&self.node_index, name, at, "a node")
    }

    /// Returns the route with the fewest links between two nodes; of equal routes, the first in the order of the file.
    pub(crate) fn fewest_links(&self, from: usize, to: usize) -> Option<Vec<usize>> {
        let mut came_by: Vec<Option<usize>> = vec![None; self.nodes.len()];
        let mut queue = VecDeque::from([from]);
        while let Some(node) = queue.pop_front() {
            for &link in &self.leaving[node] {
                let next = self.ends(link).1;
                if next == from || came_by[next].is_some() {
                    continue;
                }
                came_by[next] = Some(link);
                if next == to {
                    return Some(self.walk_back(from, to, &came_by));
                }
                queue.push_back(next);
            }
        }
        None
    }

    fn walk_back(&self, from: usize, to: usize, came_by: &[Option<usize>]) -> Vec<usize> {
        let mut route = Vec::new();
        let mut node = to;
        while node != from
            && let Some(link) = came_by[node]
        {
            route.push(link);
            node = self.ends(link).0;
        }
        route.reverse();
        route
    }

    /// Returns the route along the links called `names`. Each link must start where the previous one ends.
    pub(crate) fn along(&self, names: &[String], at: &Cursor<'_>) -> Result<Vec<usize>, Fault> {
        let mut route: Vec<usize> = Vec::with_capacity(names.len());
        for (index, name) in names.iter().enumerate() {
            let at = at.item(index);
            let link = find(&self.link_index, name, &at, "a link")?;
            if let Some(&last) = route.last()
                && self.ends(last).1 != self.ends(link).0
            {
                return Err(at.not_allowed(format!(
                    "the link must begin at `{}`, where `{}` ends; it begins at `{}`",
                    self.nodes[self.ends(last).1],
                    self.links[last].name,
                    self.nodes[self.ends(link).0],
                )));
            }
            route.push(link);
        }
        Ok(route)
    }

    /// The nodes at the ends of a route.
    pub(crate) fn ends_of(&self, route: &[usize]) -> Option<(usize, usize)> {
        Some((self.ends(*route.first()?).0, self.ends(*route.last()?).1))
    }

    /// The name of a node.
    pub(crate) fn name(&self, node: usize) -> &str {
        &self.nodes[node]
    }

    fn ends(&self, link: usize) -> (usize, usize) {
        self.links[link].ends.expect("links of a graph have ends")
    }
}

/// Refuses a route of too many links.
pub(crate) fn check_length(route: &[usize], at: &Cursor<'_>) -> Result<(), Fault> {
    if route.len() > LONGEST {
        return Err(at.fault(format!("the route has {} links: at most {LONGEST} are allowed", route.len())));
    }
    Ok(())
}

/// Refuses a route on which a tunnel starts and does not end, or ends without a start.
pub(crate) fn check_tunnels(links: &[Link], route: &[usize], at: &Cursor<'_>) -> Result<(), Fault> {
    let elements = route.iter().flat_map(|link| &links[*link].elements);
    if !tunnels_match(elements.filter_map(|element| element.tunnel_end())) {
        return Err(at.fault(
            "its packets pass one end of a tunnel without the other: a `tunnel-entry` needs a `tunnel-exit` further on",
        ));
    }
    Ok(())
}

fn find(index: &BTreeMap<&str, usize>, name: &str, at: &Cursor<'_>, what: &str) -> Result<usize, Fault> {
    index.get(name).copied().ok_or_else(|| {
        let names: Vec<&str> = index.keys().copied().collect();
        let listed = if names.len() <= 20 { format!(": {}", names.join(", ")) } else { String::new() };
        at.not_allowed(format!("the name of {what}{listed}")).with_hint(nearest(name, names))
    })
}
