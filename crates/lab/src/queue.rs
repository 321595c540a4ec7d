//! The queue of a link as the text has it, and what replaces it at a time (the kind `replaced`).

use toml_edit::{Array, InlineTable, TableLike, Value};
use windtunnel_units::Time;

use crate::edit::{EditError, missing};
use crate::text;

/// The kind of a queue that others replace, and its keys.
const REPLACED: &str = "replaced";
const TIMES: &str = "at";
const QUEUES: &str = "children";

/// The queue where the text names none.
const DEFAULT: &str = "fifo";

/// The queues of a link in the order of their turns, and when the second one and each later one has its turn.
struct Turns {
    queues: Vec<Value>,
    times: Vec<Time>,
}

impl Turns {
    fn of(link: &dyn TableLike) -> Result<Turns, EditError> {
        let whole = match link.get("queue") {
            None => Value::from(DEFAULT),
            Some(item) => item.clone().into_value().map_err(|_| missing("queue of this link"))?,
        };
        let is_replaced = kind(&whole) == Some(REPLACED);
        let Some(table) = whole.as_inline_table().filter(|_| is_replaced) else {
            return Ok(Turns { queues: vec![bare(whole)], times: Vec::new() });
        };
        let list = |key| table.get(key).and_then(Value::as_array).into_iter().flat_map(Array::iter);
        let times = list(TIMES).map(|time| time.as_str().and_then(|time| time.parse().ok()));
        let times: Option<Vec<Time>> = times.collect();
        let queues: Vec<Value> = list(QUEUES).cloned().map(bare).collect();
        match times {
            Some(times) if queues.len() == times.len() + 1 => Ok(Turns { queues, times }),
            _ => Err(missing("times and queues of the kind `replaced`")),
        }
    }

    /// The number of the queue that has its turn at a time.
    fn number(&self, at: Time) -> usize {
        self.times.iter().filter(|time| **time <= at).count()
    }
}

/// The queue that takes packets at a time.
pub(crate) fn at(link: &dyn TableLike, at: Time) -> Result<Value, EditError> {
    let turns = Turns::of(link)?;
    Ok(turns.queues[turns.number(at)].clone())
}

/// The same queue with another limit.
pub(crate) fn with_limit(queue: Value, limit: &str) -> Value {
    let mut table = match queue {
        Value::InlineTable(table) => table,
        kind => InlineTable::from_iter([("kind", kind)]),
    };
    text::set(&mut table, "limit", limit);
    table.into()
}

/// From `at` on, `queue` is the queue of a link, up to the next change.
pub(crate) fn replace(link: &mut dyn TableLike, queue: Value, at: Time) -> Result<(), EditError> {
    let Turns { mut queues, mut times } = Turns::of(link)?;
    let number = times.iter().filter(|time| **time <= at).count();
    if at == Time::ZERO || times.contains(&at) {
        queues[number] = queue;
    } else {
        queues.insert(number + 1, queue);
        times.insert(number, at);
    }
    if times.is_empty() {
        text::set(link, "queue", queues.remove(0));
        return Ok(());
    }
    let mut whole = InlineTable::new();
    whole.insert("kind", REPLACED.into());
    whole.insert(TIMES, times.into_iter().map(text::written).collect::<Array>().into());
    whole.insert(QUEUES, queues.into_iter().collect::<Array>().into());
    text::set(link, "queue", whole);
    Ok(())
}

fn kind(queue: &Value) -> Option<&str> {
    queue.as_str().or_else(|| queue.as_inline_table()?.get("kind")?.as_str())
}

/// A value without the blanks and comments around it.
fn bare(mut value: Value) -> Value {
    value.decor_mut().clear();
    value
}
