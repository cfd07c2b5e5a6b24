#include <cstdio>
#include <sstream>

#include "engine/engine.h"

namespace gfx950 {

const char* name_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::None: return "no error";
    case ErrorCode::InvalidLaunch: return "invalid launch";
    case ErrorCode::UnknownInstruction: return "unknown instruction";
    case ErrorCode::IllegalAddress: return "illegal address";
    case ErrorCode::StrictViolation: return "strict violation";
    case ErrorCode::Runaway: return "runaway";
    case ErrorCode::Trap: return "trap";
    case ErrorCode::Internal: return "internal error";
  }
  return "error";
}

const char* name_of(ReportKind kind) {
  switch (kind) {
    case ReportKind::MissingWait: return "missing wait";
    case ReportKind::LdsRace: return "LDS race";
    case ReportKind::UnwrittenLds: return "unwritten LDS";
    case ReportKind::UnwrittenMemory: return "unwritten memory";
    case ReportKind::BadAddress: return "bad address";
    case ReportKind::BadLdsAddress: return "bad LDS address";
    case ReportKind::Misaligned: return "misaligned";
    case ReportKind::Hazard: return "hazard";
    case ReportKind::BadRegister: return "bad register";
  }
  return "report";
}

std::string Report::text() const {
  std::ostringstream out;
  out << name_of(kind) << ": kernel " << kernel << ", pc 0x" << std::hex << pc << " (+0x" << kernel_pc << std::dec << ") '" << instruction << "', workgroup ("
      << workgroup.x << "," << workgroup.y << "," << workgroup.z << "), wave " << wave;
  if (lane >= 0) out << ", lane " << lane;
  if (size) out << ", " << size << " bytes at 0x" << std::hex << address << std::dec;
  out << ": " << detail;
  if (!issued_instruction.empty()) out << "; other: pc 0x" << std::hex << issued_pc << std::dec << " '" << issued_instruction << "'";
  return out.str();
}

}  // namespace gfx950
