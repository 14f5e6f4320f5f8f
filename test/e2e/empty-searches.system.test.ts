import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createFolder } from '@recourse/test-support/config-lab.ts';
import { createDriveRoutes } from '@recourse/test-support/google/drive-routes.ts';
import { writeCredentials } from '@recourse/test-support/google/google-credentials.ts';
import { startGoogleStandIn } from '@recourse/test-support/google/google-stand-in.ts';
import { startProcess } from '@recourse/test-support/start-process.ts';
import { callService, startService } from '@recourse/test-support/start-service.ts';
import { createGoogle } from '@recourse/toolkit-google/google-tools';
import { expect, onTestFinished, test } from 'vitest';
import { SessionView } from '#src/contract/session.ts';
import type { ToolResult } from '#src/contract/tool-result.ts';
import type { InlineTool, Prepared } from '#src/tools/tool.ts';
import { RetryableToolError } from '#src/tools/tool-errors.ts';
import { isToldValue, toldKind } from '#src/tools/tool-values.ts';

// Two searches of one turn, both right, for files that are not there. In the agent that this happened to, "nothing
// found" was an error to be retried: two of them were more than the one retry the tool had, and the run was dead.
const TURN = [
  { id: 'call_1', name: 'search_drive', arguments: { query: 'Chris 1:1 February 5 2026' } },
  { id: 'call_2', name: 'search_drive', arguments: { query: 'Platform Sync February 5 2026' } },
];
const OTHER_WORDS = Array.from({ length: 20 }, (_, index) => `Platform Sync notes ${index + 1}`);
const ECHO = { id: 'call_3', name: 'echo', arguments: { text: 'still here' } };

/** One retry for the tool, as the agent had it. */
const writeBudgetOfOne = async (): Promise<string> => {
  const path = join(await createFolder(), 'recourse.config.yaml');
  await writeFile(path, 'tools:\n  search_drive:\n    retries: 1\n');
  return path;
};

/** A Drive with other files in it. */
const startDrive = () =>
  startGoogleStandIn({
    routes: createDriveRoutes([
      { id: 'file-1', name: 'Chris 1:1 January 29 2026', mimeType: 'application/vnd.google-apps.document' },
      { id: 'file-2', name: 'Quarterly plan', mimeType: 'application/vnd.google-apps.spreadsheet' },
    ]),
  });

const readSession = async (url: string): Promise<SessionView> =>
  SessionView.parse(await (await fetch(`${url}/sessions/incident`)).json());

const search = (query: string) => ({ name: 'search_drive', arguments: { query } });

const textsOf = (results: readonly ToolResult[]) =>
  results.map(({ outcome, error, message }) => `${outcome} ${error?.code ?? '-'} ${message}`);

const NOTHING_FOUND = {
  success: true,
  outcome: 'success',
  executed: 'yes',
  empty: true,
  message: 'No files found.',
  value: { display: 'No files found.', count: 0, page: 1, has_more: false, files: [] },
  error: null,
};

test('two parallel searches that find nothing are two successes, and the session lives on with its one retry', async () => {
  const drive = await startDrive();
  const { url } = await startProcess({
    by: 'node',
    environment: {
      TOOL_GROUPS: 'drive',
      GOOGLE_API_URL: drive.url,
      GOOGLE_CREDENTIALS_PATH: writeCredentials('authorized_user'),
      CONFIG_FILE: await writeBudgetOfOne(),
    },
  });
  const session = { session_id: 'incident' };
  expect(await callService(url, TURN, session)).toEqual([
    expect.objectContaining({ ...NOTHING_FOUND, id: 'call_1' }),
    expect.objectContaining({ ...NOTHING_FOUND, id: 'call_2' }),
  ]);
  for (const words of OTHER_WORDS)
    expect(await callService(url, [search(words)], session)).toEqual([expect.objectContaining(NOTHING_FOUND)]);
  const [found] = await callService(url, [search('Quarterly plan')], session);
  expect(found).toMatchObject({ success: true, message: '', value: { count: 1, files: [{ id: 'file-2' }] } });
  // The very calls of the incident again, twice: said to be the same, and still answered.
  for (const _time of ['second', 'third'])
    expect(await callService(url, TURN, session)).toMatchObject([NOTHING_FOUND, NOTHING_FOUND]);
  const view = await readSession(url);
  expect(view.session).toMatchObject({ rounds: 24, calls: 27, retries_used: 0 });
  expect(view.tools.filter(({ failures, used, exhausted }) => failures > 0 || used > 0 || exhausted)).toEqual([]);
  expect(new Set(view.calls.map(({ outcome, code }) => `${outcome} ${code}`))).toEqual(new Set(['success null']));
});

