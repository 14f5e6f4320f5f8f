import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startProcess } from '@recourse/test-support/start-process.ts';
import { callService } from '@recourse/test-support/start-service.ts';
import { expect, onTestFinished, test } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');

/** A tools directory with the one tool file that a page prints, served as the page says. */
const servePrinted = async (page: string, environment: Readonly<Record<string, string>> = {}): Promise<string> => {
  const blocks = [...readFileSync(join(ROOT, page), 'utf8').matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code]) => code);
  const files = blocks.filter((code) => code?.includes("from 'recourse-server'"));
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
  expect(await book('Yew')).toBe('unknown maybe tool_exception Error: the room service answered 500.');
  expect(await book('Elm', 1234)).toMatch(
    /^retry no invalid_arguments .*\n- pin: expected a string, got a number \(hidden\)\n/,
  );
});
