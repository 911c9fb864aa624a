#!/usr/bin/env python3
"""The gRPC door, asked by Google's own client, which learns by reflection what there is; and by hand, in broken frames."""

import queue
import re
import socket
import ssl
import struct
import threading
import time
import unittest

import harness
import http2
import python_packages
import redis_server
from http2 import PREFACE, frame, literal

if __name__ == "__main__":
    python_packages.run_with_packages()

import grpc
from google.protobuf import descriptor_pool, json_format, message_factory
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase

SECOND = 10  # how long a call may take on a busy machine


class Client:
    """Calls methods by their names, with dictionaries; what it knows of them it has by reflection."""

    def __init__(self, test, target, credentials=None, options=()):
        self.channel = grpc.secure_channel(target, credentials, options) if credentials else grpc.insecure_channel(target, options)
        test.addCleanup(self.channel.close)
        self.database = ProtoReflectionDescriptorDatabase(self.channel)
        self.pool = descriptor_pool.DescriptorPool(self.database)

    def method(self, name):
        return self.pool.FindServiceByName("mete.v1.Mete").FindMethodByName(name)

    def request(self, name, fields):
        return json_format.ParseDict(fields, message_factory.GetMessageClass(self.method(name).input_type)())

    def answer_reader(self, name):
        return message_factory.GetMessageClass(self.method(name).output_type).FromString

    @staticmethod
    def fields_of(message):
        return json_format.MessageToDict(message, preserving_proto_field_name=True, always_print_fields_with_no_presence=True)

    def call(self, name, password=None, timeout=SECOND, **fields):
        ask = self.channel.unary_unary(f"/mete.v1.Mete/{name}", lambda message: message.SerializeToString(), self.answer_reader(name))
        metadata = [("authorization", f"Bearer {password}")] if password else []
        return self.fields_of(ask(self.request(name, fields), timeout=timeout, metadata=metadata))

    def stream(self, name, requests):
        ask = self.channel.stream_stream(f"/mete.v1.Mete/{name}", lambda message: message.SerializeToString(), self.answer_reader(name))
        return [self.fields_of(answer) for answer in ask((self.request(name, each) for each in requests), timeout=SECOND)]


def charge(limit, key, cost=None):
    return {"limit": limit, "key": key} | ({} if cost is None else {"cost": cost})


class GrpcCase(unittest.TestCase):
    def serve(self, *flags, **options):
        server = harness.Server(self, "--grpc", "127.0.0.1:0", *flags, **options)
        return server, f"127.0.0.1:{server.grpc_port}"

    def serve_over(self, inner, options=""):
        return self.serve_on(f"mete://127.0.0.1:{inner.resp_port}{options}")

    def serve_on(self, store):
        server = harness.Server(self, "--resp", "127.0.0.1:0", "--http", "off", "--grpc", "127.0.0.1:0",
                                "--store", store, listen=False)
        return server, f"127.0.0.1:{server.grpc_port}"

    def fails(self, status, words, call, *arguments, **fields):
        with self.assertRaises(grpc.RpcError) as raised:
            call(*arguments, **fields)
        self.assertEqual(raised.exception.code(), status, raised.exception.details())
        self.assertIn(words, raised.exception.details())


