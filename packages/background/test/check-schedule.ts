import { createPendingClient } from '@recourse/test-support/pending-client.ts';
import { foldEvents, readEvents, type SeenEvent } from '@recourse/test-support/stream-lab.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { ToolCallsResponse, type ToolResult } from 'recourse-server/internal/contract/tool-result.ts';
import { expect } from 'vitest';
import * as z from 'zod';
import type { Answered, PlayedSchedule, SentBatch, SentRequest } from './run-schedule.ts';
import type { ScheduleLab } from './schedule-lab.ts';

const Results = z.looseObject({ results: ToolCallsResponse.shape.results });

/** What must hold of every schedule once all handlers have ended; fails the test where it does not. */
export const checkSchedule = async (lab: ScheduleLab, { batches, requests }: PlayedSchedule): Promise<void> => {
  const bodies = new Map<SentBatch, readonly ToolResult[]>();
  await Promise.all(
    batches.map(async (batch) => {
      const begun = requests.find(({ kind, batch: of }) => kind === 'begin' && of === batch);
      const body = await readEnd(lab, batch, (await begun?.answered) ?? 'left');
      if (body !== null) bodies.set(batch, body);
    }),
  );
  await Promise.all(requests.map(({ answered }) => answered));
  // A late end may have replaced `unknown` since its body was read, and have been told: it is kept before it is told.
  for (const [batch, body] of bodies) bodies.set(batch, await readLate(lab, batch, body));
  for (const request of requests) checkAnswer(request, await request.answered, bodies.get(request.batch) ?? null);
  for (const batch of batches) checkBegins(lab, batch, bodies.get(batch) ?? null);
  await checkEnds(lab, bodies);
  for (const { kind, batch, format, answered } of requests)
    if (kind === 'begin' && format === 'json') await checkCompletion(lab, batch, await answered);
};

/** The body of the batch's end, once every call has ended; null where there is none, for its sender left before. */
const readEnd = async (
  { url }: ScheduleLab,
  batch: SentBatch,
  begun: Answered,
): Promise<readonly ToolResult[] | null> => {
  if (!batch.isAsync) return null;
  // A repeat under its key has come before it.
  const isOvertaken = begun !== 'left' && begun.status === 409 && 'idempotency-key' in batch.headers;
  if (begun !== 'left' && !isOvertaken) expect([200, 202], begun.text).toContain(begun.status);
  const { finish, ask } = createPendingClient(url);
  const end = await finish(batch.requestId);
  if ((begun === 'left' || isOvertaken) && end.status === 404) return null;
  expect([batch.requestId, end.status]).toEqual([batch.requestId, 200]);
  expect(end.results.filter(({ outcome }) => outcome === 'pending')).toEqual([]);
  const headers = { 'if-none-match': end.headers.get('etag') ?? '' };
  // A late end may replace the one of a write that was cut off.
  if (!end.results.some(isUnknown)) expect((await ask(`/tool-calls/${batch.requestId}`, { headers })).status).toBe(304);
  return end.results;
};

const isUnknown = ({ outcome }: ToolResult): boolean => outcome === 'unknown';

/** The body as it is after all answers: a late end replaces nothing but `unknown`. */
const readLate = async (
  { url }: ScheduleLab,
  { requestId }: SentBatch,
  body: readonly ToolResult[],
): Promise<readonly ToolResult[]> => {
  if (!body.some(isUnknown)) return body;
  const { status, results } = await createPendingClient(url).ask(`/tool-calls/${requestId}`);
  expect([requestId, status]).toEqual([requestId, 200]);
  expect(results.map((result, index) => (isUnknown(body[index] ?? result) ? body[index] : result))).toEqual(body);
  return results;
};

/** Whether a result that was told is the one that is kept. `outcome_unknown` is replaced by a late end. */
const expectKept = (told: unknown, kept: ToolResult | undefined): void => {
  const { outcome } = Object(told);
  if (outcome === 'unknown' || outcome === 'pending') return;
  expect(withoutReplay(told)).toEqual(withoutReplay(kept));
};

const withoutReplay = (result: unknown): unknown => ({ ...Object(result), replayed: false });

/** Its batch is not answered yet, or keeps nothing; its key is in flight; there is no such call. */
const refusalsOf = ({ kind, batch }: SentRequest): readonly number[] =>
  kind === 'begin' && !('idempotency-key' in batch.headers) ? [] : [404, 409];

const checkAnswer = (request: SentRequest, answered: Answered, body: readonly ToolResult[] | null): void => {
  const { kind, batch, format } = request;
  if (answered === 'left') return;
  const { status, text } = answered;
  if (status !== 200 && status !== 202) {
    expect(refusalsOf(request), text).toContain(status);
    return;
  }
  const told = format === 'json' ? Results.parse(JSON.parse(text)).results : foldStream(kind, readEvents(text, format));
  expect(told).toHaveLength(batch.body.calls.length);
  if (body !== null) for (const [index, result] of told.entries()) expectKept(result, body[index]);
  if (format !== 'json') expect(told.filter((result) => Object(result).outcome === 'pending')).toEqual([]);
};

