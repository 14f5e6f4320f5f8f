import { type ServiceAddress, toServiceAddress } from '../address/service-address.ts';
import type { LoadedEnvironment } from '../terminal/cli-context.ts';

/** Each as it was written on the command line. */
export type SessionWords = {
  readonly ids: readonly string[];
  readonly url?: string;
  readonly key?: string;
  readonly json?: boolean;
};

export type SessionOptions = ServiceAddress & { readonly id: string; readonly format: 'table' | 'json' };

/** What the words ask for, or what is wrong with them. */
export const toSessionOptions = (
  words: SessionWords,
  loaded: LoadedEnvironment,
): SessionOptions | { readonly wrong: string } => {
  const id = toId(words.ids);
  if ('wrong' in id) return id;
  const address = toServiceAddress(words, loaded);
  if ('wrong' in address) return address;
  return { ...id, ...address, format: words.json === true ? 'json' : 'table' };
};

const toId = ([id = '', ...more]: readonly string[]): Pick<SessionOptions, 'id'> | { readonly wrong: string } => {
  if (id === '') return { wrong: 'Which session? Its id is missing.' };
  if (more.length > 0) return { wrong: 'One session at a time; put an id with blanks into quotes.' };
  // Every client takes these for steps in the path, escaped or not.
  return id === '.' || id === '..' ? { wrong: `A session called '${id}' cannot be named in a URL.` } : { id };
};
