#include <fmt/format.h>
#include <httplib.h>
#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <memory>
#include <mutex>
#include <thread>

#include "bough/core/errors.h"
#include "bough/graph/plugin.h"
#include "tasks/runner/interrupt.h"
#include "tasks/runner/live_results.h"
#include "tools/bough/commands.h"
#include "tools/bough/open_page.h"
#include "tools/bough/result_folder.h"
#include "tools/bough/watch_assets.h"
#include "tools/report/differences.h"
#include "tools/report/report.h"

namespace bough::cli {
namespace {

/// Programs of this machine only.
constexpr const char* loopback = "127.0.0.1";

/// The report of a folder as it is now, worked out again when its files have changed.
class LiveReport {
 public:
  explicit LiveReport(std::string folder) : folder_(std::move(folder)) {}

  struct Content {
    std::string version;
    std::string text;
  };
  Content page() { return content(&Rendered::page); }
  Content data() { return content(&Rendered::data); }
  std::string version() const { return runner::live_version(folder_); }

 private:
  struct Rendered {
    std::string version, page, data;
  };

  Content content(std::string Rendered::*part) {
    const std::lock_guard lock(mutex_);
    // Asked before the files are read: what changes meanwhile is another version the next time.
    if (const std::string now = version(); rendered_.version != now) {
      runner::Results results = runner::load_live_results(folder_);
      report::mark_differences(results);
      const report::Summary summary = report::summarize(std::move(results));
      rendered_ = {now, with_script(report::to_html(summary)),
                   report::to_json(summary).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)};
    }
    return {rendered_.version, rendered_.*part};
  }

  static std::string with_script(std::string page) {
    const std::string script = fmt::format("<script>\n{}\n</script>\n", watch_script);
    return page.insert(page.rfind("</body>"), script);
  }

  std::string folder_;
  std::mutex mutex_;
  Rendered rendered_;
};

/// Pages of other sites reach a server on this machine under names of their own (DNS rebinding); the name that the
/// browser was given tells them.
bool is_for_this_server(const httplib::Request& request, int port) {
  const std::string host = request.get_header_value("Host");
  if (port == 80 && (host == loopback || host == "localhost")) return true;  // browsers leave this port out
  return host == fmt::format("{}:{}", loopback, port) || host == fmt::format("localhost:{}", port);
}

void answer(const httplib::Request& request, httplib::Response& response, const LiveReport& report, const char* type,
            const std::function<LiveReport::Content()>& content) {
  try {
    if (request.get_header_value("If-None-Match") == "\"" + report.version() + "\"") {
      response.status = 304;
      return;
    }
    const LiveReport::Content now = content();
    response.set_header("ETag", "\"" + now.version + "\"");
    response.set_content(now.text, type);
  } catch (const std::exception& error) {
    response.status = 503;
    response.set_content(error.what(), "text/plain; charset=utf-8");
  }
}

void add_routes(httplib::Server& server, LiveReport& report) {
  server.set_default_headers(
      {{"Cache-Control", "no-cache"},
       {"X-Content-Type-Options", "nosniff"},
       {"Content-Security-Policy",
        "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; "
        "connect-src 'self'; frame-ancestors 'none'"}});
  server.Get("/", [&report](const httplib::Request& request, httplib::Response& response) {
    answer(request, response, report, "text/html; charset=utf-8", [&] { return report.page(); });
  });
  server.Get("/data.json", [&report](const httplib::Request& request, httplib::Response& response) {
    answer(request, response, report, "application/json", [&] { return report.data(); });
  });
}

/// The port that it listens on.
int bind(httplib::Server& server, int port) {
  // Without SO_REUSEPORT, with which two servers could have the same port.
  server.set_socket_options([](socket_t socket) {
    const int yes = 1;
    ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  });
  const int bound = port == 0 ? server.bind_to_any_port(loopback) : server.bind_to_port(loopback, port) ? port : -1;
  if (bound > 0) return bound;
  throw IoError("watch",
                fmt::format("port {} of {} cannot be had, another program may use it; --port 0 takes a free one", port,
                            loopback));
}

}  // namespace

void run_watch(const WatchCommand& command) {
  using namespace std::chrono_literals;
  for (const std::string& library : command.plugins) load_plugin(library);
  require_results(command.folder, "watch");
  load_plugins_for_pictures(runner::load_live_results(command.folder));
  LiveReport report(command.folder);
  report.data();  // what is wrong with the folder is said here

  httplib::Server server;
  server.set_keep_alive_timeout(1);  // connections that are kept open delay the end
  add_routes(server, report);
  const int port = bind(server, command.port);
  server.set_pre_routing_handler([port](const httplib::Request& request, httplib::Response& response) {
    if (is_for_this_server(request, port)) return httplib::Server::HandlerResponse::Unhandled;
    response.status = 403;
    response.set_content("this server answers to 127.0.0.1 and localhost only", "text/plain");
    return httplib::Server::HandlerResponse::Handled;
  });

  const runner::InterruptGuard guard;
  std::atomic<bool> has_ended = false;
  // Joins when it goes out of scope, also by an exception; the server is then asked to stop first.
  const std::jthread listener([&] {
    server.listen_after_bind();
    has_ended = true;
  });
  const std::shared_ptr<httplib::Server> stopped(&server, [](httplib::Server* one) { one->stop(); });
  while (!server.is_running() && !has_ended) std::this_thread::sleep_for(1ms);  // stop() does nothing before that
  const std::string address = fmt::format("http://{}:{}/", loopback, port);
  fmt::print("{} shows {}; Ctrl-C ends it\n", address, command.folder);
  std::fflush(stdout);
  if (command.open) open_page(address);
  while (!runner::interrupted() && !has_ended) std::this_thread::sleep_for(100ms);
}

}  // namespace bough::cli
