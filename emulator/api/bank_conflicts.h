// LDS bank conflicts of the newest launch that counted them (GFX950_EMU_BANK_CONFLICTS=1), kept for whoever asks.
#pragma once

#include "engine/engine.h"

namespace gfx950::api {

void keep_bank_conflicts(const LaunchOutcome& outcome);

}  // namespace gfx950::api
