import type { FileAccess } from '../builtin/workspace/file-access.ts';
import type { PageTokens } from '../page-tokens.ts';
import type { FamilyLog, GoogleOptions, ShellOptions, SlackOptions, ToolFamily, ToolGroup } from '../tool-family.ts';

export type OptionalToolsOptions = {
  readonly groups: ReadonlySet<ToolGroup>;
  /** How notes keep to their directory. */
  readonly access: FileAccess;
  readonly notes: { readonly directory: string | undefined };
  readonly shell: ShellOptions;
  readonly google: GoogleOptions;
  readonly slack: SlackOptions;
  readonly pageTokens: PageTokens;
  /** Told of values that must never be seen, before they are used. */
  readonly registerSecrets: (values: readonly string[]) => void;
  readonly log: FamilyLog;
};

/** The groups of tools that the settings ask for. Each is loaded only then: client libraries are large. */
export const createOptionalTools = async (options: OptionalToolsOptions): Promise<ToolFamily> => {
  const { groups, pageTokens, registerSecrets, log } = options;
  const families: ToolFamily[] = [];
  if (groups.has('notes'))
    families.push(
      (await import('../builtin/notes/notes.ts')).createNotes({ ...options.notes, access: options.access, log }),
    );
  if (groups.has('shell'))
    families.push(await (await import('../builtin/shell/shell.ts')).createShell({ ...options.shell, log }));
  if (groups.has('drive') || groups.has('mail') || groups.has('calendar')) {
    const { createGoogle } = await import('../builtin/google/google.ts');
    families.push(createGoogle({ ...options.google, groups, pageTokens, registerSecrets, log }));
  }
  if (groups.has('slack'))
    families.push((await import('../builtin/slack/slack.ts')).createSlack({ ...options.slack, pageTokens, log }));
  return {
    tools: families.flatMap(({ tools }) => tools),
    unavailable: families.flatMap(({ unavailable = [] }) => unavailable),
    close: () => Promise.all(families.map(({ close }) => close())).then(() => undefined),
  };
};
