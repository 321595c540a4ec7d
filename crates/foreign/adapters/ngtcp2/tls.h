/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * TLS 1.3 of one end, by GnuTLS and ngtcp2's helper for it. Keys come from the system's random numbers.
 */
#ifndef WINDTUNNEL_NGTCP2_TLS_H
#define WINDTUNNEL_NGTCP2_TLS_H

#include <string.h>

#include <gnutls/gnutls.h>
#include <ngtcp2/ngtcp2_crypto.h>
#include <ngtcp2/ngtcp2_crypto_gnutls.h>

#include "windtunnel_stack.h"

struct tls {
	gnutls_certificate_credentials_t credentials;
	gnutls_session_t session;
};

static const char PRIORITIES[] = "%DISABLE_TLS13_COMPAT_MODE:NORMAL:-VERS-ALL:+VERS-TLS1.3:-CIPHER-ALL:+AES-128-GCM:"
                                 "-GROUP-ALL:+GROUP-X25519";

#define TRY(call) \
	do { \
		int error = (call); \
		if (error < 0) \
			return gnutls_strerror(error); \
	} while (0)

/* Returns why it failed. The client does not check the certificate, whose dates are those of a real clock. */
static const char *make_tls(struct tls *tls, const struct windtunnel_config *config,
                            ngtcp2_crypto_conn_ref *connection)
{
	gnutls_datum_t certificate = {(uint8_t *)config->certificate, (unsigned)config->certificate_length};
	gnutls_datum_t key = {(uint8_t *)config->key, (unsigned)config->key_length};
	gnutls_datum_t protocol = {(uint8_t *)"windtunnel", 10};
	unsigned flags = config->is_server ? GNUTLS_SERVER | GNUTLS_NO_AUTO_SEND_TICKET : GNUTLS_CLIENT;

	TRY(gnutls_certificate_allocate_credentials(&tls->credentials));
	TRY(gnutls_init(&tls->session, flags | GNUTLS_NO_END_OF_EARLY_DATA));
	TRY(gnutls_priority_set_direct(tls->session, PRIORITIES, NULL));
	TRY(gnutls_credentials_set(tls->session, GNUTLS_CRD_CERTIFICATE, tls->credentials));
	TRY(gnutls_alpn_set_protocols(tls->session, &protocol, 1, 0));
	if (config->is_server) {
		TRY(gnutls_certificate_set_x509_key_mem(tls->credentials, &certificate, &key, GNUTLS_X509_FMT_DER));
		TRY(ngtcp2_crypto_gnutls_configure_server_session(tls->session));
	} else {
		TRY(gnutls_server_name_set(tls->session, GNUTLS_NAME_DNS, config->server_name, strlen(config->server_name)));
		TRY(ngtcp2_crypto_gnutls_configure_client_session(tls->session));
	}
	gnutls_session_set_ptr(tls->session, connection);
	return NULL;
}

static void free_tls(struct tls *tls)
{
	if (tls->session)
		gnutls_deinit(tls->session);
	if (tls->credentials)
		gnutls_certificate_free_credentials(tls->credentials);
}

#endif