class Calls(GrpcCase):
    def setUp(self):
        self.server, target = self.serve()
        self.client = Client(self, target)
        self.server.ask("LIMIT", "SET", "api", "BUCKET", 10, "PER", "1h")
        self.server.ask("LIMIT", "SET", "storage", "STOCK", 100)

    def test_off_by_default(self):
        self.assertIsNone(harness.Server(self).grpc_port)

    def test_reflection_lists_what_there_is(self):
        services = self.client.database.get_services()
        self.assertEqual(sorted(services), ["envoy.service.auth.v3.Authorization", "envoy.service.ratelimit.v3.RateLimitService", "grpc.health.v1.Health",
                                            "grpc.reflection.v1.ServerReflection",
                                            "grpc.reflection.v1alpha.ServerReflection",
                                            "kuadrant.service.ratelimit.v1.RateLimitService", "mete.v1.Mete"])
        names = [method.name for method in self.client.pool.FindServiceByName("mete.v1.Mete").methods]
        self.assertEqual(names, ["Take", "Takes", "Peek", "Give", "Hold", "Commit", "Cancel", "Extend", "Usage"])

    def test_takes_and_denials(self):
        self.assertEqual(self.client.call("Take", charges=[charge("api", "alice", 4)]),
                         {"allowed": True, "remaining": "6", "limit": "10", "retry_after_ms": "0", "reset_after_ms": "1440000",
                          "violated": [], "unrecorded": False})
        denial = self.client.call("Take", charges=[charge("storage", "acme", 1), charge("api", "alice", 7)])
        self.assertEqual((denial["allowed"], denial["violated"], denial["remaining"]), (False, ["api"], "6"))
        self.assertGreater(int(denial["retry_after_ms"]), 300_000)
        self.assertEqual(self.client.call("Usage", limit="storage", key="acme")["used"], "0", "a denial charges nothing")
        peek = self.client.call("Peek", charges=[charge("api", "alice", 6)])
        self.assertEqual((peek["allowed"], peek["remaining"]), (True, "0"))
        most = self.client.call("Take", charges=[charge("api", "alice", 50)], mode="UP_TO")
        self.assertEqual((most["allowed"], most["taken"]), (True, "6"))
        self.assertTrue(self.client.call("Take", charges=[charge("api", "alice", 5)], mode="FORCE")["allowed"])
        self.assertEqual(self.client.call("Take", charges=[charge("storage", "bob")])["remaining"], "99", "a cost is 1")
        self.assertEqual(self.client.call("Take", charges=[charge("storage", "bob", 0)])["remaining"], "99", "0 asks")

    def test_ids_charge_once(self):
        take = {"charges": [charge("storage", "acme", 10)], "id": "upload-17"}
        self.assertEqual(self.client.call("Take", **take), self.client.call("Take", **take))
        self.assertEqual(self.client.call("Usage", limit="storage", key="acme")["used"], "10")
        self.fails(grpc.StatusCode.ALREADY_EXISTS, "MISMATCH", self.client.call, "Take", charges=[charge("storage", "acme", 11)],
                   id="upload-17")
        self.assertEqual(self.client.call("Give", charges=[charge("storage", "acme", 4)]),
                         {"returned": "4", "remaining": "94", "limit": "100"})

    def test_holds(self):
        hold = self.client.call("Hold", charges=[charge("storage", "acme", 50)], ttl_ms=3_600_000, id="job-7", tag="night")
        self.assertEqual((hold["id"], hold["allowed"], hold["remaining"]), ("job-7", True, "50"))
        self.assertEqual(self.client.call("Extend", id="job-7", ttl_ms=7_200_000), {"expires_in_ms": "7200000"})
        self.assertEqual(self.server.ask("HOLDS", "TAG", "night"), [b"job-7"])
        self.assertEqual(self.client.call("Commit", id="job-7", amounts=[30]),
                         {"committed": "30", "remaining": "70", "limit": "100"})
        unnamed = self.client.call("Hold", charges=[charge("storage", "acme", 20)], ttl_ms=60_000)
        self.assertRegex(unnamed["id"], "^.{16,}$")
        self.fails(grpc.StatusCode.FAILED_PRECONDITION, "EXCEEDS", self.client.call, "Commit", id=unnamed["id"], amounts=[21])
        self.assertEqual(self.client.call("Cancel", id=unnamed["id"])["returned"], "20")
        self.fails(grpc.StatusCode.NOT_FOUND, "NOHOLD", self.client.call, "Cancel", id="nobody")
        self.fails(grpc.StatusCode.INVALID_ARGUMENT, "ttl_ms", self.client.call, "Hold", charges=[charge("storage", "acme")])

    def test_calls_are_counted_by_their_status(self):
        def count(status):
            text = harness.ask_http(self.server.http(), "GET", "/metrics").body.decode()
            return int(re.search(rf'^mete_grpc_ends_total{{status="{status}"}} (\d+)$', text, re.M)[1])

        self.client.call("Take", charges=[charge("api", "alice")])  # and what reflection asks
        before = count("OK")
        self.client.call("Take", charges=[charge("api", "alice")])
        self.fails(grpc.StatusCode.NOT_FOUND, "", self.client.call, "Take", charges=[charge("none", "alice")])
        self.assertEqual((count("OK") - before, count("NOT_FOUND"), count("DEADLINE_EXCEEDED")), (1, 1, 0))

    def test_a_connection_ends_at_its_age_and_no_call_is_lost(self):
        server, _ = self.serve("--grpc-connection-age", "1s")
        server.ask("LIMIT", "SET", "api", "STOCK", 1_000_000)
        with http2.Grpc(server.grpc_port) as client:
            client.send(frame(http2.WINDOW_UPDATE, 0, 0, struct.pack(">I", 1 << 30)))
            stream, is_told, answers = 1, False, 0
            while not is_told:
                client.call(stream, "/mete.v1.Mete/Take", b"\x0a\x0a\x0a\x03api\x12\x03bob")
                is_answered = False
                while not is_answered:
                    kind, flags, _, payload = client.next_of(http2.HEADERS, http2.GOAWAY, http2.PING)
                    if kind == http2.PING:
                        client.send(frame(http2.PING, http2.ACK, 0, payload))
                    is_told = is_told or kind == http2.GOAWAY
                    is_answered = kind == http2.HEADERS and flags & http2.END_STREAM
                answers, stream = answers + 1, stream + 2
            with self.assertRaises(EOFError):
                while True:
                    kind, _, _, payload = client.next_of(http2.GOAWAY, http2.PING)
                    if kind == http2.PING:
                        client.send(frame(http2.PING, http2.ACK, 0, payload))
        self.assertEqual(server.ask("USAGE", "api", "bob")[0], answers)

    def test_errors_say_what_and_where(self):
        self.fails(grpc.StatusCode.NOT_FOUND, "unknown limit 'größe'", self.client.call, "Take", charges=[charge("größe", "alice")])
        self.fails(grpc.StatusCode.INVALID_ARGUMENT, "cost", self.client.call, "Take", charges=[charge("api", "alice", -1)])
        self.fails(grpc.StatusCode.INVALID_ARGUMENT, "", self.client.call, "Take", charges=[])
        self.fails(grpc.StatusCode.INVALID_ARGUMENT, "", self.client.call, "Take", charges=[charge("api", "alice")] * 17)
        self.fails(grpc.StatusCode.INVALID_ARGUMENT, "mode", self.client.call, "Take", charges=[charge("api", "alice")], mode=77)
        nowhere = self.client.channel.unary_unary("/mete.v1.Mete/Nothing")
        self.fails(grpc.StatusCode.UNIMPLEMENTED, "/mete.v1.Mete/Nothing", nowhere, b"", timeout=SECOND)
        garbage = self.client.channel.unary_unary("/mete.v1.Mete/Take")
        self.fails(grpc.StatusCode.INVALID_ARGUMENT, "mete.v1.TakeRequest", garbage, b"\xff\xff\xff", timeout=SECOND)
        self.fails(grpc.StatusCode.RESOURCE_EXHAUSTED, "4 MiB", garbage, b"x" * (5 << 20), timeout=SECOND)
        compressed = self.client.channel.unary_unary("/mete.v1.Mete/Take")
        self.fails(grpc.StatusCode.UNIMPLEMENTED, "compressed", compressed, b"x" * 5000, timeout=SECOND,
                   compression=grpc.Compression.Gzip)

    def test_fields_of_other_types_are_skipped_and_texts_are_utf8(self):
        ask = self.client.channel.unary_unary("/mete.v1.Mete/Take", None, self.client.answer_reader("Take"))
        field = lambda number, kind, value: bytes([number << 3 | kind]) + value
        text = lambda number, value: field(number, 2, bytes([len(value)]) + value)
        take = lambda parts: text(1, parts)
        named = text(1, b"storage") + text(2, b"acme")
        for odd in (field(3, 1, b"\x03" + b"\0" * 7), field(3, 5, b"\x03\0\0\0"), text(3, b"\x03"), field(1, 0, b"\x07")):
            answer = ask(take(named + odd), timeout=SECOND)
            self.assertTrue(answer.allowed)
        self.assertEqual(self.client.call("Usage", limit="storage", key="acme")["used"], "4", "a cost that is none is 1")
        self.fails(grpc.StatusCode.INVALID_ARGUMENT, "mete.v1.TakeRequest", ask, take(text(1, b"\xff") + text(2, b"acme")), timeout=SECOND)

    def test_a_stream_of_takes_goes_on_behind_an_error(self):
        requests = [{"charges": [charge("storage", "acme", 60)]}, {"charges": [charge("nothing", "acme")]},
                    {"charges": [charge("storage", "acme", 60)]}] + [{"charges": [charge("api", f"k{i}")]} for i in range(500)]
        answers = self.client.stream("Takes", requests)
        self.assertEqual(len(answers), 503)
        self.assertTrue(answers[0]["decision"]["allowed"])
        self.assertEqual(answers[1]["failure"]["code"], "NOLIMIT")
        self.assertFalse(answers[2]["decision"]["allowed"])
        self.assertTrue(all(answer["decision"]["allowed"] for answer in answers[3:]))

    def test_many_calls_at_a_time_get_exactly_the_limit(self):
        allowed = []

        def work():
            for _ in range(40):
                if self.client.call("Take", charges=[charge("storage", "shared")])["allowed"]:
                    allowed.append(1)

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(allowed), 100)

    def test_a_waiting_take_is_woken_by_a_give(self):
        self.client.call("Take", charges=[charge("storage", "full", 100)])
        waiting = self.server.resp()
        waiting.send(harness.encode("TAKE", "storage", "full", "WAIT", "20s"))
        self.assertTrue(waiting.is_silent(0.2))
        self.client.call("Give", charges=[charge("storage", "full", 1)])
        self.assertEqual(waiting.reply()[0], 1)

    def test_it_is_counted(self):
        self.client.call("Take", charges=[charge("api", "alice")])
        http = self.server.http()
        http.request("GET", "/metrics")
        metrics = http.getresponse().read().decode()
        self.assertRegex(metrics, r"(?m)^mete_grpc_calls_total [1-9]")
        self.assertRegex(metrics, r'(?m)^mete_decisions_total\{limit="api",[^}]*\} 1')


