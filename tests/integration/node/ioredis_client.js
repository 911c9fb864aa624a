// ioredis against a Mete server: node ioredis_client.js PORT
const assert = require("node:assert/strict");
const Redis = require("ioredis");

async function main(port) {
  const redis = new Redis({ port, connectionName: "tests" });

  assert.equal(await redis.ping(), "PONG");
  assert.equal(await redis.client("GETNAME"), "tests");
  assert.equal(await redis.call("LIMIT", "SET", "api", "STOCK", "100"), "OK");
  assert.deepEqual(await redis.call("TAKE", "api", "alice", "COST", "4"), [1, 96, 100, 0, -1, []]);

  const pipeline = redis.pipeline();
  for (let count = 0; count < 200; ++count) pipeline.call("TAKE", "api", "bob");
  const answers = await pipeline.exec();
  assert.equal(answers.filter(([error, answer]) => error === null && answer[0] === 1).length, 100);

  const [held, id] = await redis.call("HOLD", "api", "carol", "COST", "10", "TTL", "1m");
  assert.equal(held, 1);
  assert.deepEqual(await redis.call("COMMIT", id, "7"), [7, 93, 100]);
  assert.deepEqual(await redis.call("USAGE", "api", "carol"), [7, 0, 93, 100, -1]);

  await assert.rejects(redis.call("TAKE", "nobody", "alice"), /^ReplyError: NOLIMIT unknown limit 'nobody'$/);
  await assert.rejects(redis.call("NONSENSE"), /ERR unknown command 'NONSENSE'/);
  assert.equal(await redis.call("LIMIT", "GET", "nobody"), null);

  // Several at once on one connection come back in order.
  const echoes = await Promise.all([...Array(100).keys()].map((number) => redis.echo(String(number))));
  assert.deepEqual(echoes, [...Array(100).keys()].map(String));

  assert.equal(await redis.set("n", 5, "EX", 100), "OK");
  assert.equal(await redis.incrby("n", 4), 9);
  assert.deepEqual(await redis.mget("n", "nobody"), ["9", null]);
  const keys = [];
  for await (const some of redis.scanStream({ match: "n*" })) keys.push(...some);
  assert.deepEqual(keys, ["n"]);

  // A transaction is refused, and nothing of it is carried out.
  await assert.rejects(redis.multi().incr("m").incr("m").exec(), /EXECABORT Transaction discarded because MULTI is not/);
  assert.equal(await redis.get("m"), null);
  assert.equal(await redis.incr("m"), 1);

  // A greeting in RESP3, on a connection of its own: this library reads RESP2.
  const net = require("node:net");
  const greeting = await new Promise((resolve, reject) => {
    const socket = net.connect(port, "127.0.0.1", () => socket.write("HELLO 3\r\n"));
    socket.once("data", (data) => { socket.destroy(); resolve(data.toString()); });
    socket.once("error", reject);
  });
  assert.match(greeting, /^%7\r\n\$6\r\nserver\r\n/);

  await redis.quit();
  console.log("all is well");
}

main(Number(process.argv[2])).catch((error) => { console.error(error); process.exit(1); });
