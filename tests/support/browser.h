#pragma once

#include <gtest/gtest.h>
#include <stdio.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/files.h"

/// Pages in a real browser without a network. BOUGH_CHROMIUM names its program.
namespace bough::test {

struct Screen {
  /// Of a frame that the page is in: windows of Chromium are never narrower than 500, frames are. 0: a window.
  int width = 0;
  std::string options = {};  ///< of the browser
};

/// The document of a page after its scripts have run. They may wait: time passes at once.
inline std::string document_in_browser(const TemporaryFolder& folder, const std::string& page, const Screen& screen) {
  const std::string command =
      "timeout 120 " BOUGH_CHROMIUM " --headless --no-sandbox --disable-gpu --virtual-time-budget=10000 " +
      screen.options + " --user-data-dir=" + folder.file("profile") + " --dump-dom file://" + page + " 2>/dev/null";
  const std::unique_ptr<FILE, int (*)(FILE*)> browser(::popen(command.c_str(), "r"), ::pclose);
  std::string document;
  char buffer[4096];
  while (const std::size_t got = std::fread(buffer, 1, sizeof(buffer), browser.get())) document.append(buffer, got);
  return document;
}

/// What the body of an async function returns at the end of the page; a failure of the test and null if it fails.
inline nlohmann::json asked_in_browser(std::string page, const std::string& script, const Screen& screen = {}) {
  const TemporaryFolder folder;
  const std::string show =
      "((text) => { document.body.replaceChildren(Object.assign(document.createElement('pre'), {id: 'seen', "
      "textContent: text})); })";
  // A page that is a file may not look into another, but hear from it. What HTML would write otherwise is escaped.
  const std::string say = screen.width > 0 ? "((text) => parent.postMessage(text, '*'))" : show;
  const std::string probe = "<script>(async () => {" + script +
                            "})().then((seen) => ({seen}), (error) => ({error: String(error)})).then((answer) => " +
                            say +
                            "(JSON.stringify(answer).replace(/[<>&]/g, (c) => '\\\\u00' + "
                            "c.charCodeAt(0).toString(16))));</script></body>";
  page.replace(page.rfind("</body>"), 7, probe);
  write_file(folder.file("page.html"), page);
  std::string shown = folder.file("page.html");
  if (screen.width > 0) {
    shown = folder.file("around.html");
    write_file(shown, "<!DOCTYPE html><body><script>addEventListener('message', (event) => " + show +
                          "(event.data));</script><iframe src='page.html' width='" + std::to_string(screen.width) +
                          "' height='800' style='border: 0'></iframe></body>");
  }
  const std::string document = document_in_browser(folder, shown, screen);
  const std::string begin = "<pre id=\"seen\">";
  const std::size_t from = document.find(begin), to = document.find("</pre>", from);
  if (from == document.npos || to == document.npos) {
    ADD_FAILURE() << "the browser showed: " << document.substr(0, 2000);
    return {};
  }
  const nlohmann::json answer = nlohmann::json::parse(document.substr(from + begin.size(), to - from - begin.size()));
  if (answer.contains("error")) ADD_FAILURE() << "the script failed: " << answer["error"];
  return answer.value("seen", nlohmann::json());
}

}  // namespace bough::test
