// SPDX-License-Identifier: Apache-2.0
#include "security/tls.hpp"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <climits>
#include <cstring>
#include <new>

#include "base/error.hpp"
#include "security/openssl.hpp"

namespace shoal {
namespace {

// Both have SHA-256, so that one PSK serves either; the second is for processors without AES instructions.
constexpr const char* kSuites = "TLS_AES_128_GCM_SHA256:TLS_CHACHA20_POLY1305_SHA256";
constexpr unsigned char kSuiteOfPsk[] = {0x13, 0x01};
constexpr const char* kGroups = "X25519:P-256";
constexpr std::size_t kIdentityBytes = 16;
constexpr unsigned char kSessions[] = {'s', 'h', 'o', 'a', 'l'};

const char* name_of(TlsPurpose purpose) { return purpose == TlsPurpose::store ? "config store" : "data"; }

/// OpenSSL's own socket BIO writes with write(2), whose SIGPIPE would be the program's.
int send_bytes(BIO* bio, const char* from, int bytes) {
  BIO_clear_retry_flags(bio);
  const int fd = static_cast<int>(reinterpret_cast<std::intptr_t>(BIO_get_data(bio)));
  const ssize_t n = ::send(fd, from, static_cast<std::size_t>(bytes), MSG_NOSIGNAL);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_retry_write(bio);
  return static_cast<int>(n);
}

int receive_bytes(BIO* bio, char* to, int bytes) {
  BIO_clear_retry_flags(bio);
  const int fd = static_cast<int>(reinterpret_cast<std::intptr_t>(BIO_get_data(bio)));
  const ssize_t n = ::recv(fd, to, static_cast<std::size_t>(bytes), 0);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_retry_read(bio);
  if (n == 0) BIO_set_flags(bio, BIO_FLAGS_IN_EOF);
  return static_cast<int>(n);
}

long control(BIO* bio, int command, long, void*) {
  if (command == BIO_CTRL_FLUSH) return 1;
  if (command == BIO_CTRL_EOF) return BIO_test_flags(bio, BIO_FLAGS_IN_EOF) != 0 ? 1 : 0;
  return 0;
}

template <auto Free>
struct Deleter {
  template <typename T>
  void operator()(T* at) const {
    Free(at);
  }
};

}  // namespace

struct TlsContext::Parts {
  static std::unique_ptr<Parts> make() {
    keep_openssl();
    return std::make_unique<Parts>();
  }
  std::unique_ptr<SSL_CTX, Deleter<SSL_CTX_free>> ssl{SSL_CTX_new(TLS_method())};
  std::unique_ptr<BIO_METHOD, Deleter<BIO_meth_free>> socket{BIO_meth_new(BIO_TYPE_SOURCE_SINK, "shoal socket")};
  std::unique_ptr<Secret> psk;  // with a secret
  std::string identity;         // its name on the wire
};

struct TlsCallbacks {
  static TlsSession& session(SSL* ssl) { return *static_cast<TlsSession*>(SSL_get_app_data(ssl)); }
  static const TlsContext::Parts& parts(SSL* ssl) { return *session(ssl).context_.parts_; }

  /// A ticket of the kind that TLS 1.3 resumes sessions with, made of the key; nullptr: out of memory.
  static SSL_SESSION* ticket(SSL* ssl) {
    const auto key = parts(ssl).psk->bytes();
    SSL_SESSION* made = SSL_SESSION_new();
    if (made != nullptr &&
        SSL_SESSION_set1_master_key(made, reinterpret_cast<const unsigned char*>(key.data()), key.size()) == 1 &&
        SSL_SESSION_set_cipher(made, SSL_CIPHER_find(ssl, kSuiteOfPsk)) == 1 &&
        SSL_SESSION_set_protocol_version(made, TLS1_3_VERSION) == 1)
      return made;
    SSL_SESSION_free(made);
    return nullptr;
  }

