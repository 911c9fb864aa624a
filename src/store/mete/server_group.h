// ServerGroup: the Mete servers of a URL: which of them has a key, and how they are asked.
//
//     auto usage = group.ask<Usage>(group.home_of("alice"), Call::Repeat::kIfLost, "STORE USAGE", meter);
//
// Each server has a clock of its own; the latest time that one of them has told is the time here.
// Thread safety: every call from any thread.
#pragma once

#include <mete/result.h>

#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "store/mete/call.h"
#include "store/mete/rendezvous.h"
#include "store/mete/replies.h"
#include "store/mete/server.h"
#include "store/remote.h"
#include "store/remote_clock.h"
#include "store/server_url.h"

namespace mete::store::servers {

// An answer that says no more than that it was done.
struct Nothing {};
void visit_fields(Is<Nothing> auto& /*value*/, auto& /*each*/) {}

class ServerGroup {
 public:
  // Asks all of them. It is enough if one answers: the keys of the others are unavailable until they do.
  static Result<std::unique_ptr<ServerGroup>> open(const ServerUrl& url);

  [[nodiscard]] std::span<const std::unique_ptr<Server>> servers() const { return servers_; }
  [[nodiscard]] Server& home_of(std::string_view key) { return *servers_[rendezvous_.owner_of(key)]; }
  // The server of all the charges' keys. kInvalid if there is no such: nothing is atomic across servers.
  [[nodiscard]] Result<Server*> home_of(std::span<const Charge> charges);
  // All of them, the one that an id belongs to first.
  [[nodiscard]] std::vector<Server*> from_home_of(std::string_view id);
  // A random id that belongs to the server of this key.
  [[nodiscard]] std::string new_id(std::string_view key) const;

  template <class Answer, class... Fields>
  Result<Answer> ask(Server& server, Call::Repeat repeat, std::string_view name, const Fields&... fields) {
    Call call(repeat);
    call.add(name, fields...);
    server.run(call);
    return read<Answer>(server, name, call.reply(0));
  }
  // A command that every client may send.
  static Result<wire::RespValue> ask_words(Server& server, Call::Repeat repeat,
                                           std::span<const std::string_view> words);
  static Result<wire::RespValue> ask_words(Server& server, Call::Repeat repeat,
                                           std::initializer_list<std::string_view> words) {
    return ask_words(server, repeat, std::span(words.begin(), words.size()));
  }
  // The answer to a STORE command.
  template <class Answer>
  Result<Answer> read(const Server& server, std::string_view name, const Result<wire::RespValue>& reply) {
    if (!reply) return tl::make_unexpected(reply.error());
    FieldReader<ReplySource> reader{ReplySource(reply->elements)};
    Instant now;
    Answer answer;
    reader(now, answer);
    if (!reader.is_whole()) return tl::make_unexpected(unexpected_reply(name, server.address()));
    clock_.tell(now.ns() / kNsPerMicro);
    return answer;
  }

  [[nodiscard]] Instant now() const { return clock_.now(); }
  [[nodiscard]] RemoteStatus status() const;

 private:
  ServerGroup(const ServerUrl& url, std::unique_ptr<net::TlsClient> tls, std::span<const std::string> names);
  Result<void> greet(Server& server);

  std::unique_ptr<net::TlsClient> tls_;  // the servers refer to it
  std::vector<std::unique_ptr<Server>> servers_;
  const Rendezvous rendezvous_;
  RemoteClock clock_;
};

// A page of a listing that goes through one server after the other. Its cursor is the cursor there, times the number of
// servers, plus the number of the server. `ask` asks one of them, with the cursor there.
template <class Page, class Ask>
Result<Page> next_page(const ServerGroup& group, std::uint64_t cursor, Ask ask) {
  const std::size_t count = group.servers().size();
  const std::uint64_t number = cursor % count;
  Result<Page> page = ask(*group.servers()[number], cursor / count);
  if (!page) return page;
  if (page->cursor == 0) {
    page->cursor = number + 1 < count ? number + 1 : 0;
  } else if (__builtin_mul_overflow(page->cursor, std::uint64_t{count}, &page->cursor) ||
             __builtin_add_overflow(page->cursor, number, &page->cursor)) {
    return tl::make_unexpected(Error{ErrorCode::kInvalid, "too many servers behind each other for a listing"});
  }
  return page;
}

}  // namespace mete::store::servers
