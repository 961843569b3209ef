// The rows of FamilyTensors, one for each family whose tensors have names of their own. Included by
// tensor_names.cc and family_names_*.cc only.
#ifndef CAIRN_MODELS_FAMILY_NAMES_H_
#define CAIRN_MODELS_FAMILY_NAMES_H_

#include "cairn/models/tensor_names.h"

namespace cairn {

extern const FamilyTensors kGemma2Tensors;
extern const FamilyTensors kGemma3Tensors;
extern const FamilyTensors kGemma3nTensors;
extern const FamilyTensors kGemma4Tensors;
extern const FamilyTensors kHunyuanDenseTensors;
extern const FamilyTensors kHunyuanTensors;
extern const FamilyTensors kLlama4Tensors;
extern const FamilyTensors kGptOssTensors;
extern const FamilyTensors kDeepSeek4Tensors;
extern const FamilyTensors kBailingHybridTensors;
extern const FamilyTensors kKimiLinearTensors;
extern const FamilyTensors kMiniMaxTensors;
extern const FamilyTensors kRetNetTensors;
extern const FamilyTensors kZayaTensors;
extern const FamilyTensors kLfm2Tensors;
extern const FamilyTensors kMambaTensors;
extern const FamilyTensors kMamba2Tensors;
extern const FamilyTensors kJambaTensors;
extern const FamilyTensors kNemotronHTensors;
extern const FamilyTensors kFalconH1Tensors;
extern const FamilyTensors kRwkvTensors;
extern const FamilyTensors kMistralLarge4Tensors;
extern const FamilyTensors kQwen3NextTensors;
extern const FamilyTensors kQwen35Tensors;

}  // namespace cairn

#endif  // CAIRN_MODELS_FAMILY_NAMES_H_
