// Making work for graph nodes from HIP's parameter structs; each validates as the like call would.
#pragma once

#include "api/copy.h"
#include "api/graph_model.h"

namespace gfx950::api {

WorkPointer kernel_work(const hipKernelNodeParams& parameters);
WorkPointer copy_work(const Copy& copy);
WorkPointer fill_work(const hipMemsetParams& parameters);
WorkPointer host_work(const hipHostNodeParams& parameters);
WorkPointer work_of(const hipGraphNodeParams& parameters);

}  // namespace gfx950::api