class Health(GrpcCase):
    def test_check_and_watch(self):
        server, target = self.serve()
        client = Client(self, target)
        stub = health_pb2_grpc.HealthStub(client.channel)
        serving = health_pb2.HealthCheckResponse.SERVING
        for service in ("", "mete.v1.Mete"):
            self.assertEqual(stub.Check(health_pb2.HealthCheckRequest(service=service), timeout=SECOND).status, serving)
        self.fails(grpc.StatusCode.NOT_FOUND, "nothing", stub.Check, health_pb2.HealthCheckRequest(service="nothing"), timeout=SECOND)
        watch = stub.Watch(health_pb2.HealthCheckRequest(), timeout=3 * SECOND)
        self.assertEqual(next(watch).status, serving)
        self.assertEqual(server.stop(), 0)
        with self.assertRaises(grpc.RpcError) as ended:
            next(watch)
        self.assertEqual(ended.exception.code(), grpc.StatusCode.UNAVAILABLE)


    def test_a_store_that_is_away(self):
        redis = redis_server.Redis(self)
        target = self.serve_on(f"redis://127.0.0.1:{redis.port}?timeout=300ms")[1]
        stub = health_pb2_grpc.HealthStub(Client(self, target).channel)
        status = health_pb2.HealthCheckResponse
        watch = stub.Watch(health_pb2.HealthCheckRequest(), timeout=6 * SECOND)
        self.assertEqual(next(watch).status, status.SERVING)
        redis.pause()
        self.assertEqual(next(watch).status, status.NOT_SERVING)
        self.assertEqual(stub.Check(health_pb2.HealthCheckRequest(), timeout=SECOND).status, status.NOT_SERVING)
        redis.go_on()
        self.assertEqual(next(watch).status, status.SERVING)
        self.assertEqual(stub.Check(health_pb2.HealthCheckRequest(), timeout=SECOND).status, status.SERVING)


