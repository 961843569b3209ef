#include "cairn/eval/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

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

// From values to pixels. Logarithmic where the values span more than a factor of ten; what isn't
// above zero then lies on the axis.
class Axis {
 public:
  Axis(std::span<const double> values, double first_pixel, double last_pixel)
      : first_(first_pixel), last_(last_pixel) {
    double least = INFINITY;
    double most = -INFINITY;
    double least_above_zero = INFINITY;
    for (const double value : values) {
      least = std::min(least, value);
      most = std::max(most, value);
      if (value > 0) least_above_zero = std::min(least_above_zero, value);
    }
    log_ = least >= 0 && most > 10 * least_above_zero;
    low_ = log_ ? std::log10(least_above_zero / 2) : least;
    high_ = log_ ? std::log10(most) : most;
    const double margin = high_ > low_ ? 0.06 * (high_ - low_) : std::max(std::fabs(high_), 1.0);
    low_ -= log_ ? 0 : margin;
    high_ += margin;
  }

  double Pixel(double value) const {
    const double at = !log_ ? value : value > 0 ? std::log10(value) : low_;
    return first_ + (std::max(at, low_) - low_) / (high_ - low_) * (last_ - first_);
  }

  std::vector<double> Ticks() const {
    std::vector<double> ticks;
    if (log_) {
      const int step = std::max(1, static_cast<int>((high_ - low_) / 6));
      for (int p = static_cast<int>(std::ceil(low_)); p <= high_; p += step) {
        ticks.push_back(std::pow(10.0, p));
      }
      return ticks;
    }
    double step = std::pow(10.0, std::floor(std::log10((high_ - low_) / 2)));
    while ((high_ - low_) / step > 6) step *= 2;
    for (double t = std::ceil(low_ / step) * step; t <= high_; t += step) ticks.push_back(t);
    return ticks;
  }

 private:
  double first_, last_;
  double low_ = 0, high_ = 1;
  bool log_ = false;
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

std::string Grid(const Axis& x, const Axis& y) {
  std::string svg;
  for (const double tick : x.Ticks()) {
    svg += fmt::format("<path class=\"g\" d=\"M{:.1f} {}V{}\"/>\n", x.Pixel(tick), kTop,
                       kHeight - kBottom);
    svg += Text(x.Pixel(tick), kHeight - kBottom + 16, "middle",
                HumanBytes(Bytes(std::llround(tick))));
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
  const Axis x(bytes, kLeft, kWidth - kRight);
  const Axis y(losses, kHeight - kBottom, kTop);
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
  for (const PlotPoint& point : points) {
    svg += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.5\"/>\n", x.Pixel(point.bytes),
                       y.Pixel(point.loss));
    svg += Text(x.Pixel(point.bytes) + 6, y.Pixel(point.loss) - 5, "start", point.name);
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
