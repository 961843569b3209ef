#include "cairn/eval/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "cairn/sizing/format.h"

namespace cairn {
namespace {

constexpr double kWidth = 520;
constexpr double kHeight = 340;
constexpr double kLeft = 80;
constexpr double kRight = 90;  // names stand to the right of their points
constexpr double kTop = 40;
constexpr double kBottom = 50;
constexpr size_t kColumns = 2;
// Labels that are nearer to each other go one above the other.
constexpr double kLabelWidth = 40;
constexpr double kLabelHeight = 12;

// Even, by powers of ten, or by powers of two.
enum class Scale : uint8_t { kLinear, kDecades, kDoublings };

// From values to pixels. On the scales of powers, what isn't above zero lies on the axis.
class Axis {
 public:
  // REQUIRES: values.
  Axis(Scale scale, std::span<const double> values, double first_pixel, double last_pixel)
      : scale_(scale), first_(first_pixel), last_(last_pixel) {
    low_ = INFINITY;
    high_ = -INFINITY;
    for (const double value : values) {
      if (scale != Scale::kLinear && value <= 0) {
        has_zeros_ = true;
        continue;
      }
      low_ = std::min(low_, Scaled(value));
      high_ = std::max(high_, Scaled(value));
    }
    if (low_ > high_) low_ = high_ = 0;  // zeros alone
    const double margin = high_ > low_ ? 0.06 * (high_ - low_) : 1;
    low_ -= has_zeros_ ? 3 * margin : margin;
    high_ += margin;
  }

  // Powers of ten where the values span more than one.
  static Scale ScaleFor(std::span<const double> values) {
    double least = INFINITY;
    double most = 0;
    for (const double value : values) {
      if (value < 0) return Scale::kLinear;
      if (value > 0) least = std::min(least, value);
      most = std::max(most, value);
    }
    return most > 10 * least ? Scale::kDecades : Scale::kLinear;
  }

  double Pixel(double value) const {
    const bool on_axis = scale_ != Scale::kLinear && value <= 0;
    const double at = on_axis ? low_ : Scaled(value);
    return first_ + (at - low_) / (high_ - low_) * (last_ - first_);
  }

  std::vector<double> Ticks() const {
    double step = 1;
    if (scale_ == Scale::kLinear) step = std::pow(10.0, std::floor(std::log10(high_ - low_)) - 1);
    while ((high_ - low_) / step > 6) step *= 2;
    std::vector<double> ticks;
    for (double at = std::ceil(low_ / step) * step; at <= high_; at += step) {
      const double base = scale_ == Scale::kDecades ? 10.0 : 2.0;
      ticks.push_back(scale_ == Scale::kLinear ? at : std::pow(base, at));
    }
    return ticks;
  }

 private:
  double Scaled(double value) const {
    if (scale_ == Scale::kLinear) return value;
    return scale_ == Scale::kDecades ? std::log10(value) : std::log2(value);
  }

