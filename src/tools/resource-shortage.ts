import { types } from 'node:util';

/** What the system answers where this process, or the machine, has run out: the service is to blame, not a tool. */
const SHORT_OF = {
  EMFILE: 'file descriptors',
  ENFILE: 'file descriptors',
  ENOMEM: 'memory',
  EAGAIN: 'processes',
} as const;
type ShortageCode = keyof typeof SHORT_OF;

const isShortageCode = (code: unknown): code is ShortageCode =>
  typeof code === 'string' && Object.hasOwn(SHORT_OF, code);

/** A shortage that only a text tells of: what a program said that could not start, or could not start another. */
export class ShortageError extends Error {
  override readonly name: string = 'ShortageError';
  readonly code: ShortageCode;

  constructor(code: ShortageCode, said: string) {
    super(said);
    this.code = code;
  }
}

// Of spawn, and of the C library.
const SAID: readonly (readonly [ShortageCode, RegExp])[] = [
  ['EMFILE', /EMFILE|Too many open files/],
  ['ENFILE', /ENFILE/],
  ['ENOMEM', /ENOMEM|Cannot allocate memory/],
  ['EAGAIN', /EAGAIN|Resource temporarily unavailable|Cannot fork/],
];

/** The shortage that a text of the system names; undefined where it names none. */
export const readShortage = (said: string): ShortageError | undefined => {
  const named = SAID.find(([, words]) => words.test(said));
  return named === undefined ? undefined : new ShortageError(named[0], said);
};

const MAX_LEVELS = 8;

/** What is short where an exception, or what caused it, is the system's word for that; null where it is not. Total. */
export const findShortage = (thrown: unknown): (typeof SHORT_OF)[ShortageCode] | null => {
  try {
    const code = findCode(thrown, MAX_LEVELS);
    return code === null ? null : SHORT_OF[code];
  } catch (_hostile) {
    return null;
  }
};

const findCode = (thrown: unknown, levels: number): ShortageCode | null => {
  if (levels === 0 || !types.isNativeError(thrown)) return null;
  if ('code' in thrown && isShortageCode(thrown.code)) return thrown.code;
  // `original`: of client libraries. `errors`: of a connection that was tried at several addresses.
  const reasons: readonly unknown[] = [
    thrown.cause,
    'original' in thrown ? thrown.original : undefined,
    ...('errors' in thrown && Array.isArray(thrown.errors) ? thrown.errors.slice(0, MAX_LEVELS) : []),
  ];
  for (const reason of reasons) {
    const code = findCode(reason, levels - 1);
    if (code !== null) return code;
  }
  return null;
};
