#include "store/redis/scripts.h"

#include "store/redis/lua_texts.h"

namespace mete::store::redis {

std::span<const Script> store_scripts() {
  static const Script kScripts[] = {
      Script(kChargeLua), Script(kChargeEachLua), Script(kCountEachLua), Script(kSlideEachLua), Script(kTakeLua),
      Script(kSettleLua), Script(kHoldOneLua),    Script(kCloseOneLua),  Script(kLookLua),      Script(kReplaceLua),
      Script(kDefineLua), Script(kKeysLua),       Script(kCensusLua),
  };
  return kScripts;
}

}  // namespace mete::store::redis
