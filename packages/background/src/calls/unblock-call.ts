import type { CallSpec } from 'recourse-server/executor/pending-calls';
import type { Decide, Records } from 'recourse-server/store/record-store';
import { releaseCall, type StoredCall, withRunTime } from './call-kind.ts';
import type { CallSeals, Unopened } from './call-seals.ts';

/** Ends the wait of a call for a person, and tells what it runs by; null: it does not wait, or is not confirmed. Rejects with the store. */
export type Unblock = (key: string) => Promise<CallSpec | null>;

/** Whoever runs the call then asks what the person has decided, so it does no harm to end a wait too early. */
export const createUnblock =
  (calls: Records<StoredCall>, seals: CallSeals, publish: (key: string) => void): Unblock =>
  async (key) => {
    const unblock: Decide<StoredCall, CallSpec | Unopened | null> = ({ call }, now) => {
      if (call?.state !== 'waiting_for_approval' || !call.confirmed) return null;
      const spec = seals.open(key, call, 'brief');
      if ('problem' in spec) return spec;
      releaseCall(call, spec.runMs ?? 0, now);
      return withRunTime(spec, call);
    };
    const unblocked = await calls.update(key, unblock, 'always');
    if (unblocked === null) return null;
    if ('problem' in unblocked) {
      await seals.refuse(key, unblocked);
      return null;
    }
    publish(key);
    return unblocked;
  };
