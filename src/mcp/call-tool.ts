import { ProtocolError, type ServerContext } from '@modelcontextprotocol/server';
import type { Client } from '../executor/batch-request.ts';
import { holdUntil } from '../routes/answer-hold.ts';
import { toCallAnswer } from './call-answer.ts';
import { type CallOptions, nameCall, promisesOf, toCallBatch } from './call-batch.ts';
import type { CallParams } from './call-params.ts';
import { createProgressNotifier } from './progress-notifier.ts';
import type { SdkExchange } from './sdk-exchange.ts';
import { type CallResult, toCallResult } from './to-call-result.ts';

/**
 * Runs one `tools/call` that needs the SDK. Whatever comes of the call is a result; it rejects with a JSON-RPC error only
 * where its Idempotency-Key is not taken, and nothing has run.
 */
export const callTool = async (
  params: CallParams,
  { mcpReq: { id, signal, notify } }: ServerContext,
  exchange: SdkExchange,
  options: CallOptions,
): Promise<CallResult> => {
  const { ending } = exchange;
  const progress = createProgressNotifier(params._meta?.progressToken, notify);
  const forget = nameCall(id, exchange, () => ending.abort(), options);
  try {
    const given = params.arguments ?? exchange.argumentsAside.get(id);
    const client = toClient(AbortSignal.any([ending.signal, signal]));
    const batch = toCallBatch({ params, given, client, onProgress: progress.onProgress }, exchange, options);
    const known = toCallAnswer(await holdUntil(exchange.hold, options.executeBatch(batch)), exchange);
    if (known.kind === 'error') throw new ProtocolError(known.error.code, known.error.message, known.error.data);
    return toCallResult(JSON.parse(known.json), {
      requestId: exchange.requestId,
      promises: promisesOf(params.name, options),
      isKeyed: batch.idempotency !== null,
      links: exchange.links,
    });
  } finally {
    progress.end();
    forget();
  }
};

const toClient = (signal: AbortSignal): Client => ({
  isGone: () => signal.aborted,
  whenGone: (listener) => {
    if (signal.aborted) listener();
    signal.addEventListener('abort', listener, { once: true });
    return () => signal.removeEventListener('abort', listener);
  },
});
