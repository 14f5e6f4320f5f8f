import { defineTool, type ToolContext, z } from 'recourse-server';
import { CHANNEL, SUCCESS, toFrame, writeAll } from './channel-access.ts';

const MIB = 1_048_576;
const NEVER = new Promise<never>(() => undefined);

const flood = (name: string, run: (context: ToolContext) => unknown) =>
  defineTool({
    name,
    description: 'Says more than anybody can read.',
    effects: 'read',
    timeoutMs: 25_000,
    input: z.object({}),
    run: (_, context) => run(context),
  });

const LINE = Buffer.from(`${'x'.repeat(1023)}\n`);
const LINES = Buffer.concat(Array.from({ length: 1024 }, () => LINE));

const writeGigabyte = (descriptor: number, chunk: Buffer): Promise<never> => {
  for (let megabytes = 0; megabytes < 1024; megabytes += 1) writeAll(descriptor, chunk);
  return NEVER;
};

const repeat = (times: number, act: (time: number) => void): void => {
  for (let time = 0; time < times; time += 1) act(time);
};

export const tools = [
  flood('gigabyte_to_stdout', () => writeGigabyte(1, LINES)),
  flood('gigabyte_to_stderr', () => writeGigabyte(2, LINES)),
  flood('gigabyte_without_a_line', () => writeGigabyte(1, Buffer.alloc(MIB, 120))),
  flood('gigabyte_of_zeros_to_its_channel', () => writeGigabyte(CHANNEL, Buffer.alloc(MIB))),
  flood('gigabyte_of_ones_to_its_channel', () => writeGigabyte(CHANNEL, Buffer.alloc(MIB, 0xff))),
  flood('many_forged_answers', () => {
    repeat(100_000, (time) =>
      writeAll(CHANNEL, toFrame({ type: 'answer', nonce: `guess ${time}`, end: SUCCESS }, '"forged"')),
    );
    return NEVER;
  }),
  flood('many_forged_strays', () => {
    repeat(100_000, (time) =>
      writeAll(
        CHANNEL,
        toFrame({ type: 'stray', nonce: `guess ${time}`, thrown: [{ name: 'Error', message: `${time}`, stack: '' }] }),
      ),
    );
    return NEVER;
  }),
  flood('quiet_between_floods', () => 'quiet'),
  flood('many_log_lines', ({ log }) => {
    repeat(100_000, (time) => log.info('one of many', { time }));
    return 'logged';
  }),
  flood('much_progress', ({ progress }) => {
    repeat(100_000, (time) => progress({ progress: time, total: 100_000 }));
    return 'reported';
  }),
];
