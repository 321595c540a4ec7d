//! One end of a connection in quinn or noq, without a socket. The types of the two stacks have the same names.

use std::time::Instant;

/// What the sender knows of its connection.
pub(crate) struct Stats {
    pub(crate) window: u64,
    pub(crate) sent: u64,
    pub(crate) lost: u64,
    pub(crate) rtt: std::time::Duration,
}

/// One end, whichever stack it is in.
pub(crate) trait End: Send {
    /// A datagram arrives.
    fn receive(&mut self, datagram: &[u8], now: Instant);

    /// Writes the next datagram into `datagram`, which is empty. False if there is none.
    fn transmit(&mut self, datagram: &mut Vec<u8>, now: Instant) -> bool;

    /// When [`End::expire`] wants to be called.
    fn timer(&mut self) -> Option<Instant>;

    /// The timer has expired.
    fn expire(&mut self, now: Instant);

    /// Writes what the connection takes into the one stream.
    fn write(&mut self);

    /// Reads all that has arrived. Returns the number of bytes.
    fn read(&mut self) -> u64;

    fn stats(&mut self) -> Stats;
}

/// Writes a module with the ends in one of the stacks.
macro_rules! stack {
    (
        $stack:ident, $proto:ident, endpoint: $endpoint:expr, handle: $handle:expr, transmit: $transmit:expr,
        write: $write:expr, path: $path:expr
    ) => {
        pub(crate) mod $stack {
            use std::net::SocketAddr;
            use std::sync::Arc;
            use std::time::Instant;

            use $proto::congestion::ControllerFactory;
            use $proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
            use $proto::{
                ClientConfig, Connection, ConnectionHandle, DatagramEvent, Dir, Endpoint, EndpointConfig,
                Event, ServerConfig, StreamEvent, StreamId, TransportConfig, VarInt,
            };

            use super::{Stats, ZEROS};
            use crate::tls;

            /// Bytes in flight, and bytes that the receiver takes: more than loopback holds.
            const FLOW_CONTROL: u32 = 64 << 20;

            const TLS: &str = "the certificate and the key are good";

            struct End {
                endpoint: Endpoint,
                connection: Option<(ConnectionHandle, Connection)>,
                peer: SocketAddr,
                stream: Option<StreamId>,
            }

            fn transport() -> TransportConfig {
                let mut transport = TransportConfig::default();
                let window = VarInt::from_u32(FLOW_CONTROL);
                transport.receive_window(window).stream_receive_window(window).send_window(window.into());
                transport
            }

            /// The sender, which connects to `peer`.
            pub(crate) fn client(
                peer: SocketAddr,
                controllers: Arc<dyn ControllerFactory + Send + Sync>,
                now: Instant,
            ) -> Box<dyn super::End> {
                let suite = tls::client(tls::provider())
                    .ok()
                    .and_then(|tls| QuicClientConfig::try_from(tls).ok())
                    .expect(TLS);
                let mut config = ClientConfig::new(Arc::new(suite));
                let mut transport = transport();
                transport.congestion_controller_factory(controllers);
                config.transport_config(Arc::new(transport));
                let mut endpoint = $endpoint(Arc::new(EndpointConfig::default()), None);
                let connection = endpoint.connect(now, config, peer, tls::SERVER_NAME);
                let connection = Some(connection.expect("the configuration is complete"));
                Box::new(End { endpoint, connection, peer, stream: None })
            }

            /// The receiver, whose peer is `peer`.
            pub(crate) fn server(peer: SocketAddr) -> Box<dyn super::End> {
                let suite = tls::server(tls::provider())
                    .ok()
                    .and_then(|tls| QuicServerConfig::try_from(tls).ok())
                    .expect(TLS);
                let mut config = ServerConfig::with_crypto(Arc::new(suite));
                config.transport_config(Arc::new(transport()));
                let endpoint = $endpoint(Arc::new(EndpointConfig::default()), Some(Arc::new(config)));
                Box::new(End { endpoint, connection: None, peer, stream: None })
            }

            impl End {
                /// Passes messages between endpoint and connection, and opens or accepts the stream.
                fn settle(&mut self) {
                    let Some((handle, connection)) = &mut self.connection else { return };
                    while let Some(event) = connection.poll_endpoint_events() {
                        if let Some(event) = self.endpoint.handle_event(*handle, event) {
                            connection.handle_event(event);
                        }
                    }
                    while let Some(event) = connection.poll() {
                        match event {
                            Event::Connected => self.stream = connection.streams().open(Dir::Uni),
                            Event::Stream(StreamEvent::Opened { dir: Dir::Uni }) => {
                                self.stream = connection.streams().accept(Dir::Uni);
                            }
                            Event::ConnectionLost { reason } => panic!("the connection is lost: {reason}"),
                            _ => {}
                        }
                    }
                }
            }

            impl super::End for End {
                fn receive(&mut self, datagram: &[u8], now: Instant) {
                    let mut response = Vec::new();
                    match $handle(&mut self.endpoint, now, self.peer, datagram.into(), &mut response) {
                        Some(DatagramEvent::ConnectionEvent(_, event)) => {
                            if let Some((_, connection)) = &mut self.connection {
                                connection.handle_event(event);
                            }
                        }
                        Some(DatagramEvent::NewConnection(incoming)) => {
                            self.connection = self.endpoint.accept(incoming, now, &mut response, None).ok();
                        }
                        _ => {}
                    }
                    self.settle();
                }

                fn transmit(&mut self, datagram: &mut Vec<u8>, now: Instant) -> bool {
                    let Some((_, connection)) = &mut self.connection else { return false };
                    let sends = $transmit(connection, now, datagram).is_some();
                    self.settle();
                    sends
                }

                fn timer(&mut self) -> Option<Instant> {
                    self.connection.as_mut()?.1.poll_timeout()
                }

                fn expire(&mut self, now: Instant) {
                    if let Some((_, connection)) = &mut self.connection {
                        connection.handle_timeout(now);
                        self.settle();
                    }
                }

                fn write(&mut self) {
                    let (Some((_, connection)), Some(stream)) = (&mut self.connection, self.stream) else {
                        return;
                    };
                    let mut stream = connection.send_stream(stream);
                    while $write(&mut stream, bytes::Bytes::from_static(&ZEROS)) == ZEROS.len() {}
                }

                fn read(&mut self) -> u64 {
                    let (Some((_, connection)), Some(stream)) = (&mut self.connection, self.stream) else {
                        return 0;
                    };
                    let mut stream = connection.recv_stream(stream);
                    let Ok(mut chunks) = stream.read(true) else { return 0 };
                    let mut read = 0;
                    while let Ok(Some(chunk)) = chunks.next(usize::MAX) {
                        read += chunk.bytes.len() as u64;
                    }
                    let _ = chunks.finalize();
                    read
                }

                fn stats(&mut self) -> Stats {
                    let (_, connection) = self.connection.as_mut().expect("the client has connected");
                    let path = $path(connection);
                    Stats {
                        window: path.cwnd,
                        sent: path.sent_packets,
                        lost: path.lost_packets,
                        rtt: path.rtt,
                    }
                }
            }
        }
    };
}

