import { Command, CommanderError } from 'commander';
import type { CliContext, CommandEnd, ExitCode } from './terminal/cli-context.ts';
import { readVersion } from './terminal/find-package.ts';

export type Outcome = { end: ExitCode | 'serving' };

/** What a command does: its code is loaded when it is asked for. */
type Act = (command: Command) => Promise<CommandEnd | 'serving'>;

/** Reads the words of a command line, and does what they ask for. 2 where they ask for nothing there is. */
export const runProgram = async (words: readonly string[], context: CliContext): Promise<ExitCode | 'serving'> => {
  const outcome: Outcome = { end: 0 };
  const program = createProgram(context, outcome);
  try {
    await program.parseAsync(toCommandWords(words), { from: 'user' });
    return outcome.end;
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    return error.exitCode === 0 ? 0 : 2;
  }
};

const OF_PROGRAM = ['--help', '-h', '--version', '-V'];

// `recourse --port 9000` serves.
const toCommandWords = (words: readonly string[]): string[] => {
  const [first = ''] = words;
  return first.startsWith('-') && !OF_PROGRAM.includes(first) ? ['serve', ...words] : [...words];
};

const EXAMPLES = `
Examples:
  recourse                                  serve on http://127.0.0.1:8080
  recourse --tools tools --port 9000        serve the tools of a directory, too
  recourse init                             make a tools directory with one tool and its test
  recourse check tools                      say what is wrong in it, with file, line and column
  recourse call --tools tools roll_dice count=2 sides=6
  recourse call read_file path=notes.md     call a tool of the service that runs
`;

/** Every command with its options. `outcome` is told how the one that ran has ended. */
export const createProgram = (context: CliContext, outcome: Outcome): Command => {
  const program = new Command('recourse')
    .description('Executes tools for LLM agents over HTTP. Without a command it serves.')
    .version(readVersion(), '-V, --version', 'the version of recourse')
    .helpOption('-h, --help', 'this text; `recourse call --help` that of a command')
    .helpCommand(false)
    .usage('[command] [options]')
    .addHelpText('after', EXAMPLES)
    .exitOverride()
    .configureHelp({ showGlobalOptions: false })
    .configureOutput({
      writeOut: context.terminal.write,
      writeErr: context.terminal.writeError,
      getOutHelpWidth: () => toWidth(context.terminal.columns),
      getErrHelpWidth: () => toWidth(context.terminal.columns),
      outputError: (message, write) => write(message.replace(/^error: /, 'recourse: ')),
    })
    .showHelpAfterError('Run recourse --help to see what there is.');
  const add: AddCommand = (name, act) => {
    const command = program.command(name).helpOption('-h, --help', 'this text');
    command.showHelpAfterError(`Run recourse ${command.name()} --help to see what there is.`);
    command.action(async () => {
      const end = await act(command);
      if (typeof end === 'object') command.error(`error: ${end.wrong}`);
      else outcome.end = end;
    });
    return command;
  };
  addServe(add, context);
  addInit(add, context);
  addCheck(add, context);
  addCall(add, context);
  addKey(add, context);
  addSession(add, context);
  return program;
};

type AddCommand = (name: string, act: Act) => Command;

// Help is written for a terminal of at most this width, and for this where there is none.
const MAX_WIDTH = 100;
const toWidth = (columns: number): number => Math.min(columns, MAX_WIDTH);

const ENV_FILE = 'variables, NAME=value a line; else .env of the working directory, if there is one';

const addServe = (add: AddCommand, context: CliContext): void => {
  const act: Act = async (command) => {
    const { serve } = await import('./serve/serve.ts');
    await serve(command.opts(), context);
    return 'serving';
  };
  add('serve', act)
    .summary('serve tools over HTTP; what happens without a command')
    .description(
      'Serves tools over HTTP until a signal ends it. Settings are variables of the environment; each option overrides one.',
    )
    .option('--port <port>', 'port to listen on, 0 for a free one (PORT; 8080)')
    .option('--host <address>', 'address to listen on (HOST; 127.0.0.1)')
    .option('--tools <dir>', 'a directory of your own tools (TOOLS_DIR)')
    .option('--config <file>', 'MCP servers, OpenAPI imports and settings of tools (CONFIG_FILE; recourse.config.yaml)')
    .option('--env-file <file>', ENV_FILE)
    .addHelpText(
      'after',
      '\nAll settings: docs/configuration.md. Exit code: 0 = ended by a signal, 1 = it could not start, 2 = wrong use.',
    );
};

