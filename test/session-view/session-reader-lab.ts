import { expect } from 'vitest';
import { SessionView } from '#src/contract/session.ts';
import type { SessionRecord } from '#src/executor/session-store.ts';
import { createRedactor } from '#src/redaction/service-redactor.ts';
import { createRunReducer } from '#src/session-view/create-run-reducer.ts';
import { createSessionReader, type SessionReaderOptions } from '#src/session-view/session-reader.ts';

const EMPTY: SessionRecord = { mode: 'memory', rounds: 0, calls: 0, spent: 0, tools: [], journal: [] };

export const SETTINGS: SessionReaderOptions['settings'] = {
  sessionRetries: 20,
  cooldownMs: 900_000,
  maxCalls: 0,
  maxRounds: 0,
  journal: 200,
};

const TOOLS = new Map([
  ['search', { retries: 2, maxCallsPerSession: null }],
  ['book', { retries: 1, maxCallsPerSession: 5 }],
  ['no_retries', { retries: 0, maxCallsPerSession: 0 }],
]);

const runReducer = createRunReducer({
  runHosted: () => Promise.reject(new Error('There are no hosts here.')),
  maxResultBytes: 100_000,
  redactor: createRedactor({ secrets: [] }),
  now: () => performance.now(),
});

/** The view of one record, checked against the contract. */
export const read = async (
  record: Partial<SessionRecord>,
  options: Partial<SessionReaderOptions> = {},
  mayUse: (tool: string) => boolean = () => true,
) => {
  const keys: string[] = [];
  const readSession = createSessionReader({
    sessions: {
      read: async (key) => {
        keys.push(key);
        return { ...EMPTY, ...record };
      },
    },
    findTool: (name) => TOOLS.get(name),
    reducers: () => [],
    pendingOf: async () => [],
    runReducer,
    settings: SETTINGS,
    ...options,
  });
  const view = await readSession('key', mayUse);
  expect(keys).toEqual(['key']);
  expect(SessionView.safeParse(view).error).toBeUndefined();
  return view;
};
