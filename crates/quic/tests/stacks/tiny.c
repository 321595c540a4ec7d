/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The smallest stack that carries data, for tests: a window of ten datagrams, and an ACK for each. It repairs no losses.
 * A datagram is one byte, which says what it is, and zeros. Each macro below makes it do one thing wrong.
 */
#include <stdlib.h>
#include <string.h>

#include "windtunnel_stack.h"

#ifndef VERSION
#define VERSION WINDTUNNEL_STACK_VERSION
#endif
#ifndef SYMBOL
#define SYMBOL windtunnel_stack
#endif
#ifndef NAME
#define NAME "tiny"
#endif
#ifndef CONTROLLERS
#define CONTROLLERS "fixed", "free"
#endif

#define WINDOW 10

enum datagram { HELLO = 1, WELCOME, DATA, ACK };

struct end {
	struct windtunnel_config config;
	int says_hello, says_welcome, is_connected, told_connected;
	int has_stream, is_finished, told_finished;
	uint64_t left, sent, acked, unread, acks;
};

static void *create(const struct windtunnel_config *config, const char **error)
{
	struct end *end = calloc(1, sizeof *end);
#ifdef REFUSES
	*error = REFUSES;
	free(end);
	return NULL;
#endif
	if (config->initial_window) {
		*error = "its window is fixed";
		free(end);
		return NULL;
	}
	end->config = *config;
	return end;
}

static void destroy(void *end)
{
	free(end);
}

static void connect(void *opaque, uint64_t now)
{
	struct end *end = opaque;
	(void)now;
	end->says_hello = 1;
}

static void receive(void *opaque, const uint8_t *datagram, size_t length, uint32_t ecn, uint64_t now)
{
	struct end *end = opaque;
	(void)ecn, (void)now;
	switch (datagram[0]) {
	case HELLO:
		end->says_welcome = 1;
		break;
	case WELCOME:
		end->is_connected = 1;
		break;
	case DATA:
		end->unread += length - 1;
		end->acks++;
		break;
	case ACK:
		end->acked++;
		break;
	}
}

static size_t write_datagram(uint8_t *datagram, uint8_t kind, size_t length)
{
	memset(datagram, 0, length);
	datagram[0] = kind;
	return length;
}

static size_t transmit(void *opaque, uint8_t *datagram, size_t capacity, uint32_t *ecn, uint64_t now)
{
	struct end *end = opaque;
	(void)now;
	*ecn = WINDTUNNEL_ECT0;
	if (end->says_hello) {
		end->says_hello = 0;
		return write_datagram(datagram, HELLO, 100);
	}
	if (end->says_welcome) {
		end->says_welcome = 0;
		return write_datagram(datagram, WELCOME, 100);
	}
	if (end->acks) {
		end->acks--;
		return write_datagram(datagram, ACK, 40);
	}
	if (end->left && end->sent - end->acked < WINDOW) {
		size_t data = end->left < capacity - 1 ? end->left : capacity - 1;
		end->left -= data;
		end->sent++;
#ifdef TOO_LONG
		return capacity + 1;
#endif
		return write_datagram(datagram, DATA, data + 1);
	}
	return 0;
}

static uint64_t next_timer(void *end)
{
	(void)end;
	return WINDTUNNEL_UNTOLD;
}

static void expire(void *end, uint64_t now)
{
	(void)end, (void)now;
}

static void poll(void *opaque, struct windtunnel_event *event)
{
	struct end *end = opaque;
	event->kind = WINDTUNNEL_NOTHING;
	if (end->is_connected && !end->told_connected) {
		end->told_connected = 1;
		event->kind = WINDTUNNEL_CONNECTED;
	} else if (end->is_finished && !end->told_finished && !end->left && end->acked == end->sent) {
		end->told_finished = 1;
		event->kind = WINDTUNNEL_FINISHED;
		event->stream = 0;
	}
}

/* One stream is all. */
static int64_t open(void *opaque)
{
	struct end *end = opaque;
	if (end->has_stream)
		return -1;
	end->has_stream = 1;
	return 0;
}

static size_t write(void *opaque, uint64_t stream, const uint8_t *data, size_t length)
{
	struct end *end = opaque;
	size_t taken = end->left < 1 << 20 ? length : 0;
	(void)stream, (void)data;
	end->left += taken;
	return taken;
}

static void finish(void *opaque, uint64_t stream)
{
	struct end *end = opaque;
	(void)stream;
	end->is_finished = 1;
}

static void reset(void *opaque, uint64_t stream)
{
	struct end *end = opaque;
	(void)stream;
	end->left = 0;
}

static uint64_t read(void *opaque)
{
	struct end *end = opaque;
	uint64_t unread = end->unread;
	end->unread = 0;
	return unread;
}

static void close(void *end, uint64_t now)
{
	(void)end, (void)now;
}

static void state(void *opaque, struct windtunnel_state *state)
{
	struct end *end = opaque;
	(void)end, (void)state;
#ifndef NO_WINDOW
	state->cwnd = WINDOW * end->config.max_udp_payload;
#endif
	state->bytes_in_flight = (end->sent - end->acked) * end->config.max_udp_payload;
}

const struct windtunnel_stack *SYMBOL(void);
const struct windtunnel_stack *SYMBOL(void)
{
	static const char *const controllers[] = {CONTROLLERS, NULL}, *const unseeded[] = {"free", NULL};
	static struct windtunnel_stack table = {
	    VERSION, NAME,    "0.1", controllers, unseeded, create, destroy, connect, receive, transmit, next_timer,
	    expire,  poll,    open, write,       finish,   reset,  read,    close,   state,
	};
#ifdef NO_TABLE
	return NULL;
#endif
#ifdef MISSING
	table.MISSING = NULL;
#endif
	return &table;
}