  static int use_psk(SSL* ssl, const EVP_MD* digest, const unsigned char** identity, std::size_t* length,
                     SSL_SESSION** result) {
    const std::string& name = parts(ssl).identity;
    *result = nullptr;
    if (digest != nullptr && EVP_MD_get_type(digest) != NID_sha256) return 1;
    *identity = reinterpret_cast<const unsigned char*>(name.data());
    *length = name.size();
    *result = ticket(ssl);
    return *result != nullptr ? 1 : 0;
  }

  static int find_psk(SSL* ssl, const unsigned char* identity, std::size_t length, SSL_SESSION** result) {
    const std::string& name = parts(ssl).identity;
    *result = nullptr;
    if (length != name.size() || std::memcmp(identity, name.data(), length) != 0) {
      session(ssl).stranger_ = true;
      return 1;  // without a certificate to fall back on, the handshake fails
    }
    *result = ticket(ssl);
    return *result != nullptr ? 1 : 0;
  }

  /// Changes nothing: notes whose certificate it is, which OpenSSL forgets when it is refused.
  static int verify(int good, X509_STORE_CTX* store) {
    if (good == 1) return 1;
    auto* ssl = static_cast<SSL*>(X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx()));
    try {
      session(ssl).refused_ = describe_certificate(X509_STORE_CTX_get0_cert(store));
    } catch (const std::bad_alloc&) {
      // Then the error does without.
    }
    return 0;
  }
};

