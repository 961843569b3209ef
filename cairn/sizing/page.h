// The estimator's page: one HTML file that answers for a model, anywhere and without a network.
//
// The page holds the estimator itself; here the model's description and the question that the page
// starts with are filled in. Pure functions; thread-safe.
#ifndef CAIRN_SIZING_PAGE_H_
#define CAIRN_SIZING_PAGE_H_

#include <string>
#include <string_view>

#include "cairn/sizing/model_source.h"
#include "cairn/sizing/request.h"

namespace cairn {

// `page` is the page without a model (web/page_template.h). REQUIRES: it has the marker for one.
std::string EstimatorPage(std::string_view page, const ModelSource& model,
                          const SizeRequest& request);

}  // namespace cairn

#endif  // CAIRN_SIZING_PAGE_H_
