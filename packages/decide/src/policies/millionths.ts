// Sums of rules are exact: whole numbers of millionths. A double of JavaScript makes 0.30000000000000004 of 0.1 and 0.2.

const DECIMAL = /^(\d+)(?:\.(\d{1,6}))?$/;
const PLACES = 6;

/** A number of 0 or more by its shortest decimal text, in millionths; null: it is none, or has more than six decimals. */
export const toMillionths = (value: unknown): bigint | null => {
  if (typeof value !== 'number') return null;
  const [, whole, part = ''] = DECIMAL.exec(String(value)) ?? [];
  return whole === undefined ? null : BigInt(whole + part.padEnd(PLACES, '0'));
};

/** The decimal text of so many millionths, such as `1500` or `0.5`. */
export const toDecimal = (millionths: bigint): string => {
  const digits = String(millionths).padStart(PLACES + 1, '0');
  const part = digits.slice(-PLACES).replace(/0+$/, '');
  return digits.slice(0, -PLACES) + (part === '' ? '' : `.${part}`);
};

/** The same for people: `1,500.5`. */
export const toShownNumber = (millionths: bigint): string => {
  const [whole = '', part] = toDecimal(millionths).split('.');
  const grouped = whole.replaceAll(/\B(?=(\d{3})+$)/g, ',');
  return part === undefined ? grouped : `${grouped}.${part}`;
};
