import { randomUUID } from 'node:crypto';
import { CallSpec } from 'recourse-server/executor/pending-calls';
import { StoreUnavailableError } from 'recourse-server/executor/session-store';
import { parseObject } from 'recourse-server/sessions/idempotency/result-cap';
import type { Weight } from 'recourse-server/sessions/share-kind';
import type { Decide, Records } from 'recourse-server/store/record-store';
import type { Opened, Sealing, SealPlace, Seals, UnopenedReason } from 'recourse-server/store/seals';
import { isSealed } from 'recourse-server/store/seals';
import type { Call, CallLease, CallRecord, KeptSpec, StoredCall } from './call-kind.ts';
import { endCall, toCallRecord, withRunTime } from './call-kind.ts';

/** The spec of a record that no process may act on. */
export type Unopened = { readonly problem: UnopenedReason };

/** What a look at a record gives: what is told of it, and whether it opens. null: there is none. */
export type Looked = { readonly record: CallRecord; readonly problem: UnopenedReason | null } | null;

/** What is asked of a call needs what it runs by, and that is sealed with a key which this process lacks. */
export class StoreKeyMissingError extends StoreUnavailableError {}

/** What a call runs by. Throws a `StoreKeyMissingError` where that does not open here. */
export const requireSpec = ({ spec }: Pick<CallRecord, 'spec'>): CallSpec => {
  if (spec !== null) return spec;
  throw new StoreKeyMissingError('This process lacks the key that a pending call is sealed with.');
};

/** Seals and opens what pending calls run by: the arguments for themselves, for few who read a record need them. */
export class CallSeals {
  readonly #calls: Records<StoredCall>;
  readonly #seals: Seals;
  readonly #onUnopened: Sealing['onUnopened'];
  readonly #onEnded: (key: string) => void;

  /** `onEnded`: a call was ended because no process may act on it. */
  constructor(calls: Records<StoredCall>, { seals, onUnopened }: Sealing, onEnded: (key: string) => void) {
    this.#calls = calls;
    this.#seals = seals;
    this.#onUnopened = onUnopened;
    this.#onEnded = onEnded;
  }

  /** Of a new record. */
  keep(key: string, spec: CallSpec): Pick<Call, 'creation'> & { readonly spec: KeptSpec } {
    const creation = this.#seals.isSealing ? randomUUID() : '';
    return { creation, spec: this.#keep(key, creation, spec) };
  }

  /** Of one that ends: without arguments, and sealed again, so that a key which is first for a day and an hour seals all that is kept. */
  keepEnded({ key, creation, spec }: CallLease): KeptSpec {
    return this.#keep(key, creation, { ...spec, arguments: '' });
  }

  /** What something takes in the store, of which this is the weight before it is sealed. */
  toWeight(plain: Weight): Weight {
    return this.#seals.isSealing ? { ...plain, bytes: Math.ceil(plain.bytes * SEALED_PART) } : plain;
  }

  #keep(key: string, creation: string, spec: CallSpec): KeptSpec {
    if (!this.#seals.isSealing) return spec;
    const { arguments: text, ...rest } = spec;
    const sealed = this.#seals.seal(toPlace(key, creation, 's'), JSON.stringify({ ...rest, arguments: '' }));
    return { sealed, sealedArguments: text === '' ? '' : this.#seals.seal(toPlace(key, creation, 'a'), text) };
  }

  /** Pure. `brief`: without the arguments, which were not fetched. Those of a call that has ended are gone. */
  open(key: string, call: Call, parts: 'all' | 'brief'): CallSpec | Unopened {
    const { spec, creation } = call;
    if (spec === null) return { problem: 'damaged' };
    const needsArguments = parts === 'all' && call.state !== 'ended';
    if (!('sealed' in spec)) return inTime(openPlain(spec, needsArguments, this.#seals), call);
    const opened = inTime(toSpec(this.#seals.open(toPlace(key, creation, 's'), spec.sealed)), call);
    if (!needsArguments || 'problem' in opened) return opened;
    if (!isSealed(spec.sealedArguments)) return { problem: 'not_authentic' };
    const text = this.#seals.open(toPlace(key, creation, 'a'), spec.sealedArguments);
    return 'problem' in text ? text : { ...opened, arguments: text.text };
  }

  /** Pure. */
  look(key: string, { call }: StoredCall, parts: 'all' | 'brief'): Looked {
    if (call === null) return null;
    const spec = this.open(key, call, parts);
    if ('problem' in spec) return { record: toCallRecord(call, null), problem: spec.problem };
    return { record: toCallRecord(call, parts === 'all' ? spec : { ...spec, arguments: '' }), problem: null };
  }

  /** What is told of a call. One that no process may act on is ended; of one that has ended its result counts. */
  async settle(key: string, looked: Looked): Promise<CallRecord | null> {
    if (looked === null) return null;
    const { record, problem } = looked;
    if (problem === null || record.state === 'ended' || (await this.refuse(key, { problem })) === 'key_missing')
      return record;
    return this.#calls.read(key, ({ call }) => (call === null ? null : toCallRecord(call, null)));
  }

  /** Ends a call that no process may act on, and leaves alone one that a process with another key may. */
  async refuse(key: string, { problem }: Unopened): Promise<'ended' | 'key_missing'> {
    this.#onUnopened('call', problem);
    if (problem === 'key_missing') return 'key_missing';
    const end: Decide<StoredCall, void> = ({ call }, now) => {
      // Somebody else may have ended it, or written it again.
      if (call === null || call.state === 'ended' || !('problem' in this.open(key, call, 'all'))) return;
      endCall(call, { result: null, unknown: call.begins > 0, kept: null }, now);
    };
    await this.#calls.update(key, end, 'long');
    this.#onEnded(key);
    return 'ended';
  }
}

// In base64.
const SEALED_PART = 4 / 3;

const toPlace = (key: string, creation: string, part: string): SealPlace => ({
  ...{ kind: 'call', key, life: creation, part },
});

const openPlain = (spec: CallSpec, needsArguments: boolean, { mayBePlain }: Seals): CallSpec | Unopened => {
  if (!mayBePlain) return { problem: 'not_sealed' };
  return needsArguments && parseObject(spec.arguments) === null ? { problem: 'damaged' } : spec;
};

const inTime = (opened: CallSpec | Unopened, call: Call): CallSpec | Unopened =>
  'problem' in opened ? opened : withRunTime(opened, call);

const toSpec = (opened: Opened): CallSpec | Unopened =>
  'problem' in opened ? opened : (CallSpec.safeParse(parseObject(opened.text)).data ?? { problem: 'damaged' });
