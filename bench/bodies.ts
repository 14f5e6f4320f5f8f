/** A text of about the length of a line of notes: what each call carries, and what `echo` gives back. */
const TEXT =
  'Ask the harbour office when the ferry to the outer islands leaves, and how long the crossing takes. '.trim();

/** Whether `echo` gets its parameter, or which tool of the bench is called instead. */
export const CALL_KINDS = ['succeeding', 'failing', 'isolated', 'sleeping', 'sleeping_long'] as const;
export type CallKind = (typeof CALL_KINDS)[number];

/** How long calls sleep, in milliseconds. */
export const SLEEP_MS = { sleeping: 10, sleeping_long: 40 } as const;
export type SleepingKind = keyof typeof SLEEP_MS;

const CALLS = {
  succeeding: { name: 'echo', arguments: { text: TEXT } },
  // The same text in a member that nobody reads.
  failing: { name: 'echo', arguments: {}, pad: TEXT },
  isolated: { name: 'echo_isolated', arguments: { text: TEXT } },
  sleeping: { name: 'sleep_isolated', arguments: { ms: SLEEP_MS.sleeping } },
  sleeping_long: { name: 'sleep_isolated', arguments: { ms: SLEEP_MS.sleeping_long } },
} as const satisfies Record<CallKind, unknown>;

const toCall = (kind: CallKind, index: number) => ({ id: `call_${String(index).padStart(2, '0')}`, ...CALLS[kind] });

/** The JSON text of one batch; equally long for succeeding and failing calls. */
export const toBody = (kind: CallKind, calls: number, sessionId: string): string =>
  JSON.stringify({ session_id: sessionId, calls: Array.from({ length: calls }, (_, index) => toCall(kind, index)) });

/** The JSON text of a batch of one call that sleeps. Without a session: what is late must not be refused for that later. */
export const toSleepingBody = (kind: SleepingKind, deadlineMs: number): string =>
  JSON.stringify({ calls: [toCall(kind, 0)], deadline_ms: deadlineMs });

// As long as what autocannon puts in the place of FRESH_SESSION.
const SESSION_DIGITS = 33;
const FRESH_SESSION = 's_[<id>]';
const ROTATING_SESSIONS = 256;

/** Bodies to send in turn: of rotating sessions where calls succeed, of a new session each where they fail. */
export const toBodies = (kind: CallKind, calls: number): readonly string[] =>
  kind === 'failing'
    ? [toBody(kind, calls, FRESH_SESSION)]
    : Array.from({ length: ROTATING_SESSIONS }, (_, session) =>
        toBody(kind, calls, `s_${String(session).padStart(SESSION_DIGITS, '0')}`),
      );
