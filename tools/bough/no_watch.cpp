#include "bough/core/errors.h"
#include "tools/bough/commands.h"

namespace bough::cli {

void run_watch(const WatchCommand& /*command*/) {
  throw ConfigError("watch",
                    "this build has no web server; install cpp-httplib and pkg-config (apt-get install "
                    "libcpp-httplib-dev pkg-config) and build anew, or use bough report DIR");
}

}  // namespace bough::cli
