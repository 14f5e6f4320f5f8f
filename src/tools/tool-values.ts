const TOLD: unique symbol = Symbol.for('recourse.told-value');

/** A value with a text for the model beside it; only `ok` and `empty` make one. */
export type ToldValue<Value = unknown> = {
  readonly [TOLD]: 'ok' | 'empty';
  readonly value: Value;
  readonly message: string;
};

/** A successful value and the text the model should read with it; without one it reads the value. */
export const ok = <Value>(value: Value, message?: string): ToldValue<Value> => ({
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
  <Value>(message: string | undefined, value: Value): ToldValue<Value>;
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
