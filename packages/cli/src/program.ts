import { Command, CommanderError } from 'commander';
import { type CliContext, type ExitCode, toPlainLines } from 'recourse-server/cli/terminal';
import { readManifest } from 'recourse-server/files/own-package';
import { CommandFailed, WrongUse } from './command-output.ts';

type Outcome = { end: ExitCode | 'serving' };

/** What a command does: its code is loaded when it is asked for. */
type Act = (command: Command) => Promise<Outcome['end']>;

/** Reads the words of a command line, and does what they ask for. 2 where they ask for nothing there is. */
export const runProgram = async (words: readonly string[], context: CliContext): Promise<ExitCode | 'serving'> => {
  const outcome: Outcome = { end: 0 };
  const program = createProgram(context, outcome);
  try {
    await program.parseAsync(readCommandArgs(words), { from: 'user' });
    return outcome.end;
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    return error.exitCode === 0 ? 0 : 2;
  }
};

const OF_PROGRAM = ['--help', '-h', '--version', '-V'];

// `recourse --port 9000` serves.
const readCommandArgs = (words: readonly string[]): string[] => {
  const [first = ''] = words;
  return first.startsWith('-') && !OF_PROGRAM.includes(first) ? ['serve', ...words] : [...words];
};

const EXAMPLES = `
Examples:
  recourse                                  serve on http://127.0.0.1:8080
  recourse --tools tools --port 9000        serve the tools of a directory as well
  recourse init                             create a tools directory with two tools and their tests
  recourse check tools                      list its problems with file, line and column
  recourse call --tools tools roll_dice count=2 sides=6
  recourse call read_file path=notes.md     call a tool of the running service
`;

/** Every command with its options. `outcome` is told how the one that ran has ended. */
const createProgram = (context: CliContext, outcome: Outcome): Command => {
  const program = new Command('recourse')
    .description('Executes tools for LLM agents over HTTP. Without a command it starts the service.')
    .version(readManifest().version, '-V, --version', 'the version of recourse')
    .helpOption('-h, --help', 'show this help; `recourse call --help` shows the help of a command')
    .helpCommand(false)
    .usage('[command] [options]')
    .addHelpText('after', EXAMPLES)
    .exitOverride()
    .configureHelp({ showGlobalOptions: false })
    .configureOutput({
      writeOut: context.terminal.write,
      writeErr: context.terminal.writeError,
      getOutHelpWidth: () => findWidth(context.terminal.columns),
      getErrHelpWidth: () => findWidth(context.terminal.columns),
      outputError: (message, write) => write(message.replace(/^error: /, 'recourse: ')),
    })
    .showHelpAfterError('Run recourse --help for the list of commands and options.');
  const add: AddCommand = (name, act) => {
    const command = program.command(name).helpOption('-h, --help', 'show this help');
    command.showHelpAfterError(`Run recourse ${command.name()} --help for its arguments and options.`);
    command.action(async () => {
      outcome.end = await act(command).then(undefined, (error: unknown) => {
        if (error instanceof WrongUse) return command.error(`error: ${toPlainLines(error.message)}`);
        if (!(error instanceof CommandFailed)) throw error;
        context.terminal.writeError(`${toPlainLines(error.message)}\n`);
        return 1;
      });
    });
    return command;
  };
  for (const addCommand of [
    addServe,
    addWorker,
    addInit,
    addCheck,
    addCall,
    addKey,
    addSession,
    addApprovals,
    addReport,
    addStore,
    addWebhooks,
  ])
    addCommand(add, context);
  return program;
};

type AddCommand = (name: string, act: Act) => Command;

// Help is written for a terminal of at most this width, and for this where there is none.
const MAX_WIDTH = 100;
const findWidth = (columns: number): number => Math.min(columns, MAX_WIDTH);

const ENV_FILE = 'file of variables, one NAME=value per line; default: .env of the working directory, if it exists';

const addServe = (add: AddCommand, context: CliContext): void => {
  const act: Act = async (command) => {
    const { serve } = await import('recourse-server/cli/serve-command');
    await serve(command.opts(), context);
    return 'serving';
  };
  add('serve', act)
    .summary('serve tools over HTTP; the default command')
    .description(
      'Serves tools over HTTP until it receives a signal. Settings are environment variables; each option overrides one.',
    )
    .option('--port <port>', 'port to listen on, 0 for a free one (PORT; 8080)')
    .option('--host <address>', 'address to listen on (HOST; 127.0.0.1)')
    .option('--tools <dir>', 'directory of your own tools (TOOLS_DIR)')
    .option('--config <file>', 'MCP servers, OpenAPI imports and settings of tools (CONFIG_FILE; recourse.config.yaml)')
    .option('--env-file <file>', ENV_FILE)
    .addHelpText(
      'after',
      '\nAll settings: docs/configuration.md. Exit code: 0 = ended by a signal, 1 = could not start, 2 = invalid usage.',
    );
};

