#include "io/live_temporaries.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstring>
#include <utility>

#include "pipeline/core/error.h"

namespace millrace::io {

struct LiveTemporary::Place {
  enum class State { taken, live, unused, removing };

  std::atomic<State> state{State::taken};
  Place* next = nullptr;  // written before the place is published, never changed
  std::array<char, PATH_MAX> path{};
};

namespace {

using Place = LiveTemporary::Place;

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): a signal handler can reach nothing else
constinit std::atomic<Place*> first_place{nullptr};

Place& take_place() {
  for (Place* place = first_place.load(std::memory_order_acquire); place != nullptr; place = place->next) {
    auto expected = Place::State::unused;
    if (place->state.compare_exchange_strong(expected, Place::State::taken)) return *place;
  }
  auto* const place = new Place;  // kept for ever, see the header
  place->next = first_place.load(std::memory_order_relaxed);
  while (!first_place.compare_exchange_weak(place->next, place, std::memory_order_release)) {
  }
  return *place;
}

}  // namespace

LiveTemporary::LiveTemporary(const std::filesystem::path& path) {
  if (path.native().size() >= PATH_MAX) throw system_error("cannot create", ENAMETOOLONG).at_path(path);
  place_ = &take_place();
  std::memcpy(place_->path.data(), path.c_str(), path.native().size() + 1);
  place_->state.store(Place::State::live, std::memory_order_release);
}

LiveTemporary::LiveTemporary(LiveTemporary&& other) noexcept : place_(std::exchange(other.place_, nullptr)) {}

LiveTemporary& LiveTemporary::operator=(LiveTemporary&& other) noexcept {
  if (this != &other) {
    forget();
    place_ = std::exchange(other.place_, nullptr);
  }
  return *this;
}

void LiveTemporary::forget() noexcept {
  if (place_ == nullptr) return;
  auto expected = Place::State::live;
  // Fails when remove_live_temporaries() has the place just now: it keeps it.
  place_->state.compare_exchange_strong(expected, Place::State::unused);
  place_ = nullptr;
}

void remove_live_temporaries() noexcept {
  for (Place* place = first_place.load(std::memory_order_acquire); place != nullptr; place = place->next) {
    auto expected = Place::State::live;
    if (place->state.compare_exchange_strong(expected, Place::State::removing)) ::unlink(place->path.data());
  }
}

}  // namespace millrace::io