const addInit = (add: AddCommand, context: CliContext): void => {
  const act: Act = async (command) => {
    const { runInit } = await import('./init/run-init.ts');
    return runInit(command.args[0] ?? 'tools', context.terminal);
  };
  add('init', act)
    .argument('[dir]', 'the directory to make', 'tools')
    .summary('make a tools directory: one tool, its test, and what they need')
    .description('Makes a tools directory: one tool, its test, package.json, tsconfig.json, .gitignore and README.md.')
    .addHelpText(
      'after',
      '\nIt never overwrites a file. Exit code: 0 = made, 1 = a file is there already or cannot be written, 2 = wrong use.',
    );
};

const addCheck = (add: AddCommand, context: CliContext): void => {
  const act: Act = async (command) => {
    const { runCheck } = await import('./check/run-check.ts');
    return runCheck({ ...command.opts(), directory: command.args[0] ?? '' }, context);
  };
  add('check', act)
    .argument('<dir>', 'a directory of tools')
    .summary('load tools and say what is wrong, with file, line and column')
    .description(
      'Loads the tools of a directory as the service does, and says what is wrong: file:line:column: message.',
    )
    .option('--json', 'one JSON object: ok, tools, problems')
    .option('--env-file <file>', ENV_FILE)
    .addHelpText('after', '\nExit code: 0 = all tools load, 1 = some do not, 2 = wrong use.');
};

const addCall = (add: AddCommand, context: CliContext): void => {
  const act: Act = async (command) => {
    const { runCall } = await import('./call/run-call.ts');
    const [tool = '', ...pairs] = command.args;
    return runCall({ ...command.opts(), tool, pairs }, context);
  };
  add('call', act)
    .argument('<tool>', 'the name of the tool')
    .argument(
      '[name=value...]',
      "its arguments, each read as the tool's input schema says: a number, true, JSON, or text",
    )
    .summary('call one tool and show its result')
    .description(
      'Calls one tool once, and shows its result: of a running service, or of one that is started for this call.',
    )
    .option('--args <json>', 'all arguments as one JSON object; - reads it from stdin')
    .option('--tools <dir>', 'start a service with this tools directory for this call alone')
    .option('--url <url>', 'where the service is; else RECOURSE_URL, else http://127.0.0.1:8080')
    .option('--key <key>', 'the API key; else RECOURSE_API_KEY, which no list of processes shows')
    .option('--session <id>', 'the session that the call belongs to')
    .option('--json', 'the result as JSON')
    .option('--env-file <file>', ENV_FILE)
    .addHelpText('after', CALL_EXAMPLES);
};

const CALL_EXAMPLES = `
Examples:
  recourse call read_file path=notes.md
  recourse call --tools tools roll_dice count=2 sides=6
  echo '{"count":2,"sides":6}' | recourse call roll_dice --args - --json

Exit code: 0 = success, 1 = failure, 2 = wrong use.`;

const addKey = (add: AddCommand, context: CliContext): void => {
  const act: Act = async (command) => {
    const { runKey } = await import('./key/run-key.ts');
    return runKey(command.opts(), context.terminal);
  };
  add('key', act)
    .summary('make an API key')
    .description(
      'Makes an API key. The key is shown once; what the service is given is its SHA-256, and what the key may do.',
    )
    .option('--tenant <tenant>', 'whose sessions, results and Idempotency-Keys it sees; must be given')
    .option('--name <name>', 'what logs call it; else the first 8 digits of its hash')
    .option('--tools <tools>', 'names, and beginnings such as github_*, joined by |; else all tools')
    .option('--may <operations>', 'call, read and reset, joined by |; else all three')
    .option('--rate <rate>', 'requests per second, minute or hour, for example 600/m; else RATE_LIMIT')
    .option('--expires <day>', '2027-06-30 or 2027-06-30T12:00:00Z: refused from then on (UTC); else never')
    .option('--file <file>', 'adds the line to this file (API_KEYS_FILE), which a running service follows')
    .addHelpText('after', '\nExit code: 0 = made, 1 = the file could not be written, 2 = wrong use.');
};

const addSession = (add: AddCommand, context: CliContext): void => {
  const act: Act = async (command) => {
    const { runSession } = await import('./session/run-session.ts');
    return runSession({ ...command.opts(), ids: command.args }, context.loadEnvironment(), context.terminal);
  };
  add('session', act)
    .argument('[id...]', 'the session as its batches name it; after -- where it begins with a hyphen')
    .usage('<id> [options]')
    .summary('show a session of a running service')
    .description('Shows a session of a running service: its budgets, and the calls that its journal keeps.')
    .option('--url <url>', 'where the service is; else RECOURSE_URL, else http://127.0.0.1:8080')
    .option('--key <key>', 'the API key; else RECOURSE_API_KEY, which no list of processes shows')
    .option('--json', 'the whole view as JSON')
    .addHelpText('after', '\nExit code: 0 = shown, 1 = the service did not give it, 2 = wrong use.');
};
