import { hash, randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** A file of API keys that changes while the service runs. */
export type MixedLoadKeys = {
  readonly file: string;
  /** May do everything. */
  readonly full: string;
  /** May look at sessions and call nothing. */
  readonly reader: string;
  /** May call `echo` alone. */
  readonly echoing: string;
  /** Two requests a second. */
  readonly limited: string;
  readonly expired: string;
  /** Changes the file: to one with one more key, or to one with a mistake. */
  readonly change: (to: 'right' | 'wrong') => void;
};

const createKey = (): string => randomUUID();
const toHash = (key: string): string => hash('sha256', key);

export const createMixedLoadKeys = (directory: string): MixedLoadKeys => {
  const file = join(directory, 'keys');
  const [full, reader, echoing, limited, expired] = [createKey(), createKey(), createKey(), createKey(), createKey()];
  const lines = [
    `acme=${toHash(full)}`,
    `acme=${toHash(reader)} name=reader may=read`,
    `acme=${toHash(echoing)} name=echoing tools=echo`,
    `acme=${toHash(limited)} name=limited rate=2/s`,
    `acme=${toHash(expired)} name=expired expires=2020-01-01`,
  ];
  const write = (): void => writeFileSync(file, `${lines.join('\n')}\n`);
  write();
  return {
    file,
    full,
    reader,
    echoing,
    limited,
    expired,
    change: (to) => {
      if (to === 'wrong') return writeFileSync(file, 'acme=no hash\n');
      lines.push(`other=${toHash(createKey())}`);
      write();
    },
  };
};
