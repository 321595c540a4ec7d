/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * ngtcp2 (github.com/ngtcp2/ngtcp2, v1.25.0) as a stack of windtunnel, and the example of an adapter. It calls the public
 * interface of ngtcp2 and of its crypto helper for GnuTLS alone.
 *
 * ngtcp2 has no buffer for what a stream sends: it asks for the data when it writes a packet. All data are zeros here, so
 * that the adapter keeps the number of bytes that each stream has still to send.
 */
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include <gnutls/gnutls.h>
#include <ngtcp2/ngtcp2.h>
#include <ngtcp2/ngtcp2_crypto.h>
#include <ngtcp2/ngtcp2_crypto_gnutls.h>

#include "windtunnel_stack.h"

/* How many bytes the streams of an end hold together. */
#define SEND_BUFFER (16u << 20)

/* What the server takes at once, in a stream and in all: more than any path here holds. */
#define RECEIVE_WINDOW (64u << 20)

/* How many streams may be open at once. */
#define STREAMS 100

/* The length of connection IDs: those of an end, and the one that a client makes up for the server. */
#define CID_LENGTH 8
#define INITIAL_CID_LENGTH 18

static const char PRIORITIES[] = "%DISABLE_TLS13_COMPAT_MODE:NORMAL:-VERS-ALL:+VERS-TLS1.3:-CIPHER-ALL:+AES-128-GCM:"
                                 "-GROUP-ALL:+GROUP-X25519";

static const char *const CONTROLLERS[] = {"cubic", "reno", "bbr", NULL};
static const ngtcp2_cc_algo ALGORITHMS[] = {NGTCP2_CC_ALGO_CUBIC, NGTCP2_CC_ALGO_RENO, NGTCP2_CC_ALGO_BBR};

static const uint8_t ZEROS[1 << 14];

/* A stream that has data, or its end, still to send. */
struct stream {
	int64_t id;
	uint64_t left;
	int is_finished;
	struct stream *next;
};

/* What happened and was not told. */
struct happening {
	uint32_t kind;
	uint64_t stream;
	struct happening *next;
};

struct end {
	struct windtunnel_config config;
	uint64_t random;
	gnutls_certificate_credentials_t credentials;
	gnutls_session_t tls;
	ngtcp2_crypto_conn_ref tls_to_connection;
	ngtcp2_conn *connection;
	struct sockaddr_in local, remote;
	/* In the order in which they were opened. */
	struct stream *streams;
	uint64_t buffered;
	uint64_t received;
	struct happening *happenings;
	const char *reason;
	/* The connection sends a CONNECTION_CLOSE next, and nothing afterwards. */
	int is_closing;
	int is_closed;
};

