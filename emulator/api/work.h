// One piece of asynchronous work: what a stream runs, and what a graph node holds. Immutable once made, so that a graph can share it
// with launches under way; an update replaces it.
//
// Refuses: nothing here: arguments were validated when the work was made. run() reports failures as an Outcome and does not throw.
#pragma once

#include <memory>
#include <string>

#include "api/abi.h"

namespace gfx950::api {

struct Outcome {
  hipError_t code = hipSuccess;
  std::string text;
};

class Work {
 public:
  virtual ~Work() = default;
  virtual Outcome run() const = 0;
  virtual hipGraphNodeType type() const = 0;
  virtual std::string describe() const = 0;  // for graph dumps and texts
  virtual bool delayed() const { return true; }          // GFX950_EMU_STREAM_DELAY_US applies
  virtual bool calls_the_user() const { return false; }  // host functions: not waited for at exit
};
using WorkPointer = std::shared_ptr<const Work>;

class HostFunctionWork : public Work {
 public:
  HostFunctionWork(hipHostFn_t function, void* data) : function(function), data(data) {}
  Outcome run() const override {
    function(data);
    return {};
  }
  hipGraphNodeType type() const override { return hipGraphNodeTypeHost; }
  std::string describe() const override { return "host function"; }
  bool calls_the_user() const override { return true; }
  const hipHostFn_t function;
  void* const data;
};

class EmptyWork : public Work {
 public:
  Outcome run() const override { return {}; }
  hipGraphNodeType type() const override { return hipGraphNodeTypeEmpty; }
  std::string describe() const override { return "empty"; }
  bool delayed() const override { return false; }
};

}  // namespace gfx950::api
