import { runProgram } from '@recourse/cli/program';

const PLACE = /<!-- help ?([a-z]*) -->\n[\s\S]*?<!-- \/help -->/g;

/** A page with the help of each command that it names: `<!-- help call -->`, up to `<!-- /help -->`. */
export const withHelp = async (page: string): Promise<string> => {
  const commands = [...page.matchAll(PLACE)].map(([, command = '']) => command);
  const texts = new Map<string, string>();
  for (const command of commands) texts.set(command, await readHelp(command));
  return page.replace(
    PLACE,
    (_place, command: string) =>
      `<!-- help${command === '' ? '' : ` ${command}`} -->\n\n\`\`\`text\n${texts.get(command)}\n\`\`\`\n\n<!-- /help -->`,
  );
};

const readHelp = async (command: string): Promise<string> => {
  let text = '';
  await runProgram(command === '' ? ['--help'] : [command, '--help'], {
    terminal: {
      write: (part) => {
        text += part;
      },
      writeError: () => undefined,
      columns: 100,
      colors: 'off',
    },
    loadEnvironment: () => ({ variables: {}, before: {}, file: null, mistake: null }),
    readInput: async () => '',
    ask: null,
  });
  return text.trim();
};