TlsContext::TlsContext(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {
  SSL_CTX* ssl = parts_->ssl.get();
  BIO_METHOD* socket = parts_->socket.get();
  if (ssl == nullptr || socket == nullptr || SSL_CTX_set_min_proto_version(ssl, TLS1_3_VERSION) != 1 ||
      SSL_CTX_set_ciphersuites(ssl, kSuites) != 1 || SSL_CTX_set1_groups_list(ssl, kGroups) != 1)
    throw Error(
        Code::security,
        "OpenSSL cannot do TLS 1.3 with AES-128-GCM and X25519: is it restricted by a configuration (OPENSSL_CONF)?");
  BIO_meth_set_write(socket, send_bytes);
  BIO_meth_set_read(socket, receive_bytes);
  BIO_meth_set_ctrl(socket, control);
  SSL_CTX_set_mode(ssl, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  // No resumption: each connection proves itself anew. No renegotiation exists in TLS 1.3.
  SSL_CTX_set_options(ssl, SSL_OP_NO_TICKET | SSL_OP_NO_COMPRESSION);
  SSL_CTX_set_num_tickets(ssl, 0);
  SSL_CTX_set_session_cache_mode(ssl, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_verify(ssl, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, TlsCallbacks::verify);
}

TlsContext::TlsContext(const Secret& secret, TlsPurpose purpose) : TlsContext(Parts::make()) {
  parts_->psk = std::make_unique<Secret>(secret.derive(std::string(name_of(purpose)) + " key"));
  const Secret identity = secret.derive(std::string(name_of(purpose)) + " identity");
  const auto shown = identity.bytes().first(kIdentityBytes);
  parts_->identity.assign(reinterpret_cast<const char*>(shown.data()), shown.size());
  SSL_CTX_set_psk_use_session_callback(parts_->ssl.get(), TlsCallbacks::use_psk);
  SSL_CTX_set_psk_find_session_callback(parts_->ssl.get(), TlsCallbacks::find_psk);
}

TlsContext::TlsContext(const CertificateFiles& files) : TlsContext(Parts::make()) {
  load_certificates(parts_->ssl.get(), files);
  CertifiedPes::of(SSL_CTX_get0_certificate(parts_->ssl.get()));  // say now if its names are not valid
  own_fingerprint_ = fingerprint_of(SSL_CTX_get0_certificate(parts_->ssl.get()));
}

TlsContext::~TlsContext() = default;

std::unique_ptr<TlsSession> TlsContext::connect(int fd) const {
  return std::unique_ptr<TlsSession>(new TlsSession(*this, fd, true));
}
std::unique_ptr<TlsSession> TlsContext::accept(int fd) const {
  return std::unique_ptr<TlsSession>(new TlsSession(*this, fd, false));
}

TlsSession::TlsSession(const TlsContext& context, int fd, bool client)
    : context_(context), fd_(fd), ssl_(SSL_new(context.parts_->ssl.get())) {
  BIO* bio = BIO_new(context.parts_->socket.get());
  if (ssl_ == nullptr || bio == nullptr) {
    SSL_free(ssl_);
    BIO_free(bio);
    throw Error(Code::out_of_memory, "no memory for a TLS connection");
  }
  BIO_set_data(bio, reinterpret_cast<void*>(static_cast<std::intptr_t>(fd)));
  BIO_set_init(bio, 1);
  SSL_set_bio(ssl_, bio, bio);
  SSL_set_app_data(ssl_, this);
  if (client) {
    SSL_set_connect_state(ssl_);
  } else {
    SSL_set_session_id_context(ssl_, kSessions, sizeof kSessions);  // OpenSSL insists on one, for PSKs as well
    SSL_set_accept_state(ssl_);
  }
}

TlsSession::~TlsSession() { SSL_free(ssl_); }

TlsSession::Progress TlsSession::handshake() {
  if (established_) return Progress::done;
  ERR_clear_error();
  const int result = SSL_do_handshake(ssl_);
  if (result != 1) return would_block(result);
  check_authenticated();
  established_ = true;
  return Progress::done;
}

/// A client with a PSK takes a certificate as well, and OpenSSL then calls the handshake good: so it is looked at here.
void TlsSession::check_authenticated() const {
  const bool certificates = context_.parts_->psk == nullptr;
  const bool proven = certificates
                          ? SSL_get0_peer_certificate(ssl_) != nullptr && SSL_get_verify_result(ssl_) == X509_V_OK
                          : SSL_session_reused(ssl_) == 1 && SSL_get0_peer_certificate(ssl_) == nullptr;
  if (!proven || SSL_version(ssl_) != TLS1_3_VERSION || SSL_get_negotiated_group(ssl_) == 0)
    throw Error(Code::security, "the other side did not prove that it belongs to this job");
}

ssize_t TlsSession::read(void* to, std::size_t bytes) {
  ERR_clear_error();
  std::size_t n = 0;
  const int result = SSL_read_ex(ssl_, to, bytes, &n);
  if (result == 1) return static_cast<ssize_t>(n);
  if (SSL_get_error(ssl_, result) == SSL_ERROR_ZERO_RETURN) return 0;
  would_block(result);
  return -1;
}

ssize_t TlsSession::write(const void* from, std::size_t bytes) {
  ERR_clear_error();
  if (records_ >= records_a_key_ && !half_written_) renew_key();
  std::size_t n = 0;
  const int result = SSL_write_ex(ssl_, from, bytes, &n);
  half_written_ = result != 1;
  if (half_written_) {
    would_block(result);
    return -1;
  }
  ++records_;
  return static_cast<ssize_t>(n);
}

/// Until OpenSSL has sent its word of the new key it reads nothing, so that two sides that do this at once, and whose
/// sockets are full, would both wait for ever: a socket that is full has time.
void TlsSession::renew_key() {
  pollfd room{fd_, POLLOUT, 0};
  if (::poll(&room, 1, 0) != 1 || (room.revents & POLLOUT) == 0) return;
  if (SSL_key_update(ssl_, SSL_KEY_UPDATE_NOT_REQUESTED) != 1) return ERR_clear_error();
  records_ = 0;
  const int result = SSL_do_handshake(ssl_);
  if (result != 1) would_block(result);
}

void TlsSession::close() noexcept {
  if (!established_) return;
  SSL_shutdown(ssl_);
  ERR_clear_error();
}

bool TlsSession::pending() const noexcept { return SSL_has_pending(ssl_) == 1; }

TlsSession::Progress TlsSession::would_block(int result) {
  const int error = SSL_get_error(ssl_, result);
  if (error == SSL_ERROR_WANT_READ) return wants_ = Progress::want_read;
  if (error == SSL_ERROR_WANT_WRITE) return wants_ = Progress::want_write;
  const bool broken = error == SSL_ERROR_SYSCALL || (error == SSL_ERROR_SSL && ERR_GET_REASON(ERR_peek_last_error()) ==
                                                                                   SSL_R_UNEXPECTED_EOF_WHILE_READING);
  const std::string why = reason(error);
  ERR_clear_error();
  established_ = false;
  throw Error(broken ? Code::peer : Code::security, why);
}

/// What went wrong, in words of this library where OpenSSL's would mislead.
std::string TlsSession::reason(int error) const {
  const int system = errno;
  const bool secret = context_.parts_->psk != nullptr;
  const char* wrong_secret =
      "the other side has another job secret: give all the same file (--secret-file, SHOAL_JOB_SECRET_FILE)";
  if (error == SSL_ERROR_SYSCALL)
    return strf("the connection broke: %s", system != 0 ? std::strerror(system) : "it was closed");
  if (stranger_) return wrong_secret;
  const unsigned long code = ERR_peek_last_error();
  const int number = ERR_GET_REASON(code);
  if (!secret && number == SSL_R_CERTIFICATE_VERIFY_FAILED) {
    const long result = SSL_get_verify_result(ssl_);
    const bool other_authority =
        result == X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN || result == X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT ||
        result == X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY || result == X509_V_ERR_CERT_SIGNATURE_FAILURE;
    return strf("the other side's certificate %s is refused: %s%s", refused_.c_str(),
                X509_verify_cert_error_string(result),
                other_authority ? " (it is not of this side's authority, SHOAL_TLS_CA)" : "");
  }
  switch (number) {
    case SSL_R_CERTIFICATE_VERIFY_FAILED: return "the other side offers a certificate in place of the job secret";
    case SSL_R_UNEXPECTED_EOF_WHILE_READING: return "the connection broke: it was closed";
    case SSL_R_WRONG_VERSION_NUMBER:
    case SSL_R_HTTP_REQUEST:
    case SSL_R_HTTPS_PROXY_REQUEST:
    case SSL_R_BAD_RECORD_TYPE:
      return "the other side does not speak TLS: does it run with SHOAL_TLS=0, or is it something else?";
    case SSL_R_UNSUPPORTED_PROTOCOL:
    case SSL_R_TLSV1_ALERT_PROTOCOL_VERSION: return "the other side does not speak TLS 1.3";
    case SSL_R_NO_SHARED_CIPHER:
    case SSL_R_NO_SUITABLE_SIGNATURE_ALGORITHM:
      if (secret) return "the other side does not offer the job secret";
      break;
    case SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE:
      if (secret) return "the other side refused this one's job secret: it has another, or uses certificates";
      break;
    case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE: return "the other side has no certificate to show";
    default: break;
  }
  const char* text = ERR_reason_error_string(code);
  // Alerts begin at 1000: the other side's words.
  if (number >= SSL_AD_REASON_OFFSET && number < SSL_AD_REASON_OFFSET + 256)
    return strf("the other side refused%s: %s", secret ? "" : " this one's certificate",
                text != nullptr ? text : "no reason given");
  return strf("TLS: %s", text != nullptr ? text : "unknown error");
}

void TlsSession::check_peer(int pe, const std::string& fingerprint) const {
  X509* certificate = SSL_get0_peer_certificate(ssl_);
  if (certificate == nullptr) return;  // with a job secret, members are trusted about their number
  const CertifiedPes named = CertifiedPes::of(certificate);
  if (named.stated() && !named.contains(pe))
    throw Error(Code::security,
                strf("the certificate %s is not for PE %d", describe_certificate(certificate).c_str(), pe));
  if (!fingerprint.empty() && fingerprint_of(certificate) != fingerprint)
    throw Error(Code::security, strf("the certificate %s is not the one that PE %d showed when the job began",
                                     describe_certificate(certificate).c_str(), pe));
}

std::string TlsSession::peer_fingerprint() const {
  X509* certificate = SSL_get0_peer_certificate(ssl_);
  return certificate == nullptr ? "" : fingerprint_of(certificate);
}

}  // namespace shoal
