import * as z from 'zod';
import { toPortableName } from '../contract/tool-names.ts';
import type { ToolLog } from '../tools/tool.ts';
import type { ToolOffer } from '../tools/tool-offer.ts';

/** Takes all that a source offers, whenever that changes. What it offered before counts no more. */
export type Publish = (offer: ToolOffer) => void;

/** The state of the place that a source has its tools from. */
export type UpstreamState = {
  /** As in `Tool.upstream`: `mcp:github`, `openapi:petstore`. */
  readonly name: string;
  /** `up`: it answered the last request. `held`: it is up, and something it offers waits for approval. */
  readonly status: 'connecting' | 'up' | 'down' | 'held';
  /** One line for people where it is not `up`. */
  readonly reason: string | null;
  /** Tools it offers now. */
  readonly tools: number;
  /** How often the connection was made again. */
  readonly reconnects: number;
};

/** How a source stands, and what the names of its tools begin with: `crm_`; "" where they may be any. */
export type SourceState = UpstreamState & { readonly prefix: string };

/** Whether its tools have never been listed: their names are not known. */
export const isUnloaded = ({ status, tools }: UpstreamState): boolean =>
  tools === 0 && (status === 'connecting' || status === 'down');

/** A place that tools come from while the service runs. */
export type ToolSource = {
  /** Resolves with the first offer, or once it is known that there is none for now; never rejects. Goes on trying. */
  readonly start: () => Promise<void>;
  /** From now on nothing is published; processes and connections end. Never rejects. */
  readonly stop: () => Promise<void>;
  /** Ends its processes at once, without waiting for it: for a process that exits. Left out: it has none. */
  readonly kill?: () => void;
  readonly state: () => UpstreamState;
};

/** A source that should run. */
export type SourcePlan = {
  /** As in `UpstreamState`, unique: what is offered under it is offered by one source at a time. */
  readonly name: string;
  /** What it is made of: as long as they are the same, the source goes on. */
  readonly settings: unknown;
  /** As in `SourceState`. */
  readonly prefix: string;
  readonly create: (publish: Publish) => ToolSource;
};

/** Where paths and variables of the configuration file lead. */
export type SourcePlace = {
  /** Absolute: what paths of the configuration file are relative to. */
  readonly directory: string;
  /** The service's own. */
  readonly environment: Readonly<Record<string, string | undefined>>;
};

/** What the service gives all its sources. */
type SourceHost = SourcePlace & {
  /** Whether a registered secret is in a text. */
  readonly holdsSecret: (text: string) => boolean;
  /** MAX_RESULT_BYTES. */
  readonly maxResultBytes: number;
  /** Of this service. */
  readonly version: string;
  /** Whether a file, by its real path, lies where tools do not write. */
  readonly mayRead: (path: string) => Promise<boolean>;
  /** All of a file of the workspace, or one byte more than `most`. */
  readonly readWorkspaceFile: (path: string, most: number) => Promise<Uint8Array>;
};

/** What one source is made of. */
export type SourceOptions<Settings> = SourceHost & {
  /** The key of the entry in the configuration file. */
  readonly name: string;
  /** Checked, and with every `${VAR}` expanded. */
  readonly settings: Settings;
  readonly publish: Publish;
  /** Has the name of the upstream on every line. */
  readonly log: ToolLog;
  /** What the sources of this name remember: one that is made anew with other settings must not forget it. */
  readonly memory: Map<string, string>;
};

/** What the plans of all sources share. */
export type PlanHost = SourceHost & {
  readonly logFor: (source: string) => ToolLog;
  /** By source. */
  readonly memories: Map<string, Map<string, string>>;
};

/** A path that decides what the service runs or reads: the member of the entry that names it, as `args[1]`. */
export type CodePath = { readonly member: string; readonly path: string };

/** One entry of a section of the configuration file. */
export type SourceEntry = {
  readonly name: string;
  readonly settings: unknown;
  /** As in `Tool.upstream`. */
  readonly source: string;
  /** Those that models must not be able to write to; none where the entry is switched off. */
  readonly codePaths: (place: SourcePlace) => Promise<readonly CodePath[]>;
  /** null where the entry is switched off. Loads what its sources need. */
  readonly plan: (host: PlanHost) => Promise<SourcePlan | null>;
};

/** A section of the configuration file. */
export type SourceSection = z.ZodType<readonly SourceEntry[]>;

/** A kind of source: what a section of the configuration file says, and what makes a source of each of its entries. */
type SourceKind<Settings extends z.ZodType> = {
  /** Begins the names of its sources: `mcp:github`. */
  readonly kind: string;
  /** Of the section, for people. */
  readonly description: string;
  /** Of one entry. Light: it is read where there are no entries. */
  readonly settings: Settings;
  /** What stands before the names of its tools and an underscore; "" = nothing. */
  readonly prefixOf: (settings: z.output<Settings>, name: string) => string;
  readonly isDisabled?: (settings: z.output<Settings>) => boolean;
  /** As in `SourceEntry`; left out: there are none. */
  readonly codePaths?: (settings: z.output<Settings>, place: SourcePlace) => ReturnType<SourceEntry['codePaths']>;
  /** Loads what is heavy, once there is an entry: a service without one does not pay for it. */
  readonly load: () => Promise<(options: SourceOptions<z.output<Settings>>) => ToolSource>;
};

const EntryName = z.string().regex(/^[^\p{Cc}\p{Zl}\p{Zp}]{1,64}$/u, 'must be 1 to 64 visible characters');

/** The section of the configuration file that has the sources of one kind: name → settings. */
export const defineSource = <Settings extends z.ZodType>(kind: SourceKind<Settings>): SourceSection =>
  z
    .record(EntryName, kind.settings)
    .default({})
    .describe(kind.description)
    .transform((entries) => Object.entries(entries).map(([name, settings]) => toEntry(kind, name, settings)));

const toEntry = <Settings extends z.ZodType>(
  { kind, prefixOf, isDisabled = () => false, codePaths, load }: SourceKind<Settings>,
  name: string,
  settings: z.output<Settings>,
): SourceEntry => {
  const source = `${kind}:${name}`;
  return {
    name,
    settings,
    source,
    codePaths: async (place) => (isDisabled(settings) ? [] : (codePaths?.(settings, place) ?? [])),
    plan: async ({ logFor, memories, ...host }) => {
      if (isDisabled(settings)) return null;
      const create = await load();
      const memory = memories.get(source) ?? new Map<string, string>();
      memories.set(source, memory);
      const options = { ...host, name, settings, memory, log: logFor(source) };
      const before = prefixOf(settings, name);
      const prefix = before === '' ? '' : toPortableName(`${before}_`);
      return { name: source, settings, prefix, create: (publish) => create({ ...options, publish }) };
    },
  };
};
