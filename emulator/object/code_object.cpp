#include "object/code_object.h"

#include <elf.h>

#include <algorithm>
#include <cstring>

#include "decode/program.h"
#include "object/msgpack.h"

namespace gfx950 {

namespace {

constexpr uint16_t kMachineAmdgpu = 224;
constexpr uint8_t kOsAbiHsa = 64;
constexpr uint32_t kMachGfx950 = 0x4f, kMachGfx9_4Generic = 0x5f;
constexpr uint32_t kNoteMetadata = 32;
constexpr uint64_t kMaxImage = uint64_t{1} << 32;
enum : uint32_t { kAbs32Lo = 1, kAbs32Hi = 2, kAbs64 = 3, kRel32 = 4, kRel64 = 5, kAbs32 = 6, kRel32Lo = 10, kRel32Hi = 11, kRelative64 = 13 };

template <class T>
bool read_at(const uint8_t* data, size_t size, uint64_t offset, T& out) {
  if (offset > size || size - offset < sizeof(T)) return false;
  std::memcpy(&out, data + offset, sizeof(T));
  return true;
}

// The one gfx950 entry of an uncompressed clang offload bundle.
bool unbundle(const uint8_t*& data, size_t& size, std::string& error) {
  static constexpr char kMagic[] = "__CLANG_OFFLOAD_BUNDLE__";
  constexpr size_t kMagicSize = sizeof kMagic - 1;
  if (size >= 4 && std::memcmp(data, "CCOB", 4) == 0) {
    error = "code object: a compressed offload bundle (CCOB); give the extracted gfx950 code object";
    return false;
  }
  if (size < kMagicSize || std::memcmp(data, kMagic, kMagicSize) != 0) return true;
  uint64_t count = 0, at = kMagicSize;
  if (!read_at(data, size, at, count) || count > 4096) {
    error = "code object: truncated offload bundle";
    return false;
  }
  at += 8;
  const uint8_t* found = nullptr;
  size_t found_size = 0;
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t header[3];
    if (!read_at(data, size, at, header) || header[2] > size - at - sizeof header || header[0] > size || header[1] > size - header[0]) {
      error = "code object: truncated offload bundle";
      return false;
    }
    const std::string triple(reinterpret_cast<const char*>(data + at + sizeof header), header[2]);
    at += sizeof header + header[2];
    if (triple.find("gfx950") == std::string::npos && triple.find("gfx9-4-generic") == std::string::npos) continue;
    if (found) {
      error = "code object: the offload bundle holds more than one gfx950 entry";
      return false;
    }
    found = data + header[0];
    found_size = header[1];
  }
  if (!found) {
    error = "code object: the offload bundle holds no gfx950 entry";
    return false;
  }
  data = found;
  size = found_size;
  return true;
}

}  // namespace

class ElfReader {
 public:
  ElfReader(const uint8_t* data, size_t size, CodeObject& object) : data_(data), size_(size), object_(object) {}

  bool read(int device, std::string& error) {
    error_ = &error;
    return header() && segments(device) && sections() && relocations() && notes() && kernels();
  }

 private:
  bool fail(const std::string& why) {
    *error_ = "code object: " + why;
    return false;
  }

  bool header() {
    if (!read_at(data_, size_, 0, elf_) || std::memcmp(elf_.e_ident, ELFMAG, SELFMAG) != 0) return fail("not an ELF file");
    if (elf_.e_ident[EI_CLASS] != ELFCLASS64 || elf_.e_ident[EI_DATA] != ELFDATA2LSB) return fail("not a 64-bit little-endian ELF file");
    if (elf_.e_machine != kMachineAmdgpu) return fail("ELF machine " + std::to_string(elf_.e_machine) + ", not AMDGPU (224)");
    if (elf_.e_ident[EI_OSABI] != kOsAbiHsa) return fail("OS ABI " + std::to_string(elf_.e_ident[EI_OSABI]) + ", not amdhsa (64)");
    const uint32_t mach = elf_.e_flags & 0xff;
    if (mach != kMachGfx950 && mach != kMachGfx9_4Generic)
      return fail("made for another GPU (e_flags machine " + std::to_string(mach) + ", gfx950 is " + std::to_string(kMachGfx950) + ")");
    if (elf_.e_type != ET_DYN) return fail("not linked (ELF type " + std::to_string(elf_.e_type) + ", a code object is a shared object)");
    if (elf_.e_phentsize != sizeof(Elf64_Phdr) || elf_.e_phnum == 0) return fail("no program headers");
    if (elf_.e_phoff > size_ || (size_ - elf_.e_phoff) / sizeof(Elf64_Phdr) < elf_.e_phnum) return fail("truncated program headers");
    phdrs_.resize(elf_.e_phnum);
    std::memcpy(phdrs_.data(), data_ + elf_.e_phoff, phdrs_.size() * sizeof(Elf64_Phdr));
    return true;
  }

