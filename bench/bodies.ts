/** What `echo` is called with, or which tool of the bench is called instead. */
export const CALL_KINDS = [
  'succeeding',
  'failing',
  'reading',
  'missing',
  'unknown',
  'unknown_new',
  'isolated',
  'writing',
  'sleeping',
  'sleeping_long',
  'over_stdio',
  'over_http',
  'over_openapi',
] as const;
export type CallKind = (typeof CALL_KINDS)[number];

/** The same `echo`, each in a process of its own that the service asks. */
export const HOP_TOOLS = { over_stdio: 'stdio_echo', over_http: 'http_echo', over_openapi: 'openapi_echo' } as const;
export type HopKind = keyof typeof HOP_TOOLS;

/** How long calls sleep, in milliseconds. */
export const SLEEP_MS = { sleeping: 10, sleeping_long: 40 } as const;
export type SleepingKind = keyof typeof SLEEP_MS;

const BATCH_DIGITS = 5;
const CALL_DIGITS = 2;

/**
 * A text of about the length of a line of notes: what each call carries, and what `echo` gives back. All are equally
 * long, and no two calls of a batch or of batches that follow each other have the same: the loop guard counts nothing.
 */
export const toText = (batch: number, call: number): string => {
  const ferry = `${String(batch).padStart(BATCH_DIGITS, '0')}${String(call).padStart(CALL_DIGITS, '0')}`;
  return `Ask the harbour office when ferry ${ferry} to the outer islands leaves, and how long the trip takes.`;
};

/** The texts of the first batch of all. */
export const toTexts = (calls: number): readonly string[] =>
  Array.from({ length: calls }, (_, call) => toText(0, call));

const toAsked = (kind: CallKind, text: string) => {
  switch (kind) {
    case 'succeeding':
      return { name: 'echo', arguments: { text } };
    // The same text in a member that nobody reads.
    case 'failing':
      return { name: 'echo', arguments: {}, pad: text };
    case 'reading':
      return { name: 'read_file', arguments: { path: 'notes.md' } };
    case 'missing':
      return { name: 'read_file', arguments: { path: 'minutes/of-no-meeting.md' } };
    case 'unknown':
      return { name: 'ecko_the_text', arguments: { text } };
    case 'unknown_new':
      return { name: `ecko_${/\d+/.exec(text)?.[0]}_text`, arguments: { text } };
    case 'isolated':
      return { name: 'echo_isolated', arguments: { text } };
    case 'writing':
      return { name: 'echo_write', arguments: { text } };
    case 'sleeping':
    case 'sleeping_long':
      return { name: 'sleep_isolated', arguments: { ms: SLEEP_MS[kind] } };
    case 'over_stdio':
    case 'over_http':
    case 'over_openapi':
      return { name: HOP_TOOLS[kind], arguments: { text } };
  }
};

const toCall = (kind: CallKind, text: string, index: number) => ({ id: toCallId(index), ...toAsked(kind, text) });

export const toCallId = (index: number): string => `call_${String(index).padStart(2, '0')}`;

/** The JSON text of one batch, a call for each text. Of no session where that is null; with a deadline where that is not 0. */
export const toBody = (kind: CallKind, sessionId: string | null, texts: readonly string[], deadlineMs = 0): string =>
  JSON.stringify({
    ...(sessionId === null ? {} : { session_id: sessionId }),
    calls: texts.map((text, index) => toCall(kind, text, index)),
    ...(deadlineMs === 0 ? {} : { deadline_ms: deadlineMs }),
  });

const LANE_DIGITS = 4;
const SESSION_DIGITS = 28;

/** The id of one session of the bench, by its number and that of the lane whose own it is; all are equally long. */
export const toSessionId = (session: number, lane = 0): string =>
  `s_${String(lane).padStart(LANE_DIGITS, '0')}_${String(session).padStart(SESSION_DIGITS, '0')}`;

/** One of the API keys that services of the bench know. */
export const toApiKey = (number: number): string => `rcs_bench_${String(number).padStart(33, '0')}`;

/** So many that two batches of one never overlap, and few enough to be live all the time. */
export const ROTATING_SESSIONS = 256;
