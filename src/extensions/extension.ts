import type { Registry } from 'prom-client';
import type * as z from 'zod';
import type { AddedRoutes } from '../routes/route-host.ts';
import type { PageTokens } from '../tools/page-tokens.ts';
import type { InlineTool } from '../tools/tool.ts';
import type { UnavailableTool } from '../tools/tool-offer.ts';
import type { SourceSection } from './source.ts';

/** A page of the console, which the console lists beside its own. */
export type ConsolePage = {
  /** What its link says. */
  readonly title: string;
  /**
   * A module of the browser, as JavaScript text, that exports `show(root, ask)`. `root` is an empty element;
   * `ask(path)` resolves with the JSON that GET on a path of the service answers, with the key of the console, and
   * rejects with a sentence. `show` may give a function that is called when the reader leaves the page.
   */
  readonly script: string;
};

/** Tools that an extension offers, and the end of what they keep open. */
export type OpenedTools = {
  readonly tools: readonly InlineTool[];
  /** Tools that it cannot offer on this machine, each with the reason. */
  readonly unavailable?: readonly UnavailableTool[];
  /** Called once the last call has ended; the process waits for it at most a second. */
  readonly close: () => Promise<void>;
};

/** What an extension adds to the service. */
export type Additions = Partial<OpenedTools> &
  AddedRoutes & {
    readonly consolePage?: ConsolePage;
  };

/** Where an extension writes what operators should know of it. */
export type ExtensionLog = {
  readonly [level in 'info' | 'warn' | 'error']: (fields: Readonly<Record<string, unknown>>, message: string) => void;
};

/** What an extension gets of the service. */
export type ExtensionHost = {
  readonly log: ExtensionLog;
  /** The words of TOOL_GROUPS that this service offers. */
  readonly groups: ReadonlySet<string>;
  readonly pageTokens: PageTokens;
  /** Registers values that must never be seen, under the setting that leads to them. Call it before they are used. */
  readonly registerSecrets: (setting: string, values: readonly string[]) => void;
  /** WORKSPACE_DIR, or the example workspace. */
  readonly workspaceDir: string;
  /** How tools that read files keep to their directories; undefined: by the best way that this system has. */
  readonly fileAccess: 'descriptors' | 'paths' | undefined;
  /** Of requests that leave the service: `recourse/1.2.3`. */
  readonly userAgent: string;
  /** Where prom-client's metrics of an extension register, to be served at /metrics. */
  readonly metrics: Registry;
};

/** A word of TOOL_GROUPS. */
export type ToolGroup = {
  /** Its name in docs/tools.md. */
  readonly title: string;
  /** Packages that must be installed for it, and that the service does not install: vendors' clients. */
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

export type Schemas = Readonly<Record<string, z.ZodType>>;

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

type Declaration<Settings extends Schemas> = {
  /** Lower-case letters, digits and hyphens; unique. */
  readonly name: string;
  /** The words of TOOL_GROUPS that switch it on; left out: it is always on. */
  readonly groups?: Readonly<Record<string, ToolGroup>>;
  /** How each of its settings (environment variables) is read, its default and its description. */
  readonly settings?: Settings;
  readonly purposes?: { readonly [Name in keyof Settings]?: SettingPurpose };
  /** Settings of the service that its tools follow, too, for docs/tools.md. */
  readonly serviceSettings?: readonly string[];
  /** Sections of the configuration file that name sources of tools; each is loaded where there is such a file. */
  readonly sources?: Readonly<Record<string, () => Promise<SourceSection>>>;
  /**
   * Opens it, where it is on; null: its settings switch it off. Rejects with one sentence for operators where the service
   * cannot start without what is missing. Left out: it adds nothing else.
   */
  open?(settings: Read<Settings>, host: ExtensionHost): Promise<Additions | null>;
};

/**
 * A unit that adds to the service: everything that the service, its documents and its checks know of it. Its settings,
 * the words of TOOL_GROUPS, warnings at the start, packages to be installed and docs/tools.md follow from it.
 */
export type Extension<Settings extends Schemas = Schemas> = Required<Declaration<Settings>>;

const NAME = /^[a-z][a-z0-9-]{0,31}$/;
const SETTING = /^[A-Z][A-Z0-9_]{1,63}$/;
const MEMBERS = ['name', 'groups', 'settings', 'purposes', 'serviceSettings', 'sources', 'open'];
const defined = new WeakSet<object>();

/**
 * Declares an extension. Its module is loaded at every start: what it needs to run is imported in `open`. Throws where a
 * name could not be one.
 */
export const defineExtension = <const Settings extends Schemas = Readonly<Record<never, never>>>(
  declaration: Declaration<Settings> & Pick<Extension<Settings>, 'settings'>,
): Extension<Settings> => {
  const { name, settings } = declaration;
  if (!NAME.test(name)) throw new TypeError(`The name of an extension must match ${NAME}: '${name}'.`);
  const unknown = Object.keys(declaration).find((member) => !MEMBERS.includes(member));
  if (unknown !== undefined)
    throw new TypeError(`An extension has no member '${unknown}': it has ${MEMBERS.join(', ')}.`);
  const wrong = Object.keys(settings).find((each) => !SETTING.test(each));
  if (wrong !== undefined) throw new TypeError(`The name of a setting must match ${SETTING}: '${wrong}'.`);
  const extension = {
    groups: {},
    purposes: {},
    serviceSettings: [],
    sources: {},
    open: async () => null,
    ...declaration,
  };
  defined.add(extension);
  return extension;
};

/** Whether something was made by `defineExtension`. */
export const isExtension = (value: unknown): value is Extension =>
  typeof value === 'object' && value !== null && defined.has(value);
