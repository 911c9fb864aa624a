#include "escrow/peers/channel.h"

#include <utility>

#include "base/check.h"
#include "base/errors.h"
#include "base/try.h"

namespace mete::escrow {

namespace {

constexpr std::size_t kReasonBytesMax = 300;

void append_plain(std::string& output, FrameType type, std::string_view body) {
  append_header(output, type, body.size());
  output += body;
}

}  // namespace

Result<void> Roster::check(const Writer& node) const {
  const std::lock_guard lock(mutex_);
  return check_locked(node);
}

Result<void> Roster::note(const Writer& node) {
  const std::lock_guard lock(mutex_);
  TRY(check_locked(node));
  incarnations_[node.node] = node.incarnation;
  return {};
}

Result<void> Roster::check_locked(const Writer& node) const {
  const auto known = incarnations_.find(node.node);
  if (known == incarnations_.end()) {
    if (incarnations_.size() < kNodesMax) return {};
    return base::invalid("more than " + std::to_string(kNodesMax) + " nodes have been met: give nodes names that stay");
  }
  if (known->second <= node.incarnation) return {};
  return base::invalid("node '" + node.node + "' has started anew since, as incarnation " +
                       std::to_string(known->second) + ", and this is incarnation " + std::to_string(node.incarnation) +
                       ": stop the older one, or give it another name");
}

Channel::Channel(Side side, const Identity& identity, std::string expected)
    : side_(side), identity_(identity), expected_(std::move(expected)) {}

void Channel::start(std::string& output) {
  CHECK(side_ == Side::kConnector && stage_ == Stage::kHello);
  send_hello(output);
}

void Channel::send_hello(std::string& output) {
  std::string& mine = side_ == Side::kConnector ? transcript_.connector : transcript_.acceptor;
  mine = encode_hello({.node = identity_.self, .nonce = random_nonce(), .has_secret = has_secret()});
  append_plain(output, FrameType::kHello, mine);
}

void Channel::send_proof(std::string& output) const {
  append_plain(output, FrameType::kProof, proof_of(identity_.secret, side_, transcript_));
}

Result<std::optional<Frame>> Channel::read(std::string_view& input, std::string& output) {
  auto frame = read_on(input, output);
  if (frame.has_value()) return frame;
  return refuse(std::move(frame).error(), output);
}

Result<std::optional<Frame>> Channel::read_on(std::string_view& input, std::string& output) {
  for (;;) {
    auto taken = take_frame(input);
    if (!taken.has_value() || !*taken) return taken;
    Frame frame = **taken;
    if (is_open()) {
      frame = TRY(unseal(frame));
    }
    if (frame.type == FrameType::kRefusal) {
      is_refused_ = true;
      return base::invalid("the other node refuses: " + std::string(frame.body.substr(0, kReasonBytesMax)));
    }
    if (is_open()) return frame;
    TRY(advance(frame, output));
  }
}

Result<void> Channel::advance(const Frame& frame, std::string& output) {
  if (stage_ == Stage::kHello && frame.type == FrameType::kHello) return take_hello(frame.body, output);
  if (stage_ == Stage::kProof && frame.type == FrameType::kProof) return take_proof(frame.body, output);
  return base::invalid("a frame came before the link was open");
}

Result<void> Channel::take_hello(std::string_view body, std::string& output) {
  const auto hello = TRY(decode_hello(body));
  peer_ = hello.node;
  TRY(check(hello));
  (side_ == Side::kConnector ? transcript_.acceptor : transcript_.connector) = body;
  if (side_ == Side::kAcceptor) send_hello(output);
  if (!has_secret()) return open();
  if (side_ == Side::kConnector) send_proof(output);
  stage_ = Stage::kProof;
  return {};
}

Result<void> Channel::check(const Hello& hello) const {
  const std::string& name = hello.node.node;
  if (name == identity_.self.node) {
    return base::invalid("two nodes with one name: the other one is called '" + name +
                         "' too; give each a name of its own");
  }
  if (!expected_.empty() && name != expected_) {
    return base::invalid("node '" + name + "' is there, and not '" + expected_ + "': check the list of peers");
  }
  if (hello.has_secret != has_secret()) {
    return base::invalid("one of the two nodes has a secret and the other has none: give both the same");
  }
  return identity_.roster.check(hello.node);
}

Result<void> Channel::take_proof(std::string_view body, std::string& output) {
  if (!is_equal(body, proof_of(identity_.secret, other(side_), transcript_))) {
    return base::invalid("the secret of node '" + peer_.node + "' is another one: give both the same");
  }
  if (side_ == Side::kAcceptor) send_proof(output);
  seal_out_.emplace(identity_.secret, side_, transcript_);
  seal_in_.emplace(identity_.secret, other(side_), transcript_);
  return open();
}

Result<void> Channel::open() {
  TRY(identity_.roster.note(peer_));
  stage_ = Stage::kOpen;
  return {};
}

Result<Frame> Channel::unseal(const Frame& frame) {
  if (!seal_in_) return frame;
  if (frame.body.size() < kSealBytes) return base::invalid("a frame has no seal");
  const std::string_view seal = frame.body.substr(frame.body.size() - kSealBytes);
  const std::string_view sealed = frame.bytes.substr(0, frame.bytes.size() - kSealBytes);
  if (!is_equal(seal, seal_in_->next(sealed))) {
    return base::invalid("a frame is not from node '" + peer_.node +
                         "', or not in its place: forged, replayed or damaged");
  }
  return Frame{frame.type, frame.body.substr(0, frame.body.size() - kSealBytes), sealed};
}

void Channel::write(FrameType type, std::string_view body, std::string& output) {
  CHECK(is_open());
  if (!seal_out_) return append_plain(output, type, body);
  const std::size_t start = output.size();
  append_header(output, type, body.size() + kSealBytes);
  output += body;
  output += seal_out_->next(std::string_view(output).substr(start));
}

Error Channel::refuse(Error error, std::string& output) {
  if (is_refused_) return error;
  const std::string reason = error.message.substr(0, kReasonBytesMax);
  if (is_open()) {
    write(FrameType::kRefusal, reason, output);
  } else {
    append_plain(output, FrameType::kRefusal, reason);
  }
  is_refused_ = true;
  return error;
}

}  // namespace mete::escrow
