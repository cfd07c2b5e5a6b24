#include "decode/prepare.h"

#include "decode/row.h"
#include "decode/text.h"

namespace gfx950 {

int words_of(Type type) {
  switch (type) {
    case Type::None: return 0;
    case Type::U16: case Type::I16: case Type::F16: case Type::BF16: case Type::U32: case Type::I32: case Type::F32:
    case Type::PkU16: case Type::PkI16: case Type::PkF16: case Type::PkBF16: return 1;
    case Type::U64: case Type::I64: case Type::F64: case Type::PkF32: case Type::Mask: return 2;
    case Type::B96: return 3;
    case Type::B128: return 4;
    case Type::B160: return 5;
    case Type::B192: return 6;
    case Type::B256: return 8;
    case Type::B512: return 16;
    case Type::B1024: return 32;
  }
  return 0;
}

bool is_float(Type type) {
  return type == Type::F16 || type == Type::BF16 || type == Type::F32 || type == Type::F64 || type == Type::PkF16 || type == Type::PkBF16 ||
         type == Type::PkF32;
}

Type bits_type(int words) {
  switch (words) {
    case 1: return Type::U32;
    case 2: return Type::U64;
    case 3: return Type::B96;
    case 4: return Type::B128;
    case 5: return Type::B160;
    case 6: return Type::B192;
    case 8: return Type::B256;
    case 16: return Type::B512;
    case 32: return Type::B1024;
    default: return Type::None;
  }
}

namespace {

bool is_packed(Type type) {
  return type == Type::PkU16 || type == Type::PkI16 || type == Type::PkF16 || type == Type::PkBF16 || type == Type::PkF32;
}

bool read_slots(Instruction& i, Text& t, std::string& error) {
  const Row& row = *i.row;
  size_t at = 0;
  auto next = [&](Type type, Operand& out) {
    if (at >= t.operands.size()) {
      error = "too few operands";
      return false;
    }
    const std::string& text = t.operands[at++];
    if (!parse_operand(text, type, out)) {
      error = "operand '" + text + "' is not of the expected form";
      return false;
    }
    if (type == Type::None && out.kind == Operand::Constant) out.words = 1;
    return true;
  };
  for (int s = 0; s < row.slot_count; ++s) {
    const Slot& slot = row.slots[s];
    switch (slot.role) {
      case Role::DstUnlessLds:
        if (i.mod.lds) break;
        if (!next(slot.type, i.dst)) return false;
        break;
      case Role::DstOptional:
        if (!i.mod.sc0) break;
        if (!next(slot.type, i.dst)) return false;
        break;
      case Role::Dst: case Role::DstSrc:
        if (!next(slot.type, i.dst)) return false;
        break;
      case Role::Dst2:
        if (!next(slot.type, i.dst2)) return false;
        break;
      case Role::Swap:
        if (!next(slot.type, i.sources == 0 && i.dst.kind == Operand::None ? i.dst : i.dst2)) return false;
        i.src[i.sources++] = i.dst2.kind == Operand::None ? i.dst : i.dst2;
        break;
      case Role::Src:
        if (!next(slot.type, i.src[i.sources])) return false;
        ++i.sources;
        break;
      case Role::SrcReturned:
        if (!next(slot.type, i.src[i.sources])) return false;
        if (i.mod.sc0) {
          i.dst = i.src[i.sources];
          i.dst.words = static_cast<uint8_t>(row.parameter);
        }
        ++i.sources;
        break;
      case Role::Imm: ++at; break;
    }
  }
  for (int s = 0; s < row.slot_count; ++s)
    if (row.slots[s].role == Role::DstSrc) {
      i.src[i.sources] = i.dst;
      i.src[i.sources].neg = i.src[i.sources].abs = false;
      ++i.sources;
    }
  if (at != t.operands.size()) {
    error = "more operands than expected";
    return false;
  }
  for (const Operand* o : {&i.dst, &i.dst2})
    if (o->kind != Operand::None && o->kind != Operand::Vector && o->kind != Operand::Scalar && o->kind != Operand::Off) {
      error = "a result that is no register";
      return false;
    }
  return true;
}

bool read_sel(const std::string& text, SdwaSel& out) {
  static const char* const kNames[] = {"BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3", "WORD_0", "WORD_1", "DWORD"};
  for (int n = 0; n < 7; ++n)
    if (text == kNames[n]) {
      out = static_cast<SdwaSel>(n);
      return true;
    }
  return false;
}

bool read_sdwa(Instruction& i, Text& t, std::string& error) {
  i.mod.sdwa = true;
  bool good = true;
  if (auto v = t.take("dst_sel")) good &= read_sel(*v, i.mod.dst_sel);
  if (auto v = t.take("src0_sel")) good &= read_sel(*v, i.mod.src_sel[0]);
  if (auto v = t.take("src1_sel")) good &= read_sel(*v, i.mod.src_sel[1]);
  if (auto v = t.take("dst_unused")) {
    if (*v == "UNUSED_PAD") i.mod.dst_unused = SdwaUnused::Pad;
    else if (*v == "UNUSED_SEXT") i.mod.dst_unused = SdwaUnused::Sext;
    else if (*v == "UNUSED_PRESERVE") i.mod.dst_unused = SdwaUnused::Preserve;
    else good = false;
  }
  if (!good) error = "an SDWA selector that is not known";
  return good;
}

bool read_dpp(Instruction& i, Text& t, std::string& error) {
  Modifiers& m = i.mod;
  m.dpp = true;
  static const struct { const char* name; DppKind kind; } kNumbered[] = {
      {"row_shl", DppKind::RowShl}, {"row_shr", DppKind::RowShr}, {"row_ror", DppKind::RowRor}, {"row_newbcast", DppKind::RowNewBcast},
      {"row_share", DppKind::RowNewBcast}, {"wave_shl", DppKind::WaveShl1}, {"wave_rol", DppKind::WaveRol1}, {"wave_shr", DppKind::WaveShr1},
      {"wave_ror", DppKind::WaveRor1}};
  bool found = false;
  if (auto list = t.take_list("quad_perm")) {
    if (list->size() != 4) return error = "quad_perm of other than four entries", false;
    m.dpp_kind = DppKind::QuadPerm;
    m.dpp_value = static_cast<uint8_t>((*list)[0] | (*list)[1] << 2 | (*list)[2] << 4 | (*list)[3] << 6);
    found = true;
  }
  for (const auto& n : kNumbered)
    if (auto value = t.take_number(n.name)) {
      m.dpp_kind = n.kind;
      m.dpp_value = static_cast<uint8_t>(*value);
      found = true;
    }
  if (t.take_flag("row_mirror")) m.dpp_kind = DppKind::RowMirror, found = true;
  if (t.take_flag("row_half_mirror")) m.dpp_kind = DppKind::RowHalfMirror, found = true;
  if (auto value = t.take_number("row_bcast")) {
    m.dpp_kind = *value == 15 ? DppKind::RowBcast15 : DppKind::RowBcast31;
    found = *value == 15 || *value == 31;
  }
  if (!found) return error = "a DPP control that is not known", false;
  if (auto v = t.take_number("row_mask")) m.row_mask = static_cast<uint8_t>(*v);
  if (auto v = t.take_number("bank_mask")) m.bank_mask = static_cast<uint8_t>(*v);
  if (auto v = t.take_number("bound_ctrl")) m.bound_ctrl = *v != 0;
  if (auto v = t.take_number("fi")) m.fetch_inactive = *v != 0;
  return true;
}

bool read_vector(Instruction& i, Text& t, std::string& error) {
  Modifiers& m = i.mod;
  const Row& row = *i.row;
  m.clamp = t.take_flag("clamp");
  if (auto v = t.take_number("mul")) m.omod = *v == 2 ? 1 : *v == 4 ? 2 : 0;
  if (auto v = t.take_number("div")) m.omod = 3;
  const int text_sources = i.sources - (row.slot_count && row.slots[0].role == Role::DstSrc ? 1 : 0);
  bool packed = (row.flags & kMix) != 0;
  for (int s = 0; s < i.sources; ++s) packed |= is_packed(i.src[s].type);
  auto bits = [](const std::vector<int>& list) {
    uint8_t out = 0;
    for (size_t n = 0; n < list.size() && n < 5; ++n) out |= static_cast<uint8_t>((list[n] & 1) << n);
    return out;
  };
  const uint8_t all = static_cast<uint8_t>((1 << i.sources) - 1);
  if (auto v = t.take_list("op_sel")) {
    m.op_sel = bits(*v);
    // With a destination half the list has one entry more than there are sources: it is kept as bit 3.
    if (!packed && !(row.flags & kOpSelBytes) && static_cast<int>(v->size()) == text_sources + 1) {
      const bool high = m.op_sel >> text_sources & 1;
      m.op_sel = static_cast<uint8_t>((m.op_sel & ((1 << text_sources) - 1)) | (high ? 8 : 0));
    }
  }
  m.op_sel_hi = packed && !(row.flags & kMix) ? all : 0;
  if (auto v = t.take_list("op_sel_hi")) m.op_sel_hi = bits(*v);
  if (auto v = t.take_list("neg_lo")) m.neg_lo = bits(*v);
  if (auto v = t.take_list("neg_hi")) m.neg_hi = bits(*v);
  if (auto v = t.take_number("bitop3")) m.bitop3 = static_cast<uint8_t>(*v);
  if (i.text.find("_sdwa") != std::string::npos && !read_sdwa(i, t, error)) return false;
  if (i.text.find("_dpp") != std::string::npos && !read_dpp(i, t, error)) return false;
  if (auto v = t.take_number("bound_ctrl")) m.bound_ctrl = *v != 0;  // permlane swaps
  if (auto v = t.take_number("fi")) m.fetch_inactive = *v != 0;

  bool any_source_modifier = false;
  for (int s = 0; s < i.sources; ++s) any_source_modifier |= i.src[s].neg || i.src[s].abs || i.src[s].sext;
  const uint8_t default_hi = packed && !(row.flags & kMix) ? all : 0;
  // An op_sel_hi list names the sources of the text only.
  const bool hi_plain = (m.op_sel_hi & ((1 << text_sources) - 1)) == (default_hi & ((1 << text_sources) - 1));
  if (packed && hi_plain) m.op_sel_hi = default_hi;
  if (packed && !(row.flags & kMix))
    for (int s = text_sources; s < i.sources; ++s) m.op_sel_hi |= static_cast<uint8_t>(1 << s);
  i.plain = !any_source_modifier && !m.clamp && !m.omod && (!m.op_sel || (row.flags & kOpSelBytes)) && hi_plain && !m.neg_lo && !m.neg_hi && !m.sdwa &&
            !m.dpp && !(row.flags & kMix);
  if (m.clamp && !is_float(i.dst.type) && !(row.flags & kIntClamp)) return error = "clamp on an integer result", false;
  if (m.omod && !is_float(i.dst.type)) return error = "an output modifier on an integer result", false;
  return true;
}

void read_memory(Instruction& i, Text& t) {
  Modifiers& m = i.mod;
  m.offen = t.take_flag("offen");
  m.idxen = t.take_flag("idxen");
  m.lds = t.take_flag("lds");
  m.sc0 = t.take_flag("sc0") || t.take_flag("glc");
  m.sc1 = t.take_flag("sc1");
  m.nt = t.take_flag("nt");
  m.gds = t.take_flag("gds");
  if (auto v = t.take_number("offset0")) m.offset = static_cast<int32_t>(*v);
  if (auto v = t.take_number("offset1")) m.offset1 = static_cast<int32_t>(*v);
}

void fill_sets(Instruction& i) {
  const uint32_t flags = i.row->flags;
  for (int s = 0; s < i.sources; ++s) i.reads.add(i.src[s]);
  i.writes.add(i.dst);
  i.writes.add(i.dst2);
  if (i.mod.sdwa && i.mod.dst_unused == SdwaUnused::Preserve) i.reads.add(i.dst);
  if (flags & kReadsScc) i.reads.add_scalar(kSccBit, 1);
  if (flags & kWritesScc) i.writes.add_scalar(kSccBit, 1);
  if (flags & kReadsVcc) i.reads.add_scalar(kVcc, 2);
  if (flags & kWritesVcc) i.writes.add_scalar(kVcc, 2);
  if (flags & kWritesExec) i.writes.add_scalar(kExec, 2);
  if ((flags & kReadsM0) || i.mod.lds) i.reads.add_scalar(kM0, 1);
  if (i.row->format != Format::Scalar && i.row->format != Format::Program && i.row->format != Format::ScalarMemory) i.reads.add_scalar(kExec, 2);
  i.touched = i.reads;
  i.touched.merge(i.writes);
}

}  // namespace

bool prepare(Instruction& i, std::string& error) {
  Text t(i.text);
  i.row = find_row(t.mnemonic.c_str());
  if (!i.row) {
    error = "the emulator has no row for " + t.mnemonic;
    return false;
  }
  i.run = i.row->run;
  i.imm = static_cast<int16_t>(i.encoding[0] & 0xffff);
  if (i.row->format == Format::Program) {
    fill_sets(i);
    return true;
  }
  const bool memory = i.row->format == Format::Lds || i.row->format == Format::Buffer || i.row->format == Format::Flat || i.row->format == Format::ScalarMemory;
  if (memory) read_memory(i, t);
  if (auto offset = t.take("offset")) {
    auto number = parse_number(*offset);
    i.mod.offset = number ? static_cast<int32_t>(*number) : static_cast<int32_t>(i.encoding[0] & 0xffff);  // ds_swizzle's patterns have names
  }
  if (!read_slots(i, t, error)) return false;
  if (i.row->format == Format::Vector && !read_vector(i, t, error)) return false;
  if (i.row->format == Format::Matrix) {
    if (auto v = t.take_number("cbsz")) i.mod.cbsz = static_cast<uint8_t>(*v);
    if (auto v = t.take_number("abid")) i.mod.abid = static_cast<uint8_t>(*v);
    if (auto v = t.take_number("blgp")) i.mod.blgp = static_cast<uint8_t>(*v);
    for (auto [name, field] : {std::pair{"op_sel", &i.mod.op_sel}, {"op_sel_hi", &i.mod.op_sel_hi}, {"neg_lo", &i.mod.neg_lo}, {"neg_hi", &i.mod.neg_hi}, {"neg", &i.mod.neg_lo}})
      if (auto v = t.take_list(name))
        for (size_t n = 0; n < v->size() && n < 4; ++n) *field |= static_cast<uint8_t>(((*v)[n] & 1) << n);
  }
  if (i.row->format == Format::Scalar) t.take_flag("clamp");
  const std::string rest = t.rest();
  if (!rest.empty()) {
    error = "modifier '" + rest + "' is not known here";
    return false;
  }
  if (i.mod.gds) {
    error = "gfx950 has no GDS";
    return false;
  }
  fill_sets(i);
  return true;
}

}  // namespace gfx950