  Scale scale_;
  double first_, last_;
  double low_ = 0, high_ = 1;
  bool has_zeros_ = false;
};

std::string Escaped(std::string_view text) {
  std::string escaped;
  for (const char letter : text) {
    if (letter == '&') escaped += "&amp;";
    if (letter == '<') escaped += "&lt;";
    if (letter == '>') escaped += "&gt;";
    if (letter != '&' && letter != '<' && letter != '>') escaped += letter;
  }
  return escaped;
}

std::string Text(double x, double y, std::string_view anchor, std::string_view words,
                 std::string_view more = "") {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\"{}>{}</text>\n", x, y,
                     anchor, more, Escaped(words));
}

// "512 KiB": powers of two need no fractions.
std::string ByteTick(double bytes) {
  std::string text = HumanBytes(Bytes(std::llround(bytes)));
  if (const size_t at = text.find(".00 "); at != std::string::npos) text.erase(at, 3);
  return text;
}

std::string Grid(const Axis& x, const Axis& y) {
  std::string svg;
  for (const double tick : x.Ticks()) {
    svg += fmt::format("<path class=\"g\" d=\"M{:.1f} {}V{}\"/>\n", x.Pixel(tick), kTop,
                       kHeight - kBottom);
    svg += Text(x.Pixel(tick), kHeight - kBottom + 16, "middle", ByteTick(tick));
  }
  for (const double tick : y.Ticks()) {
    svg += fmt::format("<path class=\"g\" d=\"M{} {:.1f}H{}\"/>\n", kLeft, y.Pixel(tick),
                       kWidth - kRight);
    svg += Text(kLeft - 6, y.Pixel(tick) + 4, "end", fmt::format("{:.3g}", tick));
  }
  return svg;
}

std::string Panel(const EvalTask& task, TokenCount context, std::span<const PlotPoint> points) {
  std::vector<double> bytes;
  std::vector<double> losses;
  for (const PlotPoint& point : points) {
    bytes.push_back(point.bytes);
    losses.push_back(point.loss);
  }
  const Axis x(Scale::kDoublings, bytes, kLeft, kWidth - kRight);
  const Axis y(Axis::ScaleFor(losses), losses, kHeight - kBottom, kTop);
  std::string svg = Grid(x, y);
  svg +=
      Text(kWidth / 2, 22, "middle",
           fmt::format("{}, {} tokens", task.title, Grouped(context.value())), " font-size=\"14\"");
  svg += Text(kWidth / 2, kHeight - 12, "middle", "bytes of state");
  svg += Text(16, kHeight / 2, "middle", task.loss_label,
              fmt::format(" transform=\"rotate(-90 16 {})\"", kHeight / 2));
  std::string path;
  for (const size_t i : FrontierOf(points)) {
    path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", x.Pixel(points[i].bytes),
                        y.Pixel(points[i].loss));
  }
  svg += fmt::format("<path class=\"f\" d=\"{}\"/>\n", path);
  std::vector<std::pair<double, double>> labels;
  for (const PlotPoint& point : points) {
    svg += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.5\"/>\n", x.Pixel(point.bytes),
                       y.Pixel(point.loss));
    const double right = x.Pixel(point.bytes) + 6;
    double above = y.Pixel(point.loss) - 5;
    const auto covers = [&](const std::pair<double, double>& label) {
      return std::fabs(label.first - right) < kLabelWidth &&
             std::fabs(label.second - above) < kLabelHeight;
    };
    while (std::ranges::any_of(labels, covers)) above -= kLabelHeight;
    labels.emplace_back(right, above);
    svg += Text(right, above, "start", point.name);
  }
  return svg;
}

}  // namespace

std::vector<size_t> FrontierOf(std::span<const PlotPoint> points) {
  std::vector<size_t> order(points.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, [&](size_t a, size_t b) {
    if (points[a].bytes != points[b].bytes) return points[a].bytes < points[b].bytes;
    return points[a].loss != points[b].loss ? points[a].loss < points[b].loss : a < b;
  });
  std::vector<size_t> frontier;
  for (const size_t i : order) {
    if (frontier.empty() || points[i].loss < points[frontier.back()].loss) frontier.push_back(i);
  }
  return frontier;
}

std::string EvalPlot(std::span<const EvalRow> rows) {
  std::string panels;
  size_t count = 0;
  for (size_t begin = 0; begin < rows.size();) {
    std::vector<PlotPoint> points;
    size_t end = begin;
    for (; end < rows.size() && rows[end].task == rows[begin].task &&
           rows[end].context == rows[begin].context;
         ++end) {
      points.push_back(
          {rows[end].setting, static_cast<double>(rows[end].cost.bytes.value()), rows[end].loss});
    }
    panels += fmt::format("<g transform=\"translate({} {})\">\n{}</g>\n",
                          static_cast<double>(count % kColumns) * kWidth,
                          static_cast<double>(count / kColumns) * kHeight,
                          Panel(*rows[begin].task, rows[begin].context, points));
    ++count;
    begin = end;
  }
  const double width = static_cast<double>(std::min(count, kColumns)) * kWidth;
  const double height = static_cast<double>((count + kColumns - 1) / kColumns) * kHeight;
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" "
      "height=\"{1}\" font-family=\"sans-serif\" font-size=\"11\">\n"
      "<style>.g{{stroke:#d0d7de;stroke-width:.5}}.f{{stroke:#1f6feb;fill:none}}"
      "text{{fill:#24292f}}circle{{fill:#1f6feb}}</style>\n"
      "<rect width=\"{0}\" height=\"{1}\" fill=\"#fff\"/>\n{2}</svg>\n",
      width, height, panels);
}

}  // namespace cairn
