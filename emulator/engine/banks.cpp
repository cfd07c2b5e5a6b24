// LDS bank conflicts, counted per instruction (GFX950_EMU_BANK_CONFLICTS=1).
// 64 banks of 4 bytes; a pass serves 64 lanes of 4 bytes (or fewer), 32 of 8, 16 of 12 or 16. In a pass a bank gives one word a cycle; lanes
// that want the same word share it. [assumption: lds-banks]
#include <algorithm>
#include <array>

#include "engine/launch.h"

namespace gfx950 {

void count_bank_conflicts(Wave& w, const VectorAccess& a) {
  const int lanes_a_pass = a.bytes <= 4 ? 64 : a.bytes == 8 ? 32 : 16, words = a.bytes <= 4 ? 1 : a.bytes / 4;
  uint64_t extra = 0;
  for (int part = 0; part < a.parts; ++part)
    for (int first = 0; first < 64; first += lanes_a_pass) {
      std::array<std::array<uint64_t, 64>, 64> seen;  // words asked of each bank
      std::array<uint8_t, 64> count{};
      for (int l = first; l < first + lanes_a_pass; ++l) {
        if (!(a.exec >> l & 1)) continue;
        for (int k = 0; k < words; ++k) {
          const uint64_t word = (a.address[l] + (part ? static_cast<int64_t>(a.second) : 0)) / 4 + k;
          auto& bank = seen[word % 64];
          uint8_t& n = count[word % 64];
          if (std::find(bank.begin(), bank.begin() + n, word) == bank.begin() + n) bank[n++] = word;
        }
      }
      const uint8_t most = *std::max_element(count.begin(), count.end());
      if (most > 1) extra += most - 1u;
    }
  auto& entry = (*w.group->conflicts)[a.inst];
  ++entry.first;
  entry.second += extra;
}

}  // namespace gfx950
