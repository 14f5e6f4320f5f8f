import type { RedisClient } from './redis-client.ts';
import type { StoreAvailability } from './store-availability.ts';

/** What became of a command: answered, refused with an error of Redis's own, or not asked or not answered. */
export type RateAnswer =
  | { readonly kind: 'answered'; readonly answer: unknown }
  | { readonly kind: 'refused'; readonly error: unknown }
  | { readonly kind: 'away' };

/** What rates are counted with: Redis, behind the availability that all its askers share. */
export type RateStore = {
  /** Sends one command, which writes, unless Redis is known to be away. Never rejects. */
  readonly call: (command: string, ...parameters: string[]) => Promise<RateAnswer>;
};

/**
 * A command that is not answered takes the store away for everybody, and one that is answered brings it back. One that
 * is refused does neither: it may be the rates alone that lack a right, and what concerns all is the sessions' to say.
 */
export const createRateStore = (options: {
  readonly client: Pick<RedisClient, 'call'>;
  readonly availability: Pick<StoreAvailability, 'attempt'>;
}): RateStore => {
  const { client, availability } = options;
  return {
    call: async (command, ...parameters) => {
      const asked = await availability.attempt(
        'rate',
        () => client.call(command, ...parameters).then(toAnswered, toRefused),
        ({ kind }) => kind === 'answered',
      );
      return asked.kind === 'answered' ? asked.answer : asked;
    },
  };
};

const toAnswered = (answer: unknown): RateAnswer => ({ kind: 'answered', answer });

const toRefused = (error: unknown): RateAnswer => {
  if (isReply(error)) return { kind: 'refused', error };
  throw error;
};

// As ioredis names what the server itself says. Redirections without an end are answers, too.
const isReply = (error: unknown): boolean =>
  error instanceof Error && (error.name === 'ReplyError' || error.message.startsWith('Too many Cluster redirections'));
