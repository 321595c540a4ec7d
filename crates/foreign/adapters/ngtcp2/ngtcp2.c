/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * ngtcp2 (github.com/ngtcp2/ngtcp2, v1.25.0) as a stack of windtunnel, and the example of an adapter. It calls the
 * public interface of ngtcp2 and of its crypto helper for GnuTLS alone.
 *
 * ngtcp2 has no buffer for what a stream sends: it asks for the data when it writes a packet. All data are zeros here,
 * so that the adapter keeps the number of bytes that each stream has still to send.
 */
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include <ngtcp2/ngtcp2.h>
#include <ngtcp2/ngtcp2_crypto.h>

#include "tls.h"
#include "windtunnel_stack.h"

/* How many bytes the streams of an end hold together. */
#define SEND_BUFFER (16u << 20)

/* What the server takes at once, in a stream and in all: more than any path here holds. */
#define RECEIVE_WINDOW (64u << 20)

/* How many streams may be open at once. */
#define STREAMS 100

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

struct end {
	struct windtunnel_config config;
	uint64_t random;
	struct tls tls;
	ngtcp2_crypto_conn_ref tls_to_connection;
	ngtcp2_conn *connection;
	struct sockaddr_in local, remote;
	/* In the order in which they were opened. */
	struct stream *streams;
	uint64_t buffered;
	uint64_t received;
	/* Streams that are acknowledged, until poll() tells. */
	uint64_t *acked;
	size_t acked_count;
	int is_connected, told_connected;
	/* Why the connection is closed, and whether it has to say so to the other end. */
	const char *closed;
	int told_closed, sends_close;
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

/* An error of ngtcp2 closes the connection. */
static void check(struct end *end, int error)
{
	if (!error || end->closed)
		return;
	end->closed = error == NGTCP2_ERR_DRAINING ? "the other end has closed it" : ngtcp2_strerror(error);
	end->sends_close = end->connection && error != NGTCP2_ERR_DRAINING && !ngtcp2_err_is_fatal(error);
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
	cid->datalen = length;
	fill(end, cid->data, length);
	fill(end, token->data, sizeof token->data);
	return 0;
}

static int on_handshake(ngtcp2_conn *connection, void *end)
{
	((struct end *)end)->is_connected = 1;
	return 0;
}

static int on_data(ngtcp2_conn *connection, uint32_t flags, int64_t stream, uint64_t offset, const uint8_t *data,
                   size_t length, void *user, void *stream_user)
{
	struct end *end = user;
	end->received += length;
	ngtcp2_conn_extend_max_offset(connection, length);
	return ngtcp2_conn_extend_max_stream_offset(connection, stream, length) ? NGTCP2_ERR_CALLBACK_FAILURE : 0;
}

/* All of a stream is acknowledged, or received. */
static int on_stream_close(ngtcp2_conn *connection, uint32_t flags, int64_t stream, uint64_t code, void *user,
                           void *stream_user)
{
	struct end *end = user;
	forget(end, stream);
	if (end->config.is_server) {
		ngtcp2_conn_extend_max_streams_uni(connection, 1);
		return 0;
	}
	uint64_t *acked = realloc(end->acked, (end->acked_count + 1) * sizeof *acked);
	if (!acked)
		return NGTCP2_ERR_CALLBACK_FAILURE;
	acked[end->acked_count++] = (uint64_t)stream;
	end->acked = acked;
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
	ngtcp2_cid own = {.datalen = 8}, other = {.datalen = 18};
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
		ngtcp2_conn_set_tls_native_handle(end->connection, end->tls.session);
	return error;
}

/* The functions of the table. */

static void ng_destroy(void *opaque)
{
	struct end *end = opaque;
	ngtcp2_conn_del(end->connection);
	free_tls(&end->tls);
	while (end->streams)
		forget(end, end->streams->id);
	free(end->acked);
	free(end);
}

static void *ng_create(const struct windtunnel_config *config, const char **error)
{
	struct end *end = calloc(1, sizeof *end);

	if (!end) {
		*error = "no memory";
		return NULL;
	}
	end->config = *config;
	end->random = config->seed * 2 + config->is_server;
	end->local = config->is_server ? address(2, 443) : address(1, 50000);
	end->remote = config->is_server ? address(1, 50000) : address(2, 443);
	end->tls_to_connection = (ngtcp2_crypto_conn_ref){.get_conn = connection_of, .user_data = end};
	*error = config->initial_window ? "ngtcp2 has no setting for it"
	                                : make_tls(&end->tls, &end->config, &end->tls_to_connection);
	if (!*error)
		return end;
	ng_destroy(end);
	return NULL;
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
	if (end->connection && !end->closed)
		check(end, ngtcp2_conn_read_pkt(end->connection, &path, &info, datagram, length, now));
}

/* Writes data of a stream into a packet, which takes more while this returns NGTCP2_ERR_WRITE_MORE. */
static ngtcp2_ssize write_stream(struct end *end, struct stream *stream, ngtcp2_pkt_info *info, uint8_t *datagram,
                                 size_t capacity, uint64_t now)
{
	int is_last = stream->is_finished && stream->left <= sizeof ZEROS;
	uint32_t flags = NGTCP2_WRITE_STREAM_FLAG_MORE | (is_last ? NGTCP2_WRITE_STREAM_FLAG_FIN : 0);
	ngtcp2_vec data = {(uint8_t *)ZEROS, stream->left < sizeof ZEROS ? stream->left : sizeof ZEROS};
	ngtcp2_ssize taken = -1;
	ngtcp2_ssize length = ngtcp2_conn_writev_stream(end->connection, NULL, info, datagram, capacity, &taken, flags,
	                                                stream->id, &data, 1, now);

	if (length == NGTCP2_ERR_STREAM_SHUT_WR || length == NGTCP2_ERR_STREAM_NOT_FOUND) {
		forget(end, stream->id);
		return NGTCP2_ERR_WRITE_MORE;
	}
	if (taken >= 0) {
		stream->left -= (uint64_t)taken;
		end->buffered -= (uint64_t)taken;
		if (is_last && !stream->left)
			forget(end, stream->id);
	}
	return length;
}

static ngtcp2_ssize write_close(struct end *end, ngtcp2_pkt_info *info, uint8_t *datagram, size_t capacity,
                                uint64_t now)
{
	ngtcp2_ccerr error;
	ngtcp2_ccerr_default(&error);
	end->sends_close = 0;
	return ngtcp2_conn_write_connection_close(end->connection, NULL, info, datagram, capacity, &error, now);
}

/* One packet, with what the streams have, in the order in which they were opened. */
static size_t ng_transmit(void *opaque, uint8_t *datagram, size_t capacity, uint32_t *ecn, uint64_t now)
{
	struct end *end = opaque;
	ngtcp2_pkt_info info = {0};
	ngtcp2_ssize length = NGTCP2_ERR_WRITE_MORE;

	if (!end->connection || (end->closed && !end->sends_close))
		return 0;
	if (end->sends_close) {
		length = write_close(end, &info, datagram, capacity, now);
	} else {
		while (length == NGTCP2_ERR_WRITE_MORE && end->streams && (end->streams->left || end->streams->is_finished))
			length = write_stream(end, end->streams, &info, datagram, capacity, now);
		/* There are no more data, or flow control keeps them: what else there is to send. */
		if (length == NGTCP2_ERR_WRITE_MORE || length == NGTCP2_ERR_STREAM_DATA_BLOCKED)
			length = ngtcp2_conn_write_pkt(end->connection, NULL, &info, datagram, capacity, now);
		/* Sets the time of the next paced packet. */
		ngtcp2_conn_update_pkt_tx_time(end->connection, now);
	}
	*ecn = info.ecn;
	check(end, length < 0 ? (int)length : 0);
	return length > 0 ? (size_t)length : 0;
}

static uint64_t ng_next_timer(void *opaque)
{
	struct end *end = opaque;
	return end->connection && !end->closed ? ngtcp2_conn_get_expiry2(end->connection) : WINDTUNNEL_UNTOLD;
}

static void ng_expire(void *opaque, uint64_t now)
{
	struct end *end = opaque;
	if (end->connection && !end->closed)
		check(end, ngtcp2_conn_handle_expiry(end->connection, now));
}

static void ng_poll(void *opaque, struct windtunnel_event *event)
{
	struct end *end = opaque;

	event->kind = WINDTUNNEL_NOTHING;
	if (end->is_connected && !end->told_connected) {
		end->told_connected = 1;
		event->kind = WINDTUNNEL_CONNECTED;
	} else if (end->acked_count) {
		event->kind = WINDTUNNEL_FINISHED;
		event->stream = end->acked[--end->acked_count];
	} else if (end->closed && !end->told_closed) {
		end->told_closed = 1;
		event->kind = WINDTUNNEL_CLOSED;
		event->reason = end->closed;
	}
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
	if (end->closed)
		return;
	end->closed = "closed";
	end->sends_close = end->connection != NULL;
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
