// SPDX-License-Identifier: Apache-2.0
// Two sides over a real TCP connection, each driven by the test in turn; what a stranger would do is done with OpenSSL itself.
#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>

#include <functional>
#include <string>
#include <thread>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/unique_fd.hpp"
#include "security/tls.hpp"
#include "test_certificates.hpp"

namespace shoal {
namespace {

constexpr std::uint64_t kPatienceNs = 10'000'000'000;

/// A TCP connection over the loopback, both ends non-blocking.
struct Wire {
  UniqueFd client, server;
  Wire() {
    UniqueFd listener(::socket(AF_INET, SOCK_STREAM, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    auto* any = reinterpret_cast<sockaddr*>(&address);
    client.reset(::socket(AF_INET, SOCK_STREAM, 0));
    if (::bind(listener.get(), any, length) != 0 || ::listen(listener.get(), 1) != 0 || ::getsockname(listener.get(), any, &length) != 0 ||
        ::connect(client.get(), any, length) != 0)
      std::abort();
    server.reset(::accept(listener.get(), nullptr, nullptr));
    for (const UniqueFd* end : {&client, &server}) ::fcntl(end->get(), F_SETFL, O_NONBLOCK);
  }
};

void wait_for(int fd, TlsSession::Progress wanted) {
  pollfd wait{fd, static_cast<short>(wanted == TlsSession::Progress::want_write ? POLLOUT : POLLIN), 0};
  ::poll(&wait, 1, 100);
}

void shake(TlsSession& session, int fd) {
  for (const std::uint64_t deadline = now_ns() + kPatienceNs; now_ns() < deadline;) {
    const auto progress = session.handshake();
    if (progress == TlsSession::Progress::done) return;
    wait_for(fd, progress);
  }
  FAIL() << "the handshake takes too long";
}

std::string read_some(TlsSession& session, int fd) {
  char bytes[256];
  for (const std::uint64_t deadline = now_ns() + kPatienceNs; now_ns() < deadline; wait_for(fd, session.wants())) {
    const ssize_t n = session.read(bytes, sizeof bytes);
    if (n >= 0) return std::string(bytes, static_cast<std::size_t>(n));
  }
  return "nothing came";
}

/// What `action` throws, with its code before it.
std::string outcome(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return (error.code() == Code::security ? "security: " : error.code() == Code::peer ? "peer: " : "other: ") + std::string(error.what());
  }
  return "fine";
}

struct Outcomes {
  std::string client, server;
};

void shake_both(TlsSession& client, TlsSession& server, const Wire& wire) {
  std::string said;
  std::thread other([&] { said = outcome([&] { shake(server, wire.server.get()); }); });
  EXPECT_EQ(outcome([&] { shake(client, wire.client.get()); }), "fine");
  other.join();
  EXPECT_EQ(said, "fine");
}

/// Both sides shake hands, then the server greets and the client reads it: only so it learns that it was accepted.
Outcomes meet(const TlsContext& client_context, const TlsContext& server_context) {
  Wire wire;
  Outcomes result;
  std::thread server([&] {
    result.server = outcome([&] {
      const auto session = server_context.accept(wire.server.get());
      shake(*session, wire.server.get());
      EXPECT_EQ(session->write("hello", 5), 5);
    });
    ::shutdown(wire.server.get(), SHUT_WR);
  });
  result.client = outcome([&] {
    const auto session = client_context.connect(wire.client.get());
    shake(*session, wire.client.get());
    EXPECT_EQ(read_some(*session, wire.client.get()), "hello");
  });
  ::shutdown(wire.client.get(), SHUT_RDWR);
  server.join();
  return result;
}

/// The same with a stranger for server or client, made with OpenSSL; gives what our side said.
std::string meet_stranger(const TlsContext& ours, bool we_connect, SSL_CTX* theirs) {
  Wire wire;
  const int our_fd = (we_connect ? wire.client : wire.server).get(), their_fd = (we_connect ? wire.server : wire.client).get();
  std::thread stranger([&] {
    ::fcntl(their_fd, F_SETFL, 0);
    SSL* ssl = SSL_new(theirs);
    SSL_set_fd(ssl, their_fd);
    const int done = we_connect ? SSL_accept(ssl) : SSL_connect(ssl);
    char bytes[16];
    if (done == 1) SSL_read(ssl, bytes, sizeof bytes);
    SSL_free(ssl);
    ::shutdown(their_fd, SHUT_WR);
  });
  const std::string said = outcome([&] {
    const auto session = we_connect ? ours.connect(our_fd) : ours.accept(our_fd);
    shake(*session, our_fd);
    session->write("secret", 6);
  });
  ::shutdown(our_fd, SHUT_RDWR);
  stranger.join();
  return said;
}

using Strange = std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)>;
Strange stranger_with(const CertificateFiles& files) {
  Strange context(SSL_CTX_new(TLS_method()), SSL_CTX_free);
  EXPECT_EQ(SSL_CTX_use_certificate_file(context.get(), files.certificate.c_str(), SSL_FILETYPE_PEM), 1);
  EXPECT_EQ(SSL_CTX_use_PrivateKey_file(context.get(), files.key.c_str(), SSL_FILETYPE_PEM), 1);
  return context;
}

#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

TEST(Tls, MembersWithTheSecretMeet) {
  const Secret secret = Secret::fresh();
  const TlsContext context(secret, TlsPurpose::data);
  const Outcomes said = meet(context, context);
  EXPECT_EQ(said.client, "fine");
  EXPECT_EQ(said.server, "fine");
}

TEST(Tls, ConnectionIsTls13WithEphemeralKeys) {
  const TlsContext context(Secret::fresh(), TlsPurpose::data);
  Wire wire;
  const auto client = context.connect(wire.client.get()), server = context.accept(wire.server.get());
  shake_both(*client, *server, wire);
  EXPECT_EQ(SSL_version(client->native()), TLS1_3_VERSION);
  EXPECT_NE(SSL_get_negotiated_group(client->native()), 0);
  EXPECT_EQ(SSL_session_reused(server->native()), 1);
  EXPECT_EQ(client->peer_fingerprint(), "");
}

TEST(Tls, AnotherSecretIsRefusedOnBothSides) {
  const TlsContext one(Secret::fresh(), TlsPurpose::data), other(Secret::fresh(), TlsPurpose::data);
  const Outcomes said = meet(one, other);
  EXPECT_HAS(said.server, "security: the other side has another job secret");
  EXPECT_HAS(said.client, "security: the other side refused this one's job secret");
}

TEST(Tls, PurposesDoNotMix) {
  const Secret secret = Secret::fresh();
  const TlsContext data(secret, TlsPurpose::data), store(secret, TlsPurpose::store);
  EXPECT_HAS(meet(data, store).server, "another job secret");
}

TEST(Tls, ClientWithTheSecretRefusesAnyCertificate) {
  TestAuthority authority;
  const TlsContext ours(Secret::fresh(), TlsPurpose::data);
  const Strange rogue = stranger_with(authority.issue({}));
  EXPECT_HAS(meet_stranger(ours, true, rogue.get()), "security: the other side offers a certificate in place of the job secret");
}

// The same certificate again, when whoever runs the program has the rogue's authority among those that the system trusts.
TEST(Tls, ClientWithTheSecretRefusesACertificateThatTheSystemTrusts) {
  TestAuthority authority;
  const CertificateFiles files = authority.issue({});
  ::setenv("SSL_CERT_FILE", files.ca.c_str(), 1);
  const TlsContext ours(Secret::fresh(), TlsPurpose::data);
  const std::string said = meet_stranger(ours, true, stranger_with(files).get());
  ::unsetenv("SSL_CERT_FILE");
  EXPECT_HAS(said, "security: the other side offers a certificate in place of the job secret");
}

TEST(Tls, ServerWithTheSecretRefusesAClientWithoutIt) {
  TestAuthority authority;
  const TlsContext ours(Secret::fresh(), TlsPurpose::data);
  const Strange rogue = stranger_with(authority.issue({}));
  EXPECT_HAS(meet_stranger(ours, false, rogue.get()), "security: the other side does not offer the job secret");
}

TEST(Tls, OlderVersionIsRefused) {
  TestAuthority authority;
  const CertificateFiles files = authority.issue({});
  const TlsContext with_secret(Secret::fresh(), TlsPurpose::data), with_certificates(files);
  const Strange old = stranger_with(files);
  SSL_CTX_set_max_proto_version(old.get(), TLS1_2_VERSION);
  for (const TlsContext* ours : {&with_secret, &with_certificates})
    for (const bool we_connect : {false, true})
      EXPECT_HAS(meet_stranger(*ours, we_connect, old.get()), "security: the other side does not speak TLS 1.3");
}

TEST(Tls, PlainPeerIsNamedAsSuch) {
  const TlsContext ours(Secret::fresh(), TlsPurpose::data);
  for (const bool we_connect : {false, true}) {
    Wire wire;
    const int our_fd = (we_connect ? wire.client : wire.server).get(), their_fd = (we_connect ? wire.server : wire.client).get();
    const std::string plain = "LOHS plain bytes of some other protocol, long enough for a record";
    ASSERT_EQ(::send(their_fd, plain.data(), plain.size(), 0), static_cast<ssize_t>(plain.size()));
    const std::string said = outcome([&] {
      const auto session = we_connect ? ours.connect(our_fd) : ours.accept(our_fd);
      shake(*session, our_fd);
    });
    EXPECT_HAS(said, "security: the other side does not speak TLS");
    EXPECT_HAS(said, "SHOAL_TLS=0");
  }
}

TEST(Tls, ConnectionThatEndsDuringTheHandshakeIsBroken) {
  const TlsContext ours(Secret::fresh(), TlsPurpose::data);
  Wire wire;
  wire.client.reset();
  const auto session = ours.accept(wire.server.get());
  EXPECT_HAS(outcome([&] { shake(*session, wire.server.get()); }), "peer: the connection broke");
}

// Without MSG_NOSIGNAL this test would be killed.
TEST(Tls, WritingToAClosedConnectionRaisesNoSignal) {
  const TlsContext context(Secret::fresh(), TlsPurpose::data);
  Wire wire;
  auto client = context.connect(wire.client.get()), server = context.accept(wire.server.get());
  shake_both(*client, *server, wire);
  wire.server.reset();
  const std::string said = outcome([&] {
    for (const std::uint64_t deadline = now_ns() + kPatienceNs; now_ns() < deadline;) client->write("x", 1);
  });
  EXPECT_HAS(said, "peer: the connection broke");
}

TEST(Tls, TamperedBytesEndTheConnection) {
  const TlsContext context(Secret::fresh(), TlsPurpose::data);
  Wire wire;
  auto client = context.connect(wire.client.get()), server = context.accept(wire.server.get());
  shake_both(*client, *server, wire);
  const unsigned char record[] = {23, 3, 3, 0, 32, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
  ASSERT_EQ(::send(wire.client.get(), record, sizeof record, 0), static_cast<ssize_t>(sizeof record));
  EXPECT_HAS(outcome([&] { read_some(*server, wire.server.get()); }), "security: TLS: decryption failed or bad record mac");
}

TEST(Tls, KeysAreRenewedAfterSoManyRecords) {
  const TlsContext context(Secret::fresh(), TlsPurpose::data);
  Wire wire;
  auto client = context.connect(wire.client.get()), server = context.accept(wire.server.get());
  shake_both(*client, *server, wire);
  int renewed = 0;
  for (TlsSession* session : {client.get(), server.get()}) {
    session->renew_key_after(5);
    SSL_set_msg_callback(session->native(), [](int sent, int, int kind, const void* bytes, std::size_t length, SSL*, void* count) {
      const bool update = kind == SSL3_RT_HANDSHAKE && length != 0 && *static_cast<const unsigned char*>(bytes) == SSL3_MT_KEY_UPDATE;
      if (sent == 1 && update) ++*static_cast<int*>(count);
    });
    SSL_set_msg_callback_arg(session->native(), &renewed);
  }
  for (int i = 0; i < 200; ++i) {
    const std::string text = "message " + std::to_string(i);
    EXPECT_EQ(client->write(text.data(), text.size()), static_cast<ssize_t>(text.size()));
    EXPECT_EQ(read_some(*server, wire.server.get()), text);
    EXPECT_EQ(server->write(text.data(), text.size()), static_cast<ssize_t>(text.size()));
    EXPECT_EQ(read_some(*client, wire.client.get()), text);
  }
  EXPECT_EQ(renewed, 2 * (200 / 5 - 1));
}

TEST(Tls, CertificatesOfOneAuthorityMeet) {
  TestAuthority authority;
  const TlsContext client(authority.issue({.common_name = "one"})), server(authority.issue({.common_name = "two", .password = "open sesame"}));
  const Outcomes said = meet(client, server);
  EXPECT_EQ(said.client, "fine");
  EXPECT_EQ(said.server, "fine");
}

TEST(Tls, CertificateOfAnotherAuthorityIsRefused) {
  TestAuthority ours, theirs("authority of others");
  const TlsContext client(ours.issue({})), server(theirs.issue({.common_name = "rogue"}));
  const Outcomes said = meet(client, server);
  EXPECT_HAS(said.client, "security: the other side's certificate \"CN = rogue\"");
  EXPECT_HAS(said.client, "is refused: self-signed certificate in certificate chain");
  EXPECT_HAS(said.server, "security: the other side refused this one's certificate");
}

TEST(Tls, ClientWithoutCertificateIsRefused) {
  TestAuthority authority;
  const TlsContext server(authority.issue({}));
  const Strange nobody(SSL_CTX_new(TLS_method()), SSL_CTX_free);
  EXPECT_HAS(meet_stranger(server, false, nobody.get()), "security: the other side has no certificate to show");
}

TEST(Tls, ExpiredCertificateIsRefusedByTheOtherSide) {
  TestAuthority authority;
  const Strange expired = stranger_with(authority.issue({.common_name = "old", .valid_to_s = -60}));
  const TlsContext ours(authority.issue({}));
  for (const bool we_connect : {false, true}) {
    const std::string said = meet_stranger(ours, we_connect, expired.get());
    EXPECT_HAS(said, "security: the other side's certificate \"CN = old\" (valid until ");
    EXPECT_HAS(said, "certificate has expired");
  }
}

TEST(Tls, ExpiredCertificateIsRefusedWhereItIsUsed) {
  TestAuthority authority;
  const CertificateFiles files = authority.issue({.valid_to_s = -60});
  EXPECT_HAS(outcome([&] { TlsContext context(files); }), "is not valid now");
}

TEST(Tls, FilesThatDoNotFitAreNamed) {
  TestAuthority authority;
  const CertificateFiles good = authority.issue({}), locked = authority.issue({.password = "open sesame"});
  const auto said = [](CertificateFiles files) { return outcome([&] { TlsContext context(files); }); };
  EXPECT_EQ(said(good), "fine");
  EXPECT_HAS(said({good.ca, good.certificate, "", ""}), "SHOAL_TLS_KEY");
  EXPECT_HAS(said({"", good.certificate, good.key, ""}), "SHOAL_TLS_CA");
  EXPECT_HAS(said({good.ca, authority.folder().path("absent"), good.key, ""}), "absent: No such file");
  EXPECT_HAS(said({good.ca, good.certificate, locked.key, locked.key_password}), "does not belong to the certificate");
  EXPECT_HAS(said({good.ca, locked.certificate, locked.key, ""}), "SHOAL_TLS_KEY_PASSWORD_FILE");
  EXPECT_HAS(said({good.ca, locked.certificate, locked.key, authority.folder().write("wrong", "open barley")}), "is the password right?");
  ::chmod(good.key.c_str(), 0644);
  EXPECT_HAS(said(good), "chmod 600");
}

/// The server's verdict on a client that says it is `pe`.
std::string verdict(TestAuthority& authority, const std::string& names, int pe, const std::string& fingerprint = "") {
  const TlsContext client_context(authority.issue({.names = names})), server_context(authority.issue({}));
  Wire wire;
  auto client = client_context.connect(wire.client.get()), server = server_context.accept(wire.server.get());
  shake_both(*client, *server, wire);
  EXPECT_EQ(server->peer_fingerprint(), client_context.own_fingerprint());
  return outcome([&] { server->check_peer(pe, fingerprint == "own" ? client_context.own_fingerprint() : fingerprint); });
}

TEST(Tls, CertificateBindsItsPes) {
  TestAuthority authority;
  EXPECT_EQ(verdict(authority, "URI:shoal:pe:2,URI:shoal:pe:4-6", 2), "fine");
  EXPECT_EQ(verdict(authority, "URI:shoal:pe:2,URI:shoal:pe:4-6", 5), "fine");
  EXPECT_HAS(verdict(authority, "URI:shoal:pe:2,URI:shoal:pe:4-6", 3), "is not for PE 3");
  EXPECT_EQ(verdict(authority, "URI:shoal:pe:*", 1000), "fine");
  EXPECT_EQ(verdict(authority, "DNS:node7", 3), "fine");
  EXPECT_EQ(verdict(authority, "", 3, "own"), "fine");
  EXPECT_HAS(verdict(authority, "", 3, std::string(64, '0')), "is not the one that PE 3 showed");
}

TEST(Tls, NamesOfPesAreParsedStrictly) {
  for (const char* bad : {"shoal:pe:", "shoal:pe:x", "shoal:pe:1-", "shoal:pe:-1", "shoal:pe:1-2-3", "shoal:pe:1 ", "shoal:pe:99999999999"})
    EXPECT_HAS(outcome([&] { CertifiedPes::of(std::vector<std::string>{bad}); }), "is not valid") << bad;
  EXPECT_FALSE(CertifiedPes::of(std::vector<std::string>{"https://example.org"}).stated());
}

}  // namespace
}  // namespace shoal
