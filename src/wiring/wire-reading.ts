import type { EndedSessions } from '../executor/ended-sessions.ts';
import type { KeyedStore } from '../executor/keyed-store.ts';
import type { Redactor } from '../executor/redactor.ts';
import type { RunHosted } from '../executor/run-hosted.ts';
import { type SessionStore, StoreUnavailableError } from '../executor/session-store.ts';
import { createRunReducer } from '../session-view/create-run-reducer.ts';
import { createSessionReader } from '../session-view/create-session-reader.ts';
import type { Config } from '../settings/config.ts';
import type { ToolRegistry } from '../tools/registry.ts';
import { toSessionSettings } from './wire-store.ts';

export type ReadingParts = {
  readonly sessions: SessionStore;
  readonly keys: KeyedStore;
  readonly endedSessions: EndedSessions;
  readonly registry: ToolRegistry;
  readonly runHosted: RunHosted;
  readonly redactor: Redactor;
  readonly now: () => number;
};

/** What the routes need to show sessions and kept results, to reset and end them, and to know tools. */
export const wireReading = (
  config: Config,
  { sessions, keys, endedSessions, registry, runHosted, redactor, now }: ReadingParts,
) => ({
  readSession: createSessionReader({
    sessions,
    findTool: registry.find,
    reducers: registry.reducers,
    runReducer: createRunReducer({ runHosted, maxResultBytes: config.MAX_RESULT_BYTES, redactor, now }),
    settings: toSessionSettings(config),
  }),
  findTool: registry.find,
  endSession: sessions.end,
  endedSessions,
  resetBudgets: sessions.reset,
  // Redacted when they were kept; this service may know of other secrets.
  findResults: async (requestKey: string) => {
    const found = await keys.find(requestKey);
    return Array.isArray(found) ? found.map((result) => redactor.result(result, 'result')) : found;
  },
  isUnavailable: (error: unknown): boolean => error instanceof StoreUnavailableError,
});
