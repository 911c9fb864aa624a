// node-redis against a Mete server, in RESP2 and RESP3: node node_redis_client.js PORT
const assert = require("node:assert/strict");
const { createClient } = require("redis");

async function talk(port, RESP) {
  const client = createClient({ socket: { port }, RESP, name: "tests" });
  client.on("error", (error) => { throw error; });
  await client.connect();
  const send = (...words) => client.sendCommand(words);

  assert.equal(await client.ping(), "PONG");
  assert.equal(await client.clientGetName(), "tests");
  assert.equal(await send("LIMIT", "SET", "api", "STOCK", "100"), "OK");
  assert.deepEqual(await send("TAKE", "api", "alice", "COST", "4"), [1, 96, 100, 0, -1, []]);
  const [held, id] = await send("HOLD", "api", "carol", "COST", "10", "TTL", "1m");
  assert.equal(held, 1);
  assert.deepEqual(await send("COMMIT", id, "7"), [7, 93, 100]);

  // Commands of one tick are one pipeline.
  const answers = await Promise.all([...Array(200)].map(() => send("TAKE", "api", "bob")));
  assert.equal(answers.filter((answer) => answer[0] === 1).length, 100);

  await assert.rejects(send("TAKE", "nobody", "alice"), /NOLIMIT unknown limit 'nobody'/);
  const limit = await send("LIMIT", "GET", "api");
  if (RESP === 3) {
    assert.equal(limit.kind, "stock");
  } else {
    assert.deepEqual(limit, ["name", "api", "kind", "stock", "amount", 100]);
  }
  assert.equal(await client.set("n", "5", { EX: 100 }), "OK");
  assert.equal(await client.incrBy("n", 4), 9);
  const keys = [];
  for await (const some of client.scanIterator({ MATCH: "n*" })) keys.push(...some);
  assert.deepEqual(keys, ["n"]);

  await send("FLUSHALL");
  await client.close();
}

async function main(port) {
  await talk(port, 2);
  await talk(port, 3);
  console.log("all is well");
}

main(Number(process.argv[2])).catch((error) => { console.error(error); process.exit(1); });
