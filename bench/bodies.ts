/** What `echo` is called with, or which tool of the bench is called instead. */
export const CALL_KINDS = [
  'succeeding',
  'failing',
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

/**
 * How batches are sent: of rotating sessions, of none, of sessions with a new Idempotency-Key each, or of sessions with
 * a header of that size that nobody reads.
 */
export const MANNERS = ['session', 'no_session', 'keyed', 'unkeyed'] as const;
export type Manner = (typeof MANNERS)[number];

/** The texts of two batches that follow each other in a session: the loop guard has nothing to count. */
export type Turn = 'a' | 'b';

const RUN_DIGITS = 6;

/**
 * A text of about the length of a line of notes: what each call carries, and what `echo` gives back. As long in each run
 * and turn. The run is in it because the first text of a run must not be the last one of the run before.
 */
export const toText = (run: number, turn: Turn): string => {
  const ferry = `${String(run).padStart(RUN_DIGITS, '0')}${turn}`;
  return `Ask the harbour office when ferry ${ferry} to the outer islands leaves, and how long the trip takes.`;
};

const toAsked = (kind: CallKind, text: string) => {
  switch (kind) {
    case 'succeeding':
      return { name: 'echo', arguments: { text } };
    // The same text in a member that nobody reads.
    case 'failing':
      return { name: 'echo', arguments: {}, pad: text };
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

/** The JSON text of one batch; equally long for succeeding and failing calls. Of no session where that is null. */
export const toBody = (kind: CallKind, calls: number, sessionId: string | null, text: string): string =>
  JSON.stringify({
    ...(sessionId === null ? {} : { session_id: sessionId }),
    calls: Array.from({ length: calls }, (_, index) => toCall(kind, text, index)),
  });

/** The JSON text of a batch of one call that sleeps. Without a session: what is late must not be refused for that later. */
export const toSleepingBody = (kind: SleepingKind, deadlineMs: number): string =>
  JSON.stringify({ calls: [toCall(kind, '', 0)], deadline_ms: deadlineMs });

// As long as what autocannon puts in the place of FRESH_ID.
const SESSION_DIGITS = 33;
/** Where autocannon puts an id that it never used before. */
export const FRESH_ID = '[<id>]';

/** The id of one session of the bench, by its number. */
export const toSessionId = (session: number): string => `s_${String(session).padStart(SESSION_DIGITS, '0')}`;

/** The header of a batch sent in this manner, with an id of its own; the one nobody reads is as long as a key's. */
export const toHeaders = (manner: Manner, id: string): Readonly<Record<string, string>> => {
  if (manner === 'keyed') return { 'idempotency-key': id };
  return manner === 'unkeyed' ? { 'idempotency-not': id } : {};
};

export const ROTATING_SESSIONS = 256;

export type BodiesPlan = {
  readonly kind: CallKind;
  readonly calls: number;
  readonly manner: Manner;
  readonly sessions: number;
  /** The how manieth run of the process that sends. */
  readonly run: number;
  /** Whose bodies: those of one of so many connections. Each has sessions of its own, so that their texts take turns. */
  readonly connection: number;
  readonly connections: number;
};

/** Whose turn it is, and with which text. */
export type SessionText = { readonly session: string | null; readonly text: string };

/**
 * What is sent over and over: of rotating sessions, each with the one text and then the other, where calls succeed;
 * of a new session each where they fail.
 */
export const toSessionTexts = (plan: BodiesPlan): readonly SessionText[] => {
  const { kind, manner, run } = plan;
  if (kind === 'failing') return [{ session: `s_${FRESH_ID}`, text: toText(run, 'a') }];
  const sessions = toOwnSessions(plan);
  return (['a', 'b'] as const).flatMap((turn) =>
    sessions.map((session) => ({
      session: manner === 'no_session' ? null : toSessionId(session),
      text: toText(run, turn),
    })),
  );
};

/** The same as bodies of the service's own envelope. */
export const toBodies = (plan: BodiesPlan): readonly string[] =>
  toSessionTexts(plan).map(({ session, text }) => toBody(plan.kind, plan.calls, session, text));

// At least one for each connection.
const toOwnSessions = ({ sessions, connection, connections }: BodiesPlan): readonly number[] =>
  Array.from({ length: Math.max(sessions, connections) }, (_, session) => session).filter(
    (session) => session % connections === connection,
  );
