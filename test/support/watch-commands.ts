import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { Redis } from 'ioredis';
import { expect, onTestFinished } from 'vitest';

/** What a redis-server is asked by others, as MONITOR tells it. */
export type WatchedCommands = {
  /** Forgets what was seen so far. */
  readonly clear: () => Promise<void>;
  /** Command, end of its first key, and which script, by a letter: `evalsha session a`. */
  readonly seen: () => Promise<readonly string[]>;
};

type Command = { readonly words: readonly string[]; readonly inScript: boolean };

// What a client says to a server by itself, and not for a batch.
const OWN = new Set(['ping', 'info', 'client', 'hello', 'select', 'monitor']);

// What processes write in their own time: the room that tenants take, themselves and their calls for people on call.
export const IN_BACKGROUND = /:(?:share|replicas|figures|figures-of|oncall-list|report)(?::list)?$/;
const isInBackground = (words: readonly string[]): boolean => {
  const keys = words.filter((word) => word.startsWith('recourse2:'));
  return keys.length > 0 && keys.every((key) => IN_BACKGROUND.test(key));
};

const toKind = (key: string): string =>
  /:(keyed|answer)$/.exec(key)?.[1] ?? (key.endsWith(':pages') ? 'page' : 'session');

const createNames = () => {
  const letters = new Map<string, string>();
  return ([command = '', second = '', , fourth = '']: readonly string[]): string => {
    if (command !== 'evalsha') return `${command} ${toKind(second)}`;
    const letter = letters.get(second) ?? String.fromCharCode(97 + letters.size);
    letters.set(second, letter);
    return `evalsha ${toKind(fourth)} ${letter}`;
  };
};

/** Watches a server of the test's own. Commands that scripts run are not told of. */
export const watchCommands = async (url: string): Promise<WatchedCommands> => {
  const teller = new Redis(url);
  // It watches on a second connection of its own.
  const watcher = await teller.monitor();
  onTestFinished(() => {
    watcher.disconnect();
    teller.disconnect();
  });
  let commands: Command[] = [];
  watcher.on('monitor', (_time: string, words: readonly string[], source: string) => {
    const [command = '', ...rest] = words;
    commands.push({ words: [command.toLowerCase(), ...rest], inScript: source === 'lua' });
  });
  if (teller.status !== 'ready') await once(teller, 'ready');
  // Redis tells in the order in which it was asked: once it tells of this, it has told of all before.
  const flush = async (): Promise<void> => {
    const mark = randomUUID();
    await teller.echo(mark);
    await expect.poll(() => commands.some(({ words }) => words[1] === mark)).toBe(true);
    commands = commands.filter(({ words }) => words[1] !== mark);
  };
  const outside = () =>
    commands.filter(({ words, inScript }) => !inScript && !OWN.has(words[0] ?? '') && !isInBackground(words));
  return {
    clear: async () => {
      await flush();
      commands = [];
    },
    seen: async () => {
      await flush();
      return outside()
        .map(({ words }) => words)
        .map(createNames());
    },
  };
};