  bool segments(int device) {
    uint64_t low = UINT64_MAX, high = 0;
    for (const auto& p : phdrs_) {
      if (p.p_type != PT_LOAD && p.p_type != PT_NOTE) continue;
      if (p.p_offset > size_ || p.p_filesz > size_ - p.p_offset) return fail("truncated: a segment ends past the file");
      if (p.p_type != PT_LOAD) continue;
      if (p.p_filesz > p.p_memsz || p.p_vaddr > kMaxImage || p.p_memsz > kMaxImage) return fail("a segment of absurd size");
      low = std::min<uint64_t>(low, p.p_vaddr);
      high = std::max<uint64_t>(high, p.p_vaddr + p.p_memsz);
    }
    if (low >= high) return fail("no loadable segment");
    object_.low_ = low;
    object_.high_ = high;
    object_.device_ = device;
    low &= ~uint64_t{4095};
    std::string error;
    // 256 bytes past the end stay readable: instruction prefetch pads that far.
    object_.image_ = Memory::instance().allocate(high - low, MemoryKind::Image, device, error);
    if (!object_.image_) return fail(error);
    object_.bias_ = reinterpret_cast<uintptr_t>(object_.image_) - low;
    for (const auto& p : phdrs_) {
      if (p.p_type != PT_LOAD) continue;
      std::memcpy(reinterpret_cast<void*>(object_.bias_ + p.p_vaddr), data_ + p.p_offset, p.p_filesz);
      if (p.p_flags & PF_X) object_.code_.push_back({p.p_vaddr, p.p_vaddr + p.p_filesz});
    }
    Memory::instance().mark_written(object_.image_, high - low);
    return true;
  }

  bool sections() {
    if (elf_.e_shnum == 0) return fail("no section headers (the symbol table is found through them)");
    if (elf_.e_shentsize != sizeof(Elf64_Shdr) || elf_.e_shoff > size_ || (size_ - elf_.e_shoff) / sizeof(Elf64_Shdr) < elf_.e_shnum)
      return fail("truncated section headers");
    shdrs_.resize(elf_.e_shnum);
    std::memcpy(shdrs_.data(), data_ + elf_.e_shoff, shdrs_.size() * sizeof(Elf64_Shdr));
    for (const auto& s : shdrs_) {
      if (s.sh_type != SHT_DYNSYM && s.sh_type != SHT_SYMTAB) continue;
      if (!symbols(s)) return false;
    }
    return true;
  }

  bool contents(const Elf64_Shdr& s, const uint8_t*& begin, size_t& size) {
    if (s.sh_offset > size_ || s.sh_size > size_ - s.sh_offset) return fail("truncated: a section ends past the file");
    begin = data_ + s.sh_offset;
    size = s.sh_size;
    return true;
  }

  bool symbols(const Elf64_Shdr& table) {
    const uint8_t *begin, *names;
    size_t size, names_size;
    if (!contents(table, begin, size)) return false;
    if (table.sh_link >= shdrs_.size() || !contents(shdrs_[table.sh_link], names, names_size)) return fail("a symbol table without names");
    std::vector<Elf64_Sym>& out = table.sh_type == SHT_DYNSYM ? dynamic_ : scratch_;
    out.resize(size / sizeof(Elf64_Sym));
    if (!out.empty()) std::memcpy(out.data(), begin, out.size() * sizeof(Elf64_Sym));
    for (const Elf64_Sym& symbol : out) {
      if (symbol.st_name >= names_size) {
        if (symbol.st_name == 0) continue;
        return fail("a symbol name past the string table");
      }
      const char* name = reinterpret_cast<const char*>(names + symbol.st_name);
      const size_t length = strnlen(name, names_size - symbol.st_name);
      if (length == 0 || symbol.st_shndx == SHN_UNDEF) continue;
      const std::string key(name, length);
      by_name_.emplace(key, symbol);
      const int type = ELF64_ST_TYPE(symbol.st_info);
      const bool inside = symbol.st_value >= object_.low_ && symbol.st_value <= object_.high_ && symbol.st_size <= object_.high_ - symbol.st_value;
      if (!inside) continue;
      if (type == STT_FUNC) object_.functions_[symbol.st_value] = {symbol.st_value + symbol.st_size, key};
      if (type == STT_OBJECT && !key.ends_with(".kd")) object_.globals_[key] = {object_.bias_ + symbol.st_value, symbol.st_size};
    }
    return true;
  }

