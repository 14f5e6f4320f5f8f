import { toFingerprint } from './read-calls.ts';

type Compared = { readonly name: string; readonly arguments?: unknown };

/** Requests that may have run and whose answers were lost, by the calls in them. */
export type UnsettledCalls<Request> = {
  readonly has: (call: Compared) => boolean;
  readonly add: (call: Compared, lost: Request) => void;
  /** The oldest of the same call, which is settled now or added again; null where there is none. */
  readonly take: (call: Compared) => Request | null;
};

/** For one session, as long as its object lives. */
export const createUnsettledCalls = <Request>(): UnsettledCalls<Request> => {
  // The same call may have been lost twice: two were wanted then, and each has a request of its own.
  const lost = new Map<string, Request[]>();
  return {
    has: (call) => lost.size > 0 && lost.has(toFingerprint(call)),
    add: (call, request) => {
      const fingerprint = toFingerprint(call);
      lost.set(fingerprint, [...(lost.get(fingerprint) ?? []), request]);
    },
    take: (call) => {
      if (lost.size === 0) return null;
      const fingerprint = toFingerprint(call);
      const [first = null, ...others] = lost.get(fingerprint) ?? [];
      if (others.length === 0) lost.delete(fingerprint);
      else lost.set(fingerprint, others);
      return first;
    },
  };
};
