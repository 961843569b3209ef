#include "cairn/eval/filler.h"

#include <fmt/format.h>

#include <array>

namespace cairn {
namespace {

using Words = std::span<const std::string_view>;

constexpr std::array<std::string_view, 24> kKinds = {
    "copper", "marble", "velvet", "amber",   "walnut",  "silver",  "crimson", "hollow",
    "frozen", "golden", "paper",  "granite", "ivory",   "scarlet", "leather", "bronze",
    "cedar",  "violet", "rusty",  "crystal", "woollen", "emerald", "striped", "painted"};
constexpr std::array<std::string_view, 24> kThings = {
    "lantern", "compass", "violin",  "anchor", "kettle",  "saddle",  "mirror", "trumpet",
    "cabinet", "hammer",  "curtain", "barrel", "blanket", "chimney", "drawer", "engine",
    "feather", "goblet",  "helmet",  "ladder", "needle",  "pillow",  "ribbon", "shovel"};

constexpr std::array<std::string_view, 24> kPeople = {
    "farmer",    "teacher", "sailor",    "baker",    "doctor",  "gardener", "painter", "clerk",
    "driver",    "miller",  "neighbour", "shepherd", "student", "tailor",   "captain", "widow",
    "traveller", "guard",   "nurse",     "printer",  "porter",  "singer",   "mason",   "carpenter"};
constexpr std::array<std::string_view, 24> kPlaces = {
    "market",  "bridge", "river",  "station", "orchard", "valley",  "school", "church",
    "harbour", "mill",   "forest", "square",  "garden",  "library", "field",  "village",
    "lake",    "road",   "hill",   "theatre", "stable",  "island",  "tower",  "inn"};
constexpr std::array<std::string_view, 16> kActs = {
    "walked slowly to",       "looked back at",       "came home from",
    "talked for hours about", "never liked",          "had always known",
    "drew a picture of",      "wrote a letter about", "waited quietly near",
    "asked the way to",       "remembered",           "told a story about",
    "sold fresh bread near",  "lost a hat close to",  "spent the evening at",
    "heard the bells from"};
constexpr std::array<std::string_view, 16> kTimes = {
    "In the morning",      "After the rain",   "Late in the autumn", "Before breakfast",
    "On the way home",     "Some years later", "At the end of May",  "When the snow had gone",
    "During the long war", "Every other week", "On a quiet Sunday",  "As it grew dark",
    "Once upon a time",    "Towards evening",  "In the cold spring", "While the music played"};
constexpr std::array<std::string_view, 16> kLooks = {
    "old",   "new",   "wide",  "small", "quiet",   "famous", "empty", "busy",
    "green", "dusty", "grand", "plain", "distant", "narrow", "sunny", "lonely"};

std::string Sentence(RandomStream& random) {
  const auto pick = [&](Words words) { return random.Pick(words); };
  switch (random.Below(4)) {
    case 0:
      return fmt::format("The {} {} the {} {}.", pick(kPeople), pick(kActs), pick(kLooks),
                         pick(kPlaces));
    case 1:
      return fmt::format("{}, the {} {} the {}.", pick(kTimes), pick(kPeople), pick(kActs),
                         pick(kPlaces));
    case 2:
      return fmt::format("{}, a {} and a {} {} the {} {}.", pick(kTimes), pick(kPeople),
                         pick(kPeople), pick(kActs), pick(kLooks), pick(kPlaces));
    default:
      return fmt::format("Nobody at the {} saw that the {} {} the {}.", pick(kPlaces),
                         pick(kPeople), pick(kActs), pick(kPlaces));
  }
}

}  // namespace

std::vector<std::string> FillerSentences(uint64_t seed, int64_t index, int64_t count) {
  RandomStream random(seed, "filler", index);
  std::vector<std::string> sentences;
  for (int64_t i = 0; i < count; ++i) sentences.push_back(Sentence(random));
  return sentences;
}

std::span<const std::string_view> FactKinds() { return kKinds; }
std::span<const std::string_view> FactThings() { return kThings; }

std::string NumberOf(RandomStream& random, int digits) {
  std::string number;
  for (int i = 0; i < digits; ++i) {
    number += static_cast<char>('0' + (i == 0 ? 1 + random.Below(9) : random.Below(10)));
  }
  return number;
}

}  // namespace cairn