class Doors(GrpcCase):
    def test_passwords(self):
        server, target = self.serve("--password", "secret", "--use-password", "use")
        with server.resp(password="secret") as admin:
            admin.line("LIMIT SET api BUCKET 10 PER 1h")
        client = Client(self, target)  # reflection needs no password
        take = {"charges": [charge("api", "alice")]}
        self.fails(grpc.StatusCode.UNAUTHENTICATED, "NOAUTH", client.call, "Take", **take)
        self.fails(grpc.StatusCode.UNAUTHENTICATED, "WRONGPASS", client.call, "Take", password="guess", **take)
        for password in ("use", "secret"):
            self.assertTrue(client.call("Take", password=password, **take)["allowed"])
        server.wait_for_log("wrong password")

    def test_a_stream_ends_with_its_password(self):
        folder = harness.Folder(self)
        passwords = 'server.password = "secret"\nserver.use_password = "%s"\n'
        config = folder.write("mete.toml", passwords % "old")
        server, target = self.serve(config=config)
        with server.resp(password="secret") as admin:
            admin.line("LIMIT SET api STOCK 100")
        client = Client(self, target)
        request = client.request("Take", {"charges": [charge("api", "alice")]}).SerializeToString()
        questions = queue.SimpleQueue()
        stream = client.channel.stream_stream("/mete.v1.Mete/Takes", None, client.answer_reader("Takes"))(
            iter(questions.get, None), timeout=3 * SECOND, metadata=[("authorization", "Bearer old")])
        questions.put(request)
        self.assertTrue(next(stream).decision.allowed)
        folder.write("mete.toml", passwords % "new")
        server.wait_for_event("passwords replaced")
        questions.put(request)
        with self.assertRaises(grpc.RpcError) as ended:
            next(stream)
        questions.put(None)
        self.assertEqual(ended.exception.code(), grpc.StatusCode.UNAUTHENTICATED)
        self.fails(grpc.StatusCode.UNAUTHENTICATED, "WRONGPASS", client.call, "Take", password="old", charges=[charge("api", "alice")])
        self.assertEqual(client.call("Usage", password="new", limit="api", key="alice")["used"], "1")

    def test_who_watches_health_stays_and_who_pings_does_not(self):
        server, _ = self.serve("--password", "secret", "--authentication-timeout", "1s")
        with http2.Grpc(server.grpc_port) as watcher, http2.Grpc(server.grpc_port) as pinger:
            watcher.call(1, "/grpc.health.v1.Health/Watch", b"")
            self.assertEqual(watcher.answer(), b"\x08\x01")
            deadline = time.monotonic() + harness.PATIENCE_S
            with self.assertRaises((EOFError, ConnectionError)):
                while time.monotonic() < deadline:
                    pinger.send(frame(http2.PING, 0, 0, b"12345678"))
                    pinger.next_frame()
                    time.sleep(0.01)
            watcher.send(frame(http2.PING, 0, 0, b"12345678"))
            while watcher.next_frame()[0] != http2.PING:
                pass

    def test_tls_with_and_without_a_client_certificate(self):
        folder = harness.Folder(self)
        harness.run("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
                    "-addext", "subjectAltName=DNS:localhost", "-keyout", folder / "key.pem", "-out", folder / "cert.pem")
        read = lambda name: (folder.path / name).read_bytes()
        tls = ("--tls-cert", folder / "cert.pem", "--tls-key", folder / "key.pem", "--password", "secret")
        server, _ = self.serve(*tls, "--tls-client-ca", folder / "cert.pem")
        with_certificate = grpc.ssl_channel_credentials(read("cert.pem"), read("key.pem"), read("cert.pem"))
        client = Client(self, f"localhost:{server.grpc_port}", with_certificate)
        self.fails(grpc.StatusCode.NOT_FOUND, "NOLIMIT", client.call, "Take", password="secret", charges=[charge("api", "alice")])
        stranger = health_pb2_grpc.HealthStub(
            grpc.secure_channel(f"localhost:{server.grpc_port}", grpc.ssl_channel_credentials(read("cert.pem"))))
        with self.assertRaises(grpc.RpcError):
            stranger.Check(health_pb2.HealthCheckRequest(), timeout=SECOND)

    def test_alpn_says_h2(self):
        folder = harness.Folder(self)
        harness.run("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
                    "-keyout", folder / "key.pem", "-out", folder / "cert.pem")
        server, _ = self.serve("--tls-cert", folder / "cert.pem", "--tls-key", folder / "key.pem", "--password", "secret")
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        for port, offered, chosen in ((server.grpc_port, ["h2", "http/1.1"], "h2"), (server.http_port, ["h2", "http/1.1"], "http/1.1"),
                                      (server.resp_port, ["h2"], None)):
            context.set_alpn_protocols(offered)
            with socket.create_connection(("127.0.0.1", port)) as plain, context.wrap_socket(plain) as secured:
                self.assertEqual(secured.selected_alpn_protocol(), chosen)

    def test_a_unix_socket(self):
        folder = harness.Folder(self)
        harness.Server(self, "--grpc", f"unix:{folder / 'grpc'}")
        client = Client(self, f"unix:{folder / 'grpc'}")
        self.fails(grpc.StatusCode.NOT_FOUND, "NOLIMIT", client.call, "Take", charges=[charge("api", "alice")])

    def test_a_stop_answers_what_has_arrived(self):
        server, target = self.serve()
        server.ask("LIMIT", "SET", "api", "STOCK", 1_000_000)
        client = Client(self, target)
        client.call("Take", charges=[charge("api", "alice")])
        statuses = set()

        def work():
            for _ in range(2_000):
                try:
                    client.call("Take", charges=[charge("api", "alice")])
                except grpc.RpcError as error:  # the port is closed: nothing was lost on the way
                    statuses.add(error.code())
                    return

        thread = threading.Thread(target=work)
        thread.start()
        harness.wait_until(lambda: int(server.ask("USAGE", "api", "alice")[0]) > 50)
        self.assertEqual(server.stop(), 0)
        thread.join()
        self.assertLessEqual(statuses, {grpc.StatusCode.UNAVAILABLE})


    def test_a_stop_waits_for_calls_that_have_begun(self):
        server, _ = self.serve()
        server.ask("LIMIT", "SET", "api", "STOCK", 10)
        charge_bytes = b"\x0a\x0a\x0a\x03api\x12\x03bob"
        with http2.Grpc(server.grpc_port) as client:
            half = http2.message(charge_bytes)
            client.send(frame(http2.HEADERS, http2.END_HEADERS, 1, HEADERS) + frame(http2.DATA, 0, 1, half[:7]))
            client.call(3, "/mete.v1.Mete/Takes", charge_bytes, ends=False)
            self.assertTrue(client.answer())
            server.signal(15)
            notice = client.next_of(http2.GOAWAY)[3]
            self.assertEqual(notice[:4], b"\x7f\xff\xff\xff", "calls that are on their way are still taken")
            client.send(frame(http2.DATA, http2.END_STREAM, 1, half[7:]))
            ended, answered = set(), False
            while ended != {1, 3}:
                kind, flags, stream, payload = client.next_of(http2.HEADERS, http2.DATA, http2.PING)
                if kind == http2.PING:
                    client.send(frame(http2.PING, http2.ACK, 0, payload))
                answered = answered or (kind == http2.DATA and stream == 1)
                if kind == http2.HEADERS and flags & http2.END_STREAM:
                    ended.add(stream)
            self.assertTrue(answered)
            client.end_sending()
            goodbye = client.next_of(http2.GOAWAY)[3]
            self.assertEqual(goodbye[:8], b"\0\0\0\x03\0\0\0\0")
        self.assertEqual(server.process.wait(harness.PATIENCE_S), 0)


