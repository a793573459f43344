// SPDX-License-Identifier: Apache-2.0
#include "security/credentials.hpp"

#include "base/error.hpp"

namespace shoal {

Credentials Credentials::from(const Options& options) {
  Credentials result;
  result.plain = !options.tls;
  if (result.plain) return result;
  result.certificates = {options.tls_ca, options.tls_cert, options.tls_key, options.tls_key_password_file};
  if (options.job_secret_file.empty()) return result;
  if (result.certificates.given())
    throw Error(Code::security,
                "a job secret (SHOAL_JOB_SECRET_FILE) and certificates (SHOAL_TLS_CA, SHOAL_TLS_CERT, SHOAL_TLS_KEY) "
                "are named: choose one of the two");
  result.secret = Secret::from_file(options.job_secret_file);
  return result;
}

std::unique_ptr<TlsContext> Credentials::context(TlsPurpose purpose) const {
  if (plain) return nullptr;
  if (secret) return std::make_unique<TlsContext>(*secret, purpose);
  if (certificates.given()) return std::make_unique<TlsContext>(certificates);
  throw Error(Code::security,
              "a job over several machines is encrypted, and there is nothing to prove with who belongs to it. Give "
              "the same secret on all machines (--secret-file FILE or SHOAL_JOB_SECRET_FILE: 32 bytes or more, mode "
              "0600, made for instance by: umask 077; openssl rand -hex 32 >FILE), or certificates (SHOAL_TLS_CA, "
              "SHOAL_TLS_CERT, SHOAL_TLS_KEY), or turn it off on a network that you trust (--no-tls, SHOAL_TLS=0)");
}

}  // namespace shoal