/** search_drive as it was before: the real tool, but what it found nothing for is called wrong. */
const toOldBehaviour = (tool: InlineTool): InlineTool => {
  const refuseEmpty = (answer: unknown): unknown => {
    if (typeof answer === 'object' && answer !== null && isToldValue(answer) && toldKind(answer) === 'empty')
      throw new RetryableToolError('No results. Try different keywords.');
    return answer;
  };
  const toOld = (prepared: Prepared): Prepared =>
    prepared.ok
      ? { ok: true, invocation: { run: async (context) => refuseEmpty(await prepared.invocation.run(context)) } }
      : prepared;
  return { ...tool, prepare: async (input) => toOld(await tool.prepare(input)) };
};

const createOldSearchDrive = async (apiUrl: string): Promise<InlineTool> => {
  const { tools, close } = createGoogle({
    groups: new Set(['drive']),
    credentialsPath: writeCredentials('authorized_user'),
    subject: undefined,
    apiUrl,
    pageTokens: { find: async () => null, keep: async () => undefined },
    registerSecrets: () => undefined,
  });
  onTestFinished(close);
  const real = tools.find(({ name }) => name === 'search_drive');
  if (real === undefined) throw new Error('There is no search_drive.');
  return toOldBehaviour(real);
};

test('with the old behaviour the same turn spends what the agent had, and the next one ends the tool', async () => {
  const drive = await startDrive();
  const old = await createOldSearchDrive(drive.url);
  const service = await startService({ CONFIG_FILE: await writeBudgetOfOne() }, [old]);
  onTestFinished(() => service.stop());
  const session = { session_id: 'incident' };
  // Counted call by call, as the agent's framework did, two failures are more than one retry: dead in this turn. Here
  // calls of one round are one mistake, so one retry is left.
  const one = 'No results. Try different keywords. This was attempt 1 of 2; one retry is left.';
  expect(textsOf(await service.call(TURN, session))).toEqual([
    `retry retry_requested ${one}`,
    `retry retry_requested ${one}`,
  ]);
  // The model does as it was told, and other keywords find nothing either.
  expect(textsOf(await service.call([search('Chris February'), search('Platform Sync')], session))).toEqual([
    "retry retry_requested No results. No retries are left for 'search_drive'. Use another tool, or say what could not be done.",
    "retry retry_requested No results. No retries are left for 'search_drive'. Use another tool, or say what could not be done.",
  ]);
  const asked = drive.apiRequests().length;
  expect(asked).toBe(4);
  expect(textsOf(await service.call([search('Sync'), ECHO], session))).toEqual([
    "refused retry_budget_exhausted Tool 'search_drive' failed 2 times in a row and is blocked for this session. Do not call it again: use another tool, or say what could not be done. Last error: No results.",
    'success - ',
  ]);
  expect(drive.apiRequests()).toHaveLength(asked);
  const view = await readSession(service.url);
  expect(view.session.retries_used).toBe(1);
  expect(view.tools).toContainEqual(
    expect.objectContaining({ name: 'search_drive', failures: 2, used: 1, limit: 1, exhausted: true }),
  );
});