  bool relocations() {
    for (const auto& s : shdrs_) {
      if (s.sh_type == SHT_REL && s.sh_size) return fail("REL relocations (RELA expected)");
      if (s.sh_type != SHT_RELA) continue;
      const uint8_t* begin;
      size_t size;
      if (!contents(s, begin, size)) return false;
      for (size_t i = 0; i + sizeof(Elf64_Rela) <= size; i += sizeof(Elf64_Rela)) {
        Elf64_Rela r;
        std::memcpy(&r, begin + i, sizeof r);
        if (!relocate(r)) return false;
      }
    }
    return true;
  }

  bool relocate(const Elf64_Rela& r) {
    const uint32_t type = ELF64_R_TYPE(r.r_info), index = ELF64_R_SYM(r.r_info);
    const size_t width = type == kAbs64 || type == kRel64 || type == kRelative64 ? 8 : 4;
    if (type == 0) return true;
    if (r.r_offset < object_.low_ || r.r_offset > object_.high_ || object_.high_ - r.r_offset < width) return fail("a relocation outside the image");
    uint64_t value = object_.bias_ + r.r_addend;
    if (type != kRelative64) {
      if (index >= dynamic_.size()) return fail("a relocation against a symbol that does not exist");
      const Elf64_Sym& symbol = dynamic_[index];
      if (symbol.st_shndx == SHN_UNDEF) {
        if (ELF64_ST_BIND(symbol.st_info) != STB_WEAK) return fail("a relocation against an undefined symbol");
        value = r.r_addend;
      } else {
        value += symbol.st_value;
      }
    }
    const uintptr_t place = object_.bias_ + r.r_offset;
    switch (type) {
      case kAbs64: case kRelative64: break;
      case kAbs32: case kAbs32Lo: break;
      case kAbs32Hi: value >>= 32; break;
      case kRel64: case kRel32: case kRel32Lo: value -= place; break;
      case kRel32Hi: value = (value - place) >> 32; break;
      default: return fail("relocation type " + std::to_string(type) + " is not known");
    }
    std::memcpy(reinterpret_cast<void*>(place), &value, width);
    return true;
  }

  bool notes() {
    for (const auto& p : phdrs_) {
      if (p.p_type != PT_NOTE) continue;
      uint64_t at = p.p_offset, end = p.p_offset + p.p_filesz;
      while (end - at >= sizeof(Elf64_Nhdr)) {
        Elf64_Nhdr note;
        std::memcpy(&note, data_ + at, sizeof note);
        at += sizeof note;
        const uint64_t name = (uint64_t{note.n_namesz} + 3) & ~uint64_t{3}, desc = (uint64_t{note.n_descsz} + 3) & ~uint64_t{3};
        if (name > end - at || note.n_descsz > end - at - name) return fail("truncated note");
        if (note.n_type == kNoteMetadata && note.n_namesz >= 6 && std::memcmp(data_ + at, "AMDGPU", 6) == 0) {
          std::string error;
          if (!msgpack::parse(data_ + at + name, note.n_descsz, metadata_, error)) return fail(error);
          return true;
        }
        at += std::min(name + desc, end - at);
      }
    }
    return fail("no AMDGPU metadata note");
  }

  bool kernels() {
    const msgpack::Value* list = metadata_.get("amdhsa.kernels");
    if (!list || list->kind != msgpack::Value::Array) return fail("the metadata has no amdhsa.kernels");
    const std::string target = metadata_.string_or("amdhsa.target", "");
    if (!target.empty() && target.find("gfx950") == std::string::npos && target.find("gfx9-4-generic") == std::string::npos)
      return fail("the metadata names the target " + target + ", not gfx950");
    for (const auto& entry : list->array) {
      Kernel k;
      if (!kernel(entry, k)) return false;
      object_.kernels_.push_back(std::move(k));
    }
    return true;
  }

