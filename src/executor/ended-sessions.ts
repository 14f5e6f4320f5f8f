/**
 * Sessions that ended as sessions of a transport: whoever goes on naming one is told so, and opens another. Kept as long as
 * a session would be.
 */
export type EndedSessions = {
  /** Best effort: an end that could not be kept is forgotten. Never rejects. */
  readonly add: (sessionKey: string) => void | Promise<void>;
  /** The embedded store answers at once. False where the store cannot answer. Never rejects. */
  readonly has: (sessionKey: string) => boolean | Promise<boolean>;
};
