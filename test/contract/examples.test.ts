import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import * as z from 'zod';
import { Problem } from '#src/contract/problem.ts';
import { ToolCallsResponse } from '#src/contract/tool-result.ts';
import { startProcess } from '#test/support/start-process.ts';
import { callService, type RunningService, startService } from '#test/support/start-service.ts';

const ROOT = join(import.meta.dirname, '../..');
const EXAMPLES = join(ROOT, 'openapi/examples');

// Each with the HTTP status it is about: a file that is missing here, or a name without a file, fails below.
const STATUS_OF_EXAMPLE = {
  'budget-exhausted.json': 200,
  'failure-with-suggestion.json': 200,
  'invalid-arguments.json': 200,
  'mixed-batch.json': 200,
  'nothing-found.json': 200,
  'problem.json': 400,
  'success.json': 200,
  'unknown-tool.json': 200,
} as const;

const Example = z.strictObject({
  about: z.string().min(1),
  /** Requests that were sent before this one. */
  earlier: z.array(z.unknown()).default([]),
  request: z.unknown(),
  response: z.strictObject({ status: z.int(), content_type: z.string(), body: z.unknown() }),
});

let service: RunningService;

beforeAll(async () => {
  service = await startService();
});

afterAll(() => service.stop());

const post = async (body: unknown): Promise<z.infer<typeof Example>['response']> => {
  const answer = await fetch(`${service.url}/tool-calls`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return {
    status: answer.status,
    content_type: answer.headers.get('content-type') ?? '',
    body: await answer.json(),
  };
};

// What differs from one answer to the next, once it has been seen to look right; and the tools, which are a deployer's own.
const normaliseMember = (key: string, value: unknown): unknown => {
  if (key === 'request_id' || key === 'reference')
    return /^[0-9A-HJKMNP-TV-Z]{26}$/.test(String(value)) ? 'ULID' : value;
  if (key === 'duration_ms') return typeof value === 'number' && value >= 0 ? 'DURATION' : value;
  return key === 'message' ? String(value).replace(/(?<=Available tools: )[\w, ]+\./, '….') : value;
};

const normalise = (body: unknown): unknown => JSON.parse(JSON.stringify(body, normaliseMember));

test('every example is about a status, and every file of them is tried', () => {
  expect(
    globSync('**', { cwd: EXAMPLES })
      .filter((path) => path !== '.')
      .sort(),
  ).toEqual(Object.keys(STATUS_OF_EXAMPLE));
});

test.for(Object.entries(STATUS_OF_EXAMPLE))('%s: the service answers as the example says', async ([file, status]) => {
  const example = Example.parse(JSON.parse(readFileSync(join(EXAMPLES, file), 'utf8')));
  for (const earlier of example.earlier) expect((await post(earlier)).status).toBe(200);
  const answer = await post(example.request);
  expect(normalise(answer)).toEqual(normalise(example.response));
  expect(answer.status).toBe(status);
  expect((status === 200 ? ToolCallsResponse : Problem).safeParse(answer.body).error).toBeUndefined();
});

/** A tools directory with the one tool file that a page prints, served as the page says. */
const servePrinted = async (page: string, environment: Readonly<Record<string, string>> = {}): Promise<string> => {
  const blocks = [...readFileSync(join(ROOT, page), 'utf8').matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code]) => code);
  const files = blocks.filter((code) => code?.includes("from 'recourse'"));
  expect(files, page).toHaveLength(1);
  const directory = mkdtempSync(join(tmpdir(), 'recourse-printed-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  writeFileSync(join(directory, 'printed.ts'), files.join(''));
  const settings = { TOOLS_DIR: directory, MAX_EVENT_LOOP_LAG_MS: '60000', ...environment };
  return (await startProcess({ by: 'node', environment: settings })).url;
};

test('the tool that README.md prints runs, and its failure is counted as the page says', async () => {
  const url = await servePrinted('README.md');
  const [good, bad] = await callService(url, [
    { id: '0', name: 'roll_dice', arguments: { count: 3, sides: 6 } },
    { id: '1', name: 'roll_dice', arguments: { count: 2, sides: 1 } },
  ]);
  expect(good).toMatchObject({
    success: true,
    value: { rolls: [expect.any(Number), expect.any(Number), expect.any(Number)] },
  });
  expect(bad?.error?.code).toBe('retry_requested');
  const metrics = await (await fetch(`${url}/metrics`)).text();
  expect(metrics).toContain(
    '\nrecourse_tool_call_failures_total{tool="roll_dice",code="retry_requested",fault="caller"} 1\n',
  );
});

/** A room service: Elm is free but on Christmas Eve, Oak is taken, others are not there, and Ash has too many callers. */
const ROOM_STATUS: Readonly<Record<string, number>> = { Elm: 201, Oak: 409, Ash: 429, Yew: 500 };

const startRoomService = async (): Promise<string> => {
  const server = createServer(async (request, response) => {
    const url = new URL(request.url ?? '/', 'http://rooms');
    const form = new URLSearchParams(Buffer.concat(await Array.fromAsync(request)).toString());
    const free = url.searchParams.get('day') === '2026-12-24' ? [] : [{ name: 'Elm', seats: 8 }];
    if (request.method === 'GET') response.end(JSON.stringify(free));
    else response.writeHead(ROOM_STATUS[form.get('room') ?? ''] ?? 404).end();
  });
  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen(0, '127.0.0.1', resolve);
  await promise;
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The room service has no port.');
  return `http://127.0.0.1:${address.port}`;
};

const serveRooms = async (): Promise<string> =>
  servePrinted('docs/writing-tools.md', { ROOMS_URL: await startRoomService(), TOOLS_ENV_ALLOW: 'ROOMS_URL' });

test('the tools that docs/writing-tools.md prints find rooms, or say that there is none', async () => {
  const url = await serveRooms();
  const [found, none, wrong] = await callService(url, [
    { name: 'list_free_rooms', arguments: { day: '2026-12-23', seats: 4 } },
    { name: 'list_free_rooms', arguments: { day: '2026-12-24', seats: 4 } },
    { name: 'list_free_rooms', arguments: { day: '24.12.2026', seats: '4' } },
  ]);
  expect(found?.value).toEqual({ day: '2026-12-23', rooms: [{ name: 'Elm', seats: 8 }] });
  expect(none).toMatchObject({ success: true, empty: true, message: 'No room with 4 seats is free on 2026-12-24.' });
  expect(wrong?.message).toBe(
    "Invalid arguments for 'list_free_rooms' (2 problems):\n- day: must be a day such as 2026-12-24\n" +
      '- seats: expected a number, got the string "4"\nFix these and call \'list_free_rooms\' again.',
  );
});

test('the tools that docs/writing-tools.md prints fail as its table says', async () => {
  const url = await serveRooms();
  const book = async (room: string, pin: unknown = '1234') => {
    const [result] = await callService(url, [{ name: 'book_room', arguments: { day: '2026-12-23', room, pin } }]);
    return `${result?.outcome} ${result?.executed} ${result?.error?.code} ${result?.message}`;
  };
  const attempt = ' This was attempt 1 of 2; one retry is left.';
  expect(await book('Elm')).toBe("success yes undefined Room 'Elm' is booked for 2026-12-23.");
  expect(await book('Ulm')).toBe(
    `retry no retry_requested There is no room 'Ulm'. Call list_free_rooms to see the names.${attempt}`,
  );
  expect(await book('Oak')).toBe("failed yes tool_failed Room 'Oak' is taken on 2026-12-23. Take another room or day.");
  expect(await book('Ash')).toBe(
    `retry no upstream_rate_limited The room service is busy. Try again in 30 seconds.${attempt}`,
  );
  expect(await book('Yew')).toBe(`unknown maybe tool_exception Error: the room service answered 500.${attempt}`);
  expect(await book('Elm', 1234)).toMatch(
    /^retry no invalid_arguments .*\n- pin: expected a string, got a number \(hidden\)\n/,
  );
});
