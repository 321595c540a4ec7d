/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What windtunnel asks of a transport stack in C, or in any language that exports C functions.
 *
 * A stack is a shared library with one function, windtunnel_stack(), which returns a table of functions. They serve one
 * end of one connection: datagrams and the time go in, datagrams and the next timer come out. A stack has neither
 * sockets nor a clock here, and draws what it needs from the seed that it is given, so that each run is the same.
 *
 * Rules for all functions:
 * - Times are nanoseconds. A run starts at one second, so that no time is 0. Time never goes back.
 * - Each end is used by one thread at a time; several ends may be used at once, by several threads.
 * - A pointer that is passed in is valid during the call, unless it says otherwise. One that is handed out is valid
 *   until the next call for the same end.
 * - An end never waits, sleeps or exits. The library is in windtunnel's process: what crashes it crashes the run.
 */
#ifndef WINDTUNNEL_STACK_H
#define WINDTUNNEL_STACK_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this file. It changes when a table of before would be read wrongly. */
#define WINDTUNNEL_STACK_VERSION 1

/* What a stack does not tell; as a time, never. */
#define WINDTUNNEL_UNTOLD UINT64_MAX

/* The ECN field of a datagram, as in the IP header (RFC 3168 section 5). */
enum windtunnel_ecn {
	WINDTUNNEL_NOT_ECT = 0,
	WINDTUNNEL_ECT1 = 1,
	WINDTUNNEL_ECT0 = 2,
	WINDTUNNEL_CE = 3,
};

/* What an end is made from. */
struct windtunnel_config {
	/* 1 for the server, which receives data; 0 for the client, which connects and sends them. */
	uint32_t is_server;
	/* 0 if the host's sockets cannot set the ECN field: whatever transmit() says, datagrams then leave without ECT. */
	uint32_t sets_ecn;
	/* Decides all that the end draws. Both ends of a connection have the same. */
	uint64_t seed;
	/* The largest datagram. The path carries it: a stack need not probe for it. */
	uint64_t max_udp_payload;
	/* The initial congestion window in bytes; 0 is the stack's own. */
	uint64_t initial_window;
	/* One of the names in the table's controllers. Never freed. */
	const char *controller;
	/* The server's name in its certificate, for the client. Never freed. */
	const char *server_name;
	/* A self-signed certificate and its private key (PKCS #8), both DER, for the server; the client may trust it. Its
	 * dates are those of a real clock, so that a client that checks them depends on the day. Never freed. */
	const uint8_t *certificate;
	size_t certificate_length;
	const uint8_t *key;
	size_t key_length;
};

enum windtunnel_event_kind {
	/* Nothing more has happened. */
	WINDTUNNEL_NOTHING = 0,
	/* The handshake is done: streams may be opened. */
	WINDTUNNEL_CONNECTED = 1,
	/* All of a stream that was finished is acknowledged. */
	WINDTUNNEL_FINISHED = 2,
	/* The connection is closed or lost, and nothing follows. */
	WINDTUNNEL_CLOSED = 3,
};

struct windtunnel_event {
	/* One of enum windtunnel_event_kind. */
	uint32_t kind;
	/* The stream that is acknowledged. */
	uint64_t stream;
	/* Why the connection is closed; it may be NULL. */
	const char *reason;
};

/* What an end tells of itself. All is WINDTUNNEL_UNTOLD before the call, and a stack leaves what it does not know as it
 * is. What it tells at one time, it tells at any other, before there is a connection, too. */
struct windtunnel_state {
	/* The congestion window in bytes; before there is a connection, the initial one. Every stack tells it. */
	uint64_t cwnd;
	/* Bytes sent that are neither acknowledged nor lost. */
	uint64_t bytes_in_flight;
	/* The slow-start threshold in bytes; 0 while there is none. */
	uint64_t ssthresh;
	/* Round-trip times in nanoseconds; 0 while there is none. */
	uint64_t smoothed_rtt;
	uint64_t latest_rtt;
	uint64_t min_rtt;
	/* QUIC packets, and their bytes. */
	uint64_t packets_sent;
	uint64_t packets_lost;
	uint64_t bytes_sent;
	uint64_t bytes_lost;
	/* How often the probe timeout expired (RFC 9002 section 6.2). */
	uint64_t pto_count;
	/* Bytes per second. */
	uint64_t pacing_rate;
};

/* The table. No function may be NULL. `end` is what create() returned. */
struct windtunnel_stack {
	/* WINDTUNNEL_STACK_VERSION. */
	uint32_t version;
	/* The name in results, of letters, digits, '+', '-' and '_'; and the version of the stack, as people read it. */
	const char *name;
	const char *version_text;
	/* The names of the stack's congestion controllers, up to a NULL. The first is the default. */
	const char *const *controllers;
	/* Those of them that draw numbers which no seed decides, up to a NULL. Results with them say so. */
	const char *const *unseeded;

	/* Makes an end. Returns NULL if it cannot, and says why in *error: a text that is never freed. */
	void *(*create)(const struct windtunnel_config *config, const char **error);

	/* Frees an end. */
	void (*destroy)(void *end);

	/* The client starts the handshake. */
	void (*connect)(void *end, uint64_t now);

	/* A datagram arrives; `ecn` is its ECN field. */
	void (*receive)(void *end, const uint8_t *datagram, size_t length, uint32_t ecn, uint64_t now);

	/* Writes the next datagram that leaves now into a buffer of `capacity` bytes, which is max_udp_payload, and its ECN
	 * field into *ecn. Returns its length; 0 if none leaves now. It is called until it returns 0. */
	size_t (*transmit)(void *end, uint8_t *datagram, size_t capacity, uint32_t *ecn, uint64_t now);

	/* When expire() is to be called, for losses, probes, late ACKs and the next paced datagram; WINDTUNNEL_UNTOLD if
	 * never. It is asked after each call. */
	uint64_t (*next_timer)(void *end);

	/* That time has come. transmit() is called next. */
	void (*expire)(void *end, uint64_t now);

	/* The next thing that has happened. */
	void (*poll)(void *end, struct windtunnel_event *event);

	/* The client opens a stream of one direction. Returns its number; -1 if the server allows no more now. */
	int64_t (*open)(void *end);

	/* Writes into a stream. Returns how many bytes the stack took; it is asked again after the next packet or timer, so
	 * a stack without a buffer of its own takes a few megabytes. All data are zeros, and `data` is never freed: a
	 * stack need not copy them, or may keep their number alone. */
	size_t (*write)(void *end, uint64_t stream, const uint8_t *data, size_t length);

	/* No more data follow in a stream. */
	void (*finish)(void *end, uint64_t stream);

	/* Gives a stream up (RESET_STREAM). */
	void (*reset)(void *end, uint64_t stream);

	/* The server reads all that is there, of all streams, each in order, and extends the windows of flow control.
	 * Returns the number of bytes. */
	uint64_t (*read)(void *end);

	/* Closes the connection. */
	void (*close)(void *end, uint64_t now);

	/* Tells of itself, at any time after create(). */
	void (*state)(void *end, struct windtunnel_state *state);
};

/* The only function that a library exports. The table is never freed. */
const struct windtunnel_stack *windtunnel_stack(void);

#ifdef __cplusplus
}
#endif

#endif