/// What the sender writes.
static ZEROS: [u8; 1 << 16] = [0; 1 << 16];

stack!(
    quinn, quinn_proto,
    endpoint: |config, server| Endpoint::new(config, server, false, None),
    handle: |endpoint: &mut Endpoint, now, peer, datagram: bytes::BytesMut, response: &mut Vec<u8>| {
        endpoint.handle(now, peer, None, None, datagram, response)
    },
    transmit: |connection: &mut Connection, now, datagram| connection.poll_transmit(now, 1, datagram),
    write: |stream: &mut quinn_proto::SendStream<'_>, data| {
        stream.write_chunks(&mut [data]).map_or(0, |written| written.bytes)
    },
    path: |connection: &mut Connection| connection.stats().path
);

stack!(
    noq, noq_proto,
    endpoint: |config, server| Endpoint::new(config, server, false),
    handle: |endpoint: &mut Endpoint, now, peer, datagram: bytes::BytesMut, response: &mut Vec<u8>| {
        endpoint.handle(now, noq_proto::FourTuple::new(peer, None), None, datagram, response)
    },
    transmit: |connection: &mut Connection, now, datagram| {
        connection.poll_transmit(now, std::num::NonZeroUsize::MIN, datagram)
    },
    write: |stream: &mut noq_proto::SendStream<'_>, data| stream.write_chunks(&mut &mut [data][..]).unwrap_or(0),
    path: |connection: &mut Connection| {
        connection.path_stats(noq_proto::PathId::ZERO).expect("the first path exists")
    }
);
