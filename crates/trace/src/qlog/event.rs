//! One event, or the head of a log: what is read of it, in every form that stacks write.
//!
//! An event is an object (`name`, or `category` and `event`), or an array in the order time, category, event, data, as in drafts 00
//! and 01. Numbers may be strings. Members that are not known, and values of other types than expected, are passed over.

use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// A value that is a number, a string, or something else.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) enum Value {
    #[default]
    Other,
    True,
    Whole(u64),
    Real(f64),
    Text(String),
}

impl Value {
    /// A number that is whole and not negative.
    pub(super) fn whole(&self) -> Option<u64> {
        match self {
            Value::Whole(number) => Some(*number),
            Value::Real(number) if *number >= 0.0 && *number < 1.8e19 => Some(*number as u64),
            Value::Text(text) => text.trim().parse().ok(),
            _ => None,
        }
    }

    pub(super) fn real(&self) -> Option<f64> {
        let number = match self {
            Value::Whole(number) => *number as f64,
            Value::Real(number) => *number,
            Value::Text(text) => text.trim().parse().ok()?,
            Value::Other | Value::True => return None,
        };
        number.is_finite().then_some(number)
    }

    pub(super) const fn is_true(&self) -> bool {
        matches!(self, Value::True)
    }

    pub(super) fn text(&self) -> &str {
        if let Value::Text(text) = self { text } else { "" }
    }
}

/// Implements `Deserialize` by a visitor that takes every type of value: those named, and the others as the default.
macro_rules! lenient {
    ($type:ty, true: $true:expr, { $($rest:item)* }) => {
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<$type, D::Error> {
                struct Any;
                impl<'de> Visitor<'de> for Any {
                    type Value = $type;
                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str("any value")
                    }
                    fn visit_unit<E>(self) -> Result<$type, E> {
                        Ok(<$type>::default())
                    }
                    fn visit_bool<E>(self, value: bool) -> Result<$type, E> {
                        Ok(if value { $true } else { <$type>::default() })
                    }
                    $($rest)*
                }
                deserializer.deserialize_any(Any)
            }
        }
    };
}

fn pass_map<'de, A: MapAccess<'de>>(mut map: A) -> Result<(), A::Error> {
    while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
    Ok(())
}

fn pass_seq<'de, A: SeqAccess<'de>>(mut seq: A) -> Result<(), A::Error> {
    while seq.next_element::<IgnoredAny>()?.is_some() {}
    Ok(())
}

lenient!(Value, true: Value::True, {
    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(Value::Whole(number))
    }
    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(Value::Real(number as f64))
    }
    fn visit_f64<E>(self, number: f64) -> Result<Value, E> {
        Ok(Value::Real(number))
    }
    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::Text(text.to_owned()))
    }
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Value, A::Error> {
        pass_map(map).map(|()| Value::Other)
    }
    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Value, A::Error> {
        pass_seq(seq).map(|()| Value::Other)
    }
});

/// A name, which draft 00 writes in capitals.
fn in_lower_case<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Value, D::Error> {
    let mut value = Value::deserialize(deserializer)?;
    if let Value::Text(text) = &mut value {
        text.make_ascii_lowercase();
    }
    Ok(value)
}

/// An object, if it is one; else its default.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Part<T>(pub(super) T);

impl<'de, T: Default + Deserialize<'de>> Deserialize<'de> for Part<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Part<T>, D::Error> {
        struct Any<T>(std::marker::PhantomData<T>);
        impl<'de, T: Default + Deserialize<'de>> Visitor<'de> for Any<T> {
            type Value = Part<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("any value")
            }
            fn visit_unit<E>(self) -> Result<Part<T>, E> {
                Ok(Part::default())
            }
            fn visit_bool<E>(self, _: bool) -> Result<Part<T>, E> {
                Ok(Part::default())
            }
            fn visit_u64<E>(self, _: u64) -> Result<Part<T>, E> {
                Ok(Part::default())
            }
            fn visit_i64<E>(self, _: i64) -> Result<Part<T>, E> {
                Ok(Part::default())
            }
            fn visit_f64<E>(self, _: f64) -> Result<Part<T>, E> {
                Ok(Part::default())
            }
            fn visit_str<E>(self, _: &str) -> Result<Part<T>, E> {
                Ok(Part::default())
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Part<T>, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map)).map(Part)
            }
            fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Part<T>, A::Error> {
                pass_seq(seq).map(|()| Part::default())
            }
        }
        deserializer.deserialize_any(Any(std::marker::PhantomData))
    }
}

/// The elements of an array; those of other types than expected, and a value that is no array, count as none.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct List<T>(pub(super) Vec<T>);

