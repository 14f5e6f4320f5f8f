import type { JournalEntry } from '#src/contract/session.ts';

/** A call of a session that succeeded, of the tool `search`, unless told otherwise. */
export const toEntry = (about: Partial<JournalEntry> = {}): JournalEntry => ({
  step: 1,
  time: '2026-11-21T10:00:00.000Z',
  request_id: 'r_1',
  index: 0,
  id: null,
  tool: 'search',
  name: 'search',
  fingerprint: null,
  arguments: '{}',
  success: true,
  outcome: 'success',
  executed: 'yes',
  code: null,
  fault: null,
  message: '',
  duration_ms: 1.5,
  retries_left: 3,
  ...about,
});

/** The same call, failed: by default as if its tool had thrown. */
export const toFailedEntry = (about: Partial<JournalEntry> = {}): JournalEntry =>
  toEntry({
    success: false,
    outcome: 'retry',
    code: 'tool_exception',
    fault: 'tool',
    message: 'Error: no.',
    retries_left: 2,
    ...about,
  });
