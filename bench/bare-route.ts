import fastify from 'fastify';
import { Redis } from 'ioredis';
import * as z from 'zod';
import { listenForBench } from './listen-for-bench.ts';

/** What the bench sends; the bare route trusts it. */
type Body = {
  readonly session_id?: string;
  readonly calls: readonly {
    readonly id: string;
    readonly name: string;
    readonly arguments: { readonly text: string };
  }[];
};

// The server that the service is compared to: Fastify with its own parser and serializer and nothing else, giving an
// answer of the same shape and size.
const app = fastify({ logger: false });

const toAnswer = ({ session_id, calls }: Body) => ({
  request_id: '01KAJ4V2E8N5D0W3Q7Z9X6C1BT',
  session_id: session_id ?? null,
  results: calls.map((call, index) => ({
    index,
    id: call.id,
    name: call.name,
    success: true,
    outcome: 'success',
    executed: 'yes',
    value: { text: call.arguments.text },
    message: '',
    error: null,
    retry: null,
    duration_ms: 0.01,
  })),
});

// One trip to Redis as a session needs at least one: a hash that is counted in, and a list that keeps the calls.
const SCRIPT = `redis.call('HINCRBY', KEYS[1], 'rounds', 1)
redis.call('EXPIRE', KEYS[1], 86400)
redis.call('RPUSH', KEYS[2], unpack(ARGV))
redis.call('LTRIM', KEYS[2], -200, -1)
redis.call('EXPIRE', KEYS[2], 86400)
return 1`;

const addRedisRoute = async (url: string): Promise<void> => {
  const redis = new Redis(url);
  const sha = z.string().parse(await redis.script('LOAD', SCRIPT));
  app.post<{ Body: Body }>('/tool-calls', async ({ body }) => {
    const key = `bare:{${body.session_id}}`;
    await redis.evalsha(sha, 2, key, `${key}:calls`, ...body.calls.map((call) => JSON.stringify(call)));
    return toAnswer(body);
  });
};

const redisUrl = process.env['BARE_REDIS_URL'];
if (redisUrl === undefined) app.post<{ Body: Body }>('/tool-calls', async ({ body }) => toAnswer(body));
else await addRedisRoute(redisUrl);

await app.ready();
listenForBench(app.server);
