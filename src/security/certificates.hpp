// SPDX-License-Identifier: Apache-2.0
// Certificates: where they are, and which PEs one may speak for.
#pragma once
#include <string>
#include <utility>
#include <vector>

struct x509_st;
struct ssl_ctx_st;

namespace shoal {

/// Paths of PEM files. The key's and the password's may be read by their owner only.
struct CertificateFiles {
  std::string ca;            ///< the authority, or several, that members' certificates are from
  std::string certificate;   ///< this member's, followed by the intermediate ones if there are any
  std::string key;           ///< its private key
  std::string key_password;  ///< the file whose first line is the key's password; "": the key has none
  bool given() const { return !ca.empty() || !certificate.empty() || !key.empty(); }
};

/// Reads them into `context`, for both sides of a connection. @throws Error{security} that names the file, also when
/// the certificate is not valid now or does not belong to the key
void load_certificates(ssl_ctx_st* context, const CertificateFiles& files);

/// The PEs that a certificate is for: names of the form "shoal:pe:3", "shoal:pe:0-7" or "shoal:pe:*" among its
/// alternative names (type URI). Without any it says nothing about PEs.
class CertifiedPes final {
 public:
  /// @throws Error{security} for a name that begins like that and goes on otherwise
  static CertifiedPes of(x509_st* certificate);
  static CertifiedPes of(const std::vector<std::string>& names);
  bool stated() const { return !ranges_.empty(); }
  bool contains(int pe) const;

 private:
  std::vector<std::pair<int, int>> ranges_;  // first and last
};

/// SHA-256 of the whole certificate, in hexadecimal.
std::string fingerprint_of(x509_st* certificate);
/// "CN=node1 (valid until Nov 29 20:00:00 2026 GMT)"
std::string describe_certificate(x509_st* certificate);

}  // namespace shoal
