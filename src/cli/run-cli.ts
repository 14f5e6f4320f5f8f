import type { CliContext, ExitCode } from './terminal/cli-context.ts';

/** Does what the words of a command line ask for; without words it serves. `serving`: the process goes on. */
export const runCli = async (words: readonly string[], context: CliContext): Promise<ExitCode | 'serving'> => {
  if (words.length > 0) {
    // Only here: a start without words loads no parser.
    const { runProgram } = await import('./program.ts');
    return runProgram(words, context);
  }
  const { serve } = await import('./serve/serve.ts');
  await serve({}, context);
  return 'serving';
};
