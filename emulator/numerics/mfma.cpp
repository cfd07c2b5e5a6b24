// One table of all matrix instructions but f8f6f4, found by name.
#include "mfma.h"

#include <vector>

#include "mfma_tables.h"

namespace gfx950::numerics {

namespace {

const std::vector<MfmaRow>& all_rows() {
    static const std::vector<MfmaRow>& rows = *[] {  // never destroyed: workers may outlive the statics
        auto* joined = new std::vector<MfmaRow>;
        for (MfmaTable t : {dense_rows(), sparse_rows()}) joined->insert(joined->end(), t.rows, t.rows + t.count);
        return joined;
    }();
    return rows;
}

}  // namespace

const MfmaRow* find_mfma(std::string_view mnemonic) {
    for (const MfmaRow& row : all_rows())
        if (mnemonic == row.mnemonic) return &row;
    return nullptr;
}
const MfmaRow* mfma_rows_begin() { return all_rows().data(); }
const MfmaRow* mfma_rows_end() { return all_rows().data() + all_rows().size(); }

}  // namespace gfx950::numerics
