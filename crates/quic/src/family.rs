//! What quinn and its fork noq have in common: their parameters, and one end of a connection.
//!
//! Their types have the same names and nearly the same methods. The module that calls the macro has those that differ:
//! `handle`, `transmit`, `window`, `endpoint`, `cids`, `write` and `Watcher`.

/// Writes the parameters and the connection of a stack of quinn's family.
macro_rules! family {
    (
        $proto:ident, $params:ident, $name:literal, $summary:literal, $source:literal,
        controllers: [$first:literal => $first_config:ident $(, $other:literal => $config:ident)*],
        unseeded: $unseeded:literal, undoes: $undoes:literal
    ) => {
        /// The stack's configuration; what is left out is its default.
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(default, deny_unknown_fields)]
        #[schemars(extend("x-source" = $source))]
        pub struct $params {
            /// The initial congestion window of its own controllers.
            pub initial_window: Option<Bytes>,
            /// How many packets the receiver may leave unacknowledged: it is asked to by `ACK_FREQUENCY` frames. Without
            /// it, none are sent.
            pub ack_frequency: Option<u32>,
            /// How many packets later one must be acknowledged for a packet to be lost: 3, and not less, in RFC 9002
            /// section 6.1.1.
            pub packet_threshold: Option<u32>,
            /// After how many round trips a packet before an acknowledged one is lost (RFC 9002 section 6.1.2).
            pub time_threshold: Option<f32>,
            /// The round-trip time that is assumed before the first sample.
            pub initial_rtt: Option<Duration>,
            /// How many bytes the sender may have sent and not seen acknowledged.
            pub send_window: Option<Bytes>,
            /// How many bytes the receiver takes at once, in a stream and in all.
            pub receive_window: Option<Bytes>,
            /// How many bytes of DATAGRAM frames may wait to be sent: beyond that, the oldest give way to new ones.
            pub datagram_buffer: Option<Bytes>,
            /// Whether packets are left unprotected: the handshake is real, and packets have the same sizes, but no cipher
            /// runs. Captures of them cannot be decrypted.
            pub null_crypto: bool,
            /// What its hosts do wrong, so that a test of stacks can be seen to fail.
            pub fault: Option<Fault>,
        }

        impl Params for $params {
            const NAME: &'static str = $name;
            const SUMMARY: &'static str = $summary;

            fn check(&self) -> Result<(), OutOfRange> {
                let too_small = |value: Option<Bytes>, least: u64| value.filter(|bytes| *bytes < Bytes::new(least));
                if let Some(bytes) = too_small(self.initial_window, 2_400) {
                    return Err(OutOfRange::new("initial_window", bytes, "at least 2400 B, two packets"));
                }
                for (key, window) in [("send_window", self.send_window), ("receive_window", self.receive_window)] {
                    if let Some(bytes) = too_small(window, 1_200) {
                        return Err(OutOfRange::new(key, bytes, "at least 1200 B, a packet"));
                    }
                }
                if let Some(bytes) = too_small(self.datagram_buffer, 2_400) {
                    return Err(OutOfRange::new("datagram_buffer", bytes, "at least 2400 B, two packets"));
                }
                if let Some(bytes) = self.receive_window.filter(|bytes| VarInt::from_u64(bytes.get()).is_err()) {
                    return Err(OutOfRange::new("receive_window", bytes, "less than 2^62 B"));
                }
                if let Some(packets) = self.packet_threshold.filter(|packets| *packets < 1) {
                    return Err(OutOfRange::new("packet_threshold", packets, "at least 1"));
                }
                match self.time_threshold {
                    Some(threshold) if !(1.0..=16.0).contains(&threshold) => {
                        Err(OutOfRange::new("time_threshold", threshold, "from 1 to 16 round trips"))
                    }
                    _ => Ok(()),
                }
            }
        }

        impl StackParams for $params {
            fn controllers(&self) -> &'static [&'static str] {
                &[$first $(, $other)*]
            }

            fn carries(&self, application: &ApplicationConfig) -> Result<(), String> {
                stack::carries(application, true)
            }

            fn counts_marks(&self) -> bool {
                true
            }

            fn draws_unseeded(&self, controller: &str) -> bool {
                controller == $unseeded
            }

            fn stack(&self, controllers: StackControllers) -> Arc<dyn Stack> {
                stack::stack(self, controllers)
            }
        }

        impl $params {
            /// The transport of one end of a flow. The path's MTU is known: no packet is larger, and none probes for
            /// it.
            fn transport(&self, flow: &FlowContext<'_>) -> TransportConfig {
                let mut transport = TransportConfig::default();
                transport.initial_mtu(stack::payload(flow)).mtu_discovery_config(None).max_idle_timeout(None);
                if let Some(threshold) = self.ack_frequency {
                    let mut config = AckFrequencyConfig::default();
                    config.ack_eliciting_threshold(VarInt::from_u32(threshold));
                    transport.ack_frequency_config(Some(config));
                }
                if let Some(packets) = self.packet_threshold {
                    transport.packet_threshold(packets);
                }
                if let Some(round_trips) = self.time_threshold {
                    transport.time_threshold(round_trips);
                }
                if let Some(rtt) = self.initial_rtt {
                    transport.initial_rtt(std::time::Duration::from_nanos(rtt.as_nanos()));
                }
                if let Some(bytes) = self.send_window {
                    transport.send_window(bytes.get());
                }
                if let Some(bytes) = self.datagram_buffer {
                    transport.datagram_send_buffer_size(bytes.get() as usize);
                }
                if let Some(Ok(bytes)) = self.receive_window.map(|bytes| VarInt::from_u64(bytes.get())) {
                    transport.receive_window(bytes).stream_receive_window(bytes);
                }
                transport
            }
        }

        impl stack::Ends for $params {
            const UNDOES: bool = $undoes;

            fn fault(&self) -> Option<Fault> {
                self.fault
            }

            fn datagram_buffer(&self) -> Option<Bytes> {
                self.datagram_buffer
            }

            fn ends(
                &self,
                controller: &StackController,
                flow: &FlowContext<'_>,
                record: &Record,
            ) -> stack::Pair {
                const TLS: &str = "the certificate and the key are good";
                let provider = if self.null_crypto { null_crypto::provider } else { tls::provider };
                let secrets = Secrets::default();
                let noted = |mut tls: rustls::ClientConfig| {
                    tls.key_log = Arc::new(secrets.clone());
                    QuicClientConfig::try_from(tls).ok()
                };
                let suite = tls::client(provider()).ok().and_then(noted).expect(TLS);
                let mut client = ClientConfig::new(Arc::new(suite));
                let mut transport = self.transport(flow);
                let factory: Arc<dyn ControllerFactory + Send + Sync> = Arc::new(Factory {
                    initial_window: self.initial_window,
                    controller: controller.clone(),
                    seed: flow.seed,
                    record: record.clone(),
                });
                let at_start = Arc::clone(&factory).build(instant(Time::ZERO), stack::payload(flow));
                transport.congestion_controller_factory(factory);
                client.transport_config(Arc::new(transport));
                let seed = flow.seed;
                client.initial_dst_cid_provider(Arc::new(move || {
                    let mut cid = [0; seed::INITIAL_CID_LENGTH];
                    seed::Cids::new(seed, false).fill(&mut cid);
                    ConnectionId::new(&cid)
                }));
                let suite = tls::server(provider()).ok().and_then(|tls| QuicServerConfig::try_from(tls).ok()).expect(TLS);
                let mut server = ServerConfig::with_crypto(Arc::new(suite));
                server.transport_config(Arc::new(self.transport(flow)));
                stack::Pair {
                    client: Box::new(End::new(seed, Role::Client(client, secrets))),
                    server: Box::new(End::new(seed, Role::Server(Arc::new(server)))),
                    initial_window: at_start.window(),
                }
            }
        }

        /// Makes the sender's controller behind a watcher.
        struct Factory {
            initial_window: Option<Bytes>,
            controller: StackController,
            seed: u64,
            record: Record,
        }

        impl ControllerFactory for Factory {
            fn build(self: Arc<Self>, now: Instant, mtu: u16) -> Box<dyn Controller> {
                macro_rules! own {
                    ($own:ident) => {{
                        let mut config = $own::default();
                        if let Some(window) = self.initial_window {
                            config.initial_window(window.get());
                        }
                        Inside::Own(Arc::new(config).build(now, mtu))
                    }};
                }
                let inside = match &self.controller {
                    StackController::Own($first) => own!($first_config),
                    $(StackController::Own($other) => own!($config),)*
                    StackController::Own(name) => unreachable!("the stack names no controller {name}"),
                    StackController::Ours(params) => {
                        let start = instant(Time::ZERO);
                        let hosted = Hosted::new(Arc::clone(params), start, mtu, self.seed);
                        let hosted = match &self.record.marks {
                            Some(marks) => hosted.hearing(marks.clone()),
                            None => hosted,
                        };
                        Inside::Ours(Box::new(Adapter::new(hosted)))
                    }
                };
                Box::new(Watcher { inside, record: self.record.clone() })
            }
        }

        /// The controller that decides the window.
        enum Inside {
            Own(Box<dyn Controller>),
            Ours(Box<Adapter>),
        }

        impl Inside {
            fn on_new_path(&self) -> Inside {
                match self {
                    Inside::Own(own) => Inside::Own(own.clone_box()),
                    Inside::Ours(ours) => Inside::Ours(Box::new(ours.on_new_path())),
                }
            }

            /// Why slow start ended: the stack's own controllers do not say.
            fn slow_start_exit(&self) -> Option<ExitReason> {
                match self {
                    Inside::Own(_) => None,
                    Inside::Ours(ours) => ours.hosted().slow_start_exit(),
                }
            }
        }

        impl std::ops::Deref for Inside {
            type Target = dyn Controller;

            fn deref(&self) -> &(dyn Controller + 'static) {
                match self {
                    Inside::Own(own) => &**own,
                    Inside::Ours(ours) => &**ours,
                }
            }
        }

        impl std::ops::DerefMut for Inside {
            fn deref_mut(&mut self) -> &mut (dyn Controller + 'static) {
                match self {
                    Inside::Own(own) => &mut **own,
                    Inside::Ours(ours) => &mut **ours,
                }
            }
        }

        impl std::fmt::Debug for Inside {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(match self {
                    Inside::Own(_) => "Own",
                    Inside::Ours(_) => "Ours",
                })
            }
        }

        /// Connection IDs from the flow's seed.
        struct SeededCids(seed::Cids);

        impl ConnectionIdGenerator for SeededCids {
            fn generate_cid(&mut self) -> ConnectionId {
                let mut cid = [0; seed::CID_LENGTH];
                self.0.fill(&mut cid);
                ConnectionId::new(&cid)
            }

            fn cid_len(&self) -> usize {
                seed::CID_LENGTH
            }

            fn cid_lifetime(&self) -> Option<std::time::Duration> {
                None
            }
        }

        /// Which end it is.
        enum Role {
            Client(ClientConfig, Secrets),
            Server(Arc<ServerConfig>),
        }

        /// One end of a connection, with the endpoint that knows it.
        struct End {
            endpoint: Endpoint,
            connection: Option<(ConnectionHandle, proto::Connection)>,
            /// The configuration of a client that has not connected.
            client: Option<ClientConfig>,
            peer: SocketAddr,
            /// What the client's TLS has noted.
            secrets: Secrets,
            /// A datagram that the endpoint sends without a connection.
            response: Vec<u8>,
            happened: VecDeque<Happening>,
            /// Streams that may have something to read.
            readable: Vec<StreamId>,
            /// The room for DATAGRAM frames while none waits.
            datagram_space: Option<usize>,
        }

        impl std::fmt::Debug for End {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct("End").field("peer", &self.peer).finish_non_exhaustive()
            }
        }

        impl End {
            fn new(seed: u64, role: Role) -> End {
                let (is_server, client, server, secrets) = match role {
                    Role::Client(config, secrets) => (false, Some(config), None, secrets),
                    Role::Server(config) => (true, None, Some(config), Secrets::default()),
                };
                let mut config = EndpointConfig::default();
                config.rng_seed(Some(seed::of_end(seed, is_server)));
                config.cid_generator(cids(seed, is_server));
                let (host, port) = if is_server { (1, 50_000) } else { (2, 443) };
                End {
                    endpoint: endpoint(Arc::new(config), server),
                    connection: None,
                    client,
                    peer: SocketAddr::from(([10, 0, 0, host], port)),
                    secrets,
                    response: Vec::new(),
                    happened: VecDeque::new(),
                    readable: Vec::new(),
                    datagram_space: None,
                }
            }

            /// Passes messages between endpoint and connection, and hears what happened.
            fn settle(&mut self) {
                let Some((handle, connection)) = &mut self.connection else { return };
                while let Some(event) = connection.poll_endpoint_events() {
                    if let Some(event) = self.endpoint.handle_event(*handle, event) {
                        connection.handle_event(event);
                    }
                }
                while let Some(event) = connection.poll() {
                    match event {
                        Event::Connected => self.happened.push_back(Happening::Connected),
                        Event::ConnectionLost { reason } => {
                            self.happened.push_back(Happening::Closed(reason.to_string()));
                        }
                        Event::Stream(StreamEvent::Finished { id }) => {
                            self.happened.push_back(Happening::Finished(VarInt::from(id).into_inner()));
                        }
                        Event::Stream(StreamEvent::Opened { dir: Dir::Uni }) => {
                            while let Some(id) = connection.streams().accept(Dir::Uni) {
                                self.readable.push(id);
                            }
                        }
                        _ => {}
                    }
                }
            }
        }

        /// The ECN field of a datagram that the stack sends.
        fn ecn_field(ecn: Option<EcnCodepoint>) -> Ecn {
            match ecn {
                None => Ecn::NotEct,
                Some(EcnCodepoint::Ect0) => Ecn::Ect0,
                Some(EcnCodepoint::Ect1) => Ecn::Ect1,
                Some(EcnCodepoint::Ce) => Ecn::Ce,
            }
        }

        /// The stream of a number.
        fn stream_id(stream: u64) -> StreamId {
            StreamId::from(VarInt::from_u64(stream).unwrap_or(VarInt::MAX))
        }

        impl Connection for End {
            fn connect(&mut self, now: Instant) {
                if let Some(config) = self.client.take() {
                    let connection = self.endpoint.connect(now, config, self.peer, tls::SERVER_NAME);
                    self.connection = Some(connection.expect("the configuration is complete"));
                    self.settle();
                }
            }

            fn receive(&mut self, datagram: &[u8], ecn: Ecn, now: Instant) {
                let ecn = match ecn {
                    Ecn::NotEct => None,
                    Ecn::Ect0 => Some(EcnCodepoint::Ect0),
                    Ecn::Ect1 => Some(EcnCodepoint::Ect1),
                    Ecn::Ce => Some(EcnCodepoint::Ce),
                };
                let mut response = Vec::new();
                match handle(&mut self.endpoint, now, self.peer, ecn, datagram.into(), &mut response) {
                    Some(DatagramEvent::ConnectionEvent(_, event)) => {
                        if let Some((_, connection)) = &mut self.connection {
                            connection.handle_event(event);
                        }
                    }
                    Some(DatagramEvent::NewConnection(incoming)) => {
                        match self.endpoint.accept(incoming, now, &mut response, None) {
                            Ok(connection) => self.connection = Some(connection),
                            Err(error) => {
                                self.happened.push_back(Happening::Closed(error.cause.to_string()));
                                self.response = response;
                            }
                        }
                    }
                    Some(DatagramEvent::Response(_)) => self.response = response,
                    None => {}
                }
                self.settle();
            }

            fn transmit(&mut self, datagram: &mut Vec<u8>, now: Instant) -> Option<Ecn> {
                if !self.response.is_empty() {
                    datagram.append(&mut self.response);
                    return Some(Ecn::NotEct);
                }
                let ecn = transmit(&mut self.connection.as_mut()?.1, now, datagram)?;
                self.settle();
                Some(ecn)
            }

            fn next_timer(&mut self) -> Option<Instant> {
                self.connection.as_mut()?.1.poll_timeout()
            }

            fn expire(&mut self, now: Instant) {
                if let Some((_, connection)) = &mut self.connection {
                    connection.handle_timeout(now);
                    self.settle();
                }
            }

            fn happened(&mut self) -> Option<Happening> {
                self.happened.pop_front()
            }

            fn open(&mut self) -> Option<u64> {
                let (_, connection) = self.connection.as_mut()?;
                connection.streams().open(Dir::Uni).map(|id| VarInt::from(id).into_inner())
            }

            fn write(&mut self, stream: u64, data: &'static [u8]) -> usize {
                let Some((_, connection)) = &mut self.connection else { return 0 };
                write(&mut connection.send_stream(stream_id(stream)), bytes::Bytes::from_static(data))
            }

            fn finish(&mut self, stream: u64) {
                if let Some((_, connection)) = &mut self.connection {
                    let _ = connection.send_stream(stream_id(stream)).finish();
                }
            }

            fn reset(&mut self, stream: u64) {
                if let Some((_, connection)) = &mut self.connection {
                    let _ = connection.send_stream(stream_id(stream)).reset(VarInt::from_u32(0));
                }
            }

            fn read(&mut self) -> u64 {
                let Some((_, connection)) = &mut self.connection else { return 0 };
                let mut read = 0;
                self.readable.retain(|id| {
                    let mut stream = connection.recv_stream(*id);
                    let Ok(mut chunks) = stream.read(true) else { return false };
                    let is_open = loop {
                        match chunks.next(usize::MAX) {
                            Ok(Some(chunk)) => read += chunk.bytes.len() as u64,
                            Err(ReadError::Blocked) => break true,
                            Ok(None) | Err(ReadError::Reset(_)) => break false,
                        }
                    };
                    let _ = chunks.finalize();
                    is_open
                });
                read
            }

            fn send_datagram(&mut self, frame: bytes::Bytes) {
                if let Some((_, connection)) = &mut self.connection {
                    connection.datagrams().send(frame, true).expect("a DATAGRAM frame fits into a packet");
                }
            }

            fn holds_datagrams(&mut self) -> bool {
                let Some((_, connection)) = &mut self.connection else { return false };
                let space = connection.datagrams().send_buffer_space();
                space < *self.datagram_space.get_or_insert(space)
            }

            fn read_datagram(&mut self) -> Option<bytes::Bytes> {
                self.connection.as_mut()?.1.datagrams().recv()
            }

            fn close(&mut self, now: Instant) {
                if let Some((_, connection)) = &mut self.connection {
                    connection.close(now, VarInt::from_u32(0), bytes::Bytes::new());
                }
            }

            fn window(&self) -> Option<u64> {
                window(&self.connection.as_ref()?.1)
            }

            fn secrets(&self) -> String {
                self.secrets.lines()
            }
        }
    };
}

pub(crate) use family;
