import { MCP_SERVERS } from '@recourse/upstream-mcp/mcp-servers';
import { OPENAPI_IMPORTS } from '@recourse/upstream-openapi/openapi-imports';
import type { PlanHost, SourcePlan, UpstreamEntry } from '@recourse/upstreams/upstream';
import type * as z from 'zod';

/** The sections of the configuration file that name upstreams, one for each kind: the only list of kinds. */
export const UPSTREAM_SECTIONS = { mcpServers: MCP_SERVERS, openapi: OPENAPI_IMPORTS } as const;

/** What a configuration file says of upstreams. */
export type Upstreams = {
  readonly [Section in keyof typeof UPSTREAM_SECTIONS]: z.output<(typeof UPSTREAM_SECTIONS)[Section]>;
};

/** All entries: kinds in the order of the list, the entries of each in the order of the file. */
const entriesOf = (upstreams: Upstreams): readonly UpstreamEntry[] =>
  Object.keys(UPSTREAM_SECTIONS)
    .filter((name) => isSection(name))
    .flatMap((section): readonly UpstreamEntry[] => upstreams[section]);

const isSection = (name: string): name is keyof Upstreams => Object.hasOwn(UPSTREAM_SECTIONS, name);

/** The names of all sources, those that are switched off included. */
export const toSourceNames = (upstreams: Upstreams): readonly string[] =>
  entriesOf(upstreams).map(({ source }) => source);

/** The sources that a configuration file wants. */
export const toSourcePlans = async (upstreams: Upstreams, host: PlanHost): Promise<readonly SourcePlan[]> => {
  const plans = await Promise.all(entriesOf(upstreams).map((entry) => entry.plan(host)));
  return plans.filter((plan) => plan !== null);
};