const addWorker = (add: AddCommand, context: CliContext): void => {
  const act: Act = async (command) => {
    const { serve } = await import('recourse-server/cli/serve-command');
    await serve({ ...command.opts(), role: 'worker' }, context);
    return 'serving';
  };
  add('worker', act)
    .summary('run queued calls; needs REDIS_URL')
    .description(
      'Runs the queued calls that services with the same settings have accepted, until it receives a signal. Serves health and metrics only.',
    )
    .option('--port <port>', 'port of health and metrics, 0 for a free one (OPS_PORT, then PORT; 8080)')
    .option('--host <address>', 'address to listen on (HOST; 127.0.0.1)')
    .option('--lanes <lanes>', 'comma-separated lanes whose calls it runs (WORKER_LANES; all)')
    .option('--tools <dir>', 'directory of your own tools (TOOLS_DIR)')
    .option('--config <file>', 'MCP servers, OpenAPI imports and settings of tools (CONFIG_FILE; recourse.config.yaml)')
    .option('--env-file <file>', ENV_FILE)
    .addHelpText(
      'after',
      '\nExit code: 0 = ended by a signal, 1 = could not start, or takes no jobs although jobs wait, 2 = invalid usage.',
    );
};

const addInit = (add: AddCommand, context: CliContext): void => {
  const act: Act = async (command) => {
    const { runInit } = await import('./init-command.ts');
    return runInit(command.args[0] ?? 'tools', context.terminal);
  };
  add('init', act)
    .argument('[dir]', 'the directory to create', 'tools')
    .summary('create a tools directory: two tools, their tests, and their project files')
    .description(
      'Creates a tools directory: two tools, their tests, package.json, tsconfig.json, .gitignore and README.md.',
    )
    .addHelpText(
      'after',
      '\nIt never overwrites a file. Exit code: 0 = created, 1 = a file exists already or cannot be written, 2 = invalid usage.',
    );
};

const addCheck = (add: AddCommand, context: CliContext): void => {
  const act: Act = async (command) => {
    const { runCheck } = await import('./check-command.ts');
    return runCheck({ ...command.opts(), directory: command.args[0] ?? '' }, context);
  };
  add('check', act)
    .argument('<dir>', 'a directory of tools')
    .summary('load tools and list their problems with file, line and column')
    .description(
      'Loads the tools of a directory like the service, and prints each problem as file:line:column: message.',
    )
    .option('--json', 'one JSON object: ok, tools, problems')
    .option('--env-file <file>', ENV_FILE)
    .addHelpText('after', '\nExit code: 0 = all tools load, 1 = some do not, 2 = invalid usage.');
};

const addCall = (add: AddCommand, context: CliContext): void => {
  const act: Act = async (command) => {
    const { runCall } = await import('./call-command.ts');
    const [tool = '', ...pairs] = command.args;
    return runCall({ ...command.opts(), tool, pairs }, context);
  };
  add('call', act)
    .argument('<tool>', 'the name of the tool')
    .argument('[name=value...]', "its arguments, each parsed by the tool's input schema: a number, true, JSON, or text")
    .summary('call one tool and show its result')
    .description('Calls one tool once and shows its result, on a running service or on one started for this call.')
    .option('--args <json>', 'all arguments as one JSON object; - reads it from stdin')
    .option('--tools <dir>', 'start a temporary service with this tools directory for this call')
    .option('--url <url>', 'URL of the service; default: RECOURSE_URL, then http://127.0.0.1:8080')
    .option('--key <key>', 'the API key; default: RECOURSE_API_KEY, which a process list does not show')
    .option('--session <id>', 'the session that the call belongs to')
    .option('--dry-run', 'say what the call would do, and run nothing')
    .option('--json', 'the result as JSON')
    .option('--env-file <file>', ENV_FILE)
    .addHelpText('after', CALL_EXAMPLES);
};

const CALL_EXAMPLES = `
Examples:
  recourse call read_file path=notes.md
  recourse call --tools tools roll_dice count=2 sides=6
  echo '{"count":2,"sides":6}' | recourse call roll_dice --args - --json

Exit code: 0 = success, or a dry run of a call that would not fail, 1 = failure, 2 = invalid usage.`;

const addKey = (add: AddCommand, context: CliContext): void => {
  const act: Act = async (command) => {
    const { runKey } = await import('./key-command.ts');
    return runKey(command.opts(), context.terminal);
  };
  add('key', act)
    .summary('create an API key, or a key of the store')
    .description('Creates an API key. The key is shown once; the service stores only its SHA-256 and its permissions.')
    .option(
      '--tenant <tenant>',
      'the tenant whose sessions, results and Idempotency-Keys the key can access; required but with --store',
    )
    .option('--name <name>', 'its name in logs; default: the first 8 digits of its hash')
    .option('--tools <tools>', 'tool names and prefixes such as github_*, separated by |; default: all tools')
    .option('--may <operations>', 'call, read, reset, operate and approve, separated by |; default: call|read|reset')
    .option('--rate <rate>', 'requests per second, minute or hour, for example 600/m; default: RATE_LIMIT')
    .option(
      '--expires <day>',
      'time from which it is refused (UTC): 2027-06-30 or 2027-06-30T12:00:00Z; default: never',
    )
    .option('--file <file>', 'append the line to this file (API_KEYS_FILE), which a running service reloads')
    .option('--store', 'create an entry for STORE_KEYS instead, which seals pending calls in Redis or SQLite')
    .addHelpText('after', '\nExit code: 0 = created, 1 = the file could not be written, 2 = invalid usage.');
};

