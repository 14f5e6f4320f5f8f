import type { PageTokens } from 'recourse-server/tools/page-tokens';
import type { InlineTool } from 'recourse-server/tools/tool';
import type { UnavailableTool } from 'recourse-server/tools/tool-offer';
import type * as z from 'zod';
import type { FileAccess } from './workspace/workspace.ts';

export type { PageTokens } from 'recourse-server/tools/page-tokens';
export type { InlineTool, ToolContext } from 'recourse-server/tools/tool';

/** The tools that a toolkit offers on this machine, those that it cannot offer here, and the end of what they keep open. */
export type ToolkitTools = {
  readonly tools: readonly InlineTool[];
  readonly unavailable?: readonly UnavailableTool[];
  readonly close: () => Promise<void>;
};

/** Where a toolkit writes what operators should know of it. */
export type ToolkitLog = {
  readonly [level in 'info' | 'warn' | 'error']: (fields: Readonly<Record<string, unknown>>, message: string) => void;
};

/** What a toolkit gets of the service. */
export type ToolkitHost = {
  readonly log: ToolkitLog;
  /** The words of TOOL_GROUPS that this service offers. */
  readonly groups: ReadonlySet<string>;
  readonly pageTokens: PageTokens;
  /** Registers values that must never be seen, under the setting that leads to them. Call it before they are used. */
  readonly registerSecrets: (setting: string, values: readonly string[]) => void;
  /** WORKSPACE_DIR, or the example workspace. */
  readonly workspaceDir: string;
  /** How tools that read files keep to their directories. */
  readonly fileAccess: FileAccess;
  /** Of requests that leave the service: `recourse/1.2.3`. */
  readonly userAgent: string;
};

/** A word of TOOL_GROUPS. */
export type ToolGroup = {
  /** Its name in docs/tools.md. */
  readonly title: string;
  /** Vendors' clients that must be installed: optional peers of the package. */
  readonly packages?: readonly string[];
};

/** What a setting is for, beside its description. */
export type SettingPurpose = {
  /** `needed`: without it all calls of the groups say what is missing. `further`: it changes how they work. */
  readonly use?: 'needed' | 'further';
  /**
   * What the value is the path of; none may begin with `~`. `credentials` and `program` decide whom the service believes
   * and what it runs: they must not lie in the workspace, which models write to.
   */
  readonly path?: 'directory' | 'credentials' | 'program';
};

type Schemas = Readonly<Record<string, z.ZodType>>;

/** What the schemas read; members that may be undefined may be missing. Not `z.output`: of no schemas that has no members. */
type Read<Settings extends Schemas> = {
  readonly [Name in keyof Settings as undefined extends z.output<Settings[Name]> ? never : Name]: z.output<
    Settings[Name]
  >;
} & {
  readonly [Name in keyof Settings as undefined extends z.output<Settings[Name]> ? Name : never]?: z.output<
    Settings[Name]
  >;
};

/**
 * A unit of tools: everything that the service, its documents and its checks know of it. The settings of the service, the
 * words of TOOL_GROUPS, warnings at the start, packages to be installed and docs/tools.md follow from this declaration.
 */
export type Toolkit<Settings extends Schemas> = {
  readonly name: string;
  /** The words of TOOL_GROUPS that offer its tools; none: they are always offered. */
  readonly groups: Readonly<Record<string, ToolGroup>>;
  /** How each of its settings is read, its default and its description. */
  readonly settings: Settings;
  readonly purposes: { readonly [Name in keyof Settings]?: SettingPurpose };
  /** Settings of the service that its tools follow, too, for docs/tools.md. */
  readonly serviceSettings?: readonly string[];
  /** Loads the tools. Rejects with one sentence for operators where the service cannot start without what is missing. */
  readonly create: (settings: Read<Settings>, host: ToolkitHost) => Promise<ToolkitTools>;
};

/** Declares a toolkit. Its module is loaded at every start: what it needs to run its tools is imported in `create`. */
export const defineToolkit = <Settings extends Schemas>(toolkit: Toolkit<Settings>): Toolkit<Settings> => toolkit;
