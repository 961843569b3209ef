// Loss against bytes of state as an SVG, a panel for each task and context.
//
// A line joins the frontier: settings for which no other takes as few bytes and loses as little.
// Pure functions; thread-safe.
#ifndef CAIRN_EVAL_PLOT_H_
#define CAIRN_EVAL_PLOT_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cairn/eval/run.h"

namespace cairn {

struct PlotPoint {
  std::string name;
  double bytes = 0;
  double loss = 0;
};

// Indices of the points on the frontier, by rising bytes. Of equal points the first.
std::vector<size_t> FrontierOf(std::span<const PlotPoint> points);

std::string EvalPlot(std::span<const EvalRow> rows);

}  // namespace cairn

#endif  // CAIRN_EVAL_PLOT_H_