/* SplitMix64: all that ngtcp2 draws. GnuTLS draws its keys from the system. */
static uint64_t draw(struct end *end)
{
	uint64_t z = (end->random += 0x9e3779b97f4a7c15);
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

static void fill(struct end *end, uint8_t *bytes, size_t length)
{
	for (size_t i = 0; i < length; i++)
		bytes[i] = (uint8_t)draw(end);
}

static void happened(struct end *end, uint32_t kind, uint64_t stream)
{
	struct happening *happening = calloc(1, sizeof *happening), **last = &end->happenings;
	if (!happening)
		abort();
	*happening = (struct happening){.kind = kind, .stream = stream};
	while (*last)
		last = &(*last)->next;
	*last = happening;
}

static void closed(struct end *end, const char *reason)
{
	if (end->is_closed)
		return;
	end->is_closed = 1;
	end->reason = reason;
	happened(end, WINDTUNNEL_CLOSED, 0);
}

/* An error of ngtcp2 closes the connection, unless the other end has closed it. */
static void check(struct end *end, int error)
{
	if (!error)
		return;
	end->is_closing = !ngtcp2_err_is_fatal(error) && error != NGTCP2_ERR_DRAINING && !end->is_closed;
	closed(end, error == NGTCP2_ERR_DRAINING ? "the other end has closed it" : ngtcp2_strerror(error));
}

/* The stream with data to send that has this number, and what points to it. */
static struct stream **find(struct end *end, int64_t id)
{
	struct stream **stream = &end->streams;
	while (*stream && (*stream)->id != id)
		stream = &(*stream)->next;
	return stream;
}

static void forget(struct end *end, int64_t id)
{
	struct stream **at = find(end, id), *stream = *at;
	if (!stream)
		return;
	end->buffered -= stream->left;
	*at = stream->next;
	free(stream);
}

/* Callbacks of ngtcp2. */

static void on_rand(uint8_t *bytes, size_t length, const ngtcp2_rand_ctx *context)
{
	fill(context->native_handle, bytes, length);
}

static int on_new_cid(ngtcp2_conn *connection, ngtcp2_cid *cid, ngtcp2_stateless_reset_token *token, size_t length,
                      void *end)
{
	(void)connection;
	cid->datalen = length;
	fill(end, cid->data, length);
	fill(end, token->data, sizeof token->data);
	return 0;
}

static int on_handshake(ngtcp2_conn *connection, void *end)
{
	(void)connection;
	happened(end, WINDTUNNEL_CONNECTED, 0);
	return 0;
}

static int on_data(ngtcp2_conn *connection, uint32_t flags, int64_t stream, uint64_t offset, const uint8_t *data,
                   size_t length, void *user, void *stream_user)
{
	struct end *end = user;
	(void)flags, (void)offset, (void)data, (void)stream_user;
	end->received += length;
	ngtcp2_conn_extend_max_offset(connection, length);
	return ngtcp2_conn_extend_max_stream_offset(connection, stream, length) ? NGTCP2_ERR_CALLBACK_FAILURE : 0;
}

/* All of a stream is acknowledged, or received. */
static int on_stream_close(ngtcp2_conn *connection, uint32_t flags, int64_t stream, uint64_t code, void *user,
                           void *stream_user)
{
	struct end *end = user;
	(void)flags, (void)code, (void)stream_user;
	forget(end, stream);
	if (end->config.is_server)
		ngtcp2_conn_extend_max_streams_uni(connection, 1);
	else
		happened(end, WINDTUNNEL_FINISHED, (uint64_t)stream);
	return 0;
}

static ngtcp2_conn *connection_of(ngtcp2_crypto_conn_ref *reference)
{
	return ((struct end *)reference->user_data)->connection;
}

static const ngtcp2_callbacks CALLBACKS = {
    .client_initial = ngtcp2_crypto_client_initial_cb,
    .recv_client_initial = ngtcp2_crypto_recv_client_initial_cb,
    .recv_crypto_data = ngtcp2_crypto_recv_crypto_data_cb,
    .encrypt = ngtcp2_crypto_encrypt_cb,
    .decrypt = ngtcp2_crypto_decrypt_cb,
    .hp_mask = ngtcp2_crypto_hp_mask_cb,
    .recv_retry = ngtcp2_crypto_recv_retry_cb,
    .update_key = ngtcp2_crypto_update_key_cb,
    .delete_crypto_aead_ctx = ngtcp2_crypto_delete_crypto_aead_ctx_cb,
    .delete_crypto_cipher_ctx = ngtcp2_crypto_delete_crypto_cipher_ctx_cb,
    .version_negotiation = ngtcp2_crypto_version_negotiation_cb,
    .get_path_challenge_data2 = ngtcp2_crypto_get_path_challenge_data2_cb,
    .rand = on_rand,
    .get_new_connection_id2 = on_new_cid,
    .handshake_completed = on_handshake,
    .recv_stream_data = on_data,
    .stream_close = on_stream_close,
};

/* Making an end. */

static struct sockaddr_in address(uint32_t host, uint16_t port)
{
	return (struct sockaddr_in){
	    .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(0x0a000000 + host)};
}

static ngtcp2_path path_of(struct end *end)
{
	return (ngtcp2_path){.local = {(struct sockaddr *)&end->local, sizeof end->local},
	                     .remote = {(struct sockaddr *)&end->remote, sizeof end->remote}};
}

/* Returns why it failed. */
static const char *make_tls(struct end *end)
{
	const struct windtunnel_config *config = &end->config;
	gnutls_datum_t certificate = {(uint8_t *)config->certificate, (unsigned)config->certificate_length};
	gnutls_datum_t key = {(uint8_t *)config->key, (unsigned)config->key_length};
	gnutls_datum_t protocol = {(uint8_t *)"windtunnel", 10};
	unsigned flags = config->is_server ? GNUTLS_SERVER | GNUTLS_NO_AUTO_SEND_TICKET : GNUTLS_CLIENT;
	int error = gnutls_certificate_allocate_credentials(&end->credentials);

	if (!error && config->is_server)
		error = gnutls_certificate_set_x509_key_mem(end->credentials, &certificate, &key, GNUTLS_X509_FMT_DER);
	if (!error)
		error = gnutls_init(&end->tls, flags | GNUTLS_NO_END_OF_EARLY_DATA);
	if (!error)
		error = gnutls_priority_set_direct(end->tls, PRIORITIES, NULL);
	if (!error)
		error = gnutls_credentials_set(end->tls, GNUTLS_CRD_CERTIFICATE, end->credentials);
	if (!error)
		error = gnutls_alpn_set_protocols(end->tls, &protocol, 1, 0);
	if (!error && !config->is_server)
		error = gnutls_server_name_set(end->tls, GNUTLS_NAME_DNS, config->server_name, strlen(config->server_name));
	if (error < 0)
		return gnutls_strerror(error);
	if (config->is_server ? ngtcp2_crypto_gnutls_configure_server_session(end->tls)
	                      : ngtcp2_crypto_gnutls_configure_client_session(end->tls))
		return "GnuTLS takes no QUIC";
	end->tls_to_connection = (ngtcp2_crypto_conn_ref){.get_conn = connection_of, .user_data = end};
	gnutls_session_set_ptr(end->tls, &end->tls_to_connection);
	return NULL;
}

static ngtcp2_cc_algo algorithm(const char *controller)
{
	size_t i = 0;
	while (CONTROLLERS[i + 1] && strcmp(CONTROLLERS[i], controller))
		i++;
	return ALGORITHMS[i];
}

/* The connection starts with its first packet: `initial` is that of the client, for the server. */
static int make_connection(struct end *end, const ngtcp2_pkt_hd *initial, uint64_t now)
{
	ngtcp2_cid own = {.datalen = CID_LENGTH}, other = {.datalen = INITIAL_CID_LENGTH};
	ngtcp2_path path = path_of(end);
	ngtcp2_settings settings;
	ngtcp2_transport_params params;
	int error;

	ngtcp2_settings_default(&settings);
	settings.cc_algo = algorithm(end->config.controller);
	settings.initial_ts = now;
	settings.rand_ctx.native_handle = end;
	settings.max_tx_udp_payload_size = end->config.max_udp_payload;
	settings.no_tx_udp_payload_size_shaping = 1;
	settings.no_pmtud = 1;
	ngtcp2_transport_params_default(&params);
	params.initial_max_data = RECEIVE_WINDOW;
	params.initial_max_stream_data_uni = RECEIVE_WINDOW;
	params.initial_max_streams_uni = end->config.is_server ? STREAMS : 0;
	params.max_idle_timeout = 0;

	fill(end, own.data, own.datalen);
	if (initial) {
		params.original_dcid = initial->dcid;
		params.original_dcid_present = 1;
		error = ngtcp2_conn_server_new(&end->connection, &initial->scid, &own, &path, initial->version, &CALLBACKS,
		                               &settings, &params, NULL, end);
	} else {
		fill(end, other.data, other.datalen);
		error = ngtcp2_conn_client_new(&end->connection, &other, &own, &path, NGTCP2_PROTO_VER_V1, &CALLBACKS,
		                               &settings, &params, NULL, end);
	}
	if (!error)
		ngtcp2_conn_set_tls_native_handle(end->connection, end->tls);
	return error;
}

/* The functions of the table. */

static void ng_destroy(void *opaque)
{
	struct end *end = opaque;
	ngtcp2_conn_del(end->connection);
	if (end->tls)
		gnutls_deinit(end->tls);
	if (end->credentials)
		gnutls_certificate_free_credentials(end->credentials);
	while (end->streams)
		forget(end, end->streams->id);
	while (end->happenings) {
		struct happening *first = end->happenings;
		end->happenings = first->next;
		free(first);
	}
	free(end);
}

static void *ng_create(const struct windtunnel_config *config, const char **error)
{
	struct end *end;

	if (config->initial_window) {
		*error = "ngtcp2 has no setting for the initial window";
		return NULL;
	}
	end = calloc(1, sizeof *end);
	if (!end) {
		*error = "no memory";
		return NULL;
	}
	end->config = *config;
	end->random = config->seed * 2 + config->is_server;
	end->local = config->is_server ? address(2, 443) : address(1, 50000);
	end->remote = config->is_server ? address(1, 50000) : address(2, 443);
	*error = make_tls(end);
	if (*error) {
		ng_destroy(end);
		return NULL;
	}
	return end;
}

static void ng_connect(void *opaque, uint64_t now)
{
	struct end *end = opaque;
	check(end, make_connection(end, NULL, now));
}

static void ng_receive(void *opaque, const uint8_t *datagram, size_t length, uint32_t ecn, uint64_t now)
{
	struct end *end = opaque;
	ngtcp2_path path = path_of(end);
	ngtcp2_pkt_info info = {.ecn = (uint8_t)ecn};

	if (!end->connection && end->config.is_server) {
		ngtcp2_pkt_hd initial;
		/* What is no Initial packet opens no connection. */
		if (ngtcp2_accept(&initial, datagram, length))
			return;
		check(end, make_connection(end, &initial, now));
	}
	if (end->connection && !end->is_closed)
		check(end, ngtcp2_conn_read_pkt(end->connection, &path, &info, datagram, length, now));
}

static size_t transmit_close(struct end *end, uint8_t *datagram, size_t capacity, ngtcp2_pkt_info *info, uint64_t now)
{
	ngtcp2_ccerr error;
	ngtcp2_ssize length;

	end->is_closing = 0;
	ngtcp2_ccerr_default(&error);
	length = ngtcp2_conn_write_connection_close(end->connection, NULL, info, datagram, capacity, &error, now);
	return length > 0 ? (size_t)length : 0;
}

/* Fills one packet with what the streams have, in their order. */
static size_t ng_transmit(void *opaque, uint8_t *datagram, size_t capacity, uint32_t *ecn, uint64_t now)
{
	struct end *end = opaque;
	ngtcp2_pkt_info info = {0};
	ngtcp2_ssize length, taken;
	int is_blocked = 0;

	if (!end->connection)
		return 0;
	if (end->is_closing)
		return transmit_close(end, datagram, capacity, &info, now);
	if (end->is_closed)
		return 0;
	do {
		struct stream *stream = is_blocked ? NULL : end->streams;
		int is_last = stream && stream->left <= sizeof ZEROS && stream->is_finished;
		uint32_t flags = is_last ? NGTCP2_WRITE_STREAM_FLAG_FIN : NGTCP2_WRITE_STREAM_FLAG_NONE;
		ngtcp2_vec data = {(uint8_t *)ZEROS, 0};

		if (stream) {
			data.len = stream->left < sizeof ZEROS ? stream->left : sizeof ZEROS;
			flags |= NGTCP2_WRITE_STREAM_FLAG_MORE;
			/* An open stream that waits for more data has nothing to write, nor have those behind it. */
			if (!data.len && !is_last)
				stream = NULL;
		}
		taken = -1;
		length = ngtcp2_conn_writev_stream(end->connection, NULL, &info, datagram, capacity, &taken,
		                                   stream ? flags : NGTCP2_WRITE_STREAM_FLAG_NONE, stream ? stream->id : -1,
		                                   stream ? &data : NULL, stream ? 1 : 0, now);
		if (stream && taken >= 0) {
			stream->left -= (uint64_t)taken;
			end->buffered -= (uint64_t)taken;
			if (is_last && !stream->left)
				forget(end, stream->id);
		}
		/* Flow control, or a stream that the other end has stopped. */
		if (length == NGTCP2_ERR_STREAM_DATA_BLOCKED)
			is_blocked = 1;
		else if (length == NGTCP2_ERR_STREAM_SHUT_WR || length == NGTCP2_ERR_STREAM_NOT_FOUND)
			forget(end, stream->id);
		else if (length != NGTCP2_ERR_WRITE_MORE)
			break;
	} while (1);
	if (length < 0) {
		check(end, (int)length);
		return 0;
	}
	/* Sets the time of the next paced packet. */
	ngtcp2_conn_update_pkt_tx_time(end->connection, now);
	*ecn = info.ecn;
	return (size_t)length;
}

static uint64_t ng_next_timer(void *opaque)
{
	struct end *end = opaque;
	return end->connection && !end->is_closed ? ngtcp2_conn_get_expiry2(end->connection) : WINDTUNNEL_UNTOLD;
}

static void ng_expire(void *opaque, uint64_t now)
{
	struct end *end = opaque;
	if (end->connection && !end->is_closed)
		check(end, ngtcp2_conn_handle_expiry(end->connection, now));
}

static void ng_poll(void *opaque, struct windtunnel_event *event)
{
	struct end *end = opaque;
	struct happening *first = end->happenings;

	event->kind = WINDTUNNEL_NOTHING;
	if (!first)
		return;
	*event = (struct windtunnel_event){.kind = first->kind, .stream = first->stream, .reason = end->reason};
	end->happenings = first->next;
	free(first);
}

static int64_t ng_open(void *opaque)
{
	struct end *end = opaque;
	struct stream **last = &end->streams, *stream = calloc(1, sizeof *stream);

	if (!stream || !end->connection || ngtcp2_conn_open_uni_stream(end->connection, &stream->id, NULL)) {
		free(stream);
		return -1;
	}
	while (*last)
		last = &(*last)->next;
	*last = stream;
	return stream->id;
}

static size_t ng_write(void *opaque, uint64_t id, const uint8_t *data, size_t length)
{
	struct end *end = opaque;
	struct stream *stream = *find(end, (int64_t)id);
	uint64_t space = SEND_BUFFER - end->buffered;
	size_t taken = length < space ? length : (size_t)space;

	(void)data;
	if (!stream)
		return 0;
	stream->left += taken;
	end->buffered += taken;
	return taken;
}

static void ng_finish(void *opaque, uint64_t id)
{
	struct stream *stream = *find(opaque, (int64_t)id);
	if (stream)
		stream->is_finished = 1;
}

static void ng_reset(void *opaque, uint64_t id)
{
	struct end *end = opaque;
	forget(end, (int64_t)id);
	if (end->connection)
		ngtcp2_conn_shutdown_stream_write(end->connection, 0, (int64_t)id, 0);
}

static uint64_t ng_read(void *opaque)
{
	struct end *end = opaque;
	uint64_t received = end->received;
	end->received = 0;
	return received;
}

static void ng_close(void *opaque, uint64_t now)
{
	struct end *end = opaque;
	(void)now;
	end->is_closing = end->connection && !end->is_closed;
	closed(end, "closed");
}

static void ng_state(void *opaque, struct windtunnel_state *state)
{
	struct end *end = opaque;
	uint64_t payload = end->config.max_udp_payload, least = 2 * payload > 14720 ? 2 * payload : 14720;
	/* Before there is a connection: the initial window is that of RFC 9002 section 7.2. */
	ngtcp2_conn_info info = {.cwnd = 10 * payload < least ? 10 * payload : least, .ssthresh = UINT64_MAX};

	if (end->connection)
		ngtcp2_conn_get_conn_info2(end->connection, &info);
	state->cwnd = info.cwnd;
	state->bytes_in_flight = info.bytes_in_flight;
	state->ssthresh = info.ssthresh == UINT64_MAX ? 0 : info.ssthresh;
	state->smoothed_rtt = info.smoothed_rtt;
	state->latest_rtt = info.latest_rtt;
	state->min_rtt = info.min_rtt == UINT64_MAX ? 0 : info.min_rtt;
	state->packets_sent = info.pkt_sent;
	state->packets_lost = info.pkt_lost;
	state->bytes_sent = info.bytes_sent;
	state->bytes_lost = info.bytes_lost;
}

const struct windtunnel_stack *windtunnel_stack(void)
{
	static const char *const unseeded[] = {NULL};
	static const struct windtunnel_stack table = {
	    .version = WINDTUNNEL_STACK_VERSION,
	    .name = "ngtcp2",
	    .version_text = NGTCP2_VERSION,
	    .controllers = CONTROLLERS,
	    .unseeded = unseeded,
	    .create = ng_create,
	    .destroy = ng_destroy,
	    .connect = ng_connect,
	    .receive = ng_receive,
	    .transmit = ng_transmit,
	    .next_timer = ng_next_timer,
	    .expire = ng_expire,
	    .poll = ng_poll,
	    .open = ng_open,
	    .write = ng_write,
	    .finish = ng_finish,
	    .reset = ng_reset,
	    .read = ng_read,
	    .close = ng_close,
	    .state = ng_state,
	};
	return &table;
}