const foldStream = (kind: SentRequest['kind'], events: readonly SeenEvent[]): readonly unknown[] =>
  kind === 'watch' ? foldSnapshot(events) : Results.parse(foldEvents(events)).results;

/** `snapshot`, then one `result` for each call that was pending there, then one `done`. */
const foldSnapshot = (events: readonly SeenEvent[]): readonly unknown[] => {
  const [snapshot, ...rest] = events;
  const done = rest.pop();
  expect([snapshot?.event, done?.event, Object(done?.data).status]).toEqual(['snapshot', 'done', 'done']);
  const results: unknown[] = [...Results.parse(snapshot?.data).results];
  for (const { event, data } of rest) {
    expect(['result', 'progress']).toContain(event);
    if (event !== 'result') continue;
    const { index } = Object(data);
    expect(Object(results[index]).outcome).toBe('pending');
    results[index] = data;
  }
  return results;
};

// A call that may run again begins three times at most.
const MOST_BEGINS = { read: 3, write: 1 } as const;

const checkBegins = ({ ledger }: ScheduleLab, { body }: SentBatch, results: readonly ToolResult[] | null): void => {
  for (const [index, { name, arguments: given }] of body.calls.entries()) {
    const begins = ledger.begins(given.only);
    expect([name, begins]).toEqual([name, Math.min(begins, MOST_BEGINS[name.endsWith('write') ? 'write' : 'read'])]);
    const result = results?.[index];
    if (result?.success === true) expect([name, begins > 0]).toEqual([name, true]);
    // One that may run again, and was given back by its worker, counts as one that has not begun.
    if (result?.executed === 'no' && name.endsWith('write')) expect([name, begins]).toEqual([name, 0]);
  }
};

const Message = z.object({
  type: z.string(),
  data: z.looseObject({ request_id: z.string(), index: z.int().optional(), outcome: z.string().optional() }),
});

/** Of each call that was accepted one message says so, and one how it ended: as its result does. */
const checkEnds = async (lab: ScheduleLab, bodies: ReadonlyMap<SentBatch, readonly ToolResult[]>): Promise<void> => {
  const ids = new Set([...bodies.keys()].map(({ requestId }) => requestId));
  const readEnds = () => {
    // A message that is sent again has the same id.
    const messages = new Map(lab.receiver.received.map(({ headers, body }) => [headers['webhook-id'], body]));
    const seen = [...messages.values()].map((text) => Message.parse(JSON.parse(text)));
    const toCalls = (type: string): readonly string[] =>
      seen
        .filter((message) => message.type === type && ids.has(message.data.request_id))
        .map(({ data }) => `${data.request_id} ${data.index}`)
        .toSorted();
    return { seen, accepted: toCalls('tool_call.pending'), ended: toCalls('tool_call.completed') };
  };
  await expect
    .poll(
      () => {
        const { accepted, ended } = readEnds();
        return accepted.filter((call) => !ended.includes(call));
      },
      { timeout: timeLimit(20_000), interval: 10 },
    )
    .toEqual([]);
  const { seen, accepted, ended } = readEnds();
  expect(new Set(ended).size).toBe(ended.length);
  expect(new Set(accepted).size).toBe(accepted.length);
  for (const [{ requestId }, results] of bodies)
    for (const { type, data } of seen)
      if (type === 'tool_call.completed' && data.request_id === requestId && data.outcome !== 'unknown')
        expect(data.outcome).toBe(results[data.index ?? -1]?.outcome);
};

/** One message says of a batch that was answered as pending that all its calls have ended, and none of another. */
const checkCompletion = async (lab: ScheduleLab, { requestId }: SentBatch, begun: Answered): Promise<void> => {
  const readIds = (): readonly string[] =>
    lab.receiver.received
      .filter(({ body }) => body.includes('"tool_calls.completed"') && body.includes(`"${requestId}"`))
      .map(({ headers }) => headers['webhook-id'] ?? '');
  // A worker that is closed takes with it what it has not told. A batch that its own repeat has overtaken is answered by the
  // calls of that, and the message names that.
  const isOwn = begun !== 'left' && begun.status === 202 && !begun.text.includes('"replayed":true');
  const isTold = isOwn && lab.workers === 'none';
  if (isTold) await expect.poll(readIds, { timeout: timeLimit(10_000), interval: 10 }).not.toEqual([]);
  expect(new Set(readIds()).size).toBeLessThanOrEqual(begun === 'left' || begun.status === 202 ? 1 : 0);
};