class Elsewhere(GrpcCase):
    def test_who_has_said_all_still_gets_its_answer(self):
        inner = harness.Server(self)
        inner.ask("LIMIT", "SET", "api", "STOCK", 100)
        server, _ = self.serve_over(inner)
        inner.signal(19)  # SIGSTOP
        with http2.Grpc(server.grpc_port) as client:
            client.call(1, "/mete.v1.Mete/Take", b"\x0a\x0a\x0a\x03api\x12\x03bob")
            client.end_sending()
            self.assertEqual(server.ask("PING"), "PONG")  # it has seen the end by now
            inner.signal(18)
            self.assertTrue(client.answer().startswith(b"\x08\x01"))

    def test_over_another_server(self):
        """The calls of one connection do not wait for each other on their way to a store elsewhere."""
        inner = harness.Server(self)
        inner.ask("LIMIT", "SET", "api", "STOCK", 100)
        _, target = self.serve_over(inner)
        client = Client(self, target)
        request = client.request("Take", {"charges": [charge("api", "alice")]}).SerializeToString()
        ask = client.channel.unary_unary("/mete.v1.Mete/Take", None, client.answer_reader("Take"))
        calls = [ask.future(request, timeout=SECOND) for _ in range(150)]
        self.assertEqual(sum(call.result().allowed for call in calls), 100)

    def test_messages_wait_with_the_client_while_the_store_is_slow(self):
        inner = harness.Server(self)
        inner.ask("LIMIT", "SET", "api", "STOCK", 100)
        server, target = self.serve_over(inner, "?timeout=15s")
        client = Client(self, target)
        take = client.request("Take", {"charges": [charge("api", "alice")]}).SerializeToString()
        long = take + b"\x7a\x80\x80\x40" + b"x" * (1 << 20)  # and a field that nobody knows
        client.call("Take", charges=[charge("api", "alice")])
        before = server.resident_bytes()
        given = []

        def requests():
            for number in range(100):
                given.append(number)
                yield long

        inner.signal(19)  # SIGSTOP
        try:
            stream = client.channel.stream_stream("/mete.v1.Mete/Takes", None, client.answer_reader("Takes"))(requests())
            self.addCleanup(stream.cancel)

            def has_stopped():
                count = len(given)
                time.sleep(0.3)
                return count > 0 and len(given) == count

            harness.wait_until(has_stopped, "an end of the messages")
            self.assertLess(len(given), 100)
            self.assertLess(server.resident_bytes() - before, 24 << 20)
        finally:
            inner.signal(18)

    def test_slow_calls_are_in_the_slow_log(self):
        inner = harness.Server(self)
        inner.ask("LIMIT", "SET", "api", "STOCK", 1_000_000)
        server, target = self.serve_over(inner, "?timeout=15s")
        server.ask("CONFIG", "SET", "server.slowlog_threshold", "1ms")
        client = Client(self, target)
        request = client.request("Take", {"charges": [charge("api", "alice")]}).SerializeToString()
        take = client.channel.unary_unary("/mete.v1.Mete/Take")

        def is_logged():
            begun = time.monotonic()
            inner.signal(19)  # SIGSTOP
            try:
                future = take.future(request, timeout=SECOND)
                harness.wait_until(lambda: time.monotonic() - begun > 0.05, "time for the call to arrive")
            finally:
                inner.signal(18)
            future.result()
            return [b"/mete.v1.Mete/Take"] in [entry[3] for entry in server.ask("SLOWLOG", "GET")]

        harness.wait_until(is_logged, "a slow call in the log")

    def test_a_late_answer_is_none(self):
        inner = harness.Server(self)
        inner.ask("LIMIT", "SET", "api", "STOCK", 100)
        server, target = self.serve_over(inner)
        client = Client(self, target)
        client.call("Take", charges=[charge("api", "alice")])
        inner.signal(19)  # SIGSTOP
        try:
            self.fails(grpc.StatusCode.DEADLINE_EXCEEDED, "", client.call, "Take", timeout=0.1, charges=[charge("api", "alice")])
        finally:
            inner.signal(18)
        self.assertTrue(client.call("Take", charges=[charge("api", "alice")])["allowed"])


