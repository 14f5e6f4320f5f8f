import { runProgram } from '@recourse/cli/program';

export type RanCommand = { readonly end: number | 'serving'; readonly stdout: string; readonly stderr: string };

/**
 * Runs a command within this process, on a terminal of 100 columns without colours. For commands that start nothing. `answer`: what a
 * person says who is asked; without it there is none.
 */
export const runInProcess = async (
  words: readonly string[],
  variables: Readonly<Record<string, string>> = {},
  input = '',
  answer: string | null = null,
): Promise<RanCommand> => {
  let stdout = '';
  let stderr = '';
  const end = await runProgram(words, {
    terminal: {
      write: (text) => {
        stdout += text;
      },
      writeError: (text) => {
        stderr += text;
      },
      columns: 100,
      colors: 'off',
    },
    loadEnvironment: () => ({ variables, before: variables, file: null, mistake: null }),
    readInput: async () => input,
    ask:
      answer === null
        ? null
        : async (question) => {
            stderr += question;
            return answer;
          },
  });
  return { end, stdout, stderr };
};
