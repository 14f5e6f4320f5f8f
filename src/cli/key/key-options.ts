import { isTenant } from '../../auth/tenant.ts';

/** Each as it was written on the command line. */
export type KeyWords = {
  readonly tenant?: string;
  readonly name?: string;
  readonly tools?: string;
  readonly may?: string;
  readonly rate?: string;
  readonly expires?: string;
  readonly file?: string;
};

export type KeyOptions = {
  readonly tenant: string;
  /** Words of the entry after the hash, such as `may=call`. */
  readonly attributes: readonly string[];
  readonly file: string | null;
};

const ATTRIBUTES = ['name', 'tools', 'may', 'rate', 'expires'] as const;

/** What the options ask for, or what is wrong with them. */
export const toKeyOptions = (words: KeyWords): KeyOptions | { readonly wrong: string } => {
  const { tenant, file } = words;
  if (tenant === undefined) return { wrong: 'Whose key? --tenant is missing.' };
  if (!isTenant(tenant))
    return {
      wrong: '--tenant must be 1 to 64 letters, digits, _ . and -, and not `anonymous`, which is reserved.',
    };
  if (file === '') return { wrong: '--file must name a file.' };
  const blank = ATTRIBUTES.find((name) => /\s/.test(words[name] ?? ''));
  if (blank !== undefined) return { wrong: `--${blank} must not have blanks in it.` };
  const attributes = ATTRIBUTES.flatMap((name) => {
    const value = words[name];
    return value === undefined ? [] : [`${name}=${value}`];
  });
  return { tenant, attributes, file: file ?? null };
};