const addSession = (add: AddCommand, context: CliContext): void => {
  const act: Act = async (command) => {
    const { runSession } = await import('./session-command.ts');
    return runSession({ ...command.opts(), ids: command.args }, context.loadEnvironment(), context.terminal);
  };
  add('session', act)
    .argument('[id...]', 'the session id its batches use; write -- before an id that begins with a hyphen')
    .usage('<id> [options]')
    .summary('show a session of a running service')
    .description('Shows a session of a running service: its budgets, and the calls in its journal.')
    .option('--url <url>', 'URL of the service; default: RECOURSE_URL, then http://127.0.0.1:8080')
    .option('--key <key>', 'the API key; default: RECOURSE_API_KEY, which a process list does not show')
    .option('--json', 'the whole view as JSON')
    .addHelpText('after', '\nExit code: 0 = shown, 1 = the service did not return it, 2 = invalid usage.');
};

const addApprovals = (add: AddCommand, context: CliContext): void => {
  const act: Act = async (command) => {
    const { runApprovals } = await import('./approvals-command.ts');
    return runApprovals({ ...command.opts(), words: command.args }, context);
  };
  add('approvals', act)
    .argument('[action]', 'show, approve or deny; left out: list what waits')
    .argument('[id]', 'the id of the approval')
    .usage('[show|approve|deny <id>] [options]')
    .summary('list the calls that wait for a person, and decide them')
    .description(
      'Lists the calls that wait for an approval on a running service; shows, approves or denies one. Deciding first shows what would run and asks, and needs a key with the operation approve.',
    )
    .option('--reason <reason>', 'why; of a denial the model reads it')
    .option('--digest <digest>', 'decide without being asked, if the approval still has this digest')
    .option('--url <url>', 'URL of the service; default: RECOURSE_URL, then http://127.0.0.1:8080')
    .option('--key <key>', 'the API key; default: RECOURSE_API_KEY, which a process list does not show')
    .option('--json', 'the answer of the service as JSON')
    .addHelpText(
      'after',
      '\nExit code: 0 = shown or decided, 1 = not decided, or the service did not return it, 2 = invalid usage.',
    );
};

const addReport = (add: AddCommand, context: CliContext): void => {
  const act: Act = async (command) => {
    const { runReport } = await import('./report-command.ts');
    return runReport(command.opts(), context);
  };
  add('report', act)
    .summary('show what models get wrong, by tool, on a running service')
    .description(
      'Shows what models get wrong on a running service, by tool: failures by code, arguments that break the schema, names that no tool has, and how many sessions recovered or gave up.',
    )
    .option('--since <time>', 'hours such as 6h, or an RFC 3339 time; default, and at most: 24h')
    .option('--url <url>', 'URL of the service; default: RECOURSE_URL, then http://127.0.0.1:8080')
    .option('--key <key>', 'the API key; default: RECOURSE_API_KEY, which a process list does not show')
    .option('--json', 'the answer of the service as JSON')
    .addHelpText('after', '\nExit code: 0 = shown, 1 = the service did not return it, 2 = invalid usage.');
};

const addStore = (add: AddCommand, context: CliContext): void => {
  const act: Act = async (command) => {
    const { runStore } = await import('./store-command.ts');
    return runStore(command.args, context.loadEnvironment(), context.terminal);
  };
  add('store', act)
    .argument('<backup>', 'the word backup')
    .argument('[file]', 'the new file; one that exists is not overwritten')
    .usage('backup <file>')
    .summary('copy the file of SQLite that STORE names')
    .description(
      'Copies the file of SQLite that STORE names. The service may run, on this machine and as this user: then it makes the copy.',
    )
    .addHelpText('after', '\nExit code: 0 = copied, 1 = no copy was made, 2 = invalid usage.');
};

const addWebhooks = (add: AddCommand, context: CliContext): void => {
  const act: Act = async (command) => {
    const { runWebhooks } = await import('./webhooks-command.ts');
    return runWebhooks(command.args, context.terminal);
  };
  add('webhooks', act)
    .argument('<secret>', 'the word secret')
    .usage('secret')
    .summary('create a secret for a webhook endpoint')
    .description('Creates the secret that messages to a webhook endpoint are signed with. It is shown once.')
    .addHelpText('after', '\nExit code: 0 = created, 2 = invalid usage.');
};
