/** A body as the SDK takes it, and what it would have refused although it is the executor's to judge. */
export type BodyParts = {
  readonly body: unknown;
  /** By the id of its JSON-RPC request: arguments that are no object. */
  readonly argumentsAside: ReadonlyMap<unknown, unknown>;
};

/**
 * Takes arguments that are no object out of the `tools/call` requests of a body. The SDK would answer them with a
 * JSON-RPC error, which clients show to nobody; as a result of the call a model can read them and do better.
 */
export const putArgumentsAside = (body: unknown): BodyParts => {
  const aside = new Map<unknown, unknown>();
  const toMessage = (message: unknown): unknown => {
    if (!isRecord(message) || message['method'] !== 'tools/call' || !isRecord(message['params'])) return message;
    const { arguments: given, ...params } = message['params'];
    if (given === undefined || isRecord(given)) return message;
    aside.set(message['id'], given);
    return { ...message, params };
  };
  return { body: Array.isArray(body) ? body.map(toMessage) : toMessage(body), argumentsAside: aside };
};

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