  bool kernel(const msgpack::Value& m, Kernel& k) {
    k.name = m.string_or(".name", "");
    k.symbol = m.string_or(".symbol", k.name + ".kd");
    if (k.name.empty()) return fail("a kernel without a name in the metadata");
    auto found = by_name_.find(k.symbol);
    if (found == by_name_.end()) return fail("kernel " + k.name + ": no symbol " + k.symbol);
    const uint64_t at = found->second.st_value;
    if (at < object_.low_ || at > object_.high_ || object_.high_ - at < 64) return fail("kernel " + k.name + ": its descriptor lies outside the image");
    const auto* d = reinterpret_cast<const uint8_t*>(object_.bias_ + at);
    auto u32 = [&](int offset) { uint32_t v; std::memcpy(&v, d + offset, 4); return v; };
    auto& desc = k.descriptor;
    desc.group_segment_fixed_size = u32(0);
    desc.private_segment_fixed_size = u32(4);
    desc.kernarg_size = u32(8);
    std::memcpy(&desc.code_entry_offset, d + 16, 8);
    desc.rsrc3 = u32(44);
    desc.rsrc1 = u32(48);
    desc.rsrc2 = u32(52);
    std::memcpy(&desc.properties, d + 56, 2);
    std::memcpy(&desc.kernarg_preload, d + 58, 2);
    k.entry = at + desc.code_entry_offset;
    uint64_t begin, end;
    if (!object_.executable(k.entry, begin, end) || k.entry % 4) return fail("kernel " + k.name + ": its entry lies outside the code");

    auto u = [&](const char* key, int64_t otherwise) { return static_cast<uint32_t>(m.integer_or(key, otherwise)); };
    k.kernarg_size = u(".kernarg_segment_size", desc.kernarg_size);
    k.kernarg_align = u(".kernarg_segment_align", 8);
    k.group_size = u(".group_segment_fixed_size", desc.group_segment_fixed_size);
    k.private_size = u(".private_segment_fixed_size", desc.private_segment_fixed_size);
    k.vgprs = u(".vgpr_count", 0);
    k.agprs = u(".agpr_count", 0);
    k.sgprs = u(".sgpr_count", 0);
    k.vgpr_spills = u(".vgpr_spill_count", 0);
    k.sgpr_spills = u(".sgpr_spill_count", 0);
    k.max_flat_workgroup_size = u(".max_flat_workgroup_size", 1024);
    k.wavefront_size = u(".wavefront_size", 64);
    k.uses_dynamic_stack = m.integer_or(".uses_dynamic_stack", 0) != 0;
    if (k.wavefront_size != 64) return fail("kernel " + k.name + ": wavefront size " + std::to_string(k.wavefront_size) + ", gfx950 has 64");
    if (const auto* required = m.get(".reqd_workgroup_size"); required && required->array.size() == 3)
      for (int i = 0; i < 3; ++i) k.required_workgroup_size[i] = static_cast<uint32_t>(required->array[i].integer);
    if (const auto* args = m.get(".args"))
      for (const auto& a : args->array) {
        KernelArgument arg;
        arg.name = a.string_or(".name", "");
        arg.value_kind = a.string_or(".value_kind", "");
        arg.address_space = a.string_or(".address_space", "");
        arg.type_name = a.string_or(".type_name", "");
        arg.offset = static_cast<uint32_t>(a.integer_or(".offset", 0));
        arg.size = static_cast<uint32_t>(a.integer_or(".size", 0));
        if (uint64_t{arg.offset} + arg.size > k.kernarg_size) return fail("kernel " + k.name + ": an argument lies past the kernarg segment");
        k.args.push_back(std::move(arg));
      }
    return true;
  }

  const uint8_t* data_;
  size_t size_;
  CodeObject& object_;
  std::string* error_ = nullptr;
  Elf64_Ehdr elf_{};
  std::vector<Elf64_Phdr> phdrs_;
  std::vector<Elf64_Shdr> shdrs_;
  std::vector<Elf64_Sym> dynamic_, scratch_;
  std::map<std::string, Elf64_Sym> by_name_;
  msgpack::Value metadata_;
};

CodeObject::CodeObject() = default;

CodeObject::~CodeObject() {
  std::string ignored;
  if (image_) Memory::instance().free(image_, ignored);
}

std::shared_ptr<CodeObject> CodeObject::load(const void* data, size_t size, std::string& error, int device) {
  error.clear();
  try {
    const auto* bytes = static_cast<const uint8_t*>(data);
    if (!bytes || size == 0) {
      error = "code object: empty";
      return nullptr;
    }
    if (!unbundle(bytes, size, error)) return nullptr;
    std::shared_ptr<CodeObject> object(new CodeObject);
    if (!ElfReader(bytes, size, *object).read(device, error)) return nullptr;
    object->program_ = std::make_unique<Program>(*object);
    return object;
  } catch (const std::exception& e) {
    error = std::string("code object: ") + e.what();
    return nullptr;
  }
}

const Kernel* CodeObject::find(const std::string& name) const {
  for (const auto& k : kernels_)
    if (k.name == name || k.symbol == name) return &k;
  return nullptr;
}

bool CodeObject::executable(uint64_t address, uint64_t& begin, uint64_t& end) const {
  for (const auto& range : code_)
    if (address >= range.begin && address < range.end) {
      begin = range.begin;
      end = range.end;
      return true;
    }
  return false;
}

std::string CodeObject::function_at(uint64_t address) const {
  auto after = functions_.upper_bound(address);
  if (after == functions_.begin()) return "";
  const auto& [begin, entry] = *std::prev(after);
  return address < entry.first || address == begin ? entry.second : "";
}

}  // namespace gfx950