HEADERS = http2.request("/mete.v1.Mete/Take")


class Enemies(GrpcCase):
    """Each is sent away, or answered, and the next client is served."""

    def setUp(self):
        self.server, self.target = self.serve()
        self.server.ask("LIMIT", "SET", "api", "STOCK", 10)

    def attack(self, *pieces):
        with harness.Socket(self.server.grpc_port) as enemy:
            for piece in pieces:
                if not enemy.send_if_open(piece):
                    break
            enemy.end_sending()
            answer = enemy.read_to_end()
        self.assertTrue(self.server.is_running())
        self.assertTrue(Client(self, self.target).call("Take", charges=[charge("api", "innocent", 0)])["allowed"])
        return answer

    def test_what_is_no_http2(self):
        self.attack(b"GET / HTTP/1.1\r\nHost: here\r\n\r\n")
        self.attack(b"\0" * 100_000)
        self.attack(PREFACE + b"\xff" * 10_000)

    def test_rapid_resets(self):
        start = PREFACE + frame(4, 0, 0)
        flood = [b"".join(frame(1, 4, stream, HEADERS) + frame(3, 0, stream, struct.pack(">I", 8))
                          for stream in range(first, first + 200, 2)) for first in range(1, 40_001, 200)]
        answer = self.attack(start, *flood)
        goodbye = answer.index(bytes([0, 0, 8, 7, 0, 0, 0, 0, 0]))  # GOAWAY, and the last call that was looked at
        self.assertLess(struct.unpack_from(">I", answer, goodbye + 9)[0], 2 * 1_500)

    def test_continuations_without_end(self):
        self.attack(PREFACE + frame(4, 0, 0) + frame(1, 0, 1, HEADERS), *[frame(9, 0, 1, literal("x", "y" * 100) * 20)] * 500)

    def test_settings_and_pings_without_end(self):
        self.attack(PREFACE, *[frame(4, 0, 0) * 1000] * 20)
        self.attack(PREFACE + frame(4, 0, 0), *[frame(6, 0, 0, b"12345678") * 1000] * 20)

    def test_windows_that_do_not_add_up(self):
        self.attack(PREFACE + frame(4, 0, 0) + frame(8, 0, 0, struct.pack(">I", 0x7FFFFFFF)) * 3)
        self.attack(PREFACE + frame(4, 0, 0) + frame(8, 0, 0, struct.pack(">I", 0)))

    def test_headers_that_are_too_long(self):
        long = b"".join(literal(f"x-{i}", "y" * 120) for i in range(150))
        answer = self.attack(PREFACE + frame(4, 0, 0) + frame(1, 5, 1, HEADERS + long[:16_000]) if len(HEADERS + long) < 16_384 else
                             PREFACE + frame(4, 0, 0) + frame(1, 1, 1, HEADERS + long[:12_000]) + frame(9, 4, 1, b"".join(
                                 literal(f"z-{i}", "y" * 120) for i in range(60))))
        self.assertTrue(answer)

    def test_other_methods_types_and_halves(self):
        get = b"".join(literal(*pair) for pair in [(":method", "GET"), (":scheme", "http"), (":path", "/"), (":authority", "here")])
        self.assertIn(b"405", self.attack(PREFACE + frame(4, 0, 0) + frame(1, 5, 1, get)))
        json = HEADERS.replace(literal("content-type", "application/grpc"), literal("content-type", "application/json"))
        self.assertIn(b"415", self.attack(PREFACE + frame(4, 0, 0) + frame(1, 5, 1, json)))
        self.attack(PREFACE + frame(4, 0, 0) + frame(1, 4, 1, HEADERS) + frame(0, 1, 1, b"\0\0\0\0\x0aab"))  # a message cut off
        self.attack(PREFACE + frame(4, 0, 0) + frame(1, 5, 1, HEADERS))  # no message at all


if __name__ == "__main__":
    harness.main()
