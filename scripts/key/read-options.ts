import { parseArgs } from 'node:util';
import { isTenant } from '../../src/auth/tenant.ts';

export const USAGE = `Usage: npm run key -- --tenant <tenant> [--name <name>] [--tools <tools>] [--may <operations>]
                    [--rate <rate>] [--expires <day>] [--file <file>]

Makes an API key. The key is shown once; what the service is given is its SHA-256, and what the key may do.

  --tenant <tenant>   whose sessions, results and Idempotency-Keys it sees
  --name <name>       what logs call it; else the first 8 digits of its hash
  --tools <tools>     names, and beginnings such as github_*, joined by |; else all tools
  --may <operations>  call, read and reset, joined by |; else all three
  --rate <rate>       requests per second, minute or hour, for example 600/m; else RATE_LIMIT
  --expires <day>     2027-06-30 or 2027-06-30T12:00:00Z: refused from then on (UTC); else never
  --file <file>       adds the line to this file (API_KEYS_FILE), which a running service follows
  --help              this text

Exit code: 0 = made, 1 = the file could not be written, 2 = not called like this.`;

export type KeyOptions = {
  readonly tenant: string;
  /** Words of the entry after the hash, such as `may=call`. */
  readonly attributes: readonly string[];
  readonly file: string | null;
};

export type ReadOptions =
  | { readonly kind: 'help' }
  | { readonly kind: 'wrong'; readonly problem: string }
  | { readonly kind: 'make'; readonly options: KeyOptions };

const ATTRIBUTES = ['name', 'tools', 'may', 'rate', 'expires'] as const;

/** What the words after the command ask for. */
export const readOptions = (words: readonly string[]): ReadOptions => {
  const values = parse(words);
  if (typeof values === 'string') return wrong(values);
  if (values.help) return { kind: 'help' };
  const { tenant, file } = values;
  if (tenant === undefined) return wrong('Whose key? --tenant is missing.');
  if (!isTenant(tenant))
    return wrong('--tenant must be 1 to 64 letters, digits, _ . and -, and not `anonymous`, which is reserved.');
  if (file === '') return wrong('--file must name a file.');
  const blank = ATTRIBUTES.find((name) => /\s/.test(values[name] ?? ''));
  if (blank !== undefined) return wrong(`--${blank} must not have blanks in it.`);
  const attributes = ATTRIBUTES.flatMap((name) => {
    const value = values[name];
    return value === undefined ? [] : [`${name}=${value}`];
  });
  return { kind: 'make', options: { tenant, attributes, file: file ?? null } };
};

const wrong = (problem: string): ReadOptions => ({ kind: 'wrong', problem });

const parse = (words: readonly string[]) => {
  try {
    const text = { type: 'string' } as const;
    const options = {
      tenant: text,
      name: text,
      tools: text,
      may: text,
      rate: text,
      expires: text,
      file: text,
      help: { type: 'boolean', default: false, short: 'h' },
    } as const;
    return parseArgs({ args: [...words], options }).values;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
};
