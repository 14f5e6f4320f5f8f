import fastify from 'fastify';

/** What the bench sends; the bare route trusts it. */
type Body = {
  readonly session_id: string;
  readonly calls: readonly {
    readonly id: string;
    readonly name: string;
    readonly arguments: { readonly text: string };
  }[];
};

// The server that the service is compared to: Fastify with its own parser and serializer and nothing else, giving an
// answer of the same shape and size.
const app = fastify({ logger: false });

app.post<{ Body: Body }>('/tool-calls', async ({ body }) => ({
  request_id: '01KAJ4V2E8N5D0W3Q7Z9X6C1BT',
  session_id: body.session_id,
  results: body.calls.map((call, index) => ({
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
}));

// Ends with the bench, however that ends.
process.once('disconnect', () => process.exit(0));

await app.listen({ host: '127.0.0.1', port: Number(process.argv[2]) });
