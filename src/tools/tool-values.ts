const TOLD: unique symbol = Symbol.for('recourse.told-value');

/** A value with a text for the model beside it; only `ok` and `empty` make one. */
export type ToldValue = {
  readonly [TOLD]: 'ok' | 'empty';
  readonly value: unknown;
  readonly message: string;
};

/** A successful value and the text the model should read with it. */
export const ok = (value: unknown, message: string): ToldValue => ({ [TOLD]: 'ok', value, message });

/** "The query was fine, nothing matched" (seed 004): a success that never costs a retry. */
export const empty = (message: string, value: unknown = null): ToldValue => ({ [TOLD]: 'empty', value, message });

/** `ok` or `empty` for a value made by them, else undefined. May throw where `value` is a hostile proxy. */
export const toldKind = (value: unknown): 'ok' | 'empty' | undefined =>
  typeof value === 'object' && value !== null && TOLD in value && isToldValue(value) ? value[TOLD] : undefined;

/** Whether `ok` or `empty` made this value. */
export const isToldValue = (value: object): value is ToldValue => TOLD in value;
