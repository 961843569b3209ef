// cairn state: what lies on a tier below memory, whether it is sound, and moving it.
#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cairn/engine/recompute.h"
#include "cairn/engine/state_identity.h"
#include "cairn/sizing/render.h"
#include "tools/commands.h"
#include "tools/model_args.h"
#include "tools/state_report.h"
#include "tools/state_tier.h"
#include "tools/state_transfer.h"
#include "tools/terminal.h"

namespace cairn {
namespace {

struct StateArgs {
  TierChoice tier{.name = "", .prefix = "cairn:"};
  std::string file;
  int64_t keep_bytes = -1;  // -1: nothing is given up
  ModelArgs model;          // of what is recomputed
  std::string tenant;
  int64_t recompute = 0;
  uint64_t seed = 0;
  bool json = false;

  KeyLength key_length() const { return json ? KeyLength::kWhole : KeyLength::kShort; }
};

// What to print, and the exit code that says whether all was well.
struct Answer {
  Section section;
  int exit_code = 0;
};

Result<Answer> List(const StateArgs& args) {
  const std::optional<Bytes> folder_bytes = FolderBytes(args.tier);
  CAIRN_ASSIGN(const auto store, OpenTier(args.tier));
  const Bytes stored = folder_bytes.value_or(store->Stats().stored_bytes);
  return Answer{TierSection(args.tier, *store, stored, args.key_length())};
}

struct Verification {
  int64_t intact = 0;
  Bytes intact_bytes;
  int64_t gone = 0;  // evicted since they were listed
  std::vector<ObjectKey> damaged{};
  std::vector<Finding> findings{};  // damaged, or not readable
};

Verification VerifyAll(ObjectStore& store, KeyLength length) {
  Verification verification;
  (void)ReadObjects(store, ObjectsByKey(store), [&](const ReadObject& read) -> Status {
    switch (read.outcome) {
      case ObjectOutcome::kDone:
        ++verification.intact;
        verification.intact_bytes += read.info.size;
        break;
      case ObjectOutcome::kAbsent:
        ++verification.gone;
        break;
      case ObjectOutcome::kDamaged:
        verification.damaged.push_back(read.info.key);
        [[fallthrough]];
      case ObjectOutcome::kFailed:
        verification.findings.push_back(
            {KeyText(read.info.key, length), read.info.size, read.problem});
    }
    return {};
  });
  return verification;
}

Result<RecomputeReport> Recompute(const StateArgs& args, ObjectStore& store) {
  ModelArgs to_open = args.model;
  to_open.fingerprint = true;
  CAIRN_ASSIGN(const OpenedModel opened, OpenModel(to_open));
  CAIRN_ASSIGN(const SequenceRunner::Options options,
               RunnerOptionsOf(args.model, opened.model->spec()));
  CAIRN_ASSIGN(const auto state, MakeStoreFor(*opened.model, options, 1));
  StateIdentity identity = IdentityOf(opened.model->spec(), options.context, opened.fingerprint);
  identity.tenant = args.tenant;
  const StateKey key = KeyOf(identity, opened.model->layout().spec());
  return RecomputeObjects(*opened.model, *state, key, store,
                          {.objects = args.recompute, .seed = args.seed, .chunk = options.chunk});
}

Status AddRecomputed(const StateArgs& args, ObjectStore& store, Answer& answer) {
  if (args.recompute == 0) return {};
  if (args.model.model.empty()) {
    return Fail(ErrorCode::kInvalidArgument,
                "--recompute needs the model that the state is of: -m MODEL");
  }
  CAIRN_ASSIGN(const RecomputeReport report, Recompute(args, store));
  std::vector<Finding> findings;
  for (const std::string& problem : report.problems)
    findings.push_back({"recomputed", {}, problem});
  std::vector<Field>& fields = answer.section.fields;
  fields.push_back(CountField("candidates", "of this model and format", report.candidates));
  fields.push_back(CountField("recomputed_equal", "recomputed, equal to the bit", report.equal));
  fields.push_back(CountField("recomputed_different", "recomputed, different", report.different));
  fields.push_back(
      CountField("incomplete", "not recomputed: what is before is gone", report.incomplete));
  fields.push_back(CountField("recomputed_tokens", "tokens computed", report.computed.value()));
  answer.section.tables.push_back(FindingsTable("recomputed", findings));
  if (report.different > 0 || report.unreadable > 0) answer.exit_code = 1;
  return {};
}

Result<Answer> Verify(const StateArgs& args) {
  CAIRN_ASSIGN(const auto store, OpenTier(args.tier));
  const int64_t damaged_before = store->Stats().damaged;
  const Verification found = VerifyAll(*store, args.key_length());
  const auto damaged = static_cast<int64_t>(found.damaged.size());
  const auto findings = static_cast<int64_t>(found.findings.size());
  Answer answer{
      {.key = "verify",
       .title = "Objects of " + args.tier.Name(),
       .fields = {CountField("intact", "intact", found.intact),
                  BytesField("intact_bytes", "their bytes", found.intact_bytes),
                  CountField("damaged", "damaged", damaged),
                  CountField("failed", "could not be read", findings - damaged),
                  CountField("gone", "gone meanwhile", found.gone),
                  CountField("damaged_files", "files and entries found damaged on opening",
                             damaged_before)},
       .tables = {FindingsTable("findings", found.findings)}}};
  answer.exit_code = findings > 0 || damaged_before > 0 ? 1 : 0;
  CAIRN_TRY(AddRecomputed(args, *store, answer));
  return answer;
}

// Damaged objects of a folder are erased, so that they don't come back; a Redis lost them when they
// were read. Returns the first problem.
Status EraseAll(ObjectStore& store, const std::vector<ObjectKey>& keys) {
  for (const ObjectKey& key : keys) {
    CAIRN_TRY(store.Erase(key));
    const ObjectCompletion done = WaitForOne(store);
    if (done.outcome != ObjectOutcome::kDone) return Fail(ErrorCode::kIo, "{}", done.problem);
  }
  return {};
}

// Those put longest ago, until the others fit.
std::vector<ObjectKey> TooMany(const ObjectStore& store, Bytes keep) {
  std::vector<ObjectKey> keys;
  const ObjectStoreStats stats = store.Stats();
  if (stats.objects == 0) return keys;
  const Bytes overhead((stats.stored_bytes - stats.object_bytes).value() / stats.objects);
  Bytes stored = stats.stored_bytes;
  for (const ObjectInfo& info : store.List()) {
    if (stored <= keep) break;
    stored -= info.size + overhead;
    keys.push_back(info.key);
  }
  return keys;
}

Result<Answer> CollectGarbage(const StateArgs& args) {
  const std::optional<Bytes> folder_before = FolderBytes(args.tier);
  CAIRN_ASSIGN(auto store, OpenTier(args.tier));
  const ObjectStoreStats before = store->Stats();
  const Verification found = VerifyAll(*store, args.key_length());
  CAIRN_TRY(EraseAll(*store, found.damaged));
  if (args.keep_bytes >= 0) {
    const Bytes keep(args.keep_bytes);
    if (args.tier.IsRedis()) {
      CAIRN_TRY(EraseAll(*store, TooMany(*store, keep)));
    } else {
      store.reset();  // a folder belongs to one store at a time
      CAIRN_ASSIGN(store, OpenTierWithin(args.tier, keep));
    }
  }
  const ObjectStoreStats after = store->Stats();
  store.reset();
  const Bytes stored_before = folder_before.value_or(before.stored_bytes);
  const Bytes stored_after = FolderBytes(args.tier).value_or(after.stored_bytes);
  const auto damaged = static_cast<int64_t>(found.damaged.size());
  return Answer{{.key = "gc",
                 .title = "Objects of " + args.tier.Name(),
                 .fields = {CountField("damaged", "damaged ones removed", damaged),
                            CountField("given_up", "sound ones given up",
                                       before.objects - damaged - after.objects),
                            BytesField("freed_bytes", "freed", stored_before - stored_after),
                            CountField("objects", "objects left", after.objects),
                            BytesField("stored_bytes", "bytes left", stored_after)},
                 .tables = {FindingsTable("findings", found.findings)}}};
}

Answer TransferAnswer(const char* key, std::string title, const Transfer& transfer) {
  const auto refused = static_cast<int64_t>(transfer.refused.size());
  Answer answer{{.key = key,
                 .title = std::move(title),
                 .fields = {CountField("objects", "objects", transfer.objects),
                            BytesField("bytes", "their bytes", transfer.bytes),
                            CountField("already_there", "there already", transfer.already_there),
                            CountField("refused", "refused", refused)},
                 .tables = {FindingsTable("findings", transfer.refused)}}};
  answer.exit_code = refused > 0 ? 1 : 0;
  return answer;
}

Result<Answer> Export(const StateArgs& args) {
  CAIRN_ASSIGN(const auto store, OpenTier(args.tier));
  CAIRN_ASSIGN(const Transfer transfer, ExportObjects(*store, args.file, args.key_length()));
  return TransferAnswer("export", fmt::format("{} to {}", args.tier.Name(), args.file), transfer);
}

Result<Answer> Import(const StateArgs& args) {
  // First the file: a wrong one should leave no empty folder behind.
  CAIRN_TRY(CheckArchive(args.file));
  CAIRN_ASSIGN(const auto store, OpenOrMakeTier(args.tier));
  CAIRN_ASSIGN(const Transfer transfer, ImportObjects(*store, args.file, args.key_length()));
  return TransferAnswer("import", fmt::format("{} into {}", args.file, args.tier.Name()), transfer);
}

int Run(const StateArgs& args, Result<Answer> (*action)(const StateArgs&)) {
  Result<Answer> answer = action(args);
  if (!answer) return ExitCodeOf(answer.error());
  // An empty table says nothing to people; programs want the list all the same.
  if (!args.json) std::erase_if(answer->section.tables, [](auto& t) { return t.rows.empty(); });
  const std::span<const Section> sections(&answer->section, 1);
  if (args.json) {
    fmt::print("{}", RenderJson(sections, 2));
  } else {
    fmt::print("{}", RenderText(sections, {.columns = OutputColumns(),
                                           .blocks = OutputIsTerminal(),
                                           .explain = false}));
  }
  return answer->exit_code;
}

}  // namespace

void AddStateCommand(CLI::App& app, ChosenCommand& chosen) {
  static StateArgs args;  // the parser writes into it after this function has returned
  CLI::App& command = *app.add_subcommand("state", "List, check, trim and move stored state");
  command.require_subcommand(1);
  const auto add = [&](const char* name, const char* what,
                       Result<Answer> (*action)(const StateArgs&)) -> CLI::App& {
    CLI::App& sub = *command.add_subcommand(name, what);
    sub.add_option("tier", args.tier.name, "The folder of a disk tier, or redis://host:port/db")
        ->required();
    sub.add_option("--prefix", args.tier.prefix, "Of the keys on a Redis")->capture_default_str();
    sub.add_flag("--json", args.json, "Print JSON, with whole keys");
    sub.callback([&chosen, action] { chosen = [action] { return Run(args, action); }; });
    return sub;
  };
  add("ls", "List objects: tokens, sizes, models; and totals", List);
  CLI::App& verify =
      add("verify", "Read every object and check it; exit code 1 if one is damaged", Verify);
  verify
      .add_option("--recompute", args.recompute,
                  "Compute so many objects anew, chosen at random, and compare them bit for bit")
      ->check(CLI::NonNegativeNumber);
  verify.add_option("-m,--model", args.model.model, "The model that the state is of");
  verify.add_option("-s,--seed", args.seed, "Chooses the objects");
  verify.add_option("--tenant", args.tenant, "The salt of the tenant whose state it is");
  args.model.AddThreadFlag(verify);
  args.model.AddStateFlags(verify);
  args.model.AddContextFlags(verify);
  CLI::App& gc = add("gc", "Remove damaged objects, and the oldest ones", CollectGarbage);
  gc.add_option("--keep-bytes", args.keep_bytes,
                "Give up the oldest until no more are stored; 10GiB would be right, too")
      ->transform(CLI::AsSizeValue(false))
      ->check(CLI::NonNegativeNumber);
  add("export", "Write all objects to one file", Export)
      .add_option("file", args.file, "The file")
      ->required();
  add("import", "Take the sound objects of a file", Import)
      .add_option("file", args.file, "What `cairn state export` wrote")
      ->required();
}

}  // namespace cairn