impl<T> Default for List<T> {
    fn default() -> List<T> {
        List(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<List<T>, D::Error> {
        struct Any<T>(std::marker::PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Any<T> {
            type Value = List<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("any value")
            }
            fn visit_unit<E>(self) -> Result<List<T>, E> {
                Ok(List::default())
            }
            fn visit_bool<E>(self, _: bool) -> Result<List<T>, E> {
                Ok(List::default())
            }
            fn visit_u64<E>(self, _: u64) -> Result<List<T>, E> {
                Ok(List::default())
            }
            fn visit_i64<E>(self, _: i64) -> Result<List<T>, E> {
                Ok(List::default())
            }
            fn visit_f64<E>(self, _: f64) -> Result<List<T>, E> {
                Ok(List::default())
            }
            fn visit_str<E>(self, _: &str) -> Result<List<T>, E> {
                Ok(List::default())
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<List<T>, A::Error> {
                pass_map(map).map(|()| List::default())
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<List<T>, A::Error> {
                let mut elements = Vec::new();
                while let Some(element) = seq.next_element()? {
                    elements.push(element);
                }
                Ok(List(elements))
            }
        }
        deserializer.deserialize_any(Any(std::marker::PhantomData))
    }
}

/// The header of a packet.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
#[expect(clippy::struct_field_names, reason = "qlog's names")]
pub(super) struct Header {
    pub(super) packet_type: Value,
    pub(super) packet_number: Value,
    pub(super) packet_size: Value,
}

/// Lengths of a packet or a frame.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(super) struct Raw {
    pub(super) length: Value,
    pub(super) payload_length: Value,
}

/// A frame.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
#[expect(clippy::struct_field_names, reason = "qlog's names")]
pub(super) struct Frame {
    #[serde(deserialize_with = "in_lower_case")]
    pub(super) frame_type: Value,
    #[serde(alias = "id")]
    pub(super) stream_id: Value,
    pub(super) offset: Value,
    pub(super) length: Value,
    pub(super) fin: Value,
    pub(super) raw: Part<Raw>,
    pub(super) acked_ranges: List<List<Value>>,
    pub(super) ce: Value,
    /// ECT(0), ECT(1), CE in one array.
    pub(super) ecn: List<Value>,
    pub(super) maximum: Value,
}

/// The data of an event: the members of all kinds that are read.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
#[expect(clippy::struct_field_names, reason = "qlog's names")]
pub(super) struct Data {
    pub(super) header: Part<Header>,
    pub(super) packet_type: Value,
    pub(super) packet_number: Value,
    pub(super) packet_size: Value,
    pub(super) raw: Part<Raw>,
    pub(super) frames: List<Part<Frame>>,
    pub(super) trigger: Value,
    pub(super) min_rtt: Value,
    pub(super) smoothed_rtt: Value,
    pub(super) latest_rtt: Value,
    #[serde(alias = "cwnd")]
    pub(super) congestion_window: Value,
    pub(super) bytes_in_flight: Value,
    pub(super) ssthresh: Value,
    #[serde(alias = "initiator")]
    pub(super) owner: Value,
    pub(super) initial_max_data: Value,
    /// Of a TCP flow's packets, and of one that differs from them.
    pub(super) code_point: Value,
    pub(super) ecn: Value,
    pub(super) src_ip: Value,
    pub(super) dst_ip: Value,
    pub(super) src_port: Value,
    pub(super) dst_port: Value,
    pub(super) local: Part<End>,
    pub(super) remote: Part<End>,
}

/// One end of a path.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(super) struct End {
    pub(super) ip_v4: Value,
    pub(super) ip_v6: Value,
    pub(super) port_v4: Value,
    pub(super) port_v6: Value,
}

/// An event. In arrays the place of an element tells what it is.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Event {
    pub(super) time: Value,
    /// `quic:packet_sent`, or what stands for it, in lower case.
    pub(super) name: String,
    pub(super) group: Value,
    pub(super) data: Data,
}

/// An element of an array that is an event.
#[derive(Clone, Debug)]
enum Element {
    Value(Value),
    Data(Box<Data>),
}

impl Default for Element {
    fn default() -> Element {
        Element::Value(Value::Other)
    }
}

lenient!(Element, true: Element::default(), {
    fn visit_u64<E>(self, number: u64) -> Result<Element, E> {
        Ok(Element::Value(Value::Whole(number)))
    }
    fn visit_i64<E>(self, number: i64) -> Result<Element, E> {
        Ok(Element::Value(Value::Real(number as f64)))
    }
    fn visit_f64<E>(self, number: f64) -> Result<Element, E> {
        Ok(Element::Value(Value::Real(number)))
    }
    fn visit_str<E>(self, text: &str) -> Result<Element, E> {
        Ok(Element::Value(Value::Text(text.to_owned())))
    }
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Element, A::Error> {
        Data::deserialize(MapAccessDeserializer::new(map)).map(|data| Element::Data(Box::new(data)))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Element, A::Error> {
        pass_seq(seq).map(|()| Element::default())
    }
});

/// An event as an object.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Named {
    #[serde(alias = "relative_time")]
    time: Value,
    name: Value,
    category: Value,
    #[serde(alias = "event_type", alias = "type")]
    event: Value,
    group_id: Value,
    data: Part<Data>,
}

lenient!(Event, true: Event::default(), {
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Event, A::Error> {
        let named = Named::deserialize(MapAccessDeserializer::new(map))?;
        let name = match named.name.text() {
            "" => format!("{}:{}", named.category.text(), named.event.text()),
            name => name.to_owned(),
        };
        Ok(Event { time: named.time, name: name.to_ascii_lowercase(), group: named.group_id, data: named.data.0 })
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Event, A::Error> {
        let mut event = Event::default();
        let mut first = true;
        let mut words = Vec::new();
        while let Some(element) = seq.next_element::<Element>()? {
            match element {
                Element::Value(value) if std::mem::take(&mut first) => event.time = value,
                Element::Value(Value::Text(text)) => words.push(text),
                Element::Value(_) => {}
                Element::Data(data) => event.data = *data,
            }
        }
        // A third one is what triggered it.
        words.truncate(2);
        event.name = words.join(":").to_ascii_lowercase();
        Ok(event)
    }
});

/// What is read of a trace's head, or of a sequence's.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(super) struct Head {
    pub(super) title: Value,
    pub(super) vantage_point: Part<Vantage>,
    pub(super) configuration: Part<Configuration>,
    pub(super) common_fields: Part<Common>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(super) struct Vantage {
    pub(super) name: Value,
    #[serde(rename = "type")]
    pub(super) kind: Value,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(super) struct Configuration {
    pub(super) time_units: Value,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(super) struct Common {
    #[serde(alias = "ODCID")]
    pub(super) group_id: Value,
    pub(super) time_format: Value,
    #[serde(alias = "protocol_types")]
    pub(super) protocol_type: List<Value>,
}

/// The head of a sequence.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct First {
    pub(super) trace: Option<Part<Head>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(text: &str) -> Event {
        serde_json::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    /// One packet as picoquic, mvfst, quic-trace's converter, quiche and the current drafts write it.
    #[test]
    fn one_packet_in_five_forms() {
        for text in [
            r#"[20,"TRANSPORT","PACKET_SENT",{"packet_type":"1rtt","header":{"packet_number":"7","packet_size":1252},
                "frames":[{"frame_type":"stream","id":4,"offset":100,"length":1200}]}]"#,
            r#"["20","transport","packet_sent","DEFAULT",{"packet_type":"1RTT","header":{"packet_number":7,"packet_size":1252},
                "frames":[{"frame_type":"stream","stream_id":"4","offset":100,"length":1200}]}]"#,
            r#"["20","TRANSPORT","PACKET_SENT","DEFAULT",{"packet_type":"1RTT","header":{"packet_number":"7","packet_size":1252},
                "frames":[{"frame_type":"STREAM","id":"4","fin":false,"length":1200,"offset":100}]}]"#,
            r#"{"time":20.0,"name":"transport:packet_sent","data":{"header":{"packet_type":"1RTT","packet_number":7},
                "raw":{"length":1252,"payload_length":1211},
                "frames":[{"frame_type":"stream","stream_id":4,"offset":100,"length":1200}]}}"#,
            r#"{"time":20,"name":"quic:packet_sent","data":{"header":{"packet_type":"1RTT","packet_number":7},
                "raw":{"length":1252},"frames":[{"frame_type":"stream","stream_id":4,"offset":100,
                "raw":{"payload_length":1200}}]},"extra":[{}]}"#,
        ] {
            let event = event(text);
            assert_eq!(event.time.real(), Some(20.0));
            assert_eq!(event.name.split(':').next_back(), Some("packet_sent"));
            assert_eq!(event.data.header.0.packet_number.whole(), Some(7));
            let frame = &event.data.frames.0[0].0;
            assert_eq!(frame.frame_type.text(), "stream");
            assert_eq!((frame.stream_id.whole(), frame.offset.whole()), (Some(4), Some(100)));
            assert_eq!(frame.length.whole().or(frame.raw.0.payload_length.whole()), Some(1200));
        }
    }

    /// Values of other types are passed over, wherever they are.
    #[test]
    fn wrong_types() {
        for text in [
            r#"{"time":{},"name":[1],"data":7}"#,
            r#"{"time":null,"name":"x","data":{"header":[],"raw":"","frames":{"a":1}}}"#,
            r#"{"name":"x","data":{"frames":[1,null,"a",[],{"acked_ranges":[[{}],7,[[1]]],"offset":[{}]}]}}"#,
            r#"[[],{},"a",-1,true,null,"b","c"]"#,
            "null",
        ] {
            event(text);
        }
        assert_eq!(Value::Real(-1.0).whole(), None);
        assert_eq!(Value::Text("NaN".to_owned()).real(), None);
        assert_eq!(event(r#"{"time":-5,"data":{}}"#).time.real(), Some(-5.0));
    }
}
