import { appendFileSync } from 'node:fs';
import { pino } from 'pino';
import * as z from 'zod';
import { loadConfig } from '#src/config/settings/config.ts';
import { defineTool } from '#src/tools/define-tool.ts';
import type { Tool } from '#src/tools/tool.ts';
import { wire } from '#src/wiring/wire.ts';
import type { Stores } from '#src/wiring/wire-store.ts';

/** Moments of a keyed batch at which a service may die, in the order in which it comes to them. */
export const DEATHS = [
  'before_open',
  'after_open',
  'after_admit',
  'before_start',
  'after_start',
  'before_effect',
  'after_effect',
  'before_settle',
  'after_settle',
  'before_commit',
  'after_commit',
] as const;
export type Death = (typeof DEATHS)[number];

const die = (): void => {
  process.kill(process.pid, 'SIGKILL');
};

/** Runs `step`, and dies before or after it where that is the moment. */
const around = async <Answer>(
  moment: string,
  [before, after]: readonly [Death, Death],
  step: () => Answer | Promise<Answer>,
): Promise<Answer> => {
  if (moment === before) die();
  const answer = await step();
  if (moment === after) die();
  return answer;
};

/** Without a record that is held there is nothing to die of: Redis was late, and the batch runs without its key. */
const createHeld = () => {
  let held = false;
  return {
    opened: (kind: string): void => {
      held = kind === 'held';
    },
    at: (moment: string): string => (held ? moment : 'never'),
  };
};

const toDyingStores = ({ sessions, keys }: Stores, moment: string, record = createHeld()): Stores => ({
  sessions: {
    ...sessions,
    admit: async (round) => {
      const admission = await sessions.admit(round);
      if (record.at(moment) === 'after_admit') die();
      const settle: typeof admission.settle = (report) =>
        around(record.at(moment), ['before_settle', 'after_settle'], () => admission.settle(report));
      return { ...admission, settle };
    },
  },
  keys: {
    ...keys,
    open: async (batch) => {
      if (moment === 'before_open') die();
      const opening = await keys.open(batch);
      record.opened(opening.kind);
      if (record.at(moment) === 'after_open') die();
      if (opening.kind !== 'held') return opening;
      const { record: own } = opening;
      return {
        ...opening,
        record: {
          ...own,
          start: (index) => around(moment, ['before_start', 'after_start'], () => own.start(index)),
          commit: (results) => around(moment, ['before_commit', 'after_commit'], () => own.commit(results)),
        },
      };
    },
  },
});

/** Tools that write one line a time they run; the one that writes may end its service before or after that. */
const createCountingTools = (file: string, moment: string): readonly Tool[] => {
  const input = z.object({ note: z.string() });
  const count = (name: string, note: string): string => {
    appendFileSync(file, `${name} ${note}\n`);
    return note;
  };
  return [
    defineTool({
      name: 'write_note',
      description: 'Has a side effect.',
      effects: 'write',
      input,
      run: async ({ note }) => {
        if (moment === 'before_effect') die();
        const written = count('write', note);
        if (moment === 'after_effect') die();
        // A failure once more: so that settling is waited for.
        if (note.startsWith('fails')) throw new Error('It was written, and then it failed.');
        return written;
      },
    }),
    defineTool({
      name: 'read_note',
      description: 'Has none.',
      effects: 'read',
      input,
      run: ({ note }) => count('read', note),
    }),
  ];
};

/** A whole service that dies by kill -9 at the moment that DIE_AT names. */
const main = async (): Promise<void> => {
  const { DIE_AT: moment = 'never', NOTES_FILE: file = '/dev/null', ...environment } = process.env;
  const loaded = loadConfig(environment);
  if ('mistakes' in loaded) throw new Error(loaded.mistakes.join('\n'));
  const log = pino({ level: 'info', base: null });
  const service = await wire(loaded.config, log, {
    extraTools: createCountingTools(file, moment),
    wrapStores: (stores) => toDyingStores(stores, moment),
  });
  await service.app.listen({ host: '127.0.0.1', port: 0 });
  const address = service.app.server.address();
  log.info({ port: typeof address === 'object' ? address?.port : 0 }, 'listening');
};

if (import.meta.main) await main();
