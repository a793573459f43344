// SPDX-License-Identifier: Apache-2.0
// With what the members of a job prove to each other that they are members.
#pragma once
#include <memory>
#include <optional>

#include "base/options.hpp"
#include "security/tls.hpp"

namespace shoal {

struct Credentials {
  bool plain = false;             ///< they do not, and nothing is encrypted: the user turned it off
  std::optional<Secret> secret;   ///< either this
  CertificateFiles certificates;  ///< or these

  /// What the options name: nothing where they name nothing. @throws Error{security} when they name a secret and
  /// certificates, or the secret's file cannot be used
  static Credentials from(const Options& options);
  bool any() const { return plain || secret || certificates.given(); }
  /// Null where all is plain. @throws Error{security} when there are none, or they cannot be used
  std::unique_ptr<TlsContext> context(TlsPurpose purpose) const;
};

}  // namespace shoal
