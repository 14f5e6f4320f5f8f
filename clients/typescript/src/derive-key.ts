/** The Idempotency-Key of one call: the same session and call id give the same 43 characters in every client. */
export const toCallKey = (session: string, callId: string): Promise<string> => digest(['call', session, callId]);

/** The Idempotency-Key of all calls of one message; `turn` stands for that message and no other of the session. */
export const toTurnKey = (session: string, turn: string | number): Promise<string> =>
  digest(['turn', session, String(turn)]);

/** SHA-256 in base64url without padding (RFC 4648): ids may be longer than a key, and hold what no header can carry. */
const digest = async (parts: readonly string[]): Promise<string> => {
  const hash = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(parts.join('\0')));
  const base64 = btoa(String.fromCharCode(...new Uint8Array(hash)));
  return base64.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
};
