/** A text of about the length of a line of notes: what each call carries, and what `echo` gives back. */
const TEXT =
  'Ask the harbour office when the ferry to the outer islands leaves, and how long the crossing takes. '.trim();

/** Whether `echo` gets its parameter. A failing call carries the same text in a member that nobody reads. */
export type CallKind = 'succeeding' | 'failing';

const toCall = (kind: CallKind, index: number) => ({
  id: `call_${String(index).padStart(2, '0')}`,
  name: 'echo',
  ...(kind === 'succeeding' ? { arguments: { text: TEXT } } : { arguments: {}, pad: TEXT }),
});

/** The JSON text of one batch; equally long for both kinds. */
export const toBody = (kind: CallKind, calls: number, sessionId: string): string =>
  JSON.stringify({ session_id: sessionId, calls: Array.from({ length: calls }, (_, index) => toCall(kind, index)) });

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
