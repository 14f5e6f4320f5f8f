const TOLD: unique symbol = Symbol.for('recourse.told-value');

/** A value with a text for the model beside it; only `ok` and `empty` make one. */
export type ToldValue<Value = unknown> = {
  readonly [TOLD]: 'ok' | 'empty';
  readonly value: Value;
  readonly message: string;
};

/** A successful value and the text the model should read with it; without one it reads the value. */
export const ok = <const Value>(value: Value, message?: string): ToldValue<Value> => ({
  [TOLD]: 'ok',
  value,
  message: toText(message),
});

/**
 * "The query was fine, nothing matched" (seed 004): a success that never costs a retry. Without a value it is null, which a
 * tool with an `output` schema must allow.
 */
export const empty: {
  (message?: string): ToldValue<null>;
  <const Value>(message: string | undefined, value: Value): ToldValue<Value>;
} = <Value>(message?: string, value: Value | null = null): ToldValue<Value | null> => ({
  [TOLD]: 'empty',
  value,
  message: toText(message),
});

// A tool in JavaScript may give anything: what is no text is none.
const toText = (message: unknown): string => (typeof message === 'string' ? message : '');

/** Whether `ok` or `empty` made this value. Throws where `value` is a revoked proxy. */
export const isToldValue = (value: object): value is ToldValue => TOLD in value;

/** Which of the two made it. */
export const toldKind = (value: ToldValue): 'ok' | 'empty' => value[TOLD];

const VERDICT: unique symbol = Symbol.for('recourse.verdict');

/** What a `reconcile` has found; only `happened`, `didNotHappen` and `unclear` make one. */
export type Verdict<Value = unknown> = {
  readonly [VERDICT]: 'happened' | 'did_not_happen' | 'unclear';
  readonly value: Value;
  readonly message: string;
  readonly retryAfterMs: number | null;
};

/** The write took effect: its call becomes a success with this value, and the text for the model. */
export const happened = <const Value>(value: Value, message?: string): Verdict<Value> => ({
  [VERDICT]: 'happened',
  value,
  message: toText(message),
  retryAfterMs: null,
});

/** The write has not taken effect **and will not**: its call may be made again. */
export const didNotHappen = (message?: string): Verdict<null> => ({
  [VERDICT]: 'did_not_happen',
  value: null,
  message: toText(message),
  retryAfterMs: null,
});

/** Neither can be said yet. `retryAfterMs`: when it is worth asking again; left out, the service's next turn. */
export const unclear = ({ retryAfterMs }: { readonly retryAfterMs?: number } = {}): Verdict<null> => ({
  [VERDICT]: 'unclear',
  value: null,
  message: '',
  retryAfterMs: typeof retryAfterMs === 'number' && retryAfterMs >= 0 ? retryAfterMs : null,
});

/** The kind of a verdict; null of any other value. Throws where `value` is a revoked proxy. */
export const readVerdict = (value: unknown): (Verdict & { readonly kind: Verdict[typeof VERDICT] }) | null =>
  typeof value === 'object' && value !== null && isVerdict(value) ? { ...value, kind: value[VERDICT] } : null;

const isVerdict = (value: object): value is Verdict => VERDICT in value;
