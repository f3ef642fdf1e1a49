// Certificates for tests, made by OpenSSL: an authority, and one for a server or a client.
#pragma once

#include <string>
#include <vector>

namespace vfrail::kube {

struct KeyPair {
  std::string certificate;  // PEM
  std::string key;
};

KeyPair make_authority(const std::string& name);
// For names ("localhost") and addresses ("127.0.0.1"); none: a client's.
KeyPair make_certificate(const KeyPair& authority, const std::string& subject,
                         const std::vector<std::string>& names);

}  // namespace vfrail::kube
