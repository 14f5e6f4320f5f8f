import { type Arrangement, type Arrangements, callOnce, describeAudit } from '@recourse/test-support/audit-lab.ts';
import { ToolCatalogue } from 'recourse-server/internal/contract/tool-description.ts';
import { findBwrap } from '#test/shell-lab.ts';
import { AUDIT } from './audit-rows.ts';

/** A command in a workspace of its own, in a real sandbox. Rejects with the reason where this machine has none. */
const inSandbox =
  (command: string, settings: Readonly<Record<string, string>> = {}): Arrangement =>
  async ({ directory, serve }) => {
    const workspace = await directory({ 'notes.md': 'Buy milk.\n' });
    const service = await serve({ WORKSPACE_DIR: workspace, SHELL_BWRAP_PATH: findBwrap(), ...settings });
    const { tools } = ToolCatalogue.parse(await (await fetch(`${service.url}/tools`)).json());
    const reason = tools.find(({ name }) => name === 'run_shell_command')?.unavailable_reason ?? null;
    if (reason !== null) throw new Error(`There is no sandbox: ${reason}.`);
    return callOnce(service, 'run_shell_command', { command });
  };

const ARRANGEMENTS: Arrangements = {
  'run_shell_command: the command writes nothing': inSandbox('true'),
  'run_shell_command: a search finds nothing': inSandbox('grep -n sugar notes.md'),
  'run_shell_command: a program is not there': inSandbox('which minutes'),
  'run_shell_command: files differ, and it says nothing': inSandbox('cmp -s notes.md /dev/null'),
  'run_shell_command: a test is false': inSandbox('test -e minutes.md'),
  'run_shell_command: the command ends with an exit code': inSandbox('cat minutes.md'),
  'run_shell_command: it fails without a word': inSandbox('exit 3'),
  'run_shell_command: it fails with exit code 1, and nothing says why': inSandbox(
    'grep -q sugar notes.md && grep -q milk notes.md',
  ),
  'run_shell_command: it wrote to stdout alone': inSandbox('cat notes.md; exit 7'),
  'run_shell_command: there is no such program': inSandbox('minutes'),
  'run_shell_command: SHELL_TIMEOUT_MS passes': inSandbox('sleep 60', { SHELL_TIMEOUT_MS: '1000' }),
  'run_shell_command: it writes and writes': inSandbox('yes'),
  'run_shell_command: `command` is blank': inSandbox('  '),
};

describeAudit({
  audit: AUDIT,
  situations: {
    run_shell_command: ['malformed parameter', 'command failed', 'search matched nothing', 'list is empty'],
  },
  arrangements: ARRANGEMENTS,
});
