#include "api/log.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "api/errors.h"

namespace gfx950::api {

bool g_log_open = false;
namespace {
int g_file = -1;
}

void open_log(const std::string& path) {
  g_file = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (g_file < 0) throw Failure(hipErrorNotInitialized, text("GFX950_EMU_LOG=", path, " cannot be opened: ", std::strerror(errno)));
  g_log_open = true;
}

void log_line(const std::string& line) {
  const std::string whole = text(line, " [thread ", syscall(SYS_gettid), "]\n");
  [[maybe_unused]] ssize_t written = write(g_file, whole.data(), whole.size());
}

}  // namespace gfx950::api
