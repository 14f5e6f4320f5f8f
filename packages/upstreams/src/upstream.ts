import { toPortableName } from 'recourse-server/contract/tool-names';
import type { ToolLog } from 'recourse-server/tools/tool';
import type { ToolOffer } from 'recourse-server/tools/tool-offer';
import * as z from 'zod';

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

/** What the service gives all its upstreams. */
type UpstreamHost = {
  /** Absolute: what paths of the configuration file are relative to. */
  readonly directory: string;
  /** The service's own. */
  readonly environment: Readonly<Record<string, string | undefined>>;
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
export type SourceOptions<Settings> = UpstreamHost & {
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

/** What the plans of all upstreams share. */
export type PlanHost = UpstreamHost & {
  readonly logFor: (source: string) => ToolLog;
  /** By source. */
  readonly memories: Map<string, Map<string, string>>;
};

/** One entry of a section of the configuration file. */
export type UpstreamEntry<Settings = unknown> = {
  readonly name: string;
  readonly settings: Settings;
  /** As in `Tool.upstream`. */
  readonly source: string;
  /** null where the entry is switched off. Loads what its sources need. */
  readonly plan: (host: PlanHost) => Promise<SourcePlan | null>;
};

/** A kind of upstream: a section of the configuration file, and what makes a source of each of its entries. */
type UpstreamKind<Settings extends z.ZodType> = {
  /** Begins the names of its sources: `mcp:github`. */
  readonly kind: string;
  /** Of the section, for people. */
  readonly description: string;
  /** Of one entry. Light: it is read where there are no entries. */
  readonly settings: Settings;
  /** What stands before the names of its tools and an underscore; "" = nothing. */
  readonly prefixOf: (settings: z.output<Settings>, name: string) => string;
  readonly isDisabled?: (settings: z.output<Settings>) => boolean;
  /** Loads what is heavy, once there is an entry: a service without one does not pay for it. */
  readonly load: () => Promise<(options: SourceOptions<z.output<Settings>>) => ToolSource>;
};

const EntryName = z.string().regex(/^[^\p{Cc}\p{Zl}\p{Zp}]{1,64}$/u, 'must be 1 to 64 visible characters');

/** The section of the configuration file that has the upstreams of one kind: name → settings. */
export const defineUpstream = <Settings extends z.ZodType>(kind: UpstreamKind<Settings>) =>
  z
    .record(EntryName, kind.settings)
    .default({})
    .describe(kind.description)
    .transform((entries) => Object.entries(entries).map(([name, settings]) => toEntry(kind, name, settings)));

const toEntry = <Settings extends z.ZodType>(
  { kind, prefixOf, isDisabled, load }: UpstreamKind<Settings>,
  name: string,
  settings: z.output<Settings>,
): UpstreamEntry<z.output<Settings>> => {
  const source = `${kind}:${name}`;
  return {
    name,
    settings,
    source,
    plan: async ({ logFor, memories, ...host }) => {
      if (isDisabled?.(settings) === true) return null;
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
