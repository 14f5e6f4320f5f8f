import { writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { defineTool, z } from 'recourse-server';

const NEVER = new Promise<never>(() => undefined);

const ending = (name: string, run: () => unknown, effects: 'read' | 'idempotent' | 'write' = 'read') =>
  defineTool({ name, description: 'Ends its process.', effects, input: z.object({}), run });

const signal = (name: NodeJS.Signals): Promise<never> => {
  process.kill(process.pid, name);
  return NEVER;
};

const LINES = 30;

const sayMuchAndLeave = (): never => {
  for (let line = 1; line <= LINES; line += 1) writeSync(2, `line ${line} of the reasons ${'.'.repeat(100)}\n`);
  return process.exit(7);
};

export const tools = [
  ending('exits_with_0', () => process.exit(0)),
  ending('exits_with_0_write', () => process.exit(0), 'write'),
  ending('exits_with_0_idempotent', () => process.exit(0), 'idempotent'),
  ending('exits_with_7', () => process.exit(7)),
  ending('exits_later', () => sleep(20).then(() => process.exit(3))),
  ending('aborts', () => process.abort()),
  ending('aborts_write', () => process.abort(), 'write'),
  ending('segfaults', () => signal('SIGSEGV')),
  ending('kills_itself', () => signal('SIGKILL')),
  ending('ends_itself', () => signal('SIGTERM')),
  // The group is the host's own: the service must not be in it.
  ending('kills_its_group', () => process.kill(0, 'SIGKILL') && NEVER),
  ending('complains_and_exits', () => {
    writeSync(2, 'the licence has expired\nask for a new one\n');
    process.exit(7);
  }),
  ending('says_much_and_exits', sayMuchAndLeave),
  ending('says_its_password_and_exits', () => {
    writeSync(2, 'cannot reach https://bob:hunter2hunter2@db.example.com/\n');
    process.exit(7);
  }),
  ending('throws_in_a_timer', () => {
    setTimeout(() => {
      throw new RangeError('thrown where no handler could catch it');
    });
    return NEVER;
  }),
  ending(
    'throws_in_a_timer_write',
    () => {
      process.nextTick(() => {
        throw new RangeError('thrown where no handler could catch it');
      });
      return NEVER;
    },
    'write',
  ),
  ending('sees_its_parent', () => process.kill(process.ppid, 0)),
];
